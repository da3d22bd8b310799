"""JSON Lines files are read as they were written, and errors name the invalid line."""

import pytest

from corruptset.errors import VerificationError
from corruptset.manifests.disk.jsonl import json_line, read_jsonl, row_at
from corruptset.manifests.records.models import ImageRecord, SampleRecord

ZERO, ZERO3 = "sha256:" + "0" * 64, "blake3:" + "0" * 64


def sample(index, id):
    row = {"index": index, "id": id, "label": 0, "class": "käfer", "split": None, "path": None, "sha256": ZERO}
    return SampleRecord.model_validate({**row, "width": 8, "height": 8, "pixels": ZERO3})


def test_rows_round_trip_and_bad_line_is_named(tmp_path):
    path = tmp_path / "samples.jsonl"
    rows = [sample(0, "a b"), sample(1, 'ü\n"\\\u2028')]
    content = b"".join(map(json_line, rows))
    assert (content.count(b"\n"), "käfer".encode() in content) == (2, True)
    for data, records in ((content, rows), (b"", [])):
        path.write_bytes(data)
        assert list(read_jsonl(path, SampleRecord)) == records
    changes = [
        (content[:-1], "line 2 is truncated"),
        (content + b"\n", "line 3"),
        (content.replace(b'"index": 1', b'"index": "1"'), "line 2: index: Input should be a valid integer"),
        (content.replace(b'"label": 0', b'"label": -1'), "line 1: label"),
        (content.replace(b'"index": 0', b'"index": 0, "more": 0'), "line 1: more: Extra inputs"),
        (content.replace(b"a b", b"\xff\xfe"), "line 1"),
        (content.replace(b"a b", b"a" * (1 << 20)), "line 1 is too long"),
    ]
    for data, message in changes:
        path.write_bytes(data)
        with pytest.raises(VerificationError, match=message) as exc_info:
            list(read_jsonl(path, SampleRecord))
        assert str(path) in str(exc_info.value)
    with pytest.raises(VerificationError, match=r"nowhere.jsonl: cannot be read"):
        list(read_jsonl(tmp_path / "nowhere.jsonl", SampleRecord))


def test_row_is_read_by_number_without_others(tmp_path):
    path = tmp_path / "rows.jsonl"
    refusals = [
        (text, 2, "there is no row 2") for text in (b"", b"\n\n\n", b"not json\n" * 5, b'{"index": "2"}\n', b"[1]\n")
    ]
    refusals.append((b'{"index": 0}\n{"index": 1}\n', 1, "row 1"))
    for count in (1, 2, 3, 17):
        rows = []
        for i in range(count):
            file = {"path": "x" * (1 + i * 7 % 50), "row": i, "bytes": 1, "sha256": ZERO}
            rows.append(ImageRecord.model_validate({"index": i, "pixels": ZERO3, "files": [file]}))
        data = b"".join(map(json_line, rows))
        path.write_bytes(data)
        assert [row_at(path, ImageRecord, i) for i in range(count)] == rows
        refusals += [(data, absent, "there is no row") for absent in (-1, count, count + 100)]
    for data, index, message in refusals:
        path.write_bytes(data)
        with pytest.raises(VerificationError, match=message):
            row_at(path, ImageRecord, index)
    path.unlink()
    with pytest.raises(VerificationError, match="cannot be read"):
        row_at(path, ImageRecord, 0)
