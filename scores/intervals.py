"""Bootstrap over images: the same resamples of the images for every set and every model, so that differences are paired."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1_000
LEVEL = 0.95
"""Of all intervals."""
BLOCK = 100
"""Resamples whose counts are in memory at once."""


@dataclass(frozen=True)
class Bootstrap:
    """Resamples of N units: images, or the source images of regions.

    A resample draws N of the N units with replacement, from (seed, N) alone: whoever scores the same images draws the same.
    """

    units: int
    seed: int = 0
    resamples: int = RESAMPLES

    def means(self, values: NDArray[np.floating] | NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the mean of each column in each resample, (resamples, columns), of values (units, columns).

        A unit that has no value (NaN) in a column counts neither in its sum nor in its number.
        """
        present = ~np.isnan(values) if values.dtype.kind == "f" else None
        if present is None or present.all():
            return self._sums(np.asarray(values, np.float32)) / self.units
        sums = self._sums(np.where(present, values, 0).astype(np.float32))
        counts = self._sums(present.astype(np.float32))
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / counts)

    def _sums(self, values: NDArray[np.float32]) -> NDArray[np.float64]:
        blocks = (self._counts(first) @ values for first in range(0, self.resamples, BLOCK))
        return np.concatenate([np.asarray(block, np.float64) for block in blocks])

    def _counts(self, first: int) -> NDArray[np.float32]:
        """Return how often each unit is in each resample of a block, (resamples of the block, units)."""
        count = min(BLOCK, self.resamples - first)
        draws = np.random.Generator(np.random.Philox(key=[self.seed, first])).integers(0, self.units, (count, self.units), dtype=np.int64)
        draws += np.arange(count)[:, None] * self.units
        return np.bincount(draws.ravel(), minlength=count * self.units).reshape(count, self.units).astype(np.float32)


def interval(replicates: NDArray[np.float64]) -> tuple[float, float] | None:
    """Return the middle `LEVEL` of a score's values in the resamples; None where none has a value."""
    values = replicates[~np.isnan(replicates)]
    if not len(values):
        return None
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
