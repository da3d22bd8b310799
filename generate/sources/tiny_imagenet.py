"""The source ``tiny-imagenet:PATH``: Tiny ImageNet as Stanford publishes it, as a folder or a zip archive.

``wnids.txt`` lists the wnids (WordNet ids) of the classes. A label is the position of a wnid in sorted order, as in
torchvision's `ImageFolder` for the folder ``train``. The validation images are in one folder, and
``val/val_annotations.txt`` contains the wnid of each image. The test images have no labels.

References
----------
Le and Yang, Tiny ImageNet Visual Recognition Challenge (2015); http://cs231n.stanford.edu/tiny-imagenet-200.zip
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

from ...errors import SourceError, format_list
from ...files import MAX_TEXT_BYTES, read_text, reason
from .decoding import BadSample
from .image_listing import ImageListing, is_ignored, list_images
from .imagenet import WNID
from .labels import folder_classes, sample_id
from .source import Sample, Source
from .zip_archives import ZipListing, ZipLocation, list_zip, read_zip_member

WNIDS = "wnids.txt"
ANNOTATIONS = "val_annotations.txt"
FOLDER = "tiny-imagenet-200"
NO_LINE = f"has no line in {ANNOTATIONS}: add one, or leave the image out"
NO_IMAGE = f"is named in {ANNOTATIONS}, but does not exist: unpack or download the dataset again"
NO_CLASS = (
    f"is in a folder that {WNIDS} does not name, or outside the folder images of a class: move it or leave it out"
)


def open(path: Path, *, split: str = "val") -> Source:
    """List the images of a split without reading them.

    Parameters
    ----------
    path : Path
        The folder ``tiny-imagenet-200``, a folder that contains it, or the zip archive.
    split : {"val", "train"}, optional
        The split whose images are listed.

    Raises
    ------
    SourceError
        The path is none of these, files are missing, or the annotations contain errors. The message lists all errors.
    """
    if split not in ("val", "train"):
        raise SourceError(
            f"--split is {split!r}, but the source tiny-imagenet only has labels for val (the default) and train."
        )
    archive = None if path.is_dir() else list_zip(path)
    root = _root(path, archive)
    listing = _list_split(path, archive, f"{root}{split}/")
    read = partial(_read_text, path, archive)
    wnids = _wnids(read(f"{root}{WNIDS}"), path)
    if split == "val":
        labels = _validation_labels(listing, read(f"{root}val/{ANNOTATIONS}"), wnids)
    else:
        labels = _training_labels(listing, wnids)
    identify = partial(_identify, "images/" if split == "val" else "")
    source = listing.source("tiny-imagenet", labels, identify, classes=folder_classes(wnids))
    if archive is not None:
        source.read = partial(_read_member, path)
    source.samples = tuple(replace(sample, split=split) for sample in source.samples)
    source.root = source.root and path
    return listing.with_empty_folders(source) if split == "train" else source


def _identify(prefix: str, path: str) -> str:
    return sample_id(path.removeprefix(prefix))


def _root(path: Path, archive: ZipListing | None) -> str:
    """Return the path of the dataset inside a folder or an archive. The path is empty or ends with a slash."""
    for root in ("", f"{FOLDER}/"):
        if (path / root / WNIDS).is_file() if archive is None else f"{root}{WNIDS}" in archive.files:
            return root
    raise SourceError(
        f"The source tiny-imagenet:{path} has no {WNIDS}. Expected {FOLDER}.zip as it was downloaded, or the folder "
        f"{FOLDER} that is in it."
    )


def _list_split(path: Path, archive: ZipListing | None, folder: str) -> ImageListing:
    """List the images in the folder of a split. Their paths are relative to this folder."""
    if archive is None:
        if not (path / folder).is_dir():
            raise SourceError(f"The source tiny-imagenet:{path / folder} does not exist. Unpack the zip again.")
        return list_images(path / folder)
    listing = ImageListing(path)
    for name, location in sorted(archive.files.items()):
        inside = name.removeprefix(folder)
        if name.startswith(folder) and not any(map(is_ignored, inside.split("/"))):
            listing.locations[inside] = location
            listing.add(inside)
    listing.folders = sorted({name.partition("/")[0] for name in listing.files if "/" in name})
    listing.notes += [(name, problem) for name, problem in archive.notes if name.startswith(folder)]
    return listing


def _read_text(path: Path, archive: ZipListing | None, name: str) -> str:
    """Return the text of a file in the dataset."""
    if archive is None:
        try:
            return read_text(path / name)
        except OSError as e:
            raise SourceError(f"{path / name} cannot be read: {reason(e)}. Unpack the zip again.") from None
    location = archive.files.get(name)
    if location is None or location.size > MAX_TEXT_BYTES:
        raise SourceError(f"{path} has no {name}, or one that is larger than expected. Download it again.")
    return read_zip_member(path, location).decode("utf-8", "replace")


def _wnids(text: str, path: Path) -> list[str]:
    """Return the sorted wnids of all classes."""
    wnids = text.split()
    problems = [f"{wnid!r} is not a wnid such as n01443537" for wnid in wnids if not WNID.fullmatch(wnid)]
    problems += [f"{wnid} is given {times} times" for wnid, times in Counter(wnids).items() if times > 1]
    if problems or not wnids:
        raise SourceError(
            f"{path}: {WNIDS} does not list the classes:\n{format_list(problems or ['it is empty'], 10)}\n"
            "Download the dataset again."
        )
    return sorted(wnids)


def _validation_labels(listing: ImageListing, text: str, wnids: list[str]) -> Mapping[str, str]:
    """Return a mapping from the path of each image in val/images to its wnid.

    Add notes to the listing about images that the annotation file does not list, and about lines of this file whose
    image is missing.
    """
    known, wnid_of, problems = set(wnids), dict[str, str](), list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        name, tab, rest = line.partition("\t")
        wnid = rest.partition("\t")[0]
        if not line.strip():
            continue
        if not tab or wnid not in known:
            problems.append(f"line {number}: {line[:60]!r} does not give a file and one of the {len(known)} classes")
        elif f"images/{name}" in wnid_of:
            problems.append(f"line {number}: {name!r} was given before")
        else:
            wnid_of[f"images/{name}"] = wnid
    if problems:
        raise SourceError(
            f"{listing.path}: {ANNOTATIONS} contains errors:\n{format_list(problems, 10)}\nDownload the dataset again."
        )
    images = set(listing.images)
    listing.notes += [(image, NO_LINE) for image in listing.images if image not in wnid_of]
    listing.notes += [(image, NO_IMAGE) for image in wnid_of if image not in images]
    return {image: wnid_of[image] for image in listing.images if image in wnid_of}


def _training_labels(listing: ImageListing, wnids: list[str]) -> Mapping[str, str]:
    """Return a mapping from the path of each image in train/<wnid>/images to its wnid. Add notes about other images."""
    wnid_of = {f"{wnid}/images": wnid for wnid in wnids}
    folders = {image: image.rpartition("/")[0] for image in listing.images}
    listing.notes += [(image, NO_CLASS) for image, folder in folders.items() if folder not in wnid_of]
    listing.folders = wnids
    return {image: wnid_of[folder] for image, folder in folders.items() if folder in wnid_of}


def _read_member(path: Path, sample: Sample) -> bytes:
    try:
        return read_zip_member(path, cast(ZipLocation, sample.location))
    except SourceError as e:
        raise BadSample(f"cannot be read any more: {e}") from None
