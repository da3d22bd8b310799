"""Detection and segmentation sets as people have them: small, in the layouts of COCO and Cityscapes, and trees with odd
names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from pictures import painted

SIZES = [(40, 30), (32, 48), (64, 33)]
"""(width, height) of the images of `write_coco`."""
RECIPE = """
name = "small-detection"
version = "1.0.0"
calibration = "imagenet"
preprocessing = {kind = "none", channels = "rgb"}
encoding = {format = "jpeg", quality = 95}

[[sets]]
clean = true

[[sets]]
corruptions = ["contrast", "elastic_transform"]
severities = [1, 3]
"""
ODD = ["a b/Straße (1).JPG", "a b/deep/er/x.jpeg", "x.jpg", "x.png", "x.jpeg", "Upper.PNG", "caf\u00e9/na\u00efve.jpg"]
"""Names that are seen: blanks, brackets, capitals, Unicode, several suffixes of one stem."""


def picture(width: int, height: int, which: int = 0) -> Image.Image:
    """Return a picture of this size."""
    return Image.fromarray(painted(height, width, which=which))


def write_tree(root: Path, names: list[str] = ODD) -> Path:
    """Write a tree of images, each of a size of its own, in the format that its name says."""
    for number, name in enumerate(names):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        form = "PNG" if name.lower().endswith(".png") else "JPEG"
        picture(24 + 3 * number, 40 - number, number).save(root / name, form)
    return root


def coco_record(images: list[dict[str, Any]]) -> dict[str, Any]:
    """Return annotations in COCO's format: two boxes an image."""
    boxes = [[2, 3, 12, 10], [8, 6, 16, 18]]
    annotations = [
        {
            "id": 10 * image["id"] + n,
            "image_id": image["id"],
            "category_id": 1 + n,
            "bbox": box,
            "area": box[2] * box[3],
            "iscrowd": 0,
        }
        for image in images
        for n, box in enumerate(boxes)
    ]
    return {
        "images": images,
        "annotations": annotations,
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "cup"}],
    }


def write_coco(root: Path, name: str = "val2017") -> Path:
    """Write a set in COCO's layout: two kinds of annotations, those of another split, and one of its images."""
    folder = root / name
    folder.mkdir(parents=True)
    (root / "annotations").mkdir(exist_ok=True)
    images = []
    for number, (width, height) in enumerate(SIZES, 1):
        picture(width, height, number).save(folder / f"{number:012d}.jpg", quality=92)
        images.append({"id": number, "file_name": f"{number:012d}.jpg", "width": width, "height": height})
    (root / "train2017").mkdir(exist_ok=True)
    picture(20, 20).save(root / "train2017/999999999999.jpg")
    (root / f"annotations/instances_{name}.json").write_text(json.dumps(coco_record(images)))
    (root / f"annotations/captions_{name}.json").write_text('{"images": []}')
    (root / "annotations/instances_other.json").write_text("{}")
    return root


def write_cityscapes(root: Path) -> Path:
    """Write a set in Cityscapes' layout: two towns, labels, instances, polygons."""
    for number, stem in enumerate(["frankfurt/frankfurt_000000_000294", "lindau/lindau_000001_000019"]):
        for top in ("leftImg8bit", "gtFine"):
            (root / top / "val" / stem).parent.mkdir(parents=True, exist_ok=True)
        picture(64, 32, number).save(root / f"leftImg8bit/val/{stem}_leftImg8bit.png")
        labels = np.full((32, 64), 7 + number, np.uint8)
        Image.fromarray(labels).save(root / f"gtFine/val/{stem}_gtFine_labelIds.png")
        Image.fromarray(labels.astype(np.uint16) * 1000).save(root / f"gtFine/val/{stem}_gtFine_instanceIds.png")
        (root / f"gtFine/val/{stem}_gtFine_polygons.json").write_text("{}")
    return root
