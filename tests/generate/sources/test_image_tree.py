"""Trees of images: ids are paths; what cannot keep its name is listed."""

from __future__ import annotations

import unicodedata

import archives as a
from detection_sets import ODD, picture, write_tree

from corruptset.generate.sources.source import open_source


def test_ids_are_paths_with_their_suffix_in_the_order_of_ids(tmp_path):
    decomposed = unicodedata.normalize("NFD", "caf\u00e9/e\u0301.jpg")
    source = open_source(f"tree:{write_tree(tmp_path, [*ODD, decomposed])}")
    assert {s.path for s in source.samples} == {*ODD, decomposed}
    assert [s.id for s in source.samples] == sorted(unicodedata.normalize("NFC", s.path or "") for s in source.samples)
    assert [(s.index, s.label) for s in source.samples] == [(i, None) for i in range(len(ODD) + 1)]
    assert source.classes == source.notes == ()


def test_a_pattern_says_which_files_are_images(tmp_path):
    write_tree(tmp_path, ["val/a.jpg", "val/deep/b.png", "train/c.jpg"])
    others = ("val/scan.tif", "notes.txt", "annotations/val.json", "no-suffix", ".hidden", "Thumbs.db")
    a.write(tmp_path, dict.fromkeys(others, b"text"))
    source = open_source(f"tree:{tmp_path}", images="val/*.[jp]*")
    assert [s.id for s in source.samples] == ["val/a.jpg", "val/deep/b.png"]
    assert list(source.other_files) == ["annotations/val.json", "no-suffix", "notes.txt", "train/c.jpg", "val/scan.tif"]
    assert all(file == tmp_path / path for path, file in source.other_files.items())
    assert source.other_bytes() == 4 * 4 + (tmp_path / "train/c.jpg").stat().st_size
    assert source.notes == ()
    every = open_source(f"tree:{tmp_path}")
    assert list(every.other_files) == ["annotations/val.json", "no-suffix", "notes.txt"]
    assert [path for path, _ in every.notes] == ["val/scan.tif"]
    said = r"holds no image that --images 'test/\*' names\. The images there: train/c\.jpg, val/a\.jpg,"
    a.refuses(f"tree:{tmp_path}", said, images="test/*")


def test_what_cannot_keep_its_name_is_listed(tmp_path):
    a.refuses(f"tree:{tmp_path}", "holds no image")
    write_tree(tmp_path, ["good.jpg", "a/Same.jpg", "a/same.jpg"])
    for name in ("scan.tif", "old.bmp"):
        picture(20, 20).save(tmp_path / name)
    a.write(tmp_path, dict.fromkeys(("a\tb.txt", "12:30/x.txt", "x\\y.txt", "notes.txt"), b"text"))
    source = open_source(f"tree:{tmp_path}")
    assert [s.id for s in source.samples] == ["good.jpg"]
    assert list(source.other_files) == ["notes.txt"]
    expected = {
        "a/Same.jpg": "ignore case", "a/same.jpg": "ignore case", "scan.tif": "Convert it", "old.bmp": "Convert it",
        "a\\tb.txt": "control characters", "12:30/x.txt": "colon", "x\\y.txt": "backslash",
    }  # fmt: skip
    assert {name: expected[name] in why for name, why in source.notes} == dict.fromkeys(expected, True)
    for text, options, why in (
        (f"tree:{tmp_path / 'none'}", {}, "is not there"),
        ("tree:", {}, "needs a path"),
        (f"tree:{tmp_path / 'good.jpg'}", {}, "is a file, not a folder"),
        (f"tree:{tmp_path}", {"labels": "x.csv"}, "takes no --labels"),
    ):
        a.refuses(text, why, **options)
