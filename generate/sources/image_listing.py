"""List the images in a folder or tar archive. Images are recognised by their file suffixes.

For every source that consists of files, this module decides which files are images, which files are ignored and which
files cannot be used.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ...errors import SourceError, format_list
from ...files import open_regular, reason
from ...manifests.records.models import ClassRecord
from .decoding import CONVERT, MAX_FILE_BYTES, TOO_LARGE, UNREAD_SUFFIXES, BadSample
from .labels import (
    Groups,
    find_collisions,
    folder_classes,
    name_problem,
    numbered_classes,
    printable_path,
)
from .source import MemberLocation, Note, Sample, Source, stored_path
from .tar_archives import escapes_archive, list_tar, read_member

KEPT_SUFFIXES = ("jpg", "jpeg", "jpe", "jfif", "png")
"""Suffixes that images can keep in a dataset, because datasets store JPEG and PNG."""
IMAGE_SUFFIXES = (
    *KEPT_SUFFIXES,
    *("apng", "bmp", "dib", "gif", "tif", "tiff", "webp", "ppm", "pgm", "pbm", "pnm"),
)
"""Suffixes of files that are samples. The content of a file determines its format."""
DOCUMENT_SUFFIXES = (
    *("txt", "md", "rst", "pdf", "bib", "cff", "csv", "tsv", "json", "jsonl"),
    *("xml", "html", "htm", "yaml", "yml", "toml", "md5", "sha256"),
)
DOCUMENT_NAMES = (
    *("readme", "license", "licence", "copying", "notice", "citation", "authors", "changelog"),
    *("md5sums", "sha256sums"),
)
"""Names of text files that come with images and are ignored."""
SYSTEM_NAMES = ("thumbs.db", "ehthumbs.db", "desktop.ini", "__macosx", "$recycle.bin", "@eadir", "lost+found")
"""Files that operating systems create. They are ignored, as are names that begin with a dot."""
NOT_AN_IMAGE = f"has no suffix of an image ({', '.join(IMAGE_SUFFIXES)}): rename it or move it away"
EMPTY_CLASS = (
    "is a class folder without an image: add its images, or remove it (torchvision's ImageFolder rejects it too)"
)
ID_COLLISION = (
    "has the same id as {} (without suffix, and on disks that ignore case or Unicode forms): rename all but one"
)
NO_USABLE = "is a class folder in which no image can be used: see the messages about its files"
LINK_LOOP = "is a link to a folder that contains it, which is an endless loop: remove it"
BROKEN_LINK = "is a broken link: restore its target, or remove it"
SPECIAL_FILE = "is a pipe, a device or a socket: remove it"
MAX_VISITS = 100
"""Limit on how often one folder is listed. Links between a few folders can make millions of paths."""
TOO_MANY = f"is one of more than {MAX_VISITS} paths to one folder: remove the links that are not needed"


@dataclass
class ImageListing:
    """The files in a folder or a tar, as relative POSIX paths."""

    path: Path
    """The folder, or the tar."""
    folders: list[str] = field(default_factory=list)
    """The first-level folders."""
    images: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    """All files: images, documents, and files with a note about their name."""
    locations: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The locations of files in an archive, by path. For a tar, each location is a `MemberLocation`."""
    groups: Groups | None = None
    remarks: list[str] = field(default_factory=list)
    """Notes for users about the listing."""

    def add(self, path: str) -> None:
        """Add a file to the list of files, and to the images or to the notes about files that cannot be used.

        Documents, such as a README, are added only to the list of files.
        """
        self.files.append(path)
        name = path.rpartition("/")[2].lower()
        stem, _, suffix = name.rpartition(".")
        if stem and suffix in IMAGE_SUFFIXES:
            self.images.append(path)
        elif stem and suffix in UNREAD_SUFFIXES:
            self.notes.append((path, CONVERT.format(UNREAD_SUFFIXES[suffix])))
        elif not (stem and suffix in DOCUMENT_SUFFIXES) and name.split(".")[0] not in DOCUMENT_NAMES:
            self.notes.append((path, NOT_AN_IMAGE))

    def with_empty_folders(self, source: Source) -> Source:
        """Return the source with a note for each class folder that has no sample and no note."""
        noted = {path for path, _ in source.notes}
        touched = {path.partition("/")[0] for path in noted if not path.endswith("/")}
        filled = {path.partition("/")[0] for sample in source.samples if "/" in (path := sample.path or "")}
        empty = [printable_path(folder) for folder in self.folders if folder not in filled]
        notes = [
            (f"{name}/", NO_USABLE if name in touched else EMPTY_CLASS) for name in empty if f"{name}/" not in noted
        ]
        source.notes = tuple(sorted((*source.notes, *notes)))
        return source

    def error(self, why: str) -> SourceError:
        """Return the error for a listing that has no samples. The message contains all notes."""
        lines = format_list([f"{printable_path(path)}: {problem}" for path, problem in sorted(self.notes)])
        return SourceError(f"{self.path} {why}." + (f" Problems:\n{lines}" if lines else ""))

    def source(
        self,
        scheme: str,
        labels: Mapping[str, str | int | None],
        identify: Callable[[str], str],
        names: Iterable[str] = (),
        classes: Sequence[ClassRecord] = (),
    ) -> Source:
        """Return a source of the images that have valid names and groups, sorted by id.

        Parameters
        ----------
        scheme : str
            Name of the source in the manifest.
        labels : mapping of path to label
            The label of each image: a class name, a number, or None if the image has no label. Class names are numbered
            in sorted order.
        identify : callable
            Takes the path of a sample, and returns its id.
        names : iterable of str
            Classes of the source, including classes without images.
        classes : sequence of ClassRecord
            The classes, if labels are numbers. By default, the classes follow from the labels.

        Raises
        ------
        SourceError
            No image can be used.
        """
        numbers = [label for label in labels.values() if isinstance(label, int)]
        named = {*names, *(label for label in labels.values() if isinstance(label, str))}
        if not classes:
            classes = numbered_classes(max(numbers)) if numbers else folder_classes(sorted(named))
        index_of = {c.name: c.index for c in classes}
        label_of = {path: index_of[label] if isinstance(label, str) else label for path, label in labels.items()}
        group_of = {} if self.groups is None else self.groups.group_of
        invalid, ids, locations = {}, {}, {}
        for path, label in label_of.items():
            if (problem := name_problem(path)) is not None:
                invalid[path] = problem
            elif self.groups is not None and path not in group_of:
                invalid[path] = self.groups.missing_message
            else:
                ids[path] = identify(path)
                locations[path] = stored_path(ids[path], "" if label is None else classes[label].folder)
        invalid |= find_collisions(locations, ID_COLLISION) | find_collisions(ids, ID_COLLISION)
        self.notes += invalid.items()
        kept = sorted((identity, path) for path, identity in ids.items() if path not in invalid)
        if not kept:
            raise self.error("contains no image that can be used")
        samples = [
            Sample(index, identity, label_of[path], path, group=group_of.get(path), location=self.locations.get(path))
            for index, (identity, path) in enumerate(kept)
        ]
        return Source(
            scheme,
            tuple(samples),
            tuple(classes),
            partial(read_image, self.path),
            tuple(sorted((printable_path(path), problem) for path, problem in self.notes)),
            root=None if self.locations else self.path,
            grouping=self.groups and self.groups.kind,
            remarks=tuple(self.remarks),
        )


