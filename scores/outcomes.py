"""The outcomes of a model for each image. Scores are computed only from outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

CLEAN = "clean"
"""The id of the set of clean images."""
FIRST = 5
"""The number of classes that top-5 accuracy considers. With at most this many classes, it would always be 1."""


@dataclass(frozen=True)
class Outcome:
    """The outcomes of a model for the images of one set, in the order of the dataset."""

    correct: NDArray[np.bool_]
    """Whether the most likely class is the true one, (N,). If classes are tied, the first one counts as most likely."""
    top5: NDArray[np.bool_] | None = None
    """Whether the true class is among the five most likely ones, (N,), or None if the predictions do not contain it."""
    rank: NDArray[np.int32] | None = None
    """The number of classes that score strictly higher than the true one, (N,)."""
    probability: NDArray[np.float32] | None = None
    """The probability of the true class from 0 to 1, (N,)."""
    predicted: NDArray[np.int32] | None = None
    """The most likely class, (N,)."""

    def __len__(self) -> int:
        return len(self.correct)

    def rows(self, chosen: NDArray[Any]) -> Outcome:
        """Return the outcomes of some images, selected by a mask or by their numbers."""
        parts: dict[str, Any] = {
            name: None if values is None else values[chosen] for name, values in vars(self).items()
        }
        return Outcome(**parts)


@dataclass(frozen=True)
class Predictions:
    """The outcomes of a model for a dataset."""

    model: str
    digest: str | None
    """The digest of the dataset to which the predictions belong, or None if the predictions do not contain it."""
    outcomes: Mapping[str, Outcome] = field(repr=False)
    """A mapping from set ids to outcomes."""
