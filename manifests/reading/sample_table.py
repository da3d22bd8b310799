"""The samples of a data set, with their labels and classes, which all its sets share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..disk.jsonl import read_jsonl, row_at
from ..records.models import ClassRecord, SampleRecord
from .image_store import damaged


class SampleTable:
    """The rows of samples.jsonl, read when they are first used; `counts` are how many samples its sets have, all the same number."""

    def __init__(self, path: Path, counts: Iterable[int], classes: Sequence[ClassRecord]) -> None:
        self._path = path
        self._counts = frozenset(counts)
        self.classes = classes

    def __getstate__(self) -> dict[str, Any]:
        # samples are read again where they are needed: cheaper than sending them to every worker
        return {key: value for key, value in self.__dict__.items() if key not in ("records", "labels", "label_list")}

    @cached_property
    def records(self) -> list[SampleRecord]:
        """The samples, by index."""
        records = list(read_jsonl(self._path, SampleRecord))
        # a row too few or too many would give images the labels of others
        if [s.index for s in records] != list(range(len(records))) or self._counts - {len(records)}:
            raise damaged(self._path, f"does not hold rows 0 to {max(self._counts, default=0) - 1} in order")
        return records

    def record(self, index: int) -> SampleRecord:
        """Return one of `records`, without reading the others."""
        return row_at(self._path, SampleRecord, index)

    @cached_property
    def label_list(self) -> list[int]:
        """The class index of every sample; None, whatever the type says, where samples have no labels."""
        return [s.label for s in self.records]  # type: ignore[misc]  # who has labels need not test each for None

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """(N,) int64: the class index of every sample; raises where samples have no labels."""
        return np.array([s.class_index for s in self.records], dtype=np.int64)
