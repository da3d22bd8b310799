"""JSON lines: what is written is read, and a bad line is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from corruptset.errors import VerificationError
from corruptset.manifests.disk.jsonl import json_line, read_jsonl, row_at
from corruptset.manifests.records.models import ImageRecord, SampleRecord

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


@pytest.mark.parametrize("count", [1, 2, 3, 17])
def test_a_row_is_found_by_its_number_without_the_others(tmp_path: Path, count: int) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [
        ImageRecord.model_validate(
            {
                "index": i,
                "pixels": f"blake3:{'0' * 64}",
                "files": [{"path": "x" * (1 + i * 7 % 50), "row": i, "bytes": 1, "sha256": ZERO}],
            }
        )
        for i in range(count)
    ]
    path.write_bytes(b"".join(map(json_line, rows)))
    assert [row_at(path, ImageRecord, i) for i in range(count)] == rows
    for absent in (-1, count, count + 100):
        with pytest.raises(VerificationError, match="there is no row"):
            row_at(path, ImageRecord, absent)


@pytest.mark.parametrize("text", [b"", b"\n\n\n", b"not json\n" * 5, b'{"index": "2"}\n', b"[1]\n"])
def test_of_a_file_that_holds_no_rows_none_is_found(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(text)
    with pytest.raises(VerificationError, match="there is no row 2"):
        row_at(path, ImageRecord, 2)


def test_a_row_that_is_no_record_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"index": 0}\n{"index": 1}\n')
    with pytest.raises(VerificationError, match="row 1"):
        row_at(path, ImageRecord, 1)
    with pytest.raises(VerificationError, match="cannot be read"):
        row_at(tmp_path / "none.jsonl", ImageRecord, 1)
