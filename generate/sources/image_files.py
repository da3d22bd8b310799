"""Sources of image files: in a folder on disk, or in a tar that is not compressed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from ...errors import SourceError, listed
from ...files import open_regular
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.models import ClassRecord
from .decoding import MAX_FILE_BYTES, decode, probe
from .naming import find_clashes, name_problem, shown
from .places import Place, read_place
from .source import BadSample, Loaded, Probe, Sample, Source
from .tarred import Tar

Note = tuple[str, str]
"""(path, reason) of what cannot be used."""


@dataclass(frozen=True)
class ImageList:
    """The samples of a source of image files, before their places are known."""

    samples: tuple[Sample, ...]
    classes: tuple[ClassRecord, ...]
    notes: tuple[Note, ...]


def list_samples(
    images: Iterable[tuple[str, int | None]], identify: Callable[[str], str], classes: tuple[ClassRecord, ...], notes: list[Note]
) -> ImageList:
    """Return the samples of images, in the order of their ids, without those whose names clash or cannot be ids.

    Parameters
    ----------
    images : iterable of (path, label); None is no label
    identify : callable
        From a path to the sample's id.
    classes : tuple of ClassRecord
    notes : list of (path, reason)
        What is wrong already.

    Raises
    ------
    SourceError
        No image is left.
    """
    notes = list(notes)
    folder_of: dict[int | None, str] = {None: "", **{c.index: c.folder for c in classes}}
    named = []
    for path, label in images:
        problem = name_problem(path)
        if problem is None:
            named.append((identify(path), label, path))
        else:
            notes.append((path, problem))
    clashes = find_clashes([(identity, folder_of[label], path) for identity, label, path in named])
    notes += clashes.items()
    kept = sorted((entry for entry in named if entry[2] not in clashes), key=itemgetter(0))
    if not kept:
        raise SourceError(f"No image of the source can be used.{describe(notes)}")
    samples = tuple(Sample(index, identity, label, path) for index, (identity, label, path) in enumerate(kept))
    return ImageList(samples, classes, tuple(sorted((shown(path), reason) for path, reason in notes)))


def describe(notes: Iterable[Note]) -> str:
    """Return the notes as the end of an error; an empty string where there are none."""
    lines = listed([f"{shown(path)}: {reason}" for path, reason in sorted(notes)])
    return f" What was found:\n{lines}" if lines else ""


class ImageSource(Source):
    """Image files, wherever they lie."""

    def __init__(self, scheme: str, images: ImageList) -> None:
        self.scheme = scheme
        self.samples: tuple[Sample, ...] = images.samples
        self.classes = images.classes
        self.notes = images.notes

    def load(self, sample: Sample) -> Loaded:
        data = self.read(sample)
        return Loaded(decode(data), sha256_bytes(data))

    def fingerprint(self, sample: Sample) -> str:
        return sha256_bytes(self.read(sample))

    def probe(self, sample: Sample) -> Probe:
        data = self.read(sample)
        return Probe(sha256_bytes(data), *probe(data))

    def read(self, sample: Sample) -> bytes:
        """Return the bytes of an image's file, or raise `BadSample`."""
        raise NotImplementedError


class FolderSource(ImageSource):
    """Images in a folder on disk.

    Parameters
    ----------
    scheme : str
    images : ImageList
    root : Path
        The folder that the samples' paths start from.
    listed : Path, optional
        The folder that every command lists anew, where it is another.
    """

    def __init__(self, scheme: str, images: ImageList, root: Path, listed: Path | None = None) -> None:
        super().__init__(scheme, images)
        self.root = root
        self.listed = listed or root

    def read(self, sample: Sample) -> bytes:
        assert sample.path is not None
        try:
            with open_regular(self.root / sample.path) as file:  # it may have become a pipe since it was listed
                if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
                    raise BadSample(f"has more than the {MAX_FILE_BYTES:,} bytes that one image file may have: leave it out")
                return file.read(MAX_FILE_BYTES + 1)
        except OSError as e:
            raise BadSample(f"cannot be read ({e.strerror}): mend its permissions, or copy it again") from None


_NOWHERE = Place(Path(), 0, 0)


@dataclass(frozen=True)
class Member(Sample):
    """A sample in a tar: where its bytes lie."""

    place: Place = _NOWHERE


class TarSource(ImageSource):
    """Images in a tar, below one of its folders (``root``, with the slash at its end)."""

    def __init__(self, scheme: str, images: ImageList, tar: Tar, root: str) -> None:
        super().__init__(scheme, images)
        self.samples = tuple(Member(s.index, s.id, s.label, s.path, s.split, s.group, tar.files[f"{root}{s.path}"]) for s in images.samples)

    def read(self, sample: Sample) -> bytes:
        assert isinstance(sample, Member)
        try:
            return read_place(sample.place)
        except SourceError as e:
            raise BadSample(f"cannot be read any more: {e}") from None
