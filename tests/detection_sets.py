"""Small detection and segmentation datasets in the layouts of COCO and Cityscapes, and trees with unusual names."""

from __future__ import annotations

import json

import numpy as np
from PIL import Image

from example_images import synthetic_image

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
ODD_NAMES = [
    "a b/Straße (1).JPG",
    "a b/deep/er/x.jpeg",
    "x.jpg",
    "x.png",
    "x.jpeg",
    "Upper.PNG",
    "caf\u00e9/na\u00efve.jpg",
]
"""Names with spaces, brackets, capitals and Unicode characters, and with several suffixes of one stem."""
BOXES = [[2, 3, 12, 10], [8, 6, 16, 18]]


def example_image(width, height, which=0):
    """Return an image of this size."""
    return Image.fromarray(synthetic_image(height, width, which=which))


def save_image(image, path, form=None):
    """Save an image, and create its folder if necessary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, form)


def write_tree(root, names=ODD_NAMES):
    """Write a tree of images of different sizes, each in the format of its suffix."""
    for number, name in enumerate(names):
        form = "PNG" if name.lower().endswith(".png") else "JPEG"
        save_image(example_image(24 + 3 * number, 40 - number, number), root / name, form)
    return root


def write_coco(root):
    """Write a dataset in the layout of COCO, with annotations of two kinds, and files of another split."""
    images, annotations = [], []
    for number, (width, height) in enumerate(SIZES, 1):
        save_image(example_image(width, height, number), root / f"val2017/{number:012d}.jpg")
        images.append({"id": number, "file_name": f"{number:012d}.jpg", "width": width, "height": height})
        for n, box in enumerate(BOXES):
            ids = {"id": 10 * number + n, "image_id": number, "category_id": 1 + n}
            annotations.append({**ids, "bbox": box, "area": box[2] * box[3], "iscrowd": 0})
    save_image(example_image(20, 20), root / "train2017/999999999999.jpg")
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "cup"}]
    truth = {"images": images, "annotations": annotations, "categories": categories}
    (root / "annotations").mkdir()
    (root / "annotations/instances_val2017.json").write_text(json.dumps(truth))
    (root / "annotations/captions_val2017.json").write_text('{"images": []}')
    (root / "annotations/instances_other.json").write_text("{}")
    return root


def write_cityscapes(root):
    """Write a dataset in the layout of Cityscapes, with labels, instances and polygons of two towns."""
    for number, stem in enumerate(["frankfurt/frankfurt_000000_000294", "lindau/lindau_000001_000019"]):
        save_image(example_image(64, 32, number), root / f"leftImg8bit/val/{stem}_leftImg8bit.png")
        labels = np.full((32, 64), 7 + number, np.uint8)
        save_image(Image.fromarray(labels), root / f"gtFine/val/{stem}_gtFine_labelIds.png")
        save_image(Image.fromarray(labels.astype(np.uint16) * 1000), root / f"gtFine/val/{stem}_gtFine_instanceIds.png")
        (root / f"gtFine/val/{stem}_gtFine_polygons.json").write_text("{}")
    return root
