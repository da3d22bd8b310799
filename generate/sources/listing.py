"""Image files of a folder or tar: samples, ignored files, and unusable ones."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from pathlib import Path

from ...errors import SourceError, listed
from ...files import open_regular, reason
from ...manifests.records.models import ClassRecord
from .decoding import MAX_FILE_BYTES, BadSample
from .naming import find_clashes, name_problem, shown
from .source import Note, Place, Sample, Source
from .tarred import list_tar, read_place

IMAGE_SUFFIXES = (
    "jpg",
    "jpeg",
    "jpe",
    "jfif",
    "png",
    "apng",
    "bmp",
    "dib",
    "gif",
    "tif",
    "tiff",
    "webp",
    "ppm",
    "pgm",
    "pbm",
    "pnm",
)
"""Files that are samples by their names; what they hold is decided by their bytes."""
KEPT_SUFFIXES = ("jpg", "jpeg", "jpe", "jfif", "png")
"""Those that images can keep in a data set, which stores JPEG and PNG."""
DOCUMENT_SUFFIXES = (
    *("txt", "md", "rst", "pdf", "bib", "cff", "csv", "tsv", "json", "jsonl"),
    *("xml", "html", "htm", "yaml", "yml", "toml", "md5", "sha256"),
)
DOCUMENT_NAMES = (
    "readme",
    "license",
    "licence",
    "copying",
    "notice",
    "citation",
    "authors",
    "changelog",
    "md5sums",
    "sha256sums",
)
"""Notes that lie beside images; ignored."""
SYSTEM_NAMES = ("thumbs.db", "ehthumbs.db", "desktop.ini", "__macosx", "$recycle.bin", "@eadir", "lost+found")
"""What operating systems leave in folders; ignored, as are names that begin with a dot."""


@dataclass
class Listing:
    """Files of a folder or a tar, as POSIX paths relative to it."""

    path: Path
    """The folder, or the tar."""
    folders: list[str] = field(default_factory=list)
    """The first-level folders."""
    images: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    """All of them: images, documents, and what is noted for its name."""
    places: dict[str, Place] = field(default_factory=dict)
    """Path -> where its bytes lie in the tar."""

    def add(self, path: str) -> None:
        """Add a file by its name: to images or notes, or, documents, to neither."""
        self.files.append(path)
        name = path.rpartition("/")[2].lower()
        stem, _, suffix = name.rpartition(".")
        kind = suffix if stem else ""
        if kind in IMAGE_SUFFIXES:
            self.images.append(path)
        elif kind not in DOCUMENT_SUFFIXES and name.split(".")[0] not in DOCUMENT_NAMES:
            self.notes.append(
                (
                    path,
                    f"has no suffix of an image ({', '.join(IMAGE_SUFFIXES)}): name it as what it is, or move it away",
                )
            )

    def note_empty_folders(self) -> None:
        """Note class folders without an image, unless they have a note of their own."""
        filled = {path.partition("/")[0] for path in (*self.images, *(noted for noted, _ in self.notes)) if "/" in path}
        why = (
            "is a class folder without an image: put its images in, or remove it (torchvision's ImageFolder refuses "
            "one too)"
        )
        self.notes += [(f"{folder}/", why) for folder in self.folders if folder not in filled]

    def refuse(self, why: str) -> SourceError:
        """Return the error that says why there are no samples, and what was found wrong."""
        lines = listed([f"{shown(path)}: {problem}" for path, problem in sorted(self.notes)])
        return SourceError(f"{self.path} {why}." + (f" What was found:\n{lines}" if lines else ""))

    def source(
        self,
        scheme: str,
        labels: Mapping[str, int | None],
        identify: Callable[[str], str],
        classes: Iterable[ClassRecord] = (),
    ) -> Source:
        """Return a source of the images, by id, without those with unfit names.

        Parameters
        ----------
        scheme : str
        labels : mapping of path to label; None is no label
        identify : callable
            From a path to the sample's id.
        classes : iterable of ClassRecord

        Raises
        ------
        SourceError
            No image is left.
        """
        classes = tuple(classes)
        unfit = {path: problem for path in labels if (problem := name_problem(path)) is not None}
        folder_of: dict[int | None, str] = {None: "", **{c.index: c.folder for c in classes}}
        named = [(identify(path), folder_of[label], path) for path, label in labels.items() if path not in unfit]
        unfit |= find_clashes(named)
        self.notes += unfit.items()
        kept = sorted((entry for entry in named if entry[2] not in unfit), key=itemgetter(0))
        if not kept:
            raise self.refuse("holds no image that can be used")
        samples = tuple(
            Sample(index, identity, labels[path], path, place=self.places.get(path))
            for index, (identity, _, path) in enumerate(kept)
        )
        notes = tuple(sorted((shown(path), problem) for path, problem in self.notes))
        return Source(
            scheme, samples, classes, partial(read_image, self.path), notes, None if self.places else self.path
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
) -> Listing:
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
    listing = Listing(path)
    if path.is_dir():
        _list_folder(listing, skip)
        return listing
    tar = list_tar(path)
    images = [name for name in tar.files if name.rpartition(".")[2].lower() in IMAGE_SUFFIXES and not _hidden(name)]
    tops = {name.partition("/")[0] for name in images}
    root = f"{tops.pop()}/" if len(tops) == 1 and all(map(around, images)) else ""
    listing.notes += tar.notes
    listing.places = {
        name.removeprefix(root): place for name, place in sorted(tar.files.items()) if name.startswith(root)
    }
    for name in listing.places:
        if not _hidden(name):
            listing.add(name)
    listing.folders = sorted({name.partition("/")[0] for name in listing.images if "/" in name})
    return listing


def _hidden(path: str) -> bool:
    return any(map(ignored, path.split("/")))


def _list_folder(listing: Listing, skip: Callable[[str], bool]) -> None:
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(listing.path / folder) as entries:
                ordered = sorted(entries, key=lambda e: os.fsencode(e.name))
        except OSError as e:
            listing.notes.append((folder or "./", f"cannot be listed ({reason(e)}): mend its permissions"))
            continue
        for entry in ordered:
            path = folder + entry.name
            if ignored(entry.name) or skip(path):
                continue
            if (problem := _problem(listing.path, entry)) is not None:
                listing.notes.append((path, problem))
            elif entry.is_file():
                listing.add(path)
            else:
                waiting.append(f"{path}/")
                listing.folders += [] if folder else [path]
    listing.folders.sort()
    listing.images.sort()


def _problem(root: Path, entry: os.DirEntry[str]) -> str | None:
    """Return why a file or folder cannot be used; links to files inside can."""
    try:
        mode = entry.stat().st_mode
        inside = not entry.is_symlink() or (
            stat.S_ISREG(mode) and Path(entry.path).resolve(strict=True).is_relative_to(root)
        )
    except (OSError, RuntimeError) as e:
        if entry.is_symlink():
            return "is a link that leads nowhere: put the file itself there, or remove it"
        return f"cannot be looked at ({e}): mend its permissions, or remove it"
    if not inside:
        return (
            "is a link to a folder, or to a file outside the source, which would make it depend on something else: "
            "put that itself there"
        )
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        return "is a device, a pipe or a socket, not a file: remove it"
    return None


def read_image(path: Path, sample: Sample) -> bytes:
    """Return the bytes of an image in a folder or a tar, or raise `BadSample`."""
    try:
        if sample.place is not None:
            return read_place(path, sample.place)
        with open_regular(path / str(sample.path)) as file:  # it may have become a pipe since it was listed
            if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
                raise BadSample(
                    f"has more than the {MAX_FILE_BYTES:,} bytes that one image file may have: leave it out"
                )
            return file.read(MAX_FILE_BYTES + 1)
    except SourceError as e:
        raise BadSample(f"cannot be read any more: {e}") from None
    except OSError as e:
        raise BadSample(f"cannot be read ({reason(e)}): mend its permissions, or copy it again") from None
