"""What a model made of each image: all that scores know of predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

CLEAN = "clean"
"""The id of the set of clean images."""


@dataclass(frozen=True)
class Outcome:
    """What a model made of the images of one set, in the data set's order."""

    correct: NDArray[np.bool_]
    """(N,): whether the most likely class (the lowest of equal ones) is the true one."""
    top5: NDArray[np.bool_] | None = None
    """(N,): whether the true class is among the five most likely; None where the predictions do not say."""
    rank: NDArray[np.int32] | None = None
    """(N,): how many classes are strictly above the true one."""
    probability: NDArray[np.float32] | None = None
    """(N,): of the true class, 0..1."""
    predicted: NDArray[np.int32] | None = None
    """(N,): the most likely class."""

    def __len__(self) -> int:
        return len(self.correct)

    def rows(self, chosen: NDArray[Any]) -> Outcome:
        """Return the outcome of some of the images: (N,) which, or their numbers."""
        parts: dict[str, Any] = {
            name: None if values is None else values[chosen] for name, values in vars(self).items()
        }
        return Outcome(**parts)


@dataclass(frozen=True)
class Predictions:
    """What a model made of a data set."""

    model: str
    digest: str | None
    """Of the data set that the predictions say they are of; None where they do not say."""
    outcomes: Mapping[str, Outcome] = field(repr=False)
    """By the id of a set."""
