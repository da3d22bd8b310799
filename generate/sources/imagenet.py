"""The source ``imagenet:PATH``: the validation images of ILSVRC2012 in the forms that people have them.

* ``ILSVRC2012_img_val.tar``, read in place, with the devkit or a file of labels;
* the folder of JPEGs from it, flat, likewise;
* a folder, or a tar, of wnid folders.

Every form gives the same samples: the id is the file's stem, the class is the wnid, labels number the sorted wnids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import SourceError, listed
from ...manifests.records.models import ClassRecord
from .devkit import NAMES, VAL, WNID, Truth, find_devkit, read_truth
from .image_files import FolderSource, TarSource, describe, list_samples
from .listing import Listing, list_folder
from .naming import shown
from .tarred import Tar, image_tar, list_images

ARCHIVE = "ILSVRC2012_img_val.tar"
WHERE = f"the devkit ({NAMES[0]}, which lies beside the images on image-net.org)"


@dataclass(frozen=True)
class _ImageSet:
    """The images of a path, and which tar or folder they lie in."""

    path: Path
    listing: Listing
    tar: Tar | None = None
    root: str = ""
    """The folder in the tar that the images are listed from."""
    listed: Path | None = None
    """The folder that was given and listed, where it is one."""


def open(rest: str, *, labels: Path | None = None) -> FolderSource | TarSource:
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
    image_set = _find(rest, labels)
    listing = image_set.listing
    flat = [path for path in listing.images if "/" not in path]
    if not listing.images:
        raise SourceError(f"The source imagenet:{rest}: {image_set.path} holds no image.{describe(listing.notes)}")
    if flat and len(flat) < len(listing.images):
        raise SourceError(
            f"The source imagenet:{rest}: {image_set.path} holds {len(flat)} images of its own beside {len(listing.images) - len(flat)} "
            "in folders. Expected all flat, or all in wnid folders."
        )
    if flat:
        truth = _find_truth(rest, image_set, labels)
        wnid_of, wnids = _label_flat(listing.images, truth, image_set.path), truth.wnids
    else:
        given = read_truth(labels.expanduser()) if labels is not None else None
        wnid_of, wnids = _label_folders(rest, listing, given)
    classes = tuple(ClassRecord(index=i, name=wnid, folder=wnid) for i, wnid in enumerate(wnids))
    label_of = {wnid: i for i, wnid in enumerate(wnids)}
    images = list_samples([(path, label_of[wnid]) for path, wnid in wnid_of.items()], _stem, classes, listing.notes)
    if image_set.tar is not None:
        return TarSource("imagenet", images, image_set.tar, image_set.root)
    return FolderSource("imagenet", images, image_set.path, image_set.listed)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _find(rest: str, labels: Path | None) -> _ImageSet:
    if not rest:
        raise SourceError(f"The source imagenet needs a path: imagenet:PATH, of {ARCHIVE}, of the folder of JPEGs, or of wnid folders.")
    path = Path(rest).expanduser()
    if not path.exists():
        raise SourceError(
            f"The source imagenet:{rest}: {path} is not there. Expected {ARCHIVE}, a folder of JPEGs, or one of wnid folders."
        )
    path = path.resolve()
    if path.is_dir() and (path / ARCHIVE).is_file() and not any(path.glob("*.JPEG")):
        path = path / ARCHIVE
    if path.is_dir():
        return _list_folder(path, labels)
    tar = image_tar(path)
    images = [name for name in tar.files if name.lower().endswith((".jpeg", ".jpg"))]
    tops = {name.partition("/")[0] for name in images}
    # `tar cf x.tar val` puts a folder in front that is no class.
    one_folder = len(tops) == 1 and all("/" in name for name in images) and not any(map(WNID.fullmatch, tops))
    root = f"{tops.pop()}/" if one_folder else ""
    return _ImageSet(path, list_images(tar, root), tar, root)


def _list_folder(path: Path, labels: Path | None) -> _ImageSet:
    given, listing = path, _without_devkit(list_folder(path, ignore=labels))
    if listing.folders == ["val"] and all("/" in image for image in listing.images):
        path = path / "val"
        listing = _without_devkit(list_folder(path, ignore=labels))
    return _ImageSet(path, listing, listed=given)


def _without_devkit(listing: Listing) -> Listing:
    """Return a listing without the archives and devkits that lie beside the images."""

    def wanted(path: str) -> bool:
        top = path.partition("/")[0].lower()
        return "devkit" not in top and ("/" in path or not top.endswith((".tar", ".tar.gz", ".tgz")))

    return Listing(
        [folder for folder in listing.folders if wanted(folder)],
        [image for image in listing.images if wanted(image)],
        [(path, reason) for path, reason in listing.notes if wanted(path)],
    )


def _find_truth(rest: str, image_set: _ImageSet, labels: Path | None) -> Truth:
    if labels is not None:
        return read_truth(labels.expanduser().resolve())
    folder = image_set.path if image_set.tar is None else image_set.path.parent
    devkit = find_devkit(folder, folder.parent) if image_set.tar is None else find_devkit(folder)
    if devkit is None:
        raise SourceError(
            f"The source imagenet:{rest}: {image_set.path} holds {len(image_set.listing.images)} images without class folders, so their "
            f"labels must come from elsewhere. Put {WHERE} beside it, or give the devkit or a file of labels with --labels."
        )
    return read_truth(devkit)


def _label_flat(images: Sequence[str], truth: Truth, path: Path) -> dict[str, str]:
    """Return path -> wnid of flat images."""
    odd = [image for image in images if not VAL.match(_stem(image))]
    if odd:
        raise SourceError(
            f"{path} holds {len(odd)} images whose names are not those of ILSVRC2012's validation images "
            f"(ILSVRC2012_val_00000001.JPEG):\n{listed([shown(image) for image in odd], 5)}\nIs it another year's, or another part?"
        )
    lacking = [image for image in images if _stem(image) not in truth.wnid_of]
    if lacking or (truth.complete and len(images) != len(truth.wnid_of)):
        extra = f" {len(lacking)} images have no line in it, {lacking[0]} the first." if lacking else ""
        raise SourceError(
            f"{path} holds {len(images)} images, and {truth.path} says the classes of {len(truth.wnid_of)}.{extra} "
            "Both must be of the whole validation set: download what is cut, or give labels for just these images with --labels CSV."
        )
    return {image: truth.wnid_of[_stem(image)] for image in images}


def _label_folders(rest: str, listing: Listing, truth: Truth | None) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return path -> wnid of images in wnid folders, and the wnids; empty folders become notes of the listing."""
    odd = [folder for folder in listing.folders if not WNID.fullmatch(folder)]
    if odd:
        raise SourceError(
            f"The source imagenet:{rest} has {len(odd)} folders that are not called by a wnid such as n01440764: "
            f"{', '.join(map(shown, odd[:5]))}. "
            f"Another image folder, or a tar of one, is folder:{rest}."
        )
    listing.notes += listing.empty_folders("put its images in, or remove it")
    wnid_of = {path: path.partition("/")[0] for path in listing.images}
    if truth is None:
        return wnid_of, tuple(sorted(listing.folders))
    expected = {path: truth.wnid_of.get(_stem(path), "not named") for path in listing.images}
    wrong = [f"{path}: {expected[path]}" for path, wnid in wnid_of.items() if expected[path] != wnid]
    if wrong:
        raise SourceError(f"{len(wrong)} images lie in other folders than {truth.path} says:\n{listed(wrong, 10)}\nSort them again.")
    return wnid_of, tuple(sorted({*truth.wnids, *listing.folders}))
