"""Schedules' files: their digest, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import unbuilt
from corruptset_streams import Schedule, ScheduleError, read_schedule

from corruptset.canonical import canonical

SHIFTS = [
    {"order": 0, "reset": True, "set": 1, "samples": [2, 0, 1]},
    {"order": 1, "reset": False, "set": [0, 1], "samples": [0, 0]},
]
HEAD = {
    "schedule_version": 1,
    "kind": "mixed",
    "seed": 7,
    "parameters": {"reset": "never"},
    "data_set": {"name": "some-c", "version": "1.0.0", "digest": unbuilt.SHA256},
    "length": 5,
    "sets": ["fog/5", "snow/5"],
    "samples": ["a", "b", "ü"],
    "digest": "sha256:89b5edc182942613ae4a4e8fb9644996c53e8225e05d2e750dfb20fcb7df43a6",
}
MADE = Schedule(HEAD, SHIFTS)
TEXT = b"".join(canonical(line) + b"\n" for line in (HEAD, *SHIFTS))


def test_a_file_comes_back(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(TEXT)
    assert read_schedule(tmp_path / "s") == MADE
    assert MADE.digest == HEAD["digest"]


def test_the_documented_lines_check_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "continual.jsonl").write_bytes(TEXT)
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).resolve().parents[1] / "README.md").read_text("utf-8")
    lines = next(block for block in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S) if "hashlib" in block)
    exec(lines, {})
    (tmp_path / "continual.jsonl").write_bytes(
        (tmp_path / "continual.jsonl").read_bytes().replace(b"[2,0,1]", b"[2,1,0]")
    )
    with pytest.raises(AssertionError):
        exec(lines, {})


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_bytes(TEXT)
    whole = path.read_bytes()
    for damaged in (
        whole.replace(b"[2,0,1]", b"[2,1,0]"),
        whole[:-20],
        whole.replace(b"true", b"false"),
        b"",
        b"[]\n",
        b"{\n",
        b"\xff\n",
    ):
        path.write_bytes(damaged)
        with pytest.raises(ScheduleError):
            read_schedule(path)
    with pytest.raises(ScheduleError, match="cannot be read"):
        read_schedule(tmp_path / "none")
