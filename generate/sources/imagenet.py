"""The source ``imagenet:PATH``: the validation images of ILSVRC2012 in the forms that people have them.

* ``ILSVRC2012_img_val.tar``, read in place, with the devkit or a file of labels;
* the folder of JPEGs from it, flat, likewise;
* a folder, or a tar, of wnid folders.

Every form gives the same samples: the id is the file's stem, the class is the wnid, labels number the sorted wnids.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ...errors import SourceError, first_few, listed
from ...manifests.records.models import ClassRecord
from .devkit import NAMES, VAL, WNID, Truth, find_devkit, read_truth
from .image_files import Images, ImageSource, describe
from .listing import Listing
from .naming import shown
from .tarred import image_tar

ARCHIVE = "ILSVRC2012_img_val.tar"
WHERE = f"the devkit ({NAMES[0]}, which lies beside the images on image-net.org)"


def open(rest: str, *, labels: Path | None = None) -> ImageSource:
    """Open the validation images; none of them is read.

    Parameters
    ----------
    rest : str
        The tar, or a folder: of JPEGs, of wnid folders, or one that holds such a folder ``val`` or the tar.
    labels : path, optional
        The devkit (tar.gz or folder) or a file of labels; without it a devkit beside the images is taken.

    Raises
    ------
    SourceError
        The path is not there or is something else, there are no labels, or images and labels do not agree.
    """
    if not rest:
        raise SourceError(f"The source imagenet needs a path: imagenet:PATH, of {ARCHIVE}, of the folder of JPEGs, or of wnid folders.")
    given = Path(rest).expanduser().resolve()
    if not given.exists():
        raise SourceError(
            f"The source imagenet:{rest}: {given} is not there. Expected {ARCHIVE}, a folder of JPEGs, or one of wnid folders."
        )
    labels = labels.expanduser().resolve() if labels is not None else None
    images = _images(given, labels)
    listing, path = images.listing, images.path
    flat = [image for image in listing.images if "/" not in image]
    if not listing.images:
        raise SourceError(f"The source imagenet:{rest}: {path} holds no image.{describe(listing.notes)}")
    if flat and len(flat) < len(listing.images):
        raise SourceError(
            f"The source imagenet:{rest}: {path} holds {len(flat)} images of its own beside {len(listing.images) - len(flat)} "
            "in folders. Expected all flat, or all in wnid folders."
        )
    kit = labels or (find_devkit(path, path.parent) if flat else None)
    if flat and kit is None:
        raise SourceError(
            f"The source imagenet:{rest}: {path} holds {len(flat)} images without class folders, so their "
            f"labels must come from elsewhere. Put {WHERE} beside it, or give the devkit or a file of labels with --labels."
        )
    truth = read_truth(kit) if kit is not None else None
    wnid_of = _label_flat(flat, truth, path) if flat and truth is not None else _label_folders(rest, listing, truth)
    wnids = sorted({*listing.folders, *(truth.wnids if truth is not None else ())})
    classes = tuple(ClassRecord(index=i, name=wnid, folder=wnid) for i, wnid in enumerate(wnids))
    label_of = {wnid: i for i, wnid in enumerate(wnids)}
    numbered = {image: label_of[wnid] for image, wnid in wnid_of.items()}
    source = images.source("imagenet", numbered, _stem, classes, listing.notes)
    source.listed = given
    return source


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _images(path: Path, labels: Path | None) -> Images:
    """List the images without the archives and devkits that lie beside them."""
    if path.is_dir() and not any(path.glob("*.JPEG")):
        path = next((inside for inside in (path / ARCHIVE, path / "val") if inside.exists()), path)
    if path.is_dir():

        def beside(name: str) -> bool:
            top = name.partition("/")[0].lower()
            return "devkit" in top or top.endswith((".tar", ".tar.gz", ".tgz")) or path / name == labels

        return Images.of_folder(path, beside)
    tar = image_tar(path)
    names = [name for name in tar.files if name.lower().endswith((".jpeg", ".jpg"))]
    tops = {name.partition("/")[0] for name in names}
    # `tar cf x.tar val` puts a folder in front that is no class.
    one_folder = len(tops) == 1 and all("/" in name for name in names) and not any(map(WNID.fullmatch, tops))
    return Images.of_tar(path, tar, f"{tops.pop()}/" if one_folder else "")


def _label_flat(images: Iterable[str], truth: Truth, path: Path) -> dict[str, str]:
    """Return path -> wnid of flat images."""
    stems = {image: _stem(image) for image in images}
    odd = [shown(image) for image, stem in stems.items() if not VAL.match(stem)]
    if odd:
        raise SourceError(
            f"{path} holds {len(odd)} images whose names are not those of ILSVRC2012's validation images "
            f"(ILSVRC2012_val_00000001.JPEG):\n{listed(odd, 5)}\nIs it another year's, or another part?"
        )
    lacking = [image for image, stem in stems.items() if stem not in truth.wnid_of]
    if lacking or (truth.complete and len(stems) != len(truth.wnid_of)):
        extra = f" {len(lacking)} images have no line in it, {lacking[0]} the first." if lacking else ""
        raise SourceError(
            f"{path} holds {len(stems)} images, and {truth.path} says the classes of {len(truth.wnid_of)}.{extra} "
            "Both must be of the whole validation set: download what is cut, or give labels for just these images with --labels CSV."
        )
    return {image: truth.wnid_of[stem] for image, stem in stems.items()}


def _label_folders(rest: str, listing: Listing, truth: Truth | None) -> dict[str, str]:
    """Return path -> wnid of images in wnid folders; empty folders become notes of the listing."""
    odd = [shown(folder) for folder in listing.folders if not WNID.fullmatch(folder)]
    if odd:
        raise SourceError(
            f"The source imagenet:{rest} has {len(odd)} folders that are not called by a wnid such as n01440764: {first_few(odd)}. "
            f"Another image folder, or a tar of one, is folder:{rest}."
        )
    listing.notes += listing.empty_folders("put its images in, or remove it")
    wnid_of = {path: path.partition("/")[0] for path in listing.images}
    expected = wnid_of if truth is None else {path: truth.wnid_of.get(_stem(path), "not named") for path in wnid_of}
    wrong = [f"{path}: {expected[path]}" for path, wnid in wnid_of.items() if expected[path] != wnid]
    if truth is not None and wrong:
        raise SourceError(f"{len(wrong)} images lie in other folders than {truth.path} says:\n{listed(wrong, 10)}\nSort them again.")
    return wnid_of
