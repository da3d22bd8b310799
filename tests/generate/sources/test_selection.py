"""Which samples are chosen, and what the manifest says of it."""

from __future__ import annotations

import hashlib
import json

import archives as a
import pytest

from corruptset.errors import SourceError
from corruptset.generate.sources.selection import select, selection_record
from corruptset.generate.sources.source import Sample, open_source

LABELS = [2, 0, 0, 1, 0, 2, 1, 0, 2, 1]
SOURCE = [Sample(i, f"test/{i:05d}", label, None, "test") for i, label in enumerate(LABELS)]


def rows(**options):
    return [s.index for s in select(SOURCE, **options)]


def test_what_each_option_chooses(tmp_path):
    assert rows(per_class=1) == [0, 1, 3]
    assert rows(per_class=3) == [0, 1, 2, 3, 4, 5, 6, 8, 9]
    assert rows(per_class=99) == list(range(10))
    assert rows(ids=["test/00007", "test/00002"]) == [2, 7]  # the source's order, not the list's
    (tmp_path / "ids.txt").write_text("\ufefftest/00009\r\n\r\n  test/00000 \n")
    assert rows(ids=tmp_path / "ids.txt") == rows(ids=str(tmp_path / "ids.txt")) == [0, 9]
    # each chooses from what the one before left
    assert rows(first=5, per_class=1) == [0, 1, 3]
    assert rows(ids=[f"test/{i:05d}" for i in range(3, 10)], first=6, per_class=2, samples=3) == [3, 5, 7]
    assert [select(SOURCE, per_class=1)[i].label for i in range(3)] == [2, 0, 1]  # labels stay
    for bad in (0, -1, True, 1.5):
        with pytest.raises(SourceError, match="--per-class is"):
            rows(per_class=bad)


def test_ids_that_cannot_be_meant(tmp_path):
    path = tmp_path / "ids.txt"
    path.write_text("test/00001\ntest/0001\ntest/00001\nx\n")
    with pytest.raises(SourceError) as error:
        rows(ids=path)
    assert "has 3 mistakes" in str(error.value)
    assert "line 2: there is no sample 'test/0001' in the source. Did you mean 'test/0000" in str(error.value)
    assert "line 3: 'test/00001' was given on line 1 already" in str(error.value)
    path.write_text("\n")
    with pytest.raises(SourceError, match="it names no sample"):
        rows(ids=path)
    for broken in (tmp_path, tmp_path / "none"):
        with pytest.raises(SourceError, match="cannot be read"):
            rows(ids=broken)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SourceError, match="cannot be read"):
        rows(ids=path)


def test_files_may_be_named_as_lists_of_others_name_them(tmp_path):
    source = open_source(f"imagenet:{a.write(tmp_path, a.wnid_folders())}")
    names = ["n01440764/ILSVRC2012_val_00000003.JPEG", "ILSVRC2012_val_00000001.JPEG", "ILSVRC2012_val_00000007"]
    assert [s.id[-1] for s in select(source.samples, ids=names)] == ["1", "3", "7"]


def test_the_record(tmp_path):
    ids = ["test/00007", "test/00002"]
    found = selection_record(SOURCE, select(SOURCE, ids=ids, first=1), ids=ids, first=1)
    digest = hashlib.sha256(json.dumps(["test/00002", "test/00007"], separators=(",", ":")).encode()).hexdigest()
    assert found == {
        "split": "test", "samples": None, "first": 1, "per_class": None, "ids": {"count": 2,
        "sha256": f"sha256:{digest}"},
        "total": 10, "chosen": 1,
    }  # fmt: skip
    both = [*SOURCE, Sample(10, "train/00000", 0, None, "train")]
    assert selection_record(both, both)["split"] == "all"
    assert selection_record([Sample(0, "a", 0)], [])["split"] is None
