"""The source ``imagenet:PATH``: the validation images of ILSVRC2012 in the forms that people have them.

* ``ILSVRC2012_img_val.tar``, read in place, with the devkit or a file of labels;
* the folder of JPEGs from it, flat, likewise;
* a folder, or a tar, of wnid folders.

Every form gives the same samples: the id is the file's stem, the class is the wnid, labels number the sorted wnids.

The devkit's ``data/meta.mat`` has the synsets with their ILSVRC2012 ids (1 to 1000 are the classes, the others stand
above them in the hierarchy), ``data/ILSVRC2012_validation_ground_truth.txt`` has an id a line, for the images in the
order of their numbers.

References
----------
Russakovsky et al., ImageNet Large Scale Visual Recognition Challenge, IJCV 2015; the kit's readme.txt.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...errors import SourceError, listed
from .image_listing import ImageListing, list_images
from .labels import read_groups, read_rows, shown
from .source import Source
from .tarred import named_files, tarfile_like

ARCHIVE = "ILSVRC2012_img_val.tar"
WNID = re.compile(r"n[0-9]{8}")
META = "meta.mat"
TRUTH = "ILSVRC2012_validation_ground_truth.txt"
NAMES = ("ILSVRC2012_devkit_t12.tar.gz", "ILSVRC2012_devkit_t12")
EXPECTED = f"Expected the devkit of ILSVRC2012 (task 1 and 2): {NAMES[0]}, or its extracted folder."


def open(path: Path, *, labels: str | None = None, groups: str | None = None) -> Source:
    """Open the validation images; none of them is read.

    Parameters
    ----------
    path : Path
        The tar, or a folder: of JPEGs, of wnid folders, or one that holds such a folder ``val`` or the tar.
    labels : path, optional
        The devkit (tar.gz or folder) or a file of labels; without it a devkit beside the images is taken.
    groups : path, optional
        A CSV with the columns ``file,group``.

    Raises
    ------
    SourceError
        The path is something else, there are no labels, or images and labels do not agree.
    """
    kit, given = Path(labels).expanduser().resolve() if labels is not None else None, path
    if path.is_dir() and not any(path.glob("[!.]*.JPEG")):
        path = next((inside for inside in (path / ARCHIVE, path / "val") if inside.exists()), path)

    def beside(name: str) -> bool:
        top = name.partition("/")[0].lower()
        return "devkit" in top or top.endswith((".tar", ".tar.gz", ".tgz")) or path / name == kit

    # `tar cf x.tar val` puts a folder in front that is no class
    listing = list_images(path, beside, lambda image: "/" in image and not WNID.fullmatch(image.partition("/")[0]))
    if not listing.images:
        raise listing.refuse("holds no image")
    flat = any("/" not in image for image in listing.images)
    if flat and kit is None and (kit := find_devkit(path, path.parent)) is None:
        raise SourceError(
            f"The source imagenet: {path} holds images without class folders, so their labels must come from "
            f"elsewhere. Put the devkit ({NAMES[0]}, which lies beside the images on image-net.org) beside it, or give "
            "it or a file of labels with --labels."
        )
    truth, complete = (None, False) if kit is None else read_truth(kit)
    wnid_of = _classes_of(listing, truth, kit)
    if truth is not None and complete and flat and len(wnid_of) != len(truth):
        raise SourceError(
            f"{path} holds {len(wnid_of)} images, and {kit} says the classes of {len(truth)}. Both must be of the "
            "whole validation set: download what is cut, or give labels for just these images with --labels CSV."
        )
    if groups is not None:
        listing.groups = read_groups(Path(groups), listing.images)
    source = listing.source("imagenet", wnid_of, _stem, {*listing.folders, *(truth or {}).values()})
    source.root = source.root and given
    return listing.with_empty_folders(source)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _classes_of(listing: ImageListing, truth: Mapping[str, str] | None, kit: Path | None) -> dict[str, str]:
    """Return path -> wnid of images; refuse them where folder and labels disagree."""
    problems = [
        f"{shown(f)}/: is not called by a wnid such as n01440764" for f in listing.folders if not WNID.fullmatch(f)
    ]
    wnid_of: dict[str, str] = {}
    for image in [] if problems else listing.images:
        folder = image.rpartition("/")[0].partition("/")[0]
        wnid_of[image] = wnid = folder if truth is None else truth.get(_stem(image), "")
        if not wnid or folder not in ("", wnid):
            problems.append(f"{shown(image)}: {kit} {f'says {wnid}' if wnid else 'has no line for it'}")
    if problems:
        raise SourceError(
            f"The source imagenet: {listing.path} holds {len(listing.images)} images, and these cannot be "
            "ILSVRC2012's validation images (ILSVRC2012_val_00000001.JPEG) with their classes:\n"
            f"{listed(problems, 10)}\nAre they another year's, or cut? Any other image folder, or a tar of one, is "
            f"folder:{listing.path}."
        )
    return wnid_of


def find_devkit(*folders: Path) -> Path | None:
    """Return the first devkit in the folders; one of another year too, which `read_truth` refuses."""
    found = (kit for folder in folders for pattern in (*NAMES, "[!.]*devkit*") for kit in sorted(folder.glob(pattern)))
    return next(found, None)


def read_truth(path: Path) -> tuple[Mapping[str, str], bool]:
    """Read a devkit (folder or tar.gz) or a file of labels.

    Returns
    -------
    wnid_of : mapping
        Image's stem -> wnid.
    complete : bool
        Whether it names exactly the images that there are, as a devkit does; a file of labels may name more.

    Raises
    ------
    SourceError
        It is not there, is of another year, or does not agree with itself.
    """
    if not path.exists():
        raise SourceError(f"{path} is not there. Expected the devkit {NAMES[0]}, its folder, or a file of labels.")
    if not path.is_dir() and not tarfile_like(path):
        return _read_labels(path), False
    _, files = named_files(path, (META, TRUTH), "data/*", "*/data/*")
    if missing := [f"data/{wanted}" for wanted in (META, TRUTH) if wanted not in files]:
        raise SourceError(f"{path} has no {missing[0]}; is it the devkit of another year? {EXPECTED}")
    known = _wnids(files[META], path)
    ids = files[TRUTH].decode("ascii", "replace").split()
    wrong = [f"line {i}: {given!r}" for i, given in enumerate(ids, 1) if given not in known]
    if wrong or not ids:
        what = f"{path}: {TRUTH} has lines that are no ids from 1 to {len(known)}"
        raise SourceError(f"{what}:\n{listed(wrong or ['it has no line'], 10)}\nDownload the devkit again.")
    return {f"ILSVRC2012_val_{i:08d}": known[given] for i, given in enumerate(ids, 1)}, True


def _wnids(data: bytes | bytearray, path: Path) -> dict[str, str]:
    """Return the classes' wnids of meta.mat by their ids, from "1" on."""
    from scipy.io import loadmat

    try:
        synsets = np.atleast_1d(loadmat(io.BytesIO(data), squeeze_me=True)["synsets"])
        known = {str(s["ILSVRC2012_ID"]): str(s["WNID"]) for s in synsets if int(s["num_children"]) == 0}
    except Exception as e:  # scipy raises many kinds for what is no MATLAB file
        raise SourceError(
            f"{path}: {META} cannot be read as a MATLAB file with the synsets of ILSVRC2012 ({e}). {EXPECTED}"
        ) from None
    wnids = set(known.values())
    if not wnids or known.keys() != set(map(str, range(1, len(wnids) + 1))) or not all(map(WNID.fullmatch, wnids)):
        raise SourceError(
            f"{path}: {META} does not give every class a wnid such as n01440764 of its own, and an id from 1 on. "
            f"{EXPECTED}"
        )
    return known


