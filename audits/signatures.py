"""Compute the statistics that hypotheses predict, and the distance between found images and each hypothesis.

The predicted statistics are those of images with corruptset's own random draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..corruptions.registry import Images
from .features import FEATURES, Base, Features, base_of, features
from .hypotheses import Hypothesis
from .storage import Steps, apply_storage

_FLOOR = np.array(list(FEATURES.values()))
LOG_ODDS = 5.0
"""The logarithm of the odds above which the less likely of two hypotheses is excluded."""
_CAUTION = {"frost": 6.0, "elastic_transform": 3.0}
"""The factors by which `LOG_ODDS` is multiplied for some corruptions.

The default textures of frost are drawings, not the published photographs. The statistics of elastic transforms depend
on a few large displacements, so their distribution is far from normal.
"""
_FREEDOM = 40
"""The minimum number of degrees of freedom for the covariance of draws."""
_SHRINKAGE = 0.1
"""The fraction by which correlations between statistics are reduced, because few draws estimate them badly."""
_FEW = 4
_SPREAD = 5.0
"""The typical difference in a statistic between two draws for a few images, as a multiple of its value in FEATURES."""
_CALIBRATION_DRAWS, _CERTAIN = 12, 4.5
"""The number of draws with which a decision is calibrated, and the standard errors that it requires."""
_CALIBRATION_SEED = 15_485_863
_LARGEST = 100.0
"""The maximum square of the deviation in one statistic, so that no single statistic can decide."""


@dataclass(frozen=True)
class Distance:
    """The distance between a set's statistics and those of a hypothesis, in standard errors."""

    hypothesis: Hypothesis
    steps: Steps
    value: float
    """The root mean square over the statistics. It is about 1 if the hypothesis holds."""

    @property
    def log_odds(self) -> float:
        """The logarithm of the odds against the hypothesis, up to a constant, for normally distributed statistics."""
        return len(FEATURES) / 2 * self.value**2

    def excludes(self, rival: Distance) -> bool:
        """Return whether a rival hypothesis is so much farther away that it is excluded."""
        caution = _CAUTION.get(self.hypothesis.corruption, 1.0)
        return rival.log_odds - self.log_odds > LOG_ODDS * caution


class Signatures:
    """A table of the statistics that hypotheses predict for clean images, computed when needed from random draws.

    All sets in an audit are compared on the same images, so they share one table.
    """

    def __init__(self, clean: Images, ids: Sequence[str], *, textures: object = None) -> None:
        self.clean, self.ids, self.textures = clean, list(ids), textures
        # With fewer images, more draws are needed to estimate the covariance equally well.
        self.draws = max(3, 1 + math.ceil(_FREEDOM / len(clean)))
        self.bases: list[Base] = [base_of(image) for image in clean]
        self._tables: dict[tuple[Hypothesis, Steps], NDArray[np.float64]] = {}
        self._rough: dict[tuple[Hypothesis, Steps, tuple[int, ...]], Features] = {}
        self._drawn: dict[tuple[Hypothesis, Steps, tuple[int, ...]], list[Features]] = {}

    def table(self, hypothesis: Hypothesis, steps: Steps) -> NDArray[np.float64]:
        """Return the statistics that a hypothesis predicts for all images, (draws, N, statistics)."""
        if (hypothesis, steps) not in self._tables:
            draws = 1 if hypothesis.deterministic else self.draws
            # Seed 0 is left out, because a dataset that corruptset built may have it.
            made = [
                features(
                    apply_storage(
                        hypothesis.images(self.clean, self.ids, seed=7919 + k, textures=self.textures), steps
                    ),
                    self.bases,
                )
                for k in range(draws)
            ]
            self._tables[hypothesis, steps] = np.stack(made)
        return self._tables[hypothesis, steps]

    def rough_distance(self, observed: Features, rows: Sequence[int], hypothesis: Hypothesis, steps: Steps) -> float:
        """Return the distance between a few images and one draw, to choose the hypotheses that deserve more draws."""
        few = list(rows[:_FEW])
        key = (hypothesis, steps, tuple(few))
        if key not in self._rough:
            ids = [self.ids[row] for row in few]
            made = apply_storage(hypothesis.images(self.clean[few], ids, seed=7919, textures=self.textures), steps)
            self._rough[key] = features(made, [self.bases[row] for row in few])
        z = (observed[:_FEW] - self._rough[key]).mean(axis=0) / (_SPREAD * _FLOOR)
        return float(np.sqrt(np.mean(np.minimum(z**2, _LARGEST))))

    def distance(self, observed: Features, rows: Sequence[int], hypothesis: Hypothesis, steps: Steps) -> Distance:
        """Return the distance between images and a hypothesis. `rows` are the table rows of their clean images."""
        table = self.table(hypothesis, steps)[:, list(rows)]
        draws, count = table.shape[:2]
        difference = (observed - table.mean(axis=0)).mean(axis=0)
        error = np.diag(_FLOOR**2)
        if draws > 1:
            rest = (table - table.mean(axis=0)).reshape(-1, table.shape[2])
            spread = rest.T @ rest / (count * (draws - 1))
            # A few draws estimate variances better than correlations, so the correlations are shrunk.
            spread = (1 - _SHRINKAGE) * spread + _SHRINKAGE * np.diag(np.diag(spread))
            error += spread / count * (1 + 1 / draws)
        z = np.linalg.solve(np.linalg.cholesky(error), difference)
        return Distance(hypothesis, steps, float(np.sqrt(np.mean(np.minimum(z**2, _LARGEST)))))

    def rejects(
        self, observed: Features, rows: Sequence[int], hypothesis: Hypothesis, rival: Hypothesis, steps: Steps
    ) -> bool:
        """Return whether images reject a hypothesis in favour of a rival.

        The log-likelihood ratio must be improbable under the hypothesis. Its distribution is estimated from new draws
        for the same images, because the statistics of images with little texture are far from normal.
        """

        def ratio(found: Features) -> float:
            own, other = (self.distance(found, rows, one, steps) for one in (hypothesis, rival))
            return own.log_odds - other.log_odds

        key = (hypothesis, steps, tuple(rows))
        if key not in self._drawn:
            clean, ids = self.clean[list(rows)], [self.ids[row] for row in rows]
            bases = [self.bases[row] for row in rows]
            self._drawn[key] = [
                features(
                    apply_storage(
                        hypothesis.images(clean, ids, seed=_CALIBRATION_SEED + k, textures=self.textures), steps
                    ),
                    bases,
                )
                for k in range(1 if hypothesis.deterministic else _CALIBRATION_DRAWS)
            ]
        drawn = [ratio(made) for made in self._drawn[key]]
        spread = float(np.std(drawn, ddof=1)) if len(drawn) > 1 else 0.0
        return ratio(observed) > max(0.0, float(np.mean(drawn)) + _CERTAIN * spread)
