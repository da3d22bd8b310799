"""Trees of images: ids are paths, names and suffixes count, what cannot keep its name is listed."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from detection_sets import ODD, picture, write_tree
from PIL import Image

from corruptset.errors import SourceError
from corruptset.generate.sources.source import open_source


def test_ids_are_paths_with_their_suffix_in_the_order_of_ids(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "caf\u00e9/e\u0301.jpg")
    source = open_source(f"tree:{write_tree(tmp_path, [*ODD, decomposed])}")
    assert [s.path for s in sorted(source.samples, key=lambda s: s.index)] == [s.path for s in source.samples]
    assert {s.path for s in source.samples} == {*ODD, decomposed}
    assert [s.id for s in source.samples] == sorted(unicodedata.normalize("NFC", s.path or "") for s in source.samples)
    assert all(s.label is None for s in source.samples)
    assert source.classes == source.notes == ()


def test_what_cannot_keep_its_name_is_listed(tmp_path: Path) -> None:
    write_tree(tmp_path, ["good.jpg", "a/Same.jpg", "a/same.jpg"])
    picture(20, 20).save(tmp_path / "scan.tif")
    picture(20, 20).save(tmp_path / "old.bmp")
    (tmp_path / "notes.txt").write_text("notes")
    source = open_source(f"tree:{tmp_path}")
    assert [s.id for s in source.samples] == ["good.jpg"]
    said = dict(source.notes)
    assert set(said) == {"a/Same.jpg", "a/same.jpg", "old.bmp", "scan.tif"}
    assert "Convert it" in said["scan.tif"]
    assert "ignore case" in said["a/same.jpg"]


def test_a_pattern_says_which_files_are_images(tmp_path: Path) -> None:
    write_tree(tmp_path, ["val/a.jpg", "val/deep/b.png", "train/c.jpg"])
    for name in ("val/scan.tif", "notes.txt", "annotations/val.json", "no-suffix", ".hidden", "Thumbs.db"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text")
    source = open_source(f"tree:{tmp_path}", images="val/*.[jp]*")
    assert [s.id for s in source.samples] == ["val/a.jpg", "val/deep/b.png"]
    assert list(source.other_files) == ["annotations/val.json", "no-suffix", "notes.txt", "train/c.jpg", "val/scan.tif"]
    assert all(file == tmp_path / path for path, file in source.other_files.items())
    assert source.other_bytes() == 4 * 4 + (tmp_path / "train/c.jpg").stat().st_size
    assert source.notes == ()
    every = open_source(f"tree:{tmp_path}")
    assert list(every.other_files) == ["annotations/val.json", "no-suffix", "notes.txt"]
    assert [path for path, _ in every.notes] == ["val/scan.tif"]
    with pytest.raises(
        SourceError, match=r"holds no image that --images 'test/\*' names\. The images there: train/c\.jpg, val/a\.jpg,"
    ):
        open_source(f"tree:{tmp_path}", images="test/*")


@pytest.mark.parametrize(
    ("name", "said"), [("a\tb.txt", "control characters"), ("12:30/x.txt", "colon"), ("x\\y.txt", "backslash")]
)
def test_other_files_that_cannot_keep_their_names_are_listed(tmp_path: Path, name: str, said: str) -> None:
    write_tree(tmp_path, ["good.jpg"])
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("text")
    source = open_source(f"tree:{tmp_path}")
    assert not source.other_files
    ((_, reason),) = source.notes
    assert said in reason


def test_no_folder_no_image_no_labels(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is not there"):
        open_source(f"tree:{tmp_path / 'none'}")
    with pytest.raises(SourceError, match="needs a path"):
        open_source("tree:")
    with pytest.raises(SourceError, match="holds no image"):
        open_source(f"tree:{tmp_path}")
    write_tree(tmp_path)
    with pytest.raises(SourceError, match="takes no --labels"):
        open_source(f"tree:{tmp_path}", labels="x.csv")


def test_orientation_is_ignored(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    picture(30, 20).save(tmp_path / "x.jpg", exif=exif)
    source = open_source(f"tree:{tmp_path}")
    assert source.load(source.samples[0]).image.shape == (20, 30, 3)
