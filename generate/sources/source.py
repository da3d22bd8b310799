"""Sources: samples with stable ids, pixels and labels, and the line that names a source."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import SourceError, suggest
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.fields import Labelled
from ...manifests.records.models import ClassRecord, RegionRecord
from . import decoding
from .decoding import BadSample as BadSample
from .stores import local_copies

Note = tuple[str, str]
"""(path, reason) of what cannot be used."""


class MemberPlace(NamedTuple):
    """Where the bytes of a tar's member lie in the archive."""

    offset: int
    size: int


@dataclass(frozen=True)
class Sample(Labelled):
    """One source image: a stable id, a label, where it lies."""

    index: int
    """Place in the source's order, over all samples."""
    id: str
    label: int | None
    """None of a source without labels, which has no classes either."""
    path: str | None = None
    """Relative POSIX path inside the source, as it is on disk; None where a source has no files."""
    split: str | None = None
    group: str | None = None
    """What the source groups its samples by; None where it has no groups."""
    place: MemberPlace | None = None
    """Of a sample in a tar."""

    @property
    def region(self) -> RegionRecord | None:
        """Which region of an image it is; None of a whole image."""
        return None


@dataclass(frozen=True)
class Loaded:
    """A decoded sample."""

    image: NDArray[np.uint8]
    """(H, W, C), C = 1 (grey) or 3 (RGB), C-contiguous and writable."""
    sha256: str
    """``sha256:<hex>`` of the file's bytes, or of the C-order pixel bytes where a source has no files."""
    turned: bool = False
    """Whether its EXIF orientation tag, which is ignored, asks viewers to turn it."""


class Probe(NamedTuple):
    """What is known of a sample that was decoded and is not kept."""

    sha256: str
    """As of `Loaded`."""
    width: int
    height: int
    channels: int
    """1 (grey) or 3 (RGB)."""
    turned: bool = False
    """As of `Loaded`."""


@dataclass(eq=False, repr=False)
class Source:
    """A source of samples; workers get it pickled, so it holds no pixels."""

    scheme: str
    """What stands in the manifest as the source's name; never a path."""
    samples: tuple[Sample, ...]
    """Ordered by id (code points), or by row where the source is a table of rows."""
    classes: tuple[ClassRecord, ...]
    """None at all where the source has no labels."""
    read: Callable[[Sample], bytes | NDArray[np.uint8]]
    """Return a sample's file, or its pixels (H, W, C) as a copy, or raise `BadSample`."""
    notes: tuple[Note, ...] = ()
    """What was found wrong while listing: files that have no id of their own and so are no samples."""
    root: Path | None = None
    """The folder that every command lists anew; None where a source is files of known names."""
    license: str | None = None
    grouping: str | None = None
    """What its samples' groups are: ``csv``, or a word such as ``style``; None where it has none."""
    other_files: Mapping[str, Path] = field(default_factory=dict)
    """Files that go with the images into a data set, as they are: path there -> file."""
    left_out: tuple[str, ...] = ()
    """Those that do not, because a data set has files of its own there."""
    pattern: str | None = None
    """Which files are images, where that was given."""
    held_bytes: int = 0
    """What each process that loads samples keeps in memory."""
    remarks: tuple[str, ...] = ()
    """Sentences for the notes of `plan` and `build`, for example about classes and labels. They name no error."""

    def other_bytes(self) -> int:
        """Return how many bytes `other_files` have."""
        return sum(file.stat().st_size for file in self.other_files.values())

    def load(self, sample: Sample) -> Loaded:
        """Return a sample's pixels, or raise `BadSample`."""
        data = self.read(sample)
        if not isinstance(data, bytes):
            return Loaded(data, _sha256(data))
        decoded = decoding.decode_with_orientation(data)
        return Loaded(decoded.pixels, _sha256(data), decoded.turned)

    def fingerprint(self, sample: Sample) -> str:
        """Return the sha256 that `load` would, without decoding; or raise `BadSample`."""
        return _sha256(self.read(sample))

    def probe(self, sample: Sample) -> Probe:
        """Decode a sample fully, keep nothing, and return what it is; or raise `BadSample`."""
        loaded = self.load(sample)
        height, width, channels = loaded.image.shape
        return Probe(loaded.sha256, width, height, channels, loaded.turned)


def _sha256(data: bytes | NDArray[np.uint8]) -> str:
    return sha256_bytes(data if isinstance(data, bytes) else data.data)


class Scheme(NamedTuple):
    """A registered source: the function that opens a path, and one line of help."""

    opens: str
    """Its module and its name."""
    takes: tuple[str, ...]
    """The options that the function has beside the path."""
    about: str
    one_path: bool = True
    """Whether one file or folder follows, which must be there."""


