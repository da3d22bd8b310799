"""The images of a folder or a tar, by their names.

What is an image, what is ignored and what cannot be used is decided here for every source of files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ...errors import SourceError, listed
from ...files import open_regular, reason
from .decoding import CONVERT, MAX_FILE_BYTES, TOO_LARGE, UNREAD_SUFFIXES, BadSample
from .labels import (
    Groups,
    find_equal,
    folder_classes,
    name_problem,
    numbered_classes,
    shown,
)
from .source import MemberPlace, Note, Sample, Source, stored_path
from .tarred import list_tar, read_place

KEPT_SUFFIXES = ("jpg", "jpeg", "jpe", "jfif", "png")
"""Those that images can keep in a data set, which stores JPEG and PNG."""
IMAGE_SUFFIXES = (
    *KEPT_SUFFIXES,
    *("apng", "bmp", "dib", "gif", "tif", "tiff", "webp", "ppm", "pgm", "pbm", "pnm"),
)
"""Files that are samples by their names; what they hold is decided by their bytes."""
DOCUMENT_SUFFIXES = (
    *("txt", "md", "rst", "pdf", "bib", "cff", "csv", "tsv", "json", "jsonl"),
    *("xml", "html", "htm", "yaml", "yml", "toml", "md5", "sha256"),
)
DOCUMENT_NAMES = (
    *("readme", "license", "licence", "copying", "notice", "citation", "authors", "changelog"),
    *("md5sums", "sha256sums"),
)
"""Notes that lie beside images; ignored."""
SYSTEM_NAMES = ("thumbs.db", "ehthumbs.db", "desktop.ini", "__macosx", "$recycle.bin", "@eadir", "lost+found")
"""What operating systems leave in folders; ignored, as are names that begin with a dot."""
NO_IMAGE = f"has no suffix of an image ({', '.join(IMAGE_SUFFIXES)}): name it as what it is, or move it away"
EMPTY = "is a class folder without an image: put its images in, or remove it (torchvision's ImageFolder refuses it too)"
SAME = "has the same id as {} (without suffix, and on disks that ignore case or Unicode forms): rename all but one"
LINK = "is a link to a folder, to what lies outside the source or leads nowhere: put the file itself there"
NO_FILE = "is a pipe, a device or a socket, or may not be read: remove it, or mend its permissions"


@dataclass
class ImageListing:
    """Files of a folder or a tar, as POSIX paths relative to it."""

    path: Path
    """The folder, or the tar."""
    folders: list[str] = field(default_factory=list)
    """The first-level folders."""
    images: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    """All of them: images, documents, and what is noted for its name."""
    places: dict[str, MemberPlace] = field(default_factory=dict)
    """Path -> where its bytes lie in the tar."""
    groups: Groups | None = None

    def add(self, path: str) -> None:
        """Add a file by its name: to images or notes, or, documents, to neither."""
        self.files.append(path)
        name = path.rpartition("/")[2].lower()
        stem, _, suffix = name.rpartition(".")
        if stem and suffix in IMAGE_SUFFIXES:
            self.images.append(path)
        elif stem and suffix in UNREAD_SUFFIXES:
            self.notes.append((path, CONVERT.format(UNREAD_SUFFIXES[suffix])))
        elif not (stem and suffix in DOCUMENT_SUFFIXES) and name.split(".")[0] not in DOCUMENT_NAMES:
            self.notes.append((path, NO_IMAGE))

    def note_empty_folders(self) -> None:
        """Note class folders without an image, unless they have a note of their own."""
        filled = {path.partition("/")[0] for path in (*self.images, *(noted for noted, _ in self.notes)) if "/" in path}
        self.notes += [(f"{folder}/", EMPTY) for folder in self.folders if folder not in filled]

    def refuse(self, why: str) -> SourceError:
        """Return the error that says why there are no samples, and what was found wrong."""
        lines = listed([f"{shown(path)}: {problem}" for path, problem in sorted(self.notes)])
        return SourceError(f"{self.path} {why}." + (f" What was found:\n{lines}" if lines else ""))

    def source(
        self,
        scheme: str,
        labels: Mapping[str, str | int | None],
        identify: Callable[[str], str],
        names: Iterable[str] = (),
    ) -> Source:
        """Return a source of the images that have fit names and groups, by id.

        Parameters
        ----------
        scheme : str
        labels : mapping of path to label
            Names of classes, which are numbered in their sorted order; or numbers; or None, no label.
        identify : callable
            From a path to the sample's id.
        names : iterable of str
            Classes that there are, whether an image has them or not.

        Raises
        ------
        SourceError
            No image is left.
        """
        numbers = [label for label in labels.values() if isinstance(label, int)]
        named = {*names, *(label for label in labels.values() if isinstance(label, str))}
        classes = numbered_classes(max(numbers)) if numbers else folder_classes(sorted(named))
        class_of = {c.name: c for c in classes}
        group_of = {} if self.groups is None else self.groups.of
        unfit, ids, places = {}, {}, {}
        for path, label in labels.items():
            if (problem := name_problem(path)) is not None:
                unfit[path] = problem
            elif self.groups is not None and path not in group_of:
                unfit[path] = self.groups.missing
            else:
                ids[path] = identify(path)
                places[path] = stored_path(ids[path], "" if label is None else class_of[str(label)].folder)
        unfit |= find_equal(places, SAME) | find_equal(ids, SAME)
        self.notes += unfit.items()
        kept = sorted((identity, path) for path, identity in ids.items() if path not in unfit)
        if not kept:
            raise self.refuse("holds no image that can be used")
        samples = []
        for index, (identity, path) in enumerate(kept):
            label = None if labels[path] is None else class_of[str(labels[path])].index
            samples.append(Sample(index, identity, label, path, group=group_of.get(path), place=self.places.get(path)))
        return Source(
            scheme,
            tuple(samples),
            classes,
            partial(read_image, self.path),
            tuple(sorted((shown(path), problem) for path, problem in self.notes)),
            root=None if self.places else self.path,
            grouping=self.groups and self.groups.kind,
        )


def ignored(name: str) -> bool:
    """Whether a file of this name is hidden, or left by an operating system.

    Examples
    --------
    >>> [ignored(name) for name in (".DS_Store", "._cat.jpg", "Thumbs.db", "cat.jpg")]
    [True, True, True, False]
    """
    return name.startswith(".") or name.lower() in SYSTEM_NAMES


def kept_suffix(path: str) -> bool:
    """Whether an image of this name can keep it in a data set."""
    return path.lower().rpartition(".")[2] in KEPT_SUFFIXES


def list_images(
    path: Path, skip: Callable[[str], bool] = lambda path: False, around: Callable[[str], bool] = lambda path: False
) -> ImageListing:
    """List the images of a folder or a plain tar; none is read.

    Parameters
    ----------
    path : Path
        Resolved: it has no link in it.
    skip : callable, optional
        Whether a path that may lie in the folder is no part of it (labels, a devkit).
    around : callable, optional
        Whether the first folder of an image's path in a tar can lie around the folders that count: such a folder, if
        all images are in it, is left out of paths. Tars are made from within a folder or from beside it.
    """
    listing = ImageListing(path)
    if path.is_dir():
        _walk(listing, skip)
        return listing
    files, listing.notes = list_tar(path)
    names = sorted(name for name in files if not any(map(ignored, name.split("/"))))
    images = [name for name in names if name.rpartition(".")[2].lower() in IMAGE_SUFFIXES]
    tops = {name.partition("/")[0] for name in images}
    root = f"{tops.pop()}/" if len(tops) == 1 and all(map(around, images)) else ""
    for name in names:
        if name.startswith(root):
            listing.places[name.removeprefix(root)] = files[name]
            listing.add(name.removeprefix(root))
    listing.folders = sorted({name.partition("/")[0] for name in listing.images if "/" in name})
    return listing


def _walk(listing: ImageListing, skip: Callable[[str], bool]) -> None:
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            names = os.listdir(listing.path / folder)
        except OSError as e:
            listing.notes.append((folder or "./", f"cannot be listed ({reason(e)}): mend its permissions"))
            continue
        for name in names:
            path = folder + name
            file = os.path.join(listing.path, path)
            if ignored(name) or skip(path):
                continue
            if os.path.islink(file) and not (
                os.path.isfile(file) and Path(file).resolve().is_relative_to(listing.path)
            ):
                listing.notes.append((path, LINK))
            elif os.path.isfile(file):
                listing.add(path)
            elif os.path.isdir(file):
                waiting.append(f"{path}/")
                listing.folders += [] if folder else [path]
            else:
                listing.notes.append((path, NO_FILE))
    listing.folders.sort()
    listing.images.sort()


def read_image(path: Path, sample: Sample) -> bytes:
    """Return the bytes of an image in a folder or a tar, or raise `BadSample`."""
    try:
        if sample.place is not None:
            return read_place(path, sample.place)
        with open_regular(path / str(sample.path)) as file:  # it may have become a pipe since it was listed
            if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
                raise BadSample(TOO_LARGE)
            return file.read(MAX_FILE_BYTES + 1)
    except SourceError as e:
        raise BadSample(f"cannot be read any more: {e}") from None
    except OSError as e:
        raise BadSample(f"cannot be read ({reason(e)}): mend its permissions, or copy it again") from None