def is_ignored(name: str) -> bool:
    """Return whether a file with this name is hidden, or was created by an operating system.

    Examples
    --------
    >>> [is_ignored(name) for name in (".DS_Store", "._cat.jpg", "Thumbs.db", "cat.jpg")]
    [True, True, True, False]
    """
    return name.startswith(".") or name.lower() in SYSTEM_NAMES


def has_kept_suffix(path: str) -> bool:
    """Return whether an image can keep this name in a dataset."""
    return path.lower().rpartition(".")[2] in KEPT_SUFFIXES


def list_images(
    path: Path, skip: Callable[[str], bool] = lambda path: False, is_wrapper: Callable[[str], bool] = lambda path: False
) -> ImageListing:
    """List the images in a folder or an uncompressed tar without reading them.

    Parameters
    ----------
    path : Path
        The folder or the tar. Links are followed in a folder, but not in a tar.
    skip : callable, optional
        Takes a path, and returns True if the file is not part of the source, such as a file of labels or a devkit.
    is_wrapper : callable, optional
        Takes the path of an image in a tar, and returns True if the first folder of this path may contain all class
        folders. If the result is True for all images, and all have the same first folder, this folder is removed from
        the paths. A tar has such a folder if ``tar`` was run next to the folder instead of inside it.
    """
    listing = ImageListing(path)
    if path.is_dir():
        _walk(listing, skip)
    else:
        _list_members(listing, skip, is_wrapper)
    listing.folders.sort()
    listing.images.sort()
    return listing


