"""The sets found in a folder or returned by a loader, with names, labels and images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corruptions.registry import Images
from ..errors import ImageError
from ..files import open_regular, read_regular, reason
from ..generate.sources.decoding import MAX_FILE_BYTES, BadSample, decode
from .storage import ARRAY, StoredAs, stored_as

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Recorded:
    """What the manifest of a dataset that corruptset built states about the files of its sets."""

    encodings: tuple[StoredAs, ...]
    """The encodings that files can have. The first one is the usual one."""
    published: bool
    """Whether the recipe is that of a published benchmark, so that the encoding should be the published one."""
    repair: str
    """A sentence that says how to restore the files."""


@dataclass(frozen=True)
class FoundSet:
    """A set in the data: one corruption at one severity."""

    id: str
    corruption: str | None
    """The corruption that the set name stands for, or None if there is no such corruption."""
    severity: int | None
    keys: Sequence[str]
    """For each image, its name without suffix and class folder, or its row number if it has no name."""
    named: bool
    """Whether `keys` are names. If they are row numbers, images are matched with the source by number."""
    read: Callable[[int], Pixels]
    """A function that takes the index of an image and returns its pixels, (H, W, C)."""
    header: Callable[[int], StoredAs]
    """A function that takes the index of an image and returns how it is stored."""
    label: Callable[[int], str | int | None]
    """A function that takes the index of an image and returns its label, or the name of its class folder."""
    labels_cheap: bool = True
    """Whether `label` works without reading pixels, so that all labels can be compared."""
    file: Path | None = None
    """The array file that contains the set, if there is one."""
    row: int = 0
    """The first row of the set in its array."""
    own: Callable[[Images, Sequence[str]], Images] | None = None
    """For a dataset that corruptset built, a function that computes images of the set from clean images and ids."""

    recorded: Recorded | None = None
    """For a dataset that corruptset built, what its manifest states about the files."""

    @property
    def count(self) -> int:
        """The number of images."""
        return len(self.keys)


@dataclass(frozen=True)
class FoundData:
    """The data to audit: its sets, and the findings from reading it."""

    sets: Sequence[FoundSet]
    layout: str
    """A description of the layout, such as "arrays of CIFAR-10-C"."""
    name: str | None = None
    """The name of the benchmark, if a manifest states it."""
    complete: bool = True
    """Whether the data should contain all sets of the benchmark. It is False for the recipe of a user."""
    preprocessing: Any = None
    """The preprocessing that a manifest states, if there is a manifest."""
    classes: Sequence[str] = ()
    """The names of the class folders, if there are any."""
    textures: tuple[str, ...] = ()
    """The SHA-256 hashes of the frost textures that a manifest records."""
    remarks: Sequence[tuple[str, str]] = field(default_factory=list)
    """Findings from listing the data, as (code, text)."""


def file_pixels(path: Path) -> Pixels:
    """Read the pixels of an image file, or raise `ImageError` with the reason why it cannot be read."""
    try:
        return decode(read_regular(path, MAX_FILE_BYTES))
    except BadSample as e:
        raise ImageError(f"{path.name} {e}") from None
    except OSError as e:
        raise ImageError(f"{path.name} cannot be read ({reason(e)})") from None


def file_header(path: Path) -> StoredAs:
    """Return how an image file is stored, according to its header. Only the header is read."""
    try:
        with open_regular(path) as file:
            return stored_as(file)
    except OSError:
        return StoredAs("unknown")


def loaded_pixels(image: Any, where: str) -> Pixels:
    """Convert an image that a loader returned to a uint8 array (H, W, C).

    The image can be a PIL image, or an array or tensor with channels first or last. Floating-point values from 0 to 1
    are multiplied by 255.

    Raises
    ------
    ImageError
        If the value is not an image, or if it is normalised, so that its grey levels cannot be recovered.
    """
    array = np.asarray(image)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.size == 0 or array.dtype.kind not in "uif":
        raise ImageError(f"{where} is not an image: its shape is {array.shape} and its type {array.dtype}.")
    if array.shape[0] in (1, 3) and array.shape[2] not in (1, 3):
        array = array.transpose(1, 2, 0)
    if array.shape[2] == 4:
        array = array[:, :, :3]
    if array.shape[2] not in (1, 3):
        raise ImageError(f"{where} has {array.shape[2]} channels; an image has 1 or 3.")
    if array.dtype != np.uint8:
        if not np.isfinite(array).all() or array.min() < 0 or array.max() > 255:
            raise ImageError(
                f"{where} has values from {array.min():g} to {array.max():g}. Audit the images before they are "
                "normalised: values from 0 to 1, or whole numbers from 0 to 255."
            )
        scale = 255.0 if array.dtype.kind == "f" and array.max() <= 1 else 1.0
        array = np.rint(array * scale).astype(np.uint8)
    return np.ascontiguousarray(array)


def row_reader(array: NDArray[Any]) -> Callable[[int], Pixels]:
    """Return a function that reads a row from an array of images, as (H, W, C)."""

    def read(index: int) -> Pixels:
        row = np.array(array[index])
        return row[:, :, None] if row.ndim == 2 else row

    return read


def array_header(_: int) -> StoredAs:
    """Return the storage format of images in arrays."""
    return ARRAY
