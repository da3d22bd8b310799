"""Means over images and over each resample of them, and intervals.

Resamples are of the images, the same for every set and every model, so that differences are paired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..manifests.records.models import SampleRecord
from .formulas import Estimate

COLUMNS = 256
"""Sets whose images are in memory as numbers at once."""
DIGITS = 7
"""Of a score in a resample that is kept."""
MOST_SEED = 2**53 - 1
RESAMPLES = 1_000
LEVEL = 0.95
"""Of all intervals."""
ONE_IMAGE = "There are no intervals: all that counts is of one image, and resamples of it are all the same."
BLOCK = 100
"""Resamples whose counts are in memory at once."""


@dataclass(frozen=True)
class Bootstrap:
    """Resamples of N units: images, or the source images of regions.

    A resample draws N of the N units with replacement, from (seed, N) alone: whoever scores the same images draws the
    same.
    """

    units: int
    seed: int = 0
    resamples: int = RESAMPLES

    def means(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the mean of each column in each resample, (resamples, columns), of values (units, columns).

        A unit that has no value (NaN) in a column counts neither in its sum nor in its number. Of one unit nothing is
        drawn: NaN.
        """
        if self.units == 1:
            return np.full((self.resamples, values.shape[1]), np.nan)
        present = ~np.isnan(values)
        sums = self._sums(np.where(present, values, 0).astype(np.float32))
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / (self.units if present.all() else self._sums(present.astype(np.float32))))

    def _sums(self, values: NDArray[np.float32]) -> NDArray[np.float64]:
        blocks = (self._counts(first) @ values for first in range(0, self.resamples, BLOCK))
        return np.concatenate([np.asarray(block, np.float64) for block in blocks])

    def _counts(self, first: int) -> NDArray[np.float32]:
        """Return how often each resample of a block has each unit, (resamples, units)."""
        count = min(BLOCK, self.resamples - first)
        draws = np.random.Generator(np.random.Philox(key=[self.seed, first])).integers(
            0, self.units, (count, self.units), dtype=np.int64
        )
        draws += np.arange(count)[:, None] * self.units
        return np.bincount(draws.ravel(), minlength=count * self.units).reshape(count, self.units).astype(np.float32)


def interval(replicates: NDArray[np.float64], *, around: float | None = None) -> tuple[float, float] | None:
    """Return the middle `LEVEL` of a score's values in the resamples, as far as `around` at least."""
    values = replicates[~np.isnan(replicates)]
    if not len(values):
        return None
    ends = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    more = ends if around is None else [*ends, around]
    return min(more), max(more)


def without_noise(spread: Estimate) -> NDArray[np.float64]:
    """Return the resamples of a spread (a CV, a gap) without the noise of the images.

    In its square a spread has that noise once, and a resample twice: as much again as a resample has on average more.
    """
    squares = spread**2
    return np.asarray(np.sqrt(np.maximum(0, squares[1:] - 2 * (np.nanmean(squares[1:]) - squares[0]))))


@dataclass(frozen=True)
class Images:
    """What a resample draws: images, or source images with all of their regions."""

    unit_of: NDArray[np.int64] | None
    """(N,): the number of each image's source image; None where each image is drawn by itself."""
    bootstrap: Bootstrap

    def estimates(self, values: Mapping[str, NDArray[Any]]) -> dict[str, Estimate]:
        """Return the means of several values of the images, (N,) each; NaN is none."""
        names, found = list(values), dict[str, Estimate]()
        for at in range(0, len(names), COLUMNS):
            some = names[at : at + COLUMNS]
            found |= zip(some, self._means(np.stack([values[name] for name in some], axis=1)).T, strict=True)
        return found

    def _means(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return (1 + resamples, columns) means of (images, columns)."""
        present = ~np.isnan(values)
        known = np.where(present, values, 0)
        over_all = known.sum(axis=0, dtype=np.float64) / present.sum(axis=0)
        if self.unit_of is None:
            return np.concatenate([over_all[None], self.bootstrap.means(values)])
        sums, counts = (
            np.stack([np.bincount(self.unit_of, column, self.bootstrap.units) for column in of.T], axis=1)
            for of in (known, present)
        )
        with np.errstate(invalid="ignore"):
            resampled = self.bootstrap.means(sums) / self.bootstrap.means(counts)
        return np.concatenate([over_all[None], resampled])


def images_of(samples: Sequence[SampleRecord], seed: int) -> Images:
    """Return resamples of images; regions are drawn with their source image.

    Raises
    ------
    ParameterError
        The seed is none.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MOST_SEED:
        raise ParameterError(f"seed is {seed!r}; expected a whole number from 0 to {MOST_SEED} (2**53 - 1).")
    if all(s.region is None for s in samples):
        return Images(None, Bootstrap(len(samples), seed))
    sources = [s.id if s.region is None else s.region.source for s in samples]
    numbers = {source: number for number, source in enumerate(dict.fromkeys(sources))}
    return Images(np.array([numbers[source] for source in sources], np.int64), Bootstrap(len(numbers), seed))


def value(estimate: Estimate) -> float | None:
    """Return a score over all images; None where it has no finite value."""
    return float(estimate[0]) if np.isfinite(estimate[0]) else None


def interval_of(estimate: Estimate, *, is_spread: bool = False) -> tuple[float, float] | None:
    """Return the interval of a score; None where it has no value, or no resample has."""
    if not np.isfinite(estimate[0]) or np.isnan(estimate[1:]).all():
        return None
    return interval(without_noise(estimate), around=float(estimate[0])) if is_spread else interval(estimate[1:])


def replicates(estimate: Estimate) -> list[float] | None:
    """Return a score in each resample, rounded; None where one has no value."""
    if not np.isfinite(estimate).all():
        return None
    return [float(f"{one:.{DIGITS}g}") for one in estimate[1:].tolist()]
