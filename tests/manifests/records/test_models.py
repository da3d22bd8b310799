"""The records refuse what they cannot stand for."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from corruptset.manifests.records.fields import check_encoding, safe_path
from corruptset.manifests.records.models import FileRecord, SampleRecord, SetRecord

ZERO = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    "path", ["a", "a/b c/ü.png", "images/fog/3/x.JPEG", ".hidden", "a..b/c", "...", "a/b:c", "~", "a\nb"]
)
def test_safe_paths(path: str) -> None:
    assert safe_path(path) == path


@pytest.mark.parametrize(
    "path",
    ["", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/../b", "./a", "a\\b", "a\0", "C:", "C:/a", "c:a"],
)
def test_unsafe_paths(path: str) -> None:
    with pytest.raises(ValueError, match="not a relative path"):
        safe_path(path)
    with pytest.raises(ValidationError):
        FileRecord(path=path, bytes=0, sha256=ZERO)


@pytest.mark.parametrize(
    "sha256",
    ["0" * 64, "sha256:" + "0" * 63, "sha256:" + "G" * 64, "sha256:" + "A" * 64, "blake3:" + "0" * 64, ZERO + "\n"],
)
def test_hashes_of_files_are_sha256(sha256: str) -> None:
    with pytest.raises(ValidationError):
        FileRecord(path="a", bytes=0, sha256=sha256)


@pytest.mark.parametrize(
    "set_id", ["", "Fog/3", "fog/3/", "/fog", "fog//3", "fog.3", "fog/../3", "fog 3", "ü", "fog/3\n"]
)
def test_set_ids(set_id: str) -> None:
    with pytest.raises(ValidationError):
        SetRecord(
            id=set_id, aliases=[], stages=[], role="test", count=0, files=0, bytes=0,
            pixel_digest="blake3:" + "0" * 64, metrics=None
        )  # fmt: skip


def test_records_are_immutable_and_know_their_fields() -> None:
    record = FileRecord(path="a", bytes=0, sha256=ZERO)
    with pytest.raises(ValidationError, match="frozen"):
        record.bytes = 1  # type: ignore[misc]
    with pytest.raises(ValidationError, match="extra"):
        FileRecord(path="a", bytes=0, sha256=ZERO, size=1)  # type: ignore[call-arg]


def test_a_sample_row_says_class() -> None:
    record = SampleRecord(
        index=0,
        id="a",
        label=0,
        split=None,
        path=None,
        sha256=ZERO,
        width=8,
        height=8,
        pixels="blake3:" + "0" * 64,
        **{"class": "cat"},
    )
    assert list(record.as_json()) == [
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
    assert SampleRecord.model_validate(record.as_json()) == record


JPEG = {"format": "jpeg", "quality": 85, "optimize": False, "subsampling": "4:2:0", "containers": ["folder"]}


@pytest.mark.parametrize("encoding", [JPEG, {"format": "png", "containers": ["folder", "hdf5"]}])
def test_encodings(encoding: dict[str, object]) -> None:
    assert check_encoding(encoding) == encoding


@pytest.mark.parametrize(
    "change",
    [{"format": "gif"}, {"format": "png"}, {"quality": 0}, {"quality": 101}, {"quality": True}, {"quality": 85.0},
    {"optimize": 1},
     {"subsampling": "4:1:1"}, {"containers": []}, {"containers": ["hdf5", "folder"]}, {"containers": ["zip"]},
     {"x": 1}],
)  # fmt: skip
def test_encodings_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"format|keys|quality|optimize|containers"):
        check_encoding({**JPEG, **change})
