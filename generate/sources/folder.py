"""The source ``folder:PATH``: an image folder, one folder a class, or any tree of images with a CSV of labels; or a tar of one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ...errors import SourceError, listed
from ...files import open_regular
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.models import ClassRecord
from .decoding import MAX_FILE_BYTES, decode, probe
from .labels import Labels, read_labels
from .listing import Listing, list_folder
from .naming import find_clashes, find_equal, name_problem, sample_id, shown
from .source import BadSample, Loaded, Probe, Sample
from .tarred import TarSource, image_tar, list_images, single_root, tarfile_like, with_places

Note = tuple[str, str]


class FolderSource:
    """A folder of images on disk.

    Without labels, the first component of an image's path is its class; classes are numbered in the sorted order of
    their folders (code points of the NFC names), as torchvision's ImageFolder does. The list of classes is made before
    anything is found wrong with an image, so no label moves when bad images are left out.
    """

    scheme = "folder"
    license: str | None = None

    def __init__(self, root: Path, samples: tuple[Sample, ...], classes: tuple[ClassRecord, ...], notes: tuple[Note, ...]) -> None:
        self.root = root
        self.listed = root
        """The folder that is listed, by every command anew."""
        self.samples = samples
        self.classes = classes
        self.notes = notes

    def load(self, sample: Sample) -> Loaded:
        """Read and decode an image."""
        data = self._read(sample)
        return Loaded(decode(data), sha256_bytes(data))

    def fingerprint(self, sample: Sample) -> str:
        """Return the sha256 of an image's file."""
        return sha256_bytes(self._read(sample))

    def probe(self, sample: Sample) -> Probe:
        """Read and decode an image and keep nothing."""
        data = self._read(sample)
        return Probe(sha256_bytes(data), *probe(data))

    def _read(self, sample: Sample) -> bytes:
        assert sample.path is not None
        try:
            with open_regular(self.root / sample.path) as file:  # it may have become a pipe since it was listed
                if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
                    raise BadSample(f"has more than the {MAX_FILE_BYTES:,} bytes that one image file may have: leave it out")
                return file.read(MAX_FILE_BYTES + 1)
        except OSError as e:
            raise BadSample(f"cannot be read ({e.strerror}): mend its permissions, or copy it again") from None


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
    if not rest:
        raise SourceError("The source folder needs a path: folder:PATH.")
    root = Path(rest).expanduser()
    if root.is_file() and (root.name.lower().endswith((".tar", ".tar.gz", ".tgz")) or tarfile_like(root)):
        return _tarred(root.resolve(), rest, labels)
    if not root.is_dir():
        what = "is a file, not a folder" if root.exists() else "is not there"
        raise SourceError(f"The source folder:{rest}: {root} {what}. Expected a folder of images, one folder a class.")
    root = root.resolve()
    listing = list_folder(root, ignore=labels)
    if labels is not None:
        return _labelled(root, rest, listing, read_labels(labels, listing.images), labels)
    return _by_class(root, rest, listing)


def _tarred(path: Path, rest: str, labels: Path | None) -> TarSource:
    tar = image_tar(path)
    root = single_root(tar) if labels is None else ""
    listing = list_images(tar, root)
    if labels is None:
        found = _by_class(path, rest, listing)
    else:
        found = _labelled(path, rest, listing, read_labels(labels, listing.images), labels)
    return TarSource("folder", with_places(found.samples, tar, root), found.classes, found.notes)


def _by_class(root: Path, rest: str, listing: Listing) -> FolderSource:
    notes = list(listing.notes)
    images = [path for path in listing.images if "/" in path]
    loose = [path for path in listing.images if "/" not in path]
    if not listing.folders:
        hint = (
            f"its {len(loose)} images lie flat: give their labels with --labels CSV (columns file,label), or sort them into class folders"
            if loose
            else "it holds no image: expected one folder a class, with images in it"
        )
        raise SourceError(f"The source folder:{rest} has no class folders; {hint}.{_found(notes)}")
    notes += [(path, "lies outside the class folders: move it into one, or give labels for all with --labels CSV") for path in loose]
    filled = {path.split("/", 1)[0] for path in images}
    if not filled:
        raise SourceError(f"The source folder:{rest} holds no image in its {len(listing.folders)} class folders.{_found(notes)}")
    unfit = {folder: problem for folder in listing.folders if (problem := name_problem(folder)) is not None}
    unfit |= find_equal({folder: sample_id(folder, suffix=False) for folder in listing.folders if folder not in unfit})
    notes += [(folder + "/", problem + " (its images are left out)") for folder, problem in unfit.items()]
    named = {folder: sample_id(folder, suffix=False) for folder in listing.folders if folder not in unfit}
    order = sorted(set(named.values()))
    classes = tuple(ClassRecord(index=i, name=name, folder=name) for i, name in enumerate(order))
    notes += [
        (folder + "/", "is a class folder without an image: put its images in, or remove it (torchvision's ImageFolder refuses one too)")
        for folder in listing.folders
        if folder not in filled and not any(path.startswith(folder + "/") for path, _ in listing.notes)
    ]
    label_of = {name: i for i, name in enumerate(order)}
    images = [path for path in images if path.split("/", 1)[0] in named]
    return _source(root, images, [label_of[named[path.split("/", 1)[0]]] for path in images], classes, notes)


def _labelled(root: Path, rest: str, listing: Listing, labels: Labels, csv: Path) -> FolderSource:
    images = [path for path in listing.images if path in labels.label_of]
    notes = [*listing.notes]
    notes += [
        (path, f"has no row in {csv.name}: add one, or leave the image out") for path in listing.images if path not in labels.label_of
    ]
    if not images:
        raise SourceError(f"The source folder:{rest} holds no image with a label.{_found(notes)}")
    return _source(root, images, [labels.label_of[path] for path in images], labels.classes, notes)


def _source(root: Path, images: Sequence[str], labels: Sequence[int], classes: tuple[ClassRecord, ...], notes: list[Note]) -> FolderSource:
    folder_of = {c.index: c.folder for c in classes}
    named: list[tuple[str, int, str]] = []
    for path, label in zip(images, labels, strict=True):
        problem = name_problem(path)
        if problem is None:
            named.append((sample_id(path), label, path))
        else:
            notes.append((path, problem))
    clashes = find_clashes([(identity, folder_of[label], path) for identity, label, path in named])
    notes += sorted(clashes.items())
    kept = sorted(entry for entry in named if entry[2] not in clashes)
    samples = tuple(Sample(index, identity, label, path) for index, (identity, label, path) in enumerate(kept))
    if not samples:
        raise SourceError(f"No image of the source can be used:\n{listed([f'{shown(p)}: {r}' for p, r in sorted(notes)])}")
    return FolderSource(root, samples, classes, tuple(sorted((shown(path), reason) for path, reason in notes)))


def _found(notes: Sequence[Note]) -> str:
    lines = listed([f"{shown(path)}: {reason}" for path, reason in sorted(notes)])
    return f" What was found:\n{lines}" if notes else ""