def _list_members(listing: ImageListing, skip: Callable[[str], bool], is_wrapper: Callable[[str], bool]) -> None:
    """Add the members of a tar to a listing. The class folders are the folders that unpacking the tar would create."""

    def counts(name: str) -> bool:
        return escapes_archive(name) or not (any(map(is_ignored, name.split("/"))) or skip(name))

    found = list_tar(listing.path)
    names = sorted(filter(counts, found.files))
    notes = [(name, problem) for name, problem in found.notes if counts(name)]
    linked = {name for name in found.links if counts(name) and _may_be_folder(name)}
    folders = set(filter(counts, found.folders)) | linked
    tops = {folder.partition("/")[0] for folder in folders}
    inside = [*names, *(name for name, _ in notes if not escapes_archive(name))]
    images = [name for name in inside if _named_as(name, IMAGE_SUFFIXES)]
    root = f"{tops.pop()}/" if len(tops) == 1 and images and all(map(is_wrapper, images)) else ""
    for name in names:
        if name.startswith(root):
            listing.locations[name.removeprefix(root)] = found.files[name]
            listing.add(name.removeprefix(root))
    listing.notes += [(name.removeprefix(root) + "/" * (name in linked), problem) for name, problem in notes]
    below = (folder.removeprefix(root) for folder in folders if folder.startswith(root))
    listing.folders = list({folder.partition("/")[0] for folder in below})


def _named_as(name: str, suffixes: Sequence[str]) -> bool:
    stem, _, suffix = name.rpartition("/")[2].lower().rpartition(".")
    return bool(stem) and suffix in suffixes


def _may_be_folder(name: str) -> bool:
    """Return whether a link that cannot be followed may be a class folder. Such a folder keeps its label."""
    return not _named_as(name, (*IMAGE_SUFFIXES, *DOCUMENT_SUFFIXES))


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _walk(listing: ImageListing, skip: Callable[[str], bool]) -> None:
    """Add the files in a folder to a listing. A link is followed unless it leads to a folder that contains the link."""
    root = listing.path.resolve()
    visits: Counter[tuple[int, int]] = Counter()
    waiting = [("", frozenset(_identity(folder.stat()) for folder in (root, *root.parents)))]
    while waiting:
        folder, ancestors = waiting.pop()
        try:
            names = sorted(os.listdir(listing.path / folder))
        except OSError as e:
            listing.notes.append((folder or "./", f"cannot be listed ({reason(e)}): change its permissions"))
            continue
        for name in names:
            path = folder + name
            if is_ignored(name) or skip(path):
                continue
            try:
                status = os.stat(os.path.join(listing.path, path))
            except OSError as e:
                is_class = not folder and _may_be_folder(name)
                listing.folders += [path] * is_class
                listing.notes.append((path + "/" * is_class, _link_problem(e)))
                continue
            if stat.S_ISREG(status.st_mode):
                listing.add(path)
            elif stat.S_ISDIR(status.st_mode):
                listing.folders += [] if folder else [path]
                identity = _identity(status)
                visits[identity] += 1
                if identity in ancestors or visits[identity] > MAX_VISITS:
                    listing.notes.append((f"{path}/", LINK_LOOP if identity in ancestors else TOO_MANY))
                else:
                    waiting.append((f"{path}/", ancestors | {identity}))
            else:
                listing.notes.append((path, SPECIAL_FILE))


def _link_problem(error: OSError) -> str:
    """Return the reason why the target of a link cannot be used."""
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return BROKEN_LINK
    if error.errno == errno.ELOOP:
        return "is a link that leads back to itself: remove it"
    return f"cannot be accessed ({reason(error)}): change its permissions"


def read_image(path: Path, sample: Sample) -> bytes:
    """Return the bytes of an image file in a folder or a tar, or raise `BadSample`."""
    try:
        if sample.location is not None:
            return read_member(path, MemberLocation(*sample.location))
        with open_regular(path / str(sample.path)) as file:  # the file may have been replaced by a pipe
            if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
                raise BadSample(TOO_LARGE)
            return file.read(MAX_FILE_BYTES + 1)
    except SourceError as e:
        raise BadSample(f"cannot be read any more: {e}") from None
    except OSError as e:
        raise BadSample(f"cannot be read ({reason(e)}): change its permissions, or copy it again") from None