SCHEMES: Mapping[str, Scheme] = {
    "sample": Scheme("sample:open", (), "eight public photographs that come with scikit-image, one class each", False),
    "folder": Scheme(
        "folder:open",
        ("labels", "groups"),
        "folder:PATH, an image folder or a tar of one: one folder a class, or flat with --labels CSV",
    ),
    "imagenet": Scheme(
        "imagenet:open",
        ("labels", "groups"),
        "imagenet:PATH, ILSVRC2012's validation images: the tar or the JPEGs with the devkit, or wnid folders",
    ),
    "cifar10": Scheme(
        "published:open_cifar10",
        ("split",),
        "cifar10:PATH, CIFAR-10: python or binary version, the tar.gz or its folder",
    ),
    "cifar100": Scheme(
        "published:open_cifar100",
        ("labels", "split"),
        "cifar100:PATH, CIFAR-100: likewise; --labels coarse for the twenty superclasses",
    ),
    "icons50": Scheme(
        "published:open_icons50",
        ("groups",),
        "icons50:PATH, Icons-50.npy or its class folders; --groups style (the default) or subtype",
    ),
    "tree": Scheme(
        "folder:open_tree",
        ("images",),
        "tree:PATH, any tree of JPEGs and PNGs (--images PATTERN): no labels; names and all other files are kept",
    ),
    "mnist": Scheme(
        "published:open_mnist",
        ("split",),
        "mnist:PATH, a folder of IDX files: MNIST, Fashion-MNIST, KMNIST, EMNIST",
        False,
    ),
    "npy": Scheme(
        "rows:open_arrays", (), "npy:IMAGES,LABELS, two .npy files: uint8 (N, H, W, C) and whole numbers", False
    ),
    "hdf5": Scheme(
        "hdf5:open",
        ("labels", "images"),
        "hdf5:FILE, datasets of images and labels (--images NAME --labels NAME), or a corruptset shard",
    ),
}

SPLIT_SOURCES = tuple(name for name, scheme in SCHEMES.items() if "split" in scheme.takes)
GROUPED_SOURCES = ("icons50",)
"""Those that know the groups of their samples; elsewhere a CSV says them."""


def named_source(source: str | os.PathLike[str] | Source) -> str | Source:
    """Return a source, or the line that names it, or raise `SourceError` for anything else."""
    if isinstance(source, os.PathLike):
        source = os.fspath(source)
    if not isinstance(source, str) and not hasattr(source, "samples"):
        raise SourceError(f"source is of type {type(source).__name__}; expected a line such as 'folder:PATH'.")
    return source


def open_source(text: str, **options: Any) -> Source:
    """Open a source by its one line.

    Parameters
    ----------
    text : str
        ``sample``, ``folder:PATH``, ``cifar10:PATH``, ...; see docs/sources.md.
    **options
        What a scheme takes beside its path: ``labels`` (where labels come from, where the source does not say it: a
        CSV, a devkit, the name of a dataset), ``split``, ``images``, ``groups``; None is the default.

    Returns
    -------
    Source
        Listed, not read: its images are looked at by `check` and by the workers.

    Raises
    ------
    SourceError
        The scheme is unknown, the path is not there, nothing in it can be a sample, or the labels have mistakes.
    """
    name, _, rest = text.partition(":")
    scheme = SCHEMES.get(name)
    if scheme is None:
        raise SourceError(_unknown(text, name))
    rest = local_copies(rest)
    if (not rest) != (name == "sample"):
        raise SourceError(f"The source {name} {'takes no path' if rest else 'needs a path'}. Expected {scheme.about}.")
    if rest.lower().endswith(".zip"):
        raise SourceError(f"{rest} is a zip archive: unzip it, and give the folder, {name}:{rest[:-4]}.")
    given = {option: local_copies(str(value)) for option, value in options.items() if value is not None}
    if foreign := [f"--{option}" for option in given if option not in scheme.takes]:
        raise SourceError(f"The source {name} takes no {' and no '.join(foreign)}. Leave it out.")
    path = Path(rest)
    if scheme.one_path:
        path = path.expanduser().resolve()
        if not path.exists():
            raise SourceError(f"The source {name}: {path} is not there. Expected {scheme.about}.")
    module, _, function = scheme.opens.partition(":")
    source: Source = getattr(importlib.import_module(f".{module}", __package__), function)(path, **given)
    return source


def _unknown(text: str, name: str) -> str:
    hint = suggest(name, SCHEMES)
    if Path(text).is_dir():
        hint = f" It is a folder: did you mean folder:{text}?"
    elif "/" in name:
        hint = (
            f" A path needs its kind before it: folder:{text} where it is a folder of images, and there is no {text}."
        )
    known = "".join(f"\n  {name}: {scheme.about}" for name, scheme in SCHEMES.items())
    return f"{text!r} is not a source.{hint} Known sources:{known}"


def path_in_class(sample_id: str, folder: str) -> str:
    """Return where a sample's image lies in its class folder.

    The class folder's own name in front of an id is left out, also where the folder's number is zero-padded.

    Examples
    --------
    >>> path_in_class("n01440764/cat", "n01440764"), path_in_class("7/cat", "007"), path_in_class("cat", "007")
    ('cat', 'cat', 'cat')
    """
    first, slash, rest = sample_id.partition("/")
    same = first == folder or (first.isascii() and first.isdigit() and first.rjust(len(folder), "0") == folder)
    return rest if slash and same else sample_id


def stored_path(sample_id: str, folder: str) -> str:
    """Return where a sample's image lies below its set: class folder and id.

    Examples
    --------
    >>> stored_path("n01440764/cat", "n01440764"), stored_path("astronaut", "00_astronaut")
    ('n01440764/cat', '00_astronaut/astronaut')
    """
    return f"{folder}/{path_in_class(sample_id, folder)}"
