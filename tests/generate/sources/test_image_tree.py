"""Trees of images: ids are paths, and files that cannot keep their names are listed."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
import source_archives as a
from detection_sets import ODD_NAMES, example_image, save_image, write_cityscapes, write_tree
from PIL import Image

from corruptset.errors import SourceError
from corruptset.generate.sources.source import open_source


def test_ids_are_paths_with_suffix_in_sorted_order(tmp_path):
    decomposed = unicodedata.normalize("NFD", "caf\u00e9/e\u0301.jpg")
    source = open_source(f"tree:{write_tree(tmp_path, [*ODD_NAMES, decomposed])}")
    assert {s.path for s in source.samples} == {*ODD_NAMES, decomposed}
    assert [s.id for s in source.samples] == sorted(unicodedata.normalize("NFC", s.path or "") for s in source.samples)
    assert [(s.index, s.label) for s in source.samples] == [(i, None) for i in range(len(ODD_NAMES) + 1)]
    assert source.classes == source.notes == ()


def test_pattern_selects_images(tmp_path):
    write_tree(tmp_path, ["val/a.jpg", "val/deep/b.png", "train/c.jpg"])
    others = ("val/scan.tif", "notes.txt", "annotations/val.json", "no-suffix", ".hidden", "Thumbs.db")
    a.write_files(tmp_path, dict.fromkeys(others, b"text"))
    source = open_source(f"tree:{tmp_path}", images="val/*.[jp]*")
    assert [s.id for s in source.samples] == ["val/a.jpg", "val/deep/b.png"]
    assert list(source.other_files) == ["annotations/val.json", "no-suffix", "notes.txt", "train/c.jpg", "val/scan.tif"]
    assert all(file == tmp_path / path for path, file in source.other_files.items())
    assert source.other_bytes() == 4 * 4 + (tmp_path / "train/c.jpg").stat().st_size
    assert source.notes == ()
    image_source = open_source(f"tree:{tmp_path}")
    assert list(image_source.other_files) == ["annotations/val.json", "no-suffix", "notes.txt"]
    assert [path for path, _ in image_source.notes] == ["val/scan.tif"]
    message = r"contains no image that --images 'test/\*' matches\. It contains these images: train/c\.jpg, val/a\.jpg,"
    a.check_refused(f"tree:{tmp_path}", message, images="test/*")


def test_names_that_cannot_be_kept_are_listed(tmp_path):
    a.check_refused(f"tree:{tmp_path}", "contains no image")
    write_tree(tmp_path, ["good.jpg", "a/Same.jpg", "a/same.jpg"])
    for name in ("scan.tif", "old.bmp"):
        example_image(20, 20).save(tmp_path / name)
    a.write_files(tmp_path, dict.fromkeys(("a\tb.txt", "12:30/x.txt", "x\\y.txt", "notes.txt"), b"text"))
    source = open_source(f"tree:{tmp_path}")
    assert [s.id for s in source.samples] == ["good.jpg"]
    assert list(source.other_files) == ["notes.txt"]
    expected = {
        "a/Same.jpg": "ignore case", "a/same.jpg": "ignore case", "scan.tif": "Convert it", "old.bmp": "Convert it",
        "a\\tb.txt": "control characters", "12:30/x.txt": "colon", "x\\y.txt": "backslash",
    }  # fmt: skip
    assert {name: expected[name] in reason for name, reason in source.notes} == dict.fromkeys(expected, True)
    for text, options, reason in (
        (f"tree:{tmp_path / 'none'}", {}, "does not exist"),
        ("tree:", {}, "needs a path"),
        (f"tree:{tmp_path / 'good.jpg'}", {}, "is a file, not a folder"),
        (f"tree:{tmp_path}", {"labels": "x.csv"}, "has no option --labels"),
    ):
        a.check_refused(text, reason, **options)


def mask(mode):
    """Return a mask of 24x20 pixels in which two classes have the values 0 and 1."""
    image = Image.fromarray(np.indices((20, 24)).sum(0).astype(np.uint8) // 30)
    if mode == "P":
        image = image.convert("P")
        image.putpalette([0, 0, 0, 128, 0, 0])
    return image.point(lambda value: 255 * value).convert("1") if mode == "1" else image


@pytest.mark.parametrize(("mode", "form"), [("P", "PNG"), ("1", "PNG"), ("P", "GIF"), ("P", "BMP")])
def test_masks_are_rejected_unless_pattern_selects_images(tmp_path, mode, form):
    write_tree(tmp_path, ["JPEGImages/a.jpg", "JPEGImages/b.jpg"])
    save_image(mask(mode), tmp_path / "SegmentationClass/a.png", form)
    a.check_refused(
        f"tree:{tmp_path}",
        r"contains 1 palette or 1-bit image, as masks are stored, in SegmentationClass/ \(1\)\.(.|\n)*"
        r"--images 'JPEGImages/\*' selects the other images(.|\n)*--images '\*\.\[jp\]\*g' selects all of them",
    )
    source = open_source(f"tree:{tmp_path}", images="JPEGImages/*")
    assert [s.id for s in source.samples] == ["JPEGImages/a.jpg", "JPEGImages/b.jpg"]
    assert list(source.other_files) == ["SegmentationClass/a.png"]
    image_source = open_source(f"tree:{tmp_path}", images="*.[jp]*g")
    assert [s.id for s in image_source.samples] == ["JPEGImages/a.jpg", "JPEGImages/b.jpg", "SegmentationClass/a.png"]


def test_suggested_pattern_fits_tree(tmp_path):
    for names, masks, pattern in (
        (["a.jpg", "b.jpg"], ["a.png"], "'*.jpg'"),  # masks are stored next to the images
        (["x/a.png", "y/b.png", "y/c.jpg"], ["z/a.png"], "PATTERN, such as 'y/*',"),
        (["x/a.png", "x/b.png"], ["x/b_mask.png"], "PATTERN selects"),
        ([], ["z/a.png"], "PATTERN selects"),
    ):
        root = tmp_path / str(len(list(tmp_path.iterdir())))
        write_tree(root, names)
        for name in masks:
            save_image(mask("P"), root / name)
        with pytest.raises(SourceError) as exc_info:
            open_source(f"tree:{root}")
        assert f"--images {pattern}" in str(exc_info.value)


def test_grey_images_among_colour_images_are_noted(tmp_path):
    """Cityscapes stores its masks without a palette, so grey images may be masks or photographs."""
    (note,) = open_source(f"tree:{write_cityscapes(tmp_path / 'city')}").remarks
    assert note.startswith("The images in gtFine/val/frankfurt/ (2), gtFine/val/lindau/ (2) are all grey")
    assert open_source(f"tree:{tmp_path / 'city'}", images="leftImg8bit/*").remarks == ()
    save_image(example_image(24, 24).convert("L"), tmp_path / "grey/a.png")
    assert open_source(f"tree:{tmp_path / 'grey'}").remarks == ()


def test_pattern_matches_suffixes_in_upper_and_lower_case(tmp_path):
    write_tree(tmp_path, ["DCIM/IMG_1.JPG", "DCIM/IMG_2.jpg", "DCIM/IMG_3.Jpeg", "dcim/IMG_4.png"])
    for pattern, ids in (
        ("DCIM/*.jpg", ["DCIM/IMG_1.JPG", "DCIM/IMG_2.jpg"]),
        ("DCIM/*.JPG", ["DCIM/IMG_1.JPG", "DCIM/IMG_2.jpg"]),
        ("*.[jJ]P*g", ["DCIM/IMG_1.JPG", "DCIM/IMG_2.jpg", "DCIM/IMG_3.Jpeg"]),
        ("dcim/*", ["dcim/IMG_4.png"]),  # the names of folders are compared with their case
        ("dcim/img*.png", None),
    ):
        if ids is None:
            a.check_refused(f"tree:{tmp_path}", "contains no image that --images", images=pattern)
        else:
            assert [s.id for s in open_source(f"tree:{tmp_path}", images=pattern).samples] == ids
