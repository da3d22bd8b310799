"""The source ``imagenet:PATH``: the validation images of ILSVRC2012 in the forms that people have them.

* ``ILSVRC2012_img_val.tar``, read in place, with the devkit or a file of labels;
* the folder of JPEGs from it, flat, likewise;
* a folder, or a tar, of wnid folders.

Every form gives the same samples: the id is the file's stem, the class is the wnid, labels number the sorted wnids.
"""

from __future__ import annotations

from pathlib import Path

from ...errors import SourceError, listed
from ...manifests.records.models import ClassRecord
from .devkit import NAMES, WNID, Truth, find_devkit, read_truth
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
    if not listing.images:
        raise listing.refuse("holds no image")
    flat = any("/" not in image for image in listing.images)
    kit = kit or (find_devkit(path, path.parent) if flat else None)
    if flat and kit is None:
        raise SourceError(
            f"The source imagenet: {path} holds images without class folders, so their labels must come from elsewhere. Put the devkit "
            f"({NAMES[0]}, which lies beside the images on image-net.org) beside it, or give it or a file of labels with --labels."
        )
    truth = read_truth(kit) if kit is not None else None
    wnid_of = _classes_of(listing, truth)
    if truth is not None and truth.complete and flat and len(wnid_of) != len(truth.wnid_of):
        raise SourceError(
            f"{path} holds {len(wnid_of)} images, and {truth.path} says the classes of {len(truth.wnid_of)}. Both must be of the whole "
            "validation set: download what is cut, or give labels for just these images with --labels CSV."
        )
    wnids = sorted({*listing.folders, *(truth.wnids if truth is not None else ())})
    label_of = {wnid: i for i, wnid in enumerate(wnids)}
    listing.note_empty_folders()
    labelled = {image: label_of[wnid] for image, wnid in wnid_of.items()}
    source = listing.source("imagenet", labelled, _stem, [ClassRecord(index=i, name=n, folder=n) for i, n in enumerate(wnids)])
    source.root = source.root and given
    return source


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _classes_of(listing: Listing, truth: Truth | None) -> dict[str, str]:
    """Return path -> wnid of images: what devkit or labels say, or else the folder; refuse images where both say another."""
    problems = [f"{shown(f)}/: is not called by a wnid such as n01440764" for f in listing.folders if not WNID.fullmatch(f)]
    wnid_of: dict[str, str] = {}
    for image in [] if problems else listing.images:
        folder, slash, _ = image.partition("/")
        wnid_of[image] = wnid = truth.wnid_of.get(_stem(image), "") if truth is not None else folder
        if truth is not None and (not wnid or (slash and folder != wnid)):
            problems.append(f"{shown(image)}: {truth.path} {f'says {wnid}' if wnid else 'has no line for it'}")
    if problems:
        raise SourceError(
            f"The source imagenet: {listing.path} holds {len(listing.images)} images, and these cannot be ILSVRC2012's validation images "
            f"(ILSVRC2012_val_00000001.JPEG) with their classes:\n{listed(problems, 10)}\nAre they another year's, or cut? Any other image "
            f"folder, or a tar of one, is folder:{listing.path}."
        )
    return wnid_of
