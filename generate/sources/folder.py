"""The source ``folder:PATH``: an image folder, one folder a class, or any tree of images with a CSV of labels; or a tar of one.

Without labels, the first component of an image's path is its class; classes are numbered in the sorted order of their folders
(code points of the NFC names), as torchvision's ImageFolder does. The list of classes is made before anything is found wrong
with an image, so no label moves when bad images are left out.
"""

from __future__ import annotations

from pathlib import Path

from ...errors import SourceError
from ...manifests.records.models import ClassRecord
from .image_files import FolderSource, ImageList, TarSource, describe, list_samples
from .image_tree import folder_of
from .labels import read_labels
from .listing import Listing, list_folder
from .naming import find_equal, name_problem, sample_id
from .tarred import image_tar, list_images, single_root, tarfile_like


def open(rest: str, *, labels: Path | None = None) -> FolderSource | TarSource:
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
    root = Path(rest).expanduser()
    if root.is_file() and (root.name.lower().endswith((".tar", ".tar.gz", ".tgz")) or tarfile_like(root)):
        tar = image_tar(root.resolve())
        top = single_root(tar) if labels is None else ""
        return TarSource("folder", _listed(rest, list_images(tar, top), labels), tar, top)
    root = folder_of(rest, "folder", "a folder of images, one folder a class", None)
    return FolderSource("folder", _listed(rest, list_folder(root, ignore=labels), labels), root)


def _listed(rest: str, listing: Listing, labels: Path | None) -> ImageList:
    return _by_class(rest, listing) if labels is None else _labelled(rest, listing, labels)


def _by_class(rest: str, listing: Listing) -> ImageList:
    notes = list(listing.notes)
    loose = [path for path in listing.images if "/" not in path]
    if not listing.folders:
        hint = (
            f"its {len(loose)} images lie flat: give their labels with --labels CSV (columns file,label), or sort them into class folders"
            if loose
            else "it holds no image: expected one folder a class, with images in it"
        )
        raise SourceError(f"The source folder:{rest} has no class folders; {hint}.{describe(notes)}")
    notes += [(path, "lies outside the class folders: move it into one, or give labels for all with --labels CSV") for path in loose]
    folder_of = {path: path.partition("/")[0] for path in listing.images if "/" in path}
    filled = set(folder_of.values())
    if not filled:
        raise SourceError(f"The source folder:{rest} holds no image in its {len(listing.folders)} class folders.{describe(notes)}")
    unfit = {folder: problem for folder in listing.folders if (problem := name_problem(folder)) is not None}
    unfit |= find_equal({folder: sample_id(folder, suffix=False) for folder in listing.folders if folder not in unfit})
    notes += [(folder + "/", problem + " (its images are left out)") for folder, problem in unfit.items()]
    named = {folder: sample_id(folder, suffix=False) for folder in listing.folders if folder not in unfit}
    order = sorted(set(named.values()))
    classes = tuple(ClassRecord(index=i, name=name, folder=name) for i, name in enumerate(order))
    notes += listing.empty_folders("put its images in, or remove it (torchvision's ImageFolder refuses one too)")
    number_of = {name: i for i, name in enumerate(order)}
    images = [(path, number_of[named[folder]]) for path, folder in folder_of.items() if folder in named]
    return list_samples(images, sample_id, classes, notes)


def _labelled(rest: str, listing: Listing, csv: Path) -> ImageList:
    label_of, classes = read_labels(csv, listing.images)
    reason = f"has no row in {csv.name}: add one, or leave the image out"
    notes = [*listing.notes, *((path, reason) for path in listing.images if path not in label_of)]
    images = [(path, label_of[path]) for path in listing.images if path in label_of]
    if not images:
        raise SourceError(f"The source folder:{rest} holds no image with a label.{describe(notes)}")
    return list_samples(images, sample_id, classes, notes)
