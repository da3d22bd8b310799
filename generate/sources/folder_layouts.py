"""Refuse folders that look like class folders but are not: splits, and Tiny ImageNet's validation images.

If these folders were read as class folders, every image would get a wrong label.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from ...errors import SourceError, first_few
from ...quantities import plural
from .image_listing import ImageListing
from .labels import nfc, printable_path

SPLIT = re.compile(
    r"(train|training|val|valid|validation|test|testing|dev|development|eval|evaluation|holdout)"
    r"([-_ ]?(set|split|data|images|[0-9]+))*",
    re.IGNORECASE,
)
"""Names of folders that contain one split of a dataset."""
PREFERRED = ("val", "valid", "validation", "test", "testing")
TINY = "val_annotations.txt"
"""The file of labels in Tiny ImageNet's folder ``val``, whose images are all in ``val/images``."""


def refuse_other_layouts(listing: ImageListing) -> None:
    """Raise `SourceError` if the first-level folders are not classes."""
    path = listing.path
    filled = sorted({image.partition("/")[0] for image in listing.images if "/" in image})
    if filled == ["images"] and TINY in listing.files:
        raise SourceError(f"{path} has the layout of Tiny ImageNet's folder val: {_tiny_imagenet_advice(path)}")
    if path.is_dir() and not filled and (path.parent / TINY).is_file():
        raise SourceError(f"{path} has the images of Tiny ImageNet's folder val: {_tiny_imagenet_advice(path)}")
    above, splits = "", _splits([image for image in listing.images if "/" in image])
    if len(splits) == 1 and len(listing.folders) > 1:
        splits = []  # one class is called test, and the other classes have no images
    if not splits and len(filled) == 1:
        above = f"{filled[0]}/"
        inside = [image.removeprefix(above) for image in listing.images if image.startswith(above)]
        splits = _splits(inside)
        if len(splits) == 1 and not all(image.count("/") >= 2 for image in inside):
            splits = []  # a class contains a folder called test
    if splits:
        chosen = next((name for word in PREFERRED for name in splits if name.casefold() == word), splits[0])
        what = "extract it, and specify" if path.is_file() else "specify"
        place = f"{path.name.partition('.')[0]}/..." if path.is_file() else str(path)
        raise SourceError(
            f"{path} has no class folders: {'its folder' if len(splits) == 1 else 'its folders'} "
            f"{first_few([above + name for name in splits])} {'is a split' if len(splits) == 1 else 'are splits'} of a "
            f"dataset. To build from one of them, {what} its folder: folder:{place}/{above}{chosen}. If these folders "
            "are classes, pass the labels with --labels CSV."
        )


def _splits(images: list[str]) -> list[str]:
    """Return the first-level folders of images if all are named like splits and no image is outside these folders."""
    names = {image.rpartition("/")[0].partition("/")[0] for image in images}
    return sorted(names) if names and all(map(SPLIT.fullmatch, names)) else []


def _tiny_imagenet_advice(path: Path) -> str:
    """Return the end of an error message: how to read Tiny ImageNet's validation images."""
    if path.is_file():
        return (
            f"its images are in one folder, and {TINY} has their classes. Use the source tiny-imagenet with the zip "
            "that Stanford publishes."
        )
    dataset = path.parent if (path / TINY).is_file() else path.parent.parent
    return (
        f"its images are in one folder, and {TINY} has their classes. Use the source tiny-imagenet with the folder of "
        f"the dataset, which contains wnids.txt: {shlex.quote(f'tiny-imagenet:{dataset}')}."
    )


def notes_on_one_class(listing: ImageListing) -> Iterator[str]:
    """Yield a note if there is only one class folder, because it may not be a class."""
    if len(listing.folders) != 1:
        return
    (name,) = listing.folders
    below = {image.split("/")[1] for image in listing.images if image.count("/") >= 2}
    text = f"The source has one class folder, {printable_path(nfc(name))}, so every image has the label 0."
    if len(below) > 1 and all(image.count("/") >= 2 for image in listing.images):
        yield f"{text} It has {plural(len(below), 'folder')}. If these are the classes, use that folder as the source."
    else:
        yield f"{text} If it is not a class, pass the labels with --labels CSV."
