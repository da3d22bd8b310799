"""The source ``imagenet:PATH``: the validation images of ILSVRC2012.

The path is one of

* ``ILSVRC2012_img_val.tar``, which is not unpacked, with the devkit or a file of labels;
* the flat folder of JPEGs from this tar, with the devkit or a file of labels;
* a folder, or a tar, of folders that are named after wnids (WordNet ids).

Every form gives the same samples. The id is the file name without its suffix, the class is the wnid, and the label is
the position of the wnid in sorted order.

In the devkit, ``data/meta.mat`` contains the synsets with their ILSVRC2012 ids. Ids from 1 to 1000 are the classes, and
higher ids are their hypernyms. ``data/ILSVRC2012_validation_ground_truth.txt`` has one line per image, in the order of
the image numbers. Each line is the id of the image's class.

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

from ...errors import SourceError, format_list
from .image_listing import ImageListing, list_images
from .labels import printable_path, read_groups, read_rows
from .source import Source
from .tar_archives import looks_like_tar, read_named_files

ARCHIVE = "ILSVRC2012_img_val.tar"
WNID = re.compile(r"n[0-9]{8}")
META = "meta.mat"
TRUTH = "ILSVRC2012_validation_ground_truth.txt"
NAMES = ("ILSVRC2012_devkit_t12.tar.gz", "ILSVRC2012_devkit_t12")
EXPECTED = f"Expected the devkit of ILSVRC2012 (task 1 and 2): {NAMES[0]}, or its extracted folder."


def open(path: Path, *, labels: str | None = None, groups: str | None = None) -> Source:
    """Open the validation images without reading them.

    Parameters
    ----------
    path : Path
        The tar, or a folder of JPEGs or of wnid folders. It can also be a folder that contains the tar, or that
        contains such a folder with the name ``val``.
    labels : path, optional
        The devkit (tar.gz or folder) or a file of labels. The default is a devkit next to the images.
    groups : path, optional
        A CSV with the columns ``file,group``.

    Raises
    ------
    SourceError
        The path is none of these, labels are missing, or images and labels do not match.
    """
    kit, given = Path(labels).expanduser().resolve() if labels is not None else None, path
    if path.is_dir() and not any(path.glob("[!.]*.JPEG")):
        path = next((inside for inside in (path / ARCHIVE, path / "val") if inside.exists()), path)

    def is_devkit(name: str) -> bool:
        top = name.partition("/")[0].lower()
        return "devkit" in top or top.endswith((".tar", ".tar.gz", ".tgz")) or path / name == kit

    # A tar that was created with `tar cf x.tar val` has a folder that is not a class.
    listing = list_images(path, is_devkit, lambda image: "/" in image and not WNID.fullmatch(image.partition("/")[0]))
    if not listing.images:
        raise listing.error("contains no image")
    flat = any("/" not in image for image in listing.images)
    if flat and kit is None and (kit := find_devkit(path, path.parent)) is None:
        raise SourceError(
            f"The source imagenet:{path} contains images without class folders, so it needs labels. Put the devkit "
            f"({NAMES[0]}, from the same page on image-net.org) next to the images, or pass the devkit or a file of "
            "labels with --labels."
        )
    truth, complete = (None, False) if kit is None else read_truth(kit)
    wnid_of = _classes_of(listing, truth, kit)
    if truth is not None and complete and flat and len(wnid_of) != len(truth):
        raise SourceError(
            f"{path} contains {len(wnid_of)} images, but {kit} has the classes of {len(truth)}. Both must cover the "
            "complete validation set: download the truncated one again, or pass labels for these images with --labels "
            "CSV."
        )
    if groups is not None:
        listing.groups = read_groups(Path(groups), listing.images)
    source = listing.source("imagenet", wnid_of, _stem, {*listing.folders, *(truth or {}).values()})
    source.root = source.root and given
    return listing.with_empty_folders(source)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _classes_of(listing: ImageListing, truth: Mapping[str, str] | None, kit: Path | None) -> dict[str, str]:
    """Return a mapping from paths of images to wnids, or raise `SourceError` if folders and labels disagree."""
    problems = [
        f"{printable_path(f)}/: is not named by a wnid such as n01440764"
        for f in listing.folders
        if not WNID.fullmatch(f)
    ]
    wnid_of: dict[str, str] = {}
    for image in [] if problems else listing.images:
        folder = image.rpartition("/")[0].partition("/")[0]
        wnid_of[image] = wnid = folder if truth is None else truth.get(_stem(image), "")
        if not wnid or folder not in ("", wnid):
            problems.append(f"{printable_path(image)}: {kit} {f'says {wnid}' if wnid else 'has no line for it'}")
    if problems:
        raise SourceError(
            f"The source imagenet:{listing.path} contains {len(listing.images)} images, and these cannot be "
            "validation images of ILSVRC2012 (ILSVRC2012_val_00000001.JPEG) with their classes:\n"
            f"{format_list(problems, 10)}\nThe dataset may be of another year, or truncated. For any other image "
            f"folder, or a tar of one, use folder:{listing.path}."
        )
    return wnid_of


def find_devkit(*folders: Path) -> Path | None:
    """Return the first devkit in the folders, or None. `read_truth` rejects devkits of other years."""
    found = (kit for folder in folders for pattern in (*NAMES, "[!.]*devkit*") for kit in sorted(folder.glob(pattern)))
    return next(found, None)


def read_truth(path: Path) -> tuple[Mapping[str, str], bool]:
    """Read a devkit (folder or tar.gz) or a file of labels.

    Returns
    -------
    wnid_of : mapping
        The wnid of each image, by the file name of the image without its suffix.
    complete : bool
        Whether the mapping names exactly the existing images, as a devkit does. A file of labels may name more images.

    Raises
    ------
    SourceError
        The file does not exist, is of another year, or contradicts itself.
    """
    if not path.exists():
        raise SourceError(f"{path} does not exist. Expected the devkit {NAMES[0]}, its folder, or a file of labels.")
    if not path.is_dir() and not looks_like_tar(path):
        return _read_labels(path), False
    _, files = read_named_files(path, (META, TRUTH), "data/*", "*/data/*")
    if missing := [f"data/{wanted}" for wanted in (META, TRUTH) if wanted not in files]:
        raise SourceError(f"{path} has no {missing[0]}; is it the devkit of another year? {EXPECTED}")
    known = _wnids(files[META], path)
    ids = files[TRUTH].decode("ascii", "replace").split()
    wrong = [f"line {i}: {given!r}" for i, given in enumerate(ids, 1) if given not in known]
    if wrong or not ids:
        what = f"{path}: {TRUTH} has lines that are not ids from 1 to {len(known)}"
        raise SourceError(f"{what}:\n{format_list(wrong or ['it is empty'], 10)}\nDownload the devkit again.")
    return {f"ILSVRC2012_val_{i:08d}": known[given] for i, given in enumerate(ids, 1)}, True


def _wnids(data: bytes | bytearray, path: Path) -> dict[str, str]:
    """Return a mapping from the ids of the classes in meta.mat ("1" to "1000") to the wnids of the classes."""
    from scipy.io import loadmat

    try:
        synsets = np.atleast_1d(loadmat(io.BytesIO(data), squeeze_me=True)["synsets"])
        known = {str(s["ILSVRC2012_ID"]): str(s["WNID"]) for s in synsets if int(s["num_children"]) == 0}
    except Exception as e:  # scipy raises many kinds of errors for files that are not MATLAB files
        raise SourceError(
            f"{path}: {META} cannot be read as a MATLAB file with the synsets of ILSVRC2012 ({e}). {EXPECTED}"
        ) from None
    wnids = set(known.values())
    if not wnids or known.keys() != set(map(str, range(1, len(wnids) + 1))) or not all(map(WNID.fullmatch, wnids)):
        raise SourceError(
            f"{path}: {META} does not give every class a different wnid such as n01440764 and an id from 1. {EXPECTED}"
        )
    return known


def _read_labels(path: Path) -> dict[str, str]:
    """Read labels from text: one wnid per line, ``file,label`` with wnids, or Kaggle's ``ImageId,PredictionString``."""
    rows = read_rows(path, "label", "one line per image")
    if rows and rows[0][1] in (["file", "label"], ["ImageId", "PredictionString"]):
        del rows[0]
    wnid_of: dict[str, str] = {}
    problems = [] if rows else ["the file is empty"]
    for number, (line, cells) in enumerate(rows, 1):
        name, answer = cells if len(cells) == 2 else (f"ILSVRC2012_val_{number:08d}", ",".join(cells))
        stem, wnid = name.rpartition("/")[2].removesuffix(".JPEG"), answer.partition(" ")[0]
        if stem in wnid_of:
            problems.append(f"line {line}: {stem} is listed twice")
        elif not WNID.fullmatch(wnid):
            problems.append(f"line {line}: {wnid!r} is not a wnid such as n01440764")
        wnid_of[stem] = wnid
    if problems:
        raise SourceError(
            f"The label file {path} contains errors:\n{format_list(problems, 10)}\nExpected a header line 'file,label' "
            "or 'ImageId,PredictionString' (Kaggle's LOC_val_solution.csv), or one wnid per line. Alternatively, pass "
            "the devkit."
        )
    return wnid_of
