"""The source of a build, the schemes that name sources (``folder:PATH``), and `open_source`."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...corruptions.add_ons import find_add_ons, install_hint, installed_function
from ...errors import SourceError, suggest
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.fields import Labelled
from ...manifests.records.models import ClassRecord, RegionRecord
from . import decoding
from .decoding import BadSample as BadSample
from .stores import local_copies

Note = tuple[str, str]
"""The path of a file that cannot be used, and the reason."""


class MemberLocation(NamedTuple):
    """The offset and the size, in bytes, of a member in a tar."""

    offset: int
    size: int


@dataclass(frozen=True)
class Sample(Labelled):
    """One image of a source: its stable id, its label and its location."""

    index: int
    """The position among all samples, in the order of the source."""
    id: str
    label: int | None
    """The index of the class, or None if the source has no labels and therefore no classes."""
    path: str | None = None
    """Relative POSIX path inside the source, as on disk, or None if the source has no files."""
    split: str | None = None
    group: str | None = None
    """The group of the sample, or None if the source has no groups."""
    location: tuple[int, ...] | None = None
    """The location of a sample in an archive or a table. Each source defines what the numbers mean."""

    @property
    def region(self) -> RegionRecord | None:
        """The region that the sample consists of, or None if the sample is a whole image."""
        return None


@dataclass(frozen=True)
class Loaded:
    """A decoded sample."""

    image: NDArray[np.uint8]
    """(H, W, C), C = 1 (grey) or 3 (RGB), C-contiguous and writable."""
    sha256: str
    """``sha256:<hex>`` of the file's bytes, or of the pixel bytes in C order if the source has no files."""
    has_orientation: bool = False
    """True if the image has an EXIF orientation other than upright. The orientation is ignored."""


class Probe(NamedTuple):
    """Properties of a sample that was decoded without keeping its pixels."""

    sha256: str
    """As in `Loaded`."""
    width: int
    height: int
    channels: int
    """1 (grey) or 3 (RGB)."""
    has_orientation: bool = False
    """As in `Loaded`."""


@dataclass(eq=False, repr=False)
class Source:
    """A source of samples. Workers receive it by pickling, so it contains no pixels."""

    scheme: str
    """Name of the source in the manifest, never a path."""
    samples: tuple[Sample, ...]
    """Samples in the order of their ids (code points), or in the order of the rows if the source is an array."""
    classes: tuple[ClassRecord, ...]
    """Classes in the order of their labels. Empty if the source has no labels."""
    read: Callable[[Sample], bytes | NDArray[np.uint8]]
    """A function that returns the bytes of a sample's file, or a copy of its pixels (H, W, C).

    It raises `BadSample` if the sample cannot be read.
    """
    notes: tuple[Note, ...] = ()
    """Problems that were found while listing files: files that are not samples because they have no valid id."""
    root: Path | None = None
    """The folder that every command lists again, or None if the source consists of files with fixed names."""
    license: str | None = None
    grouping: str | None = None
    """The kind of groups: ``csv``, or a word such as ``style``. None if there are no groups."""
    other_files: Mapping[str, Path] = field(default_factory=dict)
    """A mapping from paths in the dataset to files that are copied to these paths unchanged."""
    uncopied_files: tuple[str, ...] = ()
    """Files that are not copied, because the dataset needs their names."""
    pattern: str | None = None
    """The pattern that selects the images, if one was given."""
    memory_bytes: int = 0
    """Memory in bytes that each process needs for the source."""
    remarks: tuple[str, ...] = ()
    """Sentences for the notes of `plan` and `build`, for example about classes and labels."""

    def other_bytes(self) -> int:
        """Return the size of `other_files` in bytes."""
        return sum(file.stat().st_size for file in self.other_files.values())

    def load(self, sample: Sample) -> Loaded:
        """Return the pixels of a sample, or raise `BadSample`."""
        data = self.read(sample)
        if not isinstance(data, bytes):
            return Loaded(data, _sha256(data))
        decoded = decoding.decode_with_orientation(data)
        return Loaded(decoded.pixels, _sha256(data), decoded.has_orientation)

    def fingerprint(self, sample: Sample) -> str:
        """Return the sha256 of a sample without decoding it, or raise `BadSample`."""
        return _sha256(self.read(sample))

    def probe(self, sample: Sample) -> Probe:
        """Decode a sample and return its properties, or raise `BadSample`."""
        loaded = self.load(sample)
        height, width, channels = loaded.image.shape
        return Probe(loaded.sha256, width, height, channels, loaded.has_orientation)


