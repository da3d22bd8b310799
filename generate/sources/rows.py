"""Sources that are tables of rows: CIFAR, MNIST, arrays. Their order is the file's; each process holds the tables in memory."""

from __future__ import annotations

import bisect
import functools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import SourceError
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.models import ClassRecord
from .places import Stamp, reading, stamp
from .source import BadSample, Loaded, Sample, Source

SPLITS = ("test", "train", "all")


@dataclass(frozen=True)
class Table:
    """Equal images, and what is known of them."""

    split: str
    images: NDArray[np.uint8]
    """(N, H, W, C), in any order of memory."""
    labels: NDArray[np.int64]
    groups: Sequence[str] | None = None


Rows = tuple[tuple[ClassRecord, ...], list[Table]]
"""What reading some files gives."""


class RowSource(Source):
    """Rows of one or more tables; ids are ``<split>/<row, five digits>``.

    A sample's sha256 is of its C-order (H, W, C) pixel bytes, so it does not depend on the form that the rows came in.

    Parameters
    ----------
    scheme : str
    files : sequence of Path
        What is read; where one has changed, all are read again.
    read : callable
        Called with the arguments in every process that loads a row, once.
    *arguments
        Hashable.
    width : int
        Digits of a row in an id.
    """

    def __init__(self, scheme: str, files: Sequence[Path], read: Callable[..., Rows], *arguments: Any, width: int = 5) -> None:
        self.scheme = scheme
        self.files = tuple(files)
        self.read, self.arguments = read, arguments
        self.classes, tables = self._rows()
        self.held_bytes = sum(table.images.nbytes for table in tables if not isinstance(table.images, np.memmap))
        self.firsts = [0]
        samples: list[Sample] = []
        rows_of: Counter[str] = Counter()
        for table in tables:
            split = None if table.split == "data" else table.split
            for row, label in enumerate(table.labels.tolist()):
                identity = f"{table.split}/{rows_of[table.split] + row:0{width}d}"
                samples.append(Sample(len(samples), identity, label, None, split, table.groups[row] if table.groups else None))
            rows_of[table.split] += len(table.labels)
            self.firsts.append(len(samples))
        self.samples = tuple(samples)

    def load(self, sample: Sample) -> Loaded:
        number = bisect.bisect_right(self.firsts, sample.index) - 1
        try:
            _, tables = self._rows()
            image = np.array(tables[number].images[sample.index - self.firsts[number]], order="C")
        except (SourceError, IndexError) as e:
            raise BadSample(f"cannot be read any more: {e}") from None
        return Loaded(image, sha256_bytes(image.data))

    def _rows(self) -> Rows:
        with reading(self.files[0]):
            return _held_rows(self.read, self.arguments, tuple(map(stamp, self.files)))


@functools.lru_cache(maxsize=1)
def _held_rows(read: Callable[..., Rows], arguments: tuple[Any, ...], stamps: tuple[Stamp, ...]) -> Rows:
    return read(*arguments)


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
