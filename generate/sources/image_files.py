"""Sources of image files: in a folder on disk, or in a tar that is not compressed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path

from ...errors import SourceError, listed
from ...files import open_regular
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.models import ClassRecord
from .decoding import MAX_FILE_BYTES, decode, probe
from .listing import Listing, ignored, list_folder
from .naming import find_clashes, name_problem, shown
from .places import Place, read_place
from .source import BadSample, Loaded, Probe, Sample, Source
from .tarred import Tar

Note = tuple[str, str]
"""(path, reason) of what cannot be used."""


@dataclass(frozen=True)
class Images:
    """The image files of a folder or a tar: what is listed of them, and where a tar has them."""

    path: Path
    listing: Listing
    places: Mapping[str, Place] = field(default_factory=dict)

    @classmethod
    def of_folder(cls, path: Path, skip: Callable[[str], bool] = lambda path: False) -> Images:
        """List a folder; see `list_folder`."""
        return cls(path, list_folder(path, skip))

    @classmethod
    def of_tar(cls, path: Path, tar: Tar, root: str) -> Images:
        """List a tar below one of its folders (``root``, with the slash at its end), as `list_folder` lists a folder on disk."""
        listing = Listing(notes=list(tar.notes))
        places = {name.removeprefix(root): place for name, place in sorted(tar.files.items()) if name.startswith(root)}
        for name in places:
            if not any(map(ignored, name.split("/"))):
                listing.add(name, root + name, "make the archive again without it")
        listing.folders = sorted({name.partition("/")[0] for name in listing.images if "/" in name})
        return cls(path, listing, places)

    def source(
        self,
        scheme: str,
        labels: Mapping[str, int | None],
        identify: Callable[[str], str],
        classes: tuple[ClassRecord, ...],
        notes: Iterable[Note],
    ) -> ImageSource:
        """Return the source of images, in the order of their ids, without those whose names clash or cannot be ids.

        Parameters
        ----------
        scheme : str
        labels : mapping of path to label; None is no label
        identify : callable
            From a path to the sample's id.
        classes : tuple of ClassRecord
        notes : iterable of (path, reason)
            What is wrong already.

        Raises
        ------
        SourceError
            No image is left.
        """
        unfit = {path: problem for path in labels if (problem := name_problem(path)) is not None}
        folder_of: dict[int | None, str] = {None: "", **{c.index: c.folder for c in classes}}
        named = [(identify(path), folder_of[label], path) for path, label in labels.items() if path not in unfit]
        unfit |= find_clashes(named)
        notes = [*notes, *unfit.items()]
        kept = sorted((entry for entry in named if entry[2] not in unfit), key=itemgetter(0))
        if not kept:
            raise SourceError(f"No image of the source can be used.{describe(notes)}")
        samples = tuple(Sample(index, identity, labels[path], path) for index, (identity, _, path) in enumerate(kept))
        if self.places:
            samples = tuple(Member(**vars(sample), place=self.places[str(sample.path)]) for sample in samples)
        said = tuple(sorted((shown(path), reason) for path, reason in notes))
        return ImageSource(scheme, self.path, samples, classes, self.path, said)


def describe(notes: Iterable[Note]) -> str:
    """Return the notes as the end of an error; an empty string where there are none."""
    lines = listed([f"{shown(path)}: {reason}" for path, reason in sorted(notes)])
    return f" What was found:\n{lines}" if lines else ""


@dataclass(frozen=True, kw_only=True)
class Member(Sample):
    """A sample in a tar: where its bytes lie."""

    place: Place


@dataclass(eq=False, repr=False)
class ImageSource(Source):
    """Image files in a folder, or in a tar."""

    scheme: str
    path: Path
    """The tar, or the folder that the samples' paths start from."""
    samples: tuple[Sample, ...]
    classes: tuple[ClassRecord, ...]
    listed: Path
    """The folder that every command lists anew."""
    notes: tuple[Note, ...]

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
        try:
            if isinstance(sample, Member):
                return read_place(sample.place)
            with open_regular(self.path / str(sample.path)) as file:  # it may have become a pipe since it was listed
                if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
                    raise BadSample(f"has more than the {MAX_FILE_BYTES:,} bytes that one image file may have: leave it out")
                return file.read(MAX_FILE_BYTES + 1)
        except SourceError as e:
            raise BadSample(f"cannot be read any more: {e}") from None
        except OSError as e:
            raise BadSample(f"cannot be read ({e.strerror}): mend its permissions, or copy it again") from None
