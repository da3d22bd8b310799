"""Compute bootstrap means and their confidence intervals.

An estimate is the mean over all images, followed by the means over resamples of the images. In each resample, the same
images are drawn for every set and every model, so that differences between models are paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..manifests.records.models import SampleRecord
from .formulas import Estimate

MAX_SEED = 2**53 - 1
RESAMPLES = 1_000
CONFIDENCE = 0.95
DIGITS = 7
"""The number of significant digits of a stored resampled score."""
SETS_AT_ONCE = 256
"""The number of sets whose outcomes are converted to floating point at the same time, which limits memory."""
RESAMPLES_AT_ONCE = 100
"""The number of resamples that are drawn at the same time, which limits memory."""


def draws(seed: int, resample: int, units: int) -> NDArray[np.int64]:
    """Return the units that a resample draws with replacement.

    Each draw is ``floor(units * w / 2**32)``, where w is the next 32-bit word of Philox4x64-10 with the key
    ``(seed, resample)``. The words are the low half and then the high half of each 64-bit output. NumPy guarantees the
    outputs of its bit generators, but not the results of ``Generator.integers``.
    """
    words = np.random.Philox(key=[seed, resample]).random_raw((units + 1) // 2)
    halves = np.stack([words & np.uint64(0xFFFFFFFF), words >> np.uint64(32)], axis=1).ravel()[:units]
    return ((halves * np.uint64(units)) >> np.uint64(32)).astype(np.int64)


@dataclass(frozen=True)
class Bootstrap:
    """Resamples of units. A unit is an image, or a source image with all of its regions.

    The draws depend only on the seed and the number of units, so that two models that are scored on the same images
    have the same resamples.
    """

    units: int
    seed: int = 0
    resamples: int = RESAMPLES

    def means(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the mean of each column of `values` in each resample.

        The shape of `values` is (units, columns), and that of the result is (resamples, columns). NaN marks a missing
        value, which is excluded from the mean. With a single unit, all resamples are equal, so all means are NaN.
        """
        if self.units == 1:
            return np.full((self.resamples, values.shape[1]), np.nan)
        present = ~np.isnan(values)
        known = np.where(present, values, 0).astype(np.float32)
        has_all = bool(present.all())
        blocks = []
        for counts in self._counts():
            sums = (counts @ known).astype(np.float64)
            with np.errstate(invalid="ignore"):
                blocks.append(sums / (self.units if has_all else counts @ present.astype(np.float32)))
        return np.concatenate(blocks)

    def _counts(self) -> Iterator[NDArray[np.float32]]:
        """Yield the number of times that each unit is drawn, as arrays (resamples, units) for blocks of resamples."""
        for first in range(0, self.resamples, RESAMPLES_AT_ONCE):
            numbers = range(first, min(first + RESAMPLES_AT_ONCE, self.resamples))
            rows = [np.bincount(draws(self.seed, n, self.units), minlength=self.units) for n in numbers]
            yield np.array(rows, np.float32)


def interval(resampled: NDArray[np.float64], *, around: float | None = None) -> tuple[float, float] | None:
    """Return the 95 % percentile interval of resampled values. Extend the interval to include `around`, if given."""
    values = resampled[~np.isnan(resampled)]
    if not len(values):
        return None
    ends = np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]).tolist()
    ends += [] if around is None else [around]
    return min(ends), max(ends)


def without_noise(spread: Estimate) -> NDArray[np.float64]:
    """Return the resampled values of a spread (a coefficient of variation or a gap) without bias from random errors.

    The square of a spread contains the variance of the random errors once, and a resample contains it twice. The
    difference between the mean of the resampled squares and the square therefore estimates this variance.
    """
    squares = spread**2
    return np.asarray(np.sqrt(np.maximum(0, squares[1:] - 2 * (np.nanmean(squares[1:]) - squares[0]))))


@dataclass(frozen=True)
class Images:
    """The images of a dataset and the units that the bootstrap draws."""

    unit_of: NDArray[np.int64] | None
    """The number of the source image of each region, (N,), or None if each image is a unit."""
    bootstrap: Bootstrap

    def estimates(self, values: Mapping[str, NDArray[Any]]) -> dict[str, Estimate]:
        """Return the mean of each array of values, (images,), over all images and in each resample.

        NaN marks a missing value.
        """
        names, found = list(values), dict[str, Estimate]()
        for first in range(0, len(names), SETS_AT_ONCE):
            some = names[first : first + SETS_AT_ONCE]
            found |= zip(some, self._means(np.stack([values[name] for name in some], axis=1)).T, strict=True)
        return found

    def _means(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the means, (1 + resamples, columns), of values with the shape (images, columns)."""
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
    """Return the images of some samples for the bootstrap. The regions of a source image form one unit.

    Raises
    ------
    ParameterError
        If the seed is not a whole number from 0 to 2**53 - 1.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MAX_SEED:
        raise ParameterError(f"seed is {seed!r}; expected a whole number from 0 to {MAX_SEED} (2**53 - 1).")
    if all(s.region is None for s in samples):
        return Images(None, Bootstrap(len(samples), seed))
    sources = [s.id if s.region is None else s.region.source for s in samples]
    numbers = {source: number for number, source in enumerate(dict.fromkeys(sources))}
    return Images(np.array([numbers[source] for source in sources], np.int64), Bootstrap(len(numbers), seed))


def value(estimate: Estimate) -> float | None:
    """Return a score over all images, or None if it is not finite."""
    return float(estimate[0]) if np.isfinite(estimate[0]) else None


def interval_of(estimate: Estimate, *, is_spread: bool = False) -> tuple[float, float] | None:
    """Return the confidence interval of a score, or None if the score or all resampled values are not finite."""
    if not np.isfinite(estimate[0]) or np.isnan(estimate[1:]).all():
        return None
    return interval(without_noise(estimate), around=float(estimate[0])) if is_spread else interval(estimate[1:])


def stored_resamples(estimate: Estimate) -> list[float] | None:
    """Return the rounded values of a score in each resample, or None if one of them is not finite."""
    if not np.isfinite(estimate).all():
        return None
    return [float(f"{one:.{DIGITS}g}") for one in estimate[1:].tolist()]
