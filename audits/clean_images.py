"""Provide the clean images for an audit: find source images by name, decode them, and preprocess them."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..generate.sources.decoding import BadSample
from ..generate.sources.source import Source
from .found_set import FoundSet
from .preparations import Preparation

Pixels = NDArray[np.uint8]


def plain_key(key: str) -> str:
    """Return an image name without class folders and, if it is a number, without leading zeros, for comparisons.

    Examples
    --------
    >>> plain_key("n01440764/ILSVRC2012_val_00000293"), plain_key("00012")
    ('ILSVRC2012_val_00000293', '12')
    """
    stem = key.rpartition("/")[2]
    return str(int(stem)) if re.fullmatch("[0-9]{1,18}", stem) else stem


class CleanImages:
    """The images of a source, found by the image names that a corrupted dataset uses."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.samples = source.samples
        self._by_id = {sample.id: i for i, sample in enumerate(self.samples)}
        plain = [plain_key(sample.id) for sample in self.samples]
        self._by_name = {} if len(set(plain)) < len(plain) else {name: i for i, name in enumerate(plain)}
        self._raw = functools.lru_cache(maxsize=256)(self._load)

    def partner(self, found: FoundSet, index: int) -> int | None:
        """Return the source index of the clean image that belongs to an image in a set, or None if it is not found."""
        key = found.keys[index]
        if not found.named:
            return index if index < len(self.samples) else None
        if key in self._by_id:
            return self._by_id[key]
        return self._by_name.get(plain_key(key))

    def _load(self, place: int) -> Pixels | None:
        try:
            return self.source.load(self.samples[place]).image
        except BadSample:
            return None

    def raw(self, place: int) -> Pixels | None:
        """Return a source image, or None if it cannot be read."""
        return self._raw(place)

    def clean(self, places: Sequence[int], preparation: Preparation, channels: int) -> NDArray[np.uint8]:
        """Return the clean images that a preparation makes from source images, (N, H, W, channels)."""
        out = []
        for place in places:
            image = self.raw(place)
            assert image is not None, "unreadable source images are left out before"
            out.append(with_channels(preparation.clean(image), channels))
        return np.stack(out)

    def class_of(self, place: int) -> tuple[int | None, str | None, str | None]:
        """Return the label of a source image, the name of its class and its class folder."""
        label = self.samples[place].label
        if label is None:
            return None, None, None
        record = self.source.classes[label]
        return label, record.name, record.folder


def with_channels(image: Pixels, channels: int) -> Pixels:
    """Convert an image to one or three channels, with the same result as in Pillow."""
    if image.shape[2] == channels:
        return image
    if channels == 3:
        return np.repeat(image, 3, axis=2)
    r, g, b = (image[:, :, k].astype(np.int32) for k in range(3))
    return np.asarray((19595 * r + 38470 * g + 7471 * b + 32768) >> 16, np.uint8)[:, :, None]
