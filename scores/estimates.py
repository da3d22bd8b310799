"""Means over images, and over each resample of them: what every score is computed from."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..manifests.records.models import SampleRecord
from .formulas import Estimate
from .intervals import Bootstrap, interval

K = TypeVar("K", bound=Hashable)
COLUMNS = 256
"""Sets whose images are in memory as numbers at once."""
DIGITS = 7
"""Of a score in a resample that is kept."""
MOST_SEED = 2**53 - 1


@dataclass(frozen=True)
class Images:
    """The images that count, and what a resample draws: images, or source images with all of their regions."""

    chosen: NDArray[np.bool_]
    """(N,): which of the data set's."""
    unit_of: NDArray[np.int64] | None
    """(images that count,): the number of each one's source image; None where each image is drawn by itself."""
    bootstrap: Bootstrap

    @property
    def count(self) -> int:
        """How many count."""
        return int(np.count_nonzero(self.chosen))

    def estimates(self, values: Mapping[K, NDArray[np.bool_] | NDArray[np.floating]]) -> dict[K, Estimate]:
        """Return the mean of each of several values of the data set's images, (N,) each; NaN is an image that has none."""
        names, found = list(values), dict[K, Estimate]()
        for at in range(0, len(names), COLUMNS):
            some = names[at : at + COLUMNS]
            found |= zip(some, self._means(np.stack([values[name][self.chosen] for name in some], axis=1)).T, strict=True)
        return found

    def _means(self, values: NDArray[np.bool_] | NDArray[np.floating]) -> NDArray[np.float64]:
        """Return (1 + resamples, columns) means of (images, columns)."""
        present = ~np.isnan(values) if values.dtype.kind == "f" else np.ones_like(values)
        over_all = np.where(present, values, 0).sum(axis=0, dtype=np.float64) / present.sum(axis=0)
        if self.unit_of is None:
            resampled = self.bootstrap.means(values)
        else:
            sums, counts = self._by_unit(np.where(present, values, 0)), self._by_unit(present)
            with np.errstate(invalid="ignore"):
                resampled = self.bootstrap.means(sums) / self.bootstrap.means(counts)
        return np.concatenate([over_all[None], resampled])

    def _by_unit(self, values: NDArray[np.bool_] | NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the sum of each column over each unit's images."""
        assert self.unit_of is not None
        columns = [np.bincount(self.unit_of, column, self.bootstrap.units) for column in values.T]
        return np.stack(columns, axis=1)


def images_of(samples: Sequence[SampleRecord], chosen: NDArray[np.bool_], seed: int) -> Images:
    """Return the images of a data set that count, with resamples of a seed; regions are drawn with their source image.

    Raises
    ------
    ParameterError
        The seed is none.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MOST_SEED:
        raise ParameterError(f"seed is {seed!r}; expected a whole number from 0 to {MOST_SEED} (2**53 - 1).")
    units, unit_of = int(np.count_nonzero(chosen)), None
    if any(s.region is not None for s in samples):
        sources = [s.id if s.region is None else s.region.source for s, counts in zip(samples, chosen.tolist(), strict=True) if counts]
        numbers = {source: number for number, source in enumerate(dict.fromkeys(sources))}
        units, unit_of = len(numbers), np.array([numbers[source] for source in sources], np.int64)
    return Images(chosen, unit_of, Bootstrap(units, seed))


def value(estimate: Estimate) -> float | None:
    """Return a score over all images; None where it has no finite value."""
    return float(estimate[0]) if np.isfinite(estimate[0]) else None


def interval_of(estimate: Estimate) -> tuple[float, float] | None:
    """Return the interval of a score; None where it has no value."""
    return interval(np.where(np.isfinite(estimate[1:]), estimate[1:], np.nan)) if np.isfinite(estimate[0]) else None


def replicates(estimate: Estimate) -> list[float] | None:
    """Return a score in each resample, to `DIGITS` significant digits; None where one of them has no value."""
    if not np.isfinite(estimate).all():
        return None
    return [float(f"{one:.{DIGITS}g}") for one in estimate[1:].tolist()]
