"""Schedules' files: their digest, and what is refused."""

from __future__ import annotations

import hashlib
import json
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


def test_a_file_comes_back(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"".join(MADE.lines()))
    assert read_schedule(tmp_path / "s") == MADE
    assert MADE.digest == HEAD["digest"]
    assert MADE.rows().tolist() == [[0, 1, 1, 2], [0, 0, 1, 0], [0, 0, 1, 1], [1, 0, 0, 0], [1, 0, 1, 0]]


def test_the_documented_lines_check_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "continual.jsonl").write_bytes(b"".join(MADE.lines()))
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).resolve().parents[1] / "README.md").read_text("utf-8")
    lines = next(block for block in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S) if "hashlib" in block)
    exec(lines, {})
    (tmp_path / "continual.jsonl").write_bytes((tmp_path / "continual.jsonl").read_bytes().replace(b"[2,0,1]", b"[2,1,0]"))
    with pytest.raises(AssertionError):
        exec(lines, {})


def edited(path: Path, **changes: object) -> Path:
    """Write the schedule with other values in its lines, and its digest made to fit."""
    path.write_bytes(b"".join(MADE.lines()))
    head, *lines = path.read_bytes().splitlines()
    record = json.loads(head) | {k: v for k, v in changes.items() if k != "line"}
    rows = [json.loads(line) for line in lines]
    rows[0] |= changes.get("line", {})  # type: ignore[arg-type]
    del record["digest"]
    rest = b"".join(b"\n" + canonical(row) for row in rows) + b"\n"
    record["digest"] = f"sha256:{hashlib.sha256(canonical(record) + rest).hexdigest()}"
    path.write_bytes(canonical(record) + rest)
    return path


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"length": 6}, "of another length"),
        ({"sets": []}, "does not, or are"),
        ({"sets": 3}, "TypeError"),
        ({"line": {"set": 2}}, "its shifts name sets or samples"),
        ({"line": {"set": [0, 1]}}, "of another length"),
        ({"line": {"samples": [3]}}, "damaged"),
        ({"line": {"samples": []}}, "damaged"),
        ({"line": {"samples": [-1, 0, 1]}}, "its shifts name sets or samples"),
        ({"line": {"samples": ["a", 0, 1]}}, "ValueError"),
        ({"line": {"samples": 3}}, "TypeError"),
    ],
)
def test_what_is_no_schedule_is_refused(changes: dict[str, object], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ScheduleError, match=sentence):
        read_schedule(edited(tmp_path / "s", **changes))


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_bytes(b"".join(MADE.lines()))
    whole = path.read_bytes()
    for damaged in (whole.replace(b"[2,0,1]", b"[2,1,0]"), whole[:-20], whole.replace(b"true", b"false"), b"", b"[]\n", b"{\n", b"\xff\n"):
        path.write_bytes(damaged)
        with pytest.raises(ScheduleError):
            read_schedule(path)
    with pytest.raises(ScheduleError, match="cannot be read"):
        read_schedule(tmp_path / "none")