def _sha256(data: bytes | NDArray[np.uint8]) -> str:
    return sha256_bytes(data if isinstance(data, bytes) else data.data)


class Scheme(NamedTuple):
    """A kind of source: the function that opens it, its options, and one line of help."""

    function: str
    """Module and name of the function, as ``module:function``."""
    options: tuple[str, ...]
    """Options of the function in addition to the path."""
    help: str
    one_path: bool = True
    """True if the scheme is followed by the path of one existing file or folder."""
    reads_zip: bool = False
    """True if the path may be a zip archive."""


SCHEMES: Mapping[str, Scheme] = {
    "sample": Scheme(
        "sample:open",
        (),
        "eight public photographs from scikit-image, each with its own class",
        False,
    ),
    "folder": Scheme(
        "folder:open",
        ("labels", "groups"),
        "folder:PATH, a folder with one sub-folder per class, a tar of such a folder, or any images with --labels CSV",
    ),
    "imagenet": Scheme(
        "imagenet:open",
        ("labels", "groups"),
        "imagenet:PATH, the ILSVRC2012 validation images: in wnid folders, or as a tar or JPEG files with the devkit",
    ),
    "cifar10": Scheme(
        "published:open_cifar10",
        ("split",),
        "cifar10:PATH, CIFAR-10 in the python or binary version, as the tar.gz or its folder",
    ),
    "cifar100": Scheme(
        "published:open_cifar100",
        ("labels", "split"),
        "cifar100:PATH, CIFAR-100 in the python or binary version; --labels coarse selects the twenty superclasses",
    ),
    "icons50": Scheme(
        "published:open_icons50",
        ("groups",),
        "icons50:PATH, Icons-50.npy or its class folders; --groups style (the default) or subtype",
    ),
    "tree": Scheme(
        "folder:open_tree",
        ("images",),
        "tree:PATH, any folders with JPEG and PNG files (--images PATTERN), without labels; all other files are copied",
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
    "parquet": Scheme(
        "parquet:open",
        ("labels", "images", "split"),
        "parquet:PATH, a Parquet file from Hugging Face, or a folder of such files (--images COLUMN --labels COLUMN)",
    ),
    "webdataset": Scheme(
        "webdataset:open",
        ("labels", "images"),
        "webdataset:PATTERN, tar shards ({000..127} or a folder) that contain images with .cls or .json (--labels KEY)",
        False,
    ),
    "tiny-imagenet": Scheme(
        "tiny_imagenet:open",
        ("split",),
        "tiny-imagenet:PATH, the folder or the zip of Tiny ImageNet; --split val (the default) or train",
        reads_zip=True,
    ),
}


def schemes() -> dict[str, Scheme]:
    """Return the kinds of sources by name, including sources from installed add-ons.

    A source from an add-on has the option ``split`` and is opened from the path of one file or folder.
    """
    added = {
        name: Scheme(entry.value, ("split",), f"{name}:PATH, from the package {entry.dist.name if entry.dist else '?'}")
        for name, entry in find_add_ons("sources").items()
    }
    return added | dict(SCHEMES)


def split_sources() -> list[str]:
    """Return the names of the sources that have the option ``split``."""
    return [name for name, scheme in schemes().items() if "split" in scheme.options]


GROUPED_SOURCES = ("icons50",)
"""Sources that have groups. For other sources, a CSV can give the groups."""


def named_source(source: str | os.PathLike[str] | Source) -> str | Source:
    """Return a source, or the string that specifies it. Raise `SourceError` for a value of a different type."""
    if isinstance(source, os.PathLike):
        source = os.fspath(source)
    if not isinstance(source, str) and not hasattr(source, "samples"):
        raise SourceError(f"source is of type {type(source).__name__}; expected a string such as 'folder:PATH'.")
    return source


def open_source(text: str, **options: Any) -> Source:
    """Open the source that a string such as ``folder:PATH`` names.

    Parameters
    ----------
    text : str
        ``sample``, ``folder:PATH``, ``cifar10:PATH``, ... All sources are described in docs/sources.md.
    **options
        Options of the scheme: ``labels`` (a CSV, a devkit or the name of a dataset), ``split``, ``images``, ``groups``.
        None means the default.

    Returns
    -------
    Source
        The source with its samples. Their images are read later, by `check` and by the workers.

    Raises
    ------
    SourceError
        The scheme is unknown, the path does not exist or contains no sample, or the labels contain errors.
    """
    name, _, rest = text.partition(":")
    scheme = schemes().get(name)
    if scheme is None:
        raise SourceError(_unknown(text, name))
    rest = local_copies(rest)
    if (not rest) != (name == "sample"):
        raise SourceError(f"The source {name} {'takes no path' if rest else 'needs a path'}. Expected {scheme.help}.")
    if rest.lower().endswith(".zip") and not scheme.reads_zip:
        raise SourceError(f"{rest} is a zip archive. Unzip it, and specify the folder: {name}:{rest[:-4]}.")
    given = {option: local_copies(str(value)) for option, value in options.items() if value is not None}
    if foreign := [f"--{option}" for option in given if option not in scheme.options]:
        raise SourceError(f"The source {name} has no option {' and no '.join(foreign)}. Leave it out.")
    path = Path(rest)
    if scheme.one_path:
        path = path.expanduser().resolve()
        if not path.exists():
            raise SourceError(f"The source {name}:{path} does not exist. Expected {scheme.help}.")
    if (opened := installed_function("sources", name)) is None or name in SCHEMES:
        module, _, function = scheme.function.partition(":")
        opened = getattr(importlib.import_module(f".{module}", __package__), function)
    source: Source = opened(path, **given)
    return source


def _unknown(text: str, name: str) -> str:
    hint = install_hint(name) or suggest(name, schemes())
    if Path(text).is_dir():
        hint = f" It is a folder: did you mean folder:{text}?"
    elif "/" in name:
        hint = f" A path needs a scheme: for a folder of images it would be folder:{text}, but {text} does not exist."
    known = "".join(f"\n  {name}: {scheme.help}" for name, scheme in schemes().items())
    return f"{text!r} is not a source.{hint} Known sources:{known}"


def path_in_class(sample_id: str, folder: str) -> str:
    """Return the path of a sample's image in its class folder.

    The name of the class folder is removed from the beginning of the id, even if the folder's number is zero-padded.

    Examples
    --------
    >>> path_in_class("n01440764/cat", "n01440764"), path_in_class("7/cat", "007"), path_in_class("cat", "007")
    ('cat', 'cat', 'cat')
    """
    first, slash, rest = sample_id.partition("/")
    same = first == folder or (first.isascii() and first.isdigit() and first.rjust(len(folder), "0") == folder)
    return rest if slash and same else sample_id


def stored_path(sample_id: str, folder: str) -> str:
    """Return the path of a sample's image below the folder of a set: class folder and id.

    Examples
    --------
    >>> stored_path("n01440764/cat", "n01440764"), stored_path("astronaut", "00_astronaut")
    ('n01440764/cat', '00_astronaut/astronaut')
    """
    return f"{folder}/{path_in_class(sample_id, folder)}"