def _read_labels(path: Path) -> dict[str, str]:
    """Read labels from text: a wnid a line, ``file,label`` with wnids, or Kaggle's ``ImageId,PredictionString``."""
    rows = read_rows(path, "labels", "a line an image")
    if rows and rows[0][1] in (["file", "label"], ["ImageId", "PredictionString"]):
        del rows[0]
    wnid_of: dict[str, str] = {}
    problems = [] if rows else ["they have no row"]
    for number, (line, cells) in enumerate(rows, 1):
        name, said = cells if len(cells) == 2 else (f"ILSVRC2012_val_{number:08d}", ",".join(cells))
        stem, wnid = name.rpartition("/")[2].removesuffix(".JPEG"), said.partition(" ")[0]
        if stem in wnid_of:
            problems.append(f"line {line}: {stem} was given before")
        elif not WNID.fullmatch(wnid):
            problems.append(f"line {line}: {wnid!r} is no wnid such as n01440764")
        wnid_of[stem] = wnid
    if problems:
        raise SourceError(
            f"The labels {path} have mistakes:\n{listed(problems, 10)}\nExpected a header line 'file,label' or "
            "'ImageId,PredictionString' (Kaggle's LOC_val_solution.csv), or a wnid a line; or give the devkit."
        )
    return wnid_of
