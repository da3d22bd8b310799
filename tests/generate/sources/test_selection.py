"""Samples that are selected by number, class, id, group or super-category."""

from __future__ import annotations

import hashlib

import pytest
import source_archives as a
from hypothesis import given, settings
from hypothesis import strategies as st

from corruptset.errors import SourceError
from corruptset.generate.plan.options import BuildOptions
from corruptset.generate.sources.selection import select, selection_record
from corruptset.generate.sources.source import Sample, open_source
from corruptset.generate.sources.super_categories import read_super_categories
from corruptset.manifests.records.models import ClassRecord

LABELS = [2, 0, 0, 1, 0, 2, 1, 0, 2, 1]
SOURCE = [Sample(i, f"test/{i:05d}", label, None, "test") for i, label in enumerate(LABELS)]
CLASSES = [ClassRecord(index=i, name=f"name {i}", folder=f"n{i:02d}") for i in range(6)]
SAMPLES = [Sample(i, f"val_{i:04d}", i % 6) for i in range(60)]


def select_rows(source=SOURCE, /, **options):
    return [s.index for s in select(source, **options)]


@given(st.integers(1, 300), st.integers(1, 400))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_selection_is_spread_evenly(total, wanted):
    chosen = select_rows([Sample(i, f"{i:03d}", 0) for i in range(total)], samples=wanted)
    count = min(total, wanted)
    assert chosen == sorted({(i * total) // count for i in range(count)})
    assert len(chosen) == count


def test_each_option_selects_expected_samples(tmp_path):
    (tmp_path / "ids.txt").write_text("\ufefftest/00009\r\n\r\n  test/00000 \n")
    for options, expected in (
        ({}, range(10)),
        ({"first": 3}, [0, 1, 2]),
        ({"per_class": 1}, [0, 1, 3]),
        ({"per_class": 3}, [0, 1, 2, 3, 4, 5, 6, 8, 9]),
        ({"per_class": 99}, range(10)),
        ({"ids": ["test/00007", "test/00002"]}, [2, 7]),  # the order of the source, not of the list
        ({"ids": tmp_path / "ids.txt"}, [0, 9]),
        ({"ids": str(tmp_path / "ids.txt")}, [0, 9]),
        # each option selects from the result of the previous option
        ({"first": 5, "per_class": 1}, [0, 1, 3]),
        ({"first": 6, "samples": 3}, [0, 2, 4]),
        ({"ids": [s.id for s in SOURCE[3:]], "first": 6, "per_class": 2, "samples": 3}, [3, 5, 7]),
    ):
        assert select_rows(**options) == list(expected), options
    for option in ("samples", "first", "per_class"):
        for bad in (0, -1, True, 1.5):
            with pytest.raises(SourceError, match=f"--{option.replace('_', '-')} is"):
                select_rows(**{option: bad})
    # ids may be written as file names, as in lists from other projects
    source = open_source(f"imagenet:{a.write_files(tmp_path / 'val', a.wnid_folders())}")
    names = ["n01440764/ILSVRC2012_val_00000003.JPEG", "ILSVRC2012_val_00000001.JPEG", "ILSVRC2012_val_00000007"]
    assert [s.id[-1] for s in select(source.samples, ids=names)] == ["1", "3", "7"]
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    samples = [Sample(0, composed, 0, f"{decomposed}.png"), Sample(1, "1", 0, "1.jpg")]
    for name in (composed, decomposed, f"{composed}.png", f"{decomposed}.png"):
        assert select(samples, ids=[name, "1.jpg"]) == samples
    with pytest.raises(SourceError, match=r"there is no sample 'other/1\.jpg'"):
        select(samples, ids=["other/1.jpg"])


def test_ambiguous_or_unknown_ids_are_rejected(tmp_path):
    path = tmp_path / "ids.txt"
    errors = (
        r"contains 3 errors:\n *line 2: there is no sample 'test/0001' in the source. Did you mean 'test/0000.*\n"
        r" *line 3: 'test/00001' is also on line 1"
    )
    for data, message in (
        (b"test/00001\ntest/0001\ntest/00001\nx\n", errors),
        (b"\n", "it names no sample"),
        (b"\xff\xfe\x00", "cannot be read"),
    ):
        path.write_bytes(data)
        with pytest.raises(SourceError, match=message):
            select_rows(ids=path)
    for broken in (tmp_path, tmp_path / "none"):
        with pytest.raises(SourceError, match="cannot be read"):
            select_rows(ids=broken)


def test_selection_record_describes_options():
    ids = ["test/00007", "test/00002"]
    nothing = {"split": None, "samples": None, "first": None, "per_class": None, "ids": None}
    sha256 = hashlib.sha256(b'["test/00002","test/00007"]').hexdigest()
    chosen = {"split": "test", "first": 1, "total": 10, "chosen": 1}
    assert selection_record(SOURCE, select(SOURCE, ids=ids, first=1), ids=ids, first=1) == nothing | chosen | {
        "ids": {"count": 2, "sha256": f"sha256:{sha256}"}
    }
    both = [*SOURCE, Sample(10, "train/00000", 0, None, "train")]
    assert selection_record(both, both)["split"] == "all"
    record = selection_record(SAMPLES, SAMPLES[:3], samples=3)
    assert record == nothing | {"samples": 3, "total": 60, "chosen": 3}


def test_first_of_every_super_category_is_selected(tmp_path):
    path = tmp_path / "groups.toml"
    path.write_text('images = 4\n[categories]\nbird = ["n00", "n03"]\n"land vehicle" = ["name 5"]\n')
    options = {"per_super_category": path, "classes": CLASSES}
    assert select_rows(SAMPLES, **options) == [0, 3, 5, 6, 9, 11, 17, 23]
    assert select_rows(SAMPLES, per_class=1, **options) == [0, 3, 5]
    record = selection_record(SAMPLES, select(SAMPLES, **options), per_super_category=path)
    assert (record["chosen"], record["per_super_category"]["images"]) == (8, 4)
    assert record["per_super_category"]["categories"] == ["bird", "land vehicle"]
    assert str(tmp_path) not in str(record)
    assert BuildOptions(per_super_category=path).selection["per_super_category"] == path
    shipped = read_super_categories("fragile-imagenet")
    assert (shipped.images, len(set(shipped.category_of.values())), len(shipped.category_of)) == (50, 10, 86)
    assert all(wnid[0] == "n" and len(wnid) == 9 and wnid[1:].isdigit() for wnid in shipped.category_of)
    assert shipped.category_of["n02099601"] == "dog"


def test_super_category_errors_are_reported(tmp_path):
    path = tmp_path / "groups.toml"
    for text, *messages in (
        (
            'images = 0\nimage = 3\n[categories]\na = ["n00", "n01"]\nb = []\nc = "n02"\n',
            "image: Extra inputs are not permitted .given: 3.",
            "images: Input should be greater than or equal to 1",
        ),
        ('images = 1\n[categories]\na = ["n00", "n01"]\nb = ["n01"]\n', "the class 'n01' occurs 2 times"),
        ('images = 1\n[categories]\na = ["n00", "n07", "n08"]\n', "names 2 classes that the source does not have"),
        ("images = 3\n", "categories: Field required"),
    ):
        path.write_text(text)
        for part in messages:
            with pytest.raises(SourceError, match=part):
                select(SAMPLES, per_super_category=path, classes=CLASSES)
    with pytest.raises(SourceError, match=r"cannot be read.*Did you mean 'fragile-imagenet'"):
        read_super_categories("fragile-imagenett")


def test_numbers_beyond_available_samples_are_noted():
    """Return samples of three classes, which have two, two and one images."""
    samples = [Sample(i, f"{i}", i // 2) for i in range(5)]
    all_used = "images, so all of them are used."
    for options, message in (
        ({"samples": 6}, [f"--samples is 6, but there are only 5 {all_used}"]),
        ({"samples": 2000}, [f"--samples is 2,000, but there are only 5 {all_used}"]),
        ({"first": 6}, [f"--first is 6, but there are only 5 {all_used}"]),
        (
            {"per_class": 2},
            [
                "--per-class is 2, but 1 of the classes have fewer images (the smallest has 1). All images of these "
                "classes are used."
            ],
        ),
        ({"first": 3, "samples": 4}, [f"--samples is 4, but there are only 3 {all_used}"]),
        ({"per_class": 1, "samples": 4}, [f"--samples is 4, but there are only 3 {all_used}"]),
        ({"ids": ["1", "2"], "first": 3}, [f"--first is 3, but there are only 2 {all_used}"]),
        ({"first": 5, "per_class": 1, "samples": 3}, []),
    ):
        notes: list[str] = []
        select(samples, **options, notes=notes)
        assert notes == message, options
