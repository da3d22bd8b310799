"""JSON lines: what is written is read, and a bad line is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from corruptset.errors import VerificationError
from corruptset.manifests.disk.jsonl import json_line, read_jsonl
from corruptset.manifests.records.models import SampleRecord

ZERO = "sha256:" + "0" * 64


def sample(index: int, id: str) -> SampleRecord:
    return SampleRecord(
        index=index,
        id=id,
        label=0,
        split=None,
        path=None,
        sha256=ZERO,
        width=8,
        height=8,
        pixels="blake3:" + "0" * 64,
        **{"class": "käfer"},
    )


def test_jsonl_round_trip(tmp_path: Path) -> None:
    rows = [sample(0, "a b"), sample(1, 'ü\n"\\\u2028')]
    (tmp_path / "y.jsonl").write_bytes(b"".join(map(json_line, rows)))
    data = (tmp_path / "y.jsonl").read_bytes()
    assert data.count(b"\n") == 2
    assert "käfer".encode() in data
    assert list(json.loads(data.split(b"\n")[0])) == [
        "index",
        "id",
        "label",
        "class",
        "split",
        "path",
        "sha256",
        "width",
        "height",
        "pixels",
    ]
    assert list(read_jsonl(tmp_path / "y.jsonl", SampleRecord)) == rows
    (tmp_path / "empty").touch()
    assert list(read_jsonl(tmp_path / "empty", SampleRecord)) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d[:-1], "line 2: does not end"),
        (lambda d: d + b"\n", "line 3"),
        (lambda d: d.replace(b'"index": 1', b'"index": "1"'), "line 2: index: Input should be a valid integer"),
        (lambda d: d.replace(b'"label": 0', b'"label": -1'), "line 1: label"),
        (lambda d: d.replace(b'"index": 0', b'"index": 0, "more": 0'), "line 1: more: Extra inputs"),
        (lambda d: d.replace(b"bl", b"\xff\xfe"), "line 1"),
        (lambda d: d.replace(b"a b", b"a" * (1 << 20)), "line 1: is longer"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, change: Callable[[bytes], bytes], says: str) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_bytes(change(json_line(sample(0, "a b")) + json_line(sample(1, "c"))))
    with pytest.raises(VerificationError, match=says) as caught:
        list(read_jsonl(path, SampleRecord))
    assert str(path) in str(caught.value)


def test_a_missing_jsonl_is_named(tmp_path: Path) -> None:
    with pytest.raises(VerificationError, match=r"nowhere.jsonl: cannot be read"):
        list(read_jsonl(tmp_path / "nowhere.jsonl", SampleRecord))
