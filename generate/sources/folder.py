"""The source ``folder:PATH``: an image folder, one folder a class, or any tree of images with a CSV of labels; or a tar of one.

Without labels, the first component of an image's path is its class; classes are numbered in the sorted order of their folders
(code points of the NFC names), as torchvision's ImageFolder does. The list of classes is made before anything is found wrong
with an image, so no label moves when bad images are left out.
"""

from __future__ import annotations

from pathlib import Path

from ...errors import SourceError
from ...manifests.records.models import ClassRecord
from .image_files import Images, ImageSource, describe
from .image_tree import folder_of
from .labels import read_labels
from .listing import IMAGE_SUFFIXES, ignored
from .naming import find_equal, name_problem, sample_id
from .tarred import Tar, image_tar, tarfile_like


def open(rest: str, *, labels: Path | None = None) -> ImageSource:
    """List an image folder, or a tar of one; no image is read.

    Parameters
    ----------
    rest : str
        The folder, or a tar that is not compressed.
    labels : path, optional
        A CSV with the columns ``file,label``: the tree is then read flat, and its folders mean nothing.

    Raises
    ------
    SourceError
        The folder is not there, holds no images or no class folders, or the CSV has mistakes (all of them listed).
    """
    path = Path(rest).expanduser()
    if path.is_file() and (path.name.lower().endswith((".tar", ".tar.gz", ".tgz")) or tarfile_like(path)):
        tar = image_tar(path.resolve())
        images = Images.of_tar(path.resolve(), tar, _single_root(tar) if labels is None else "")
    else:
        path = folder_of(rest, "folder", "a folder of images, one folder a class")
        images = Images.of_folder(path, lambda name: labels is not None and path / name == labels.resolve())
    return _by_class(rest, images) if labels is None else _labelled(rest, images, labels)


def _single_root(tar: Tar) -> str:
    """Return ``<folder>/`` if everything in a tar lies at least two folders deep in one folder, else an empty string.

    Tars of a folder of class folders are made from within it or from beside it; both name the same classes.
    """
    tops = {top for name in tar.files if not ignored(top := name.partition("/")[0])}
    images = [name for name in tar.files if name.rpartition(".")[2].lower() in IMAGE_SUFFIXES]
    deep = images and all(name.count("/") >= 2 for name in images)
    return f"{tops.pop()}/" if len(tops) == 1 and deep else ""


def _by_class(rest: str, images: Images) -> ImageSource:
    listing, notes = images.listing, list(images.listing.notes)
    folder_of = {path: path.partition("/")[0] for path in listing.images if "/" in path}
    loose = [path for path in listing.images if path not in folder_of]
    if not listing.folders:
        hint = (
            f"its {len(loose)} images lie flat: give their labels with --labels CSV (columns file,label), or sort them into class folders"
            if loose
            else "it holds no image: expected one folder a class, with images in it"
        )
        raise SourceError(f"The source folder:{rest} has no class folders; {hint}.{describe(notes)}")
    if not folder_of:
        raise SourceError(f"The source folder:{rest} holds no image in its {len(listing.folders)} class folders.{describe(notes)}")
    notes += [(path, "lies outside the class folders: move it into one, or give labels for all with --labels CSV") for path in loose]
    unfit = {folder: problem for folder in listing.folders if (problem := name_problem(folder)) is not None}
    unfit |= find_equal({folder: sample_id(folder, suffix=False) for folder in listing.folders if folder not in unfit})
    notes += [(f"{folder}/", f"{problem} (its images are left out)") for folder, problem in unfit.items()]
    named = {folder: sample_id(folder, suffix=False) for folder in listing.folders if folder not in unfit}
    number_of = {name: i for i, name in enumerate(sorted(named.values()))}
    classes = tuple(ClassRecord(index=i, name=name, folder=name) for name, i in number_of.items())
    notes += listing.empty_folders("put its images in, or remove it (torchvision's ImageFolder refuses one too)")
    labels = {path: number_of[named[folder]] for path, folder in folder_of.items() if folder in named}
    return images.source("folder", labels, sample_id, classes, notes)


def _labelled(rest: str, images: Images, csv: Path) -> ImageSource:
    label_of, classes = read_labels(csv, images.listing.images)
    reason = f"has no row in {csv.name}: add one, or leave the image out"
    notes = [*images.listing.notes, *((path, reason) for path in images.listing.images if path not in label_of)]
    if not label_of:
        raise SourceError(f"The source folder:{rest} holds no image with a label.{describe(notes)}")
    return images.source("folder", label_of, sample_id, classes, notes)
