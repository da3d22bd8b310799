"""Sources that are tables of rows: CIFAR, MNIST, arrays. Their order is the file's, their pixels are read row by row."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import SourceError
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.models import ClassRecord
from .blocks import Block, read_image
from .naming import name_problem
from .source import Loaded, Probe, Sample

SPLITS = ("test", "train", "all")
LARGEST = (1 << 31) - 1
"""Pixels of a row, at most."""


class RowSource:
    """Rows of one or more blocks; ids are ``<split>/<row, five digits>``.

    A sample's sha256 is of its C-order (H, W, C) pixel bytes, so it does not depend on the form that the rows came in.
    """

    license: str | None = None
    notes: tuple[tuple[str, str], ...] = ()

    def __init__(
        self, scheme: str, blocks: Sequence[Block], labels: Sequence[NDArray[np.int64]], classes: tuple[ClassRecord, ...], width: int = 5
    ) -> None:
        self.scheme = scheme
        self.classes = classes
        self.blocks = tuple(blocks)
        self.firsts = [0]
        samples: list[Sample] = []
        done: dict[str, int] = {}
        for block, given in zip(blocks, labels, strict=True):
            begun = done.get(block.split, 0)
            done[block.split] = begun + block.rows
            split = None if block.split == "data" else block.split
            samples += [
                Sample(self.firsts[-1] + row, f"{block.split}/{begun + row:0{width}d}", label, None, split)
                for row, label in enumerate(given.tolist())
            ]
            self.firsts.append(len(samples))
        self.samples = tuple(samples)

    def load(self, sample: Sample) -> Loaded:
        """Read a row."""
        image = read_image(*self._place(sample))
        return Loaded(image, sha256_bytes(image.data))

    def fingerprint(self, sample: Sample) -> str:
        """Return the sha256 of a row's pixels; nothing is read where it is known from the listing."""
        block, row = self._place(sample)
        return block.known(row) or sha256_bytes(read_image(block, row).data)

    def probe(self, sample: Sample) -> Probe:
        """Return what a row is; nothing is read where the sha256 is known from the listing."""
        height, width, channels = self._place(sample)[0].shape
        return Probe(self.fingerprint(sample), width, height, channels)

    def _place(self, sample: Sample) -> tuple[Block, int]:
        """Return the block that a sample is in, and its row there."""
        number = bisect.bisect_right(self.firsts, sample.index) - 1
        return self.blocks[number], sample.index - self.firsts[number]


def wanted_splits(split: str | None, *, default: Literal["test", "train"] = "test") -> tuple[str, ...]:
    """Return the splits that are meant, in the order that they are read in: test before train.

    Examples
    --------
    >>> wanted_splits(None), wanted_splits("all")
    (('test',), ('test', 'train'))
    """
    if split is None:
        return (default,)
    if split not in SPLITS:
        raise SourceError(f"--split is {split!r}; expected one of {', '.join(SPLITS)}.")
    return ("test", "train") if split == "all" else (split,)


def named_classes(names: Sequence[str], where: str) -> tuple[ClassRecord, ...]:
    """Return the classes of a list of names; a folder is the name, with its index in front where names do not sort as they are numbered.

    Raises
    ------
    SourceError
        A name is empty, given twice, or cannot be a folder's.

    Examples
    --------
    >>> [c.folder for c in named_classes(["cat", "dog"], "x")], [c.folder for c in named_classes(["dog", "cat"], "x")]
    (['cat', 'dog'], ['0_dog', '1_cat'])
    """
    problems = []
    for i, name in enumerate(names):
        problem = name_problem(name) or ("cannot be a folder's name" if not name or "/" in name or name.startswith(".") else None)
        if problem is not None:
            problems.append(f"class {i}, {name!r}, {problem}")
    if not problems and len({n.casefold() for n in names}) < len(names):
        problems.append("a class name is given twice")
    if problems or not names:
        raise SourceError(f"{where} does not hold class names: {'; '.join(problems[:5]) or 'it has none'}. Download it again.")
    sorts = list(names) == sorted(names)
    width = len(str(len(names) - 1))
    return tuple(ClassRecord(index=i, name=n, folder=n if sorts else f"{i:0{width}d}_{n}") for i, n in enumerate(names))


def check_labels(labels: NDArray[np.int64], low: int, high: int, where: str) -> None:
    """Refuse labels outside ``low`` .. ``high``."""
    wrong = np.flatnonzero((labels < low) | (labels > high))
    if len(wrong):
        rows = ", ".join(f"row {i}: {labels[i]}" for i in wrong[:5])
        raise SourceError(
            f"{where} has {len(wrong)} label{'s' * (len(wrong) > 1)} out of range ({rows}); expected {low} to {high}. "
            "Download it again, or make it anew."
        )
