"""Schedules' files: their digest, and what is refused."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
import unbuilt

from corruptset.canonical import canonical
from corruptset.errors import ScheduleError
from corruptset.manifests.reading.schedule import Schedule, ScheduledData, Shift, read_schedule

OF = ScheduledData(name="some-c", version="1.0.0", digest=unbuilt.SHA256)
SHIFTS = (
    Shift(0, True, np.array([1, 1, 1]), np.array([2, 0, 1])),
    Shift(1, False, np.array([0, 1]), np.array([0, 0])),
)
MADE = Schedule("mixed", 7, {"reset": "never"}, OF, ("fog/5", "snow/5"), ("a", "b", "ü"), SHIFTS)


def test_a_file_comes_back(tmp_path: Path) -> None:
    MADE.write(tmp_path / "s")
    read = read_schedule(tmp_path / "s")
    assert (read.digest, len(read), read.sets, read.samples, read.parameters) == (MADE.digest, 5, MADE.sets, MADE.samples, MADE.parameters)
    assert [s.sets.tolist() for s in read.shifts] == [[1, 1, 1], [0, 1]]
    assert repr(read) == repr(MADE)
    assert repr(MADE).startswith("<Schedule mixed of some-c: 2 shifts, 5 images, sha256:")
    assert MADE.digest == "sha256:89b5edc182942613ae4a4e8fb9644996c53e8225e05d2e750dfb20fcb7df43a6"


def test_the_documented_lines_check_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MADE.write(tmp_path / "continual.jsonl")
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).resolve().parents[3] / "docs" / "schedules.md").read_text("utf-8")
    lines = next(block for block in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S) if "hashlib" in block)
    exec(lines, {})
    (tmp_path / "continual.jsonl").write_bytes((tmp_path / "continual.jsonl").read_bytes().replace(b"[2,0,1]", b"[2,1,0]"))
    with pytest.raises(AssertionError):
        exec(lines, {})


def edited(path: Path, **changes: object) -> Path:
    """Write the schedule with other values in its lines, and its digest made to fit."""
    MADE.write(path)
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
        ({"schedule_version": 2}, "line 1 is not of a schedule: schedule_version: Input should be 1"),
        ({"kinds": "x"}, "kinds: Extra inputs"),
        ({"length": 6}, "is damaged"),
        ({"sets": []}, "sets: List should have at least 1"),
        ({"line": {"set": 2}}, "line 2: its sets and samples are not places"),
        ({"line": {"set": [0, 1]}}, "line 2: its sets and samples are not places"),
        ({"line": {"samples": [3]}}, "line 2: its sets and samples are not places"),
        ({"line": {"samples": []}}, "line 2: its sets and samples are not places"),
        ({"line": {"samples": [-1]}}, "line 2 is not of a schedule"),
        ({"line": {"reset": "yes"}}, "line 2 is not of a schedule"),
    ],
)
def test_what_is_no_schedule_is_refused(changes: dict[str, object], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ScheduleError, match=sentence):
        read_schedule(edited(tmp_path / "s", **changes))


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s"
    MADE.write(path)
    whole = path.read_bytes()
    for damaged in (whole.replace(b"[2,0,1]", b"[2,1,0]"), whole[:-20], whole.replace(b"true", b"false"), b"", b"[]\n", b"{\n", b"\xff\n"):
        path.write_bytes(damaged)
        with pytest.raises(ScheduleError):
            read_schedule(path)
    with pytest.raises(ScheduleError, match="cannot be read: No such file"):
        read_schedule(tmp_path / "none")
