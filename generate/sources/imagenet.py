"""The source ``imagenet:PATH``: the validation images of ILSVRC2012 in the forms that people have them.

* ``ILSVRC2012_img_val.tar``, read in place, with the devkit or a file of labels;
* the folder of JPEGs from it, flat, likewise;
* a folder, or a tar, of wnid folders.

Every form gives the same samples: the id is the file's stem, the class is the wnid, labels number the sorted wnids.
"""

from __future__ import annotations

from pathlib import Path

from ...errors import SourceError, first_few, listed
from ...manifests.records.models import ClassRecord
from .devkit import NAMES, VAL, WNID, Truth, find_devkit, read_truth
from .listing import Listing, list_images
from .naming import shown
from .source import Source

ARCHIVE = "ILSVRC2012_img_val.tar"


def open(path: Path, *, labels: str | None = None) -> Source:
    """Open the validation images; none of them is read.

    Parameters
    ----------
    path : Path
        The tar, or a folder: of JPEGs, of wnid folders, or one that holds such a folder ``val`` or the tar.
    labels : path, optional
        The devkit (tar.gz or folder) or a file of labels; without it a devkit beside the images is taken.

    Raises
    ------
    SourceError
        The path is something else, there are no labels, or images and labels do not agree.
    """
    kit, given = Path(labels).expanduser().resolve() if labels is not None else None, path
    if path.is_dir() and not any(path.glob("*.JPEG")):
        path = next((inside for inside in (path / ARCHIVE, path / "val") if inside.exists()), path)

    def beside(name: str) -> bool:
        top = name.partition("/")[0].lower()
        return "devkit" in top or top.endswith((".tar", ".tar.gz", ".tgz")) or path / name == kit

    # `tar cf x.tar val` puts a folder in front that is no class
    listing = list_images(path, beside, lambda image: "/" in image and not WNID.fullmatch(image.partition("/")[0]))
    flat = [image for image in listing.images if "/" not in image]
    if not listing.images:
        raise listing.refuse("holds no image")
    if flat and len(flat) < len(listing.images):
        raise SourceError(
            f"The source imagenet: {path} holds {len(flat)} images of its own beside {len(listing.images) - len(flat)} "
            "in folders. Expected all flat, or all in wnid folders."
        )
    kit = kit or (find_devkit(path, path.parent) if flat else None)
    if flat and kit is None:
        raise SourceError(
            f"The source imagenet: {path} holds {len(flat)} images without class folders, so their labels must come from elsewhere. Put "
            f"the devkit ({NAMES[0]}, which lies beside the images on image-net.org) beside it, or give the devkit or a file of labels "
            "with --labels."
        )
    truth = read_truth(kit) if kit is not None else None
    wnid_of = _of_devkit(flat, truth, path) if flat and truth is not None else _of_folders(listing, truth)
    wnids = sorted({*listing.folders, *(truth.wnids if truth is not None else ())})
    label_of = {wnid: i for i, wnid in enumerate(wnids)}
    source = listing.source(
        "imagenet",
        {image: label_of[wnid] for image, wnid in wnid_of.items()},
        _stem,
        [ClassRecord(index=i, name=wnid, folder=wnid) for i, wnid in enumerate(wnids)],
    )
    source.root = source.root and given
    return source


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _of_devkit(images: list[str], truth: Truth, path: Path) -> dict[str, str]:
    """Return path -> wnid of flat images."""
    if odd := [shown(image) for image in images if not VAL.fullmatch(_stem(image))]:
        raise SourceError(
            f"{path} holds {len(odd)} images whose names are not those of ILSVRC2012's validation images "
            f"(ILSVRC2012_val_00000001.JPEG):\n{listed(odd, 5)}\nIs it another year's, or another part?"
        )
    lacking = [image for image in images if _stem(image) not in truth.wnid_of]
    if lacking or (truth.complete and len(images) != len(truth.wnid_of)):
        extra = f" {len(lacking)} images have no line in it, {lacking[0]} the first." if lacking else ""
        raise SourceError(
            f"{path} holds {len(images)} images, and {truth.path} says the classes of {len(truth.wnid_of)}.{extra} "
            "Both must be of the whole validation set: download what is cut, or give labels for just these images with --labels CSV."
        )
    return {image: truth.wnid_of[_stem(image)] for image in images}


def _of_folders(listing: Listing, truth: Truth | None) -> dict[str, str]:
    """Return path -> wnid of images in wnid folders; empty folders become notes of the listing."""
    if odd := [shown(folder) for folder in listing.folders if not WNID.fullmatch(folder)]:
        raise SourceError(
            f"The source imagenet: {listing.path} has {len(odd)} folders that are not called by a wnid such as n01440764: "
            f"{first_few(odd)}. Another image folder, or a tar of one, is folder:{listing.path}."
        )
    listing.note_empty_folders()
    wnid_of = {path: path.partition("/")[0] for path in listing.images}
    if truth is not None:
        expected = {path: truth.wnid_of.get(_stem(path), "not named") for path in wnid_of}
        if wrong := [f"{path}: {expected[path]}" for path, wnid in wnid_of.items() if expected[path] != wnid]:
            raise SourceError(f"{len(wrong)} images lie in other folders than {truth.path} says:\n{listed(wrong, 10)}\nSort them again.")
    return wnid_of
