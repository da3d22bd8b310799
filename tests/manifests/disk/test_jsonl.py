"""JSON lines: what is written is read, and a bad line is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from corruptset.errors import VerificationError
from corruptset.manifests.disk.jsonl import json_line, read_jsonl, row_at
from corruptset.manifests.records.models import ImageRecord, SampleRecord

ZERO = "sha256:" + "0" * 64


def sample(index: int, id: str) -> SampleRecord:
    row = {"index": index, "id": id, "label": 0, "class": "käfer", "split": None, "path": None, "sha256": ZERO}
    return SampleRecord.model_validate({**row, "width": 8, "height": 8, "pixels": "blake3:" + "0" * 64})


def test_what_is_written_is_read_and_a_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    rows = [sample(0, "a b"), sample(1, 'ü\n"\\\u2028')]
    path.write_bytes(b"".join(map(json_line, rows)))
    assert path.read_bytes().count(b"\n") == 2
    assert "käfer".encode() in path.read_bytes()
    assert list(read_jsonl(path, SampleRecord)) == rows
    (tmp_path / "empty").touch()
    assert list(read_jsonl(tmp_path / "empty", SampleRecord)) == []
    changes: list[tuple[Callable[[bytes], bytes], str]] = [
        (lambda d: d[:-1], "line 2: does not end"),
        (lambda d: d + b"\n", "line 3"),
        (lambda d: d.replace(b'"index": 1', b'"index": "1"'), "line 2: index: Input should be a valid integer"),
        (lambda d: d.replace(b'"label": 0', b'"label": -1'), "line 1: label"),
        (lambda d: d.replace(b'"index": 0', b'"index": 0, "more": 0'), "line 1: more: Extra inputs"),
        (lambda d: d.replace(b"bl", b"\xff\xfe"), "line 1"),
        (lambda d: d.replace(b"a b", b"a" * (1 << 20)), "line 1: is longer"),
    ]
    whole = path.read_bytes()
    for change, says in changes:
        path.write_bytes(change(whole))
        with pytest.raises(VerificationError, match=says) as caught:
            list(read_jsonl(path, SampleRecord))
        assert str(path) in str(caught.value)
    with pytest.raises(VerificationError, match=r"nowhere.jsonl: cannot be read"):
        list(read_jsonl(tmp_path / "nowhere.jsonl", SampleRecord))


def test_a_row_is_found_by_its_number_without_the_others(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    for count in (1, 2, 3, 17):
        stored = [{"path": "x" * (1 + i * 7 % 50), "row": i, "bytes": 1, "sha256": ZERO} for i in range(count)]
        rows = [
            ImageRecord.model_validate({"index": i, "pixels": f"blake3:{'0' * 64}", "files": [file]})
            for i, file in enumerate(stored)
        ]
        path.write_bytes(b"".join(map(json_line, rows)))
        assert [row_at(path, ImageRecord, i) for i in range(count)] == rows
        for absent in (-1, count, count + 100):
            with pytest.raises(VerificationError, match="there is no row"):
                row_at(path, ImageRecord, absent)
    for text in (b"", b"\n\n\n", b"not json\n" * 5, b'{"index": "2"}\n', b"[1]\n"):
        path.write_bytes(text)
        with pytest.raises(VerificationError, match="there is no row 2"):
            row_at(path, ImageRecord, 2)
    path.write_bytes(b'{"index": 0}\n{"index": 1}\n')
    for file, said in ((path, "row 1"), (tmp_path / "none.jsonl", "cannot be read")):
        with pytest.raises(VerificationError, match=said):
            row_at(file, ImageRecord, 1)
