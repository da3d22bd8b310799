"""Sources that are tables of rows: CIFAR, MNIST, arrays. Their order is the file's, their pixels are read row by row."""

from __future__ import annotations

import bisect
import functools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import SourceError
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.models import ClassRecord
from .pickles import Array, Refused, Span
from .places import Place, Stamp, read_place, reading, stamp
from .source import BadSample, Loaded, Sample, Source

SPLITS = ("test", "train", "all")
MOST_HELD = 32 << 20
"""Bytes of a gzipped file's rows that are held in memory, so that the check and the build of 10,000 rows unpack an archive once: a
pass over CIFAR-100's is 6 % of a whole build."""


@dataclass(frozen=True)
class Table:
    """Equal images, one behind the other in one file."""

    split: str
    place: Place
    rows: int
    shape: tuple[int, int, int]
    """(H, W, C)"""
    skip: int = 0
    """Bytes before the pixels in a row: the labels of CIFAR's binary form."""
    planes: bool = False
    """Whether a row holds its channels one behind the other, as CIFAR's do."""
    latin: bool = False
    """Whether the bytes were pickled as text, each as a letter of Latin-1: they are held as a whole."""

    def image(self, row: int) -> NDArray[np.uint8]:
        """Return a row as (H, W, C), C-contiguous and writable; or raise `BadSample`."""
        size = math.prod(self.shape)
        start = row * (self.skip + size) + self.skip
        try:
            if self.latin or (self.place.zipped and self.place.size <= MOST_HELD):
                pixels = np.frombuffer(held_bytes(self.place, latin=self.latin), np.uint8, size, start)
            else:
                pixels = np.frombuffer(read_place(self.place.part(start, size)), np.uint8)
        except ValueError as e:  # a SourceError; or the file has changed, and what is text now is shorter
            raise BadSample(f"cannot be read any more: {e}") from None
        if not self.planes:
            return pixels.reshape(self.shape).copy()
        height, width, channels = self.shape
        return np.array(pixels.reshape(channels, height, width).transpose(1, 2, 0), order="C")


def held_bytes(place: Place, *, latin: bool) -> bytes | bytearray:
    """Return the bytes of a place, which are held until another place is asked for; raise `SourceError` or UnicodeError."""
    with reading(place.path):
        return _held_bytes(place, latin, stamp(place.path))


@functools.lru_cache(maxsize=1)
def _held_bytes(place: Place, latin: bool, stamped: Stamp) -> bytes | bytearray:
    return Span(place, latin).read()


def pickled_table(split: str, array: Array, shape: tuple[int, int, int], *, planes: bool) -> Table:
    """Return the images of an array that was pickled; raise `Refused` or `SourceError`."""
    span, size = array.data, math.prod(array.shape)
    if not isinstance(span, Span):
        raise Refused("has pixels that are no array")
    try:
        stored = len(held_bytes(span.place, latin=True)) if span.text else span.place.size
    except UnicodeError:
        raise Refused("has pixels of text whose letters are no bytes") from None
    if stored != size:
        raise Refused(f"has pixels of {size:,} bytes by their shape, and they take {stored:,}")
    return Table(split, span.place, array.shape[0], shape, planes=planes, latin=span.text)


class RowSource(Source):
    """Rows of one or more tables; ids are ``<split>/<row, five digits>``.

    A sample's sha256 is of its C-order (H, W, C) pixel bytes, so it does not depend on the form that the rows came in.
    """

    def __init__(
        self, scheme: str, tables: Sequence[Table], labels: Sequence[NDArray[np.int64]], classes: tuple[ClassRecord, ...], width: int = 5
    ) -> None:
        self.scheme = scheme
        self.classes = classes
        self.tables = tuple(tables)
        self.firsts = [0]
        samples: list[Sample] = []
        rows_of: Counter[str] = Counter()
        for table, values in zip(tables, labels, strict=True):
            begun = rows_of[table.split]
            rows_of[table.split] += table.rows
            split = None if table.split == "data" else table.split
            samples += [
                Sample(self.firsts[-1] + row, f"{table.split}/{begun + row:0{width}d}", label, None, split)
                for row, label in enumerate(values.tolist())
            ]
            self.firsts.append(len(samples))
        self.samples = tuple(samples)

    def load(self, sample: Sample) -> Loaded:
        number = bisect.bisect_right(self.firsts, sample.index) - 1
        image = self.tables[number].image(sample.index - self.firsts[number])
        return Loaded(image, sha256_bytes(image.data))


def wanted_splits(split: str | None) -> tuple[str, ...]:
    """Return the splits to read, in the order that they are read in: test before train; test by default.

    Examples
    --------
    >>> wanted_splits(None), wanted_splits("all")
    (('test',), ('test', 'train'))
    """
    if split is None:
        return ("test",)
    if split not in SPLITS:
        raise SourceError(f"--split is {split!r}; expected one of {', '.join(SPLITS)}.")
    return ("test", "train") if split == "all" else (split,)
