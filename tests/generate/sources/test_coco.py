"""COCO's layout: the images that the annotations name, at the sizes that they state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from detection_sets import coco_record, picture, write_coco
from PIL import Image

from corruptset.errors import SourceError
from corruptset.generate.sources.check import check
from corruptset.generate.sources.source import open_source


def rewritten(root: Path, **changes: Any) -> None:
    """Change the entry of the first image, or with ``images`` the whole list."""
    file = root / "annotations/instances_val2017.json"
    record = json.loads(file.read_text())
    record["images"] = changes.pop("images", record["images"])
    record["images"][0] |= changes
    file.write_text(json.dumps(record))


def test_images_are_those_that_the_annotations_name(tmp_path: Path) -> None:
    source = open_source(f"coco:{write_coco(tmp_path)}")
    assert [s.path for s in source.samples] == [f"val2017/{n:012d}.jpg" for n in (1, 2, 3)]
    assert set(source.annotations) == {"annotations/instances_val2017.json", "annotations/captions_val2017.json"}
    assert len(check(source, source.samples).good) == 3
    write_coco(tmp_path, "minival")
    other = open_source(f"coco:{tmp_path}/annotations/instances_minival.json")
    assert other.samples[0].path == "minival/000000000001.jpg"
    assert set(other.annotations) == {"annotations/instances_minival.json", "annotations/captions_minival.json"}


def test_all_that_is_wrong_with_images_is_listed(tmp_path: Path) -> None:
    root = write_coco(tmp_path)
    exif = Image.Exif()
    exif[0x0112] = 6
    picture(30, 40, 1).save(root / "val2017/000000000001.jpg", exif=exif)
    picture(32, 47).save(root / "val2017/000000000002.jpg")
    images = json.loads((root / "annotations/instances_val2017.json").read_text())["images"]
    twice = [*images, {"id": 9, "file_name": "gone.jpg", "width": 8, "height": 8}, images[2]]
    rewritten(root, images=twice)
    source = open_source(f"coco:{root}")
    said = dict([*source.notes, *check(source, source.samples).bad])
    assert "of the upright picture" in said["val2017/000000000001.jpg"]
    assert "30x40 as it is stored" in said["val2017/000000000001.jpg"]
    assert "is 32x47" in said["val2017/000000000002.jpg"]
    assert "upright" not in said["val2017/000000000002.jpg"].partition("Store")[0]
    assert "named 2 times" in said["val2017/000000000003.jpg"]
    assert "is not there" in said["val2017/gone.jpg"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"file_name": "../x.jpg"}, r"images\[0\]: '../x.jpg' is not a relative path"),
        ({"file_name": 3}, r"images\[0\]: has no file_name"),
        ({"width": "40"}, r"images\[0\]: has the width and height \['40', 30\]"),
        ({"height": 0}, r"expected two whole numbers"),
    ],
)
def test_entries_with_mistakes(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    rewritten(write_coco(tmp_path), **changes)
    with pytest.raises(SourceError, match=said):
        open_source(f"coco:{tmp_path}")


def test_other_files(tmp_path: Path) -> None:
    root = write_coco(tmp_path)
    file = root / "annotations/instances_val2017.json"
    for text, said in (("{", "not JSON"), ("[]", "no list of images"), ('{"Images": []}', "Did you mean 'Images'")):
        file.write_text(text)
        with pytest.raises(SourceError, match=said):
            open_source(f"coco:{root}")
    file.unlink()
    with pytest.raises(SourceError, match=r"There are: instances_other.json"):
        open_source(f"coco:{root}")
    file.write_text(json.dumps(coco_record([{"id": 1, "file_name": "no.jpg", "width": 9, "height": 9}])))
    with pytest.raises(SourceError, match=r"no image that instances_val2017.json names"):
        open_source(f"coco:{root}")
