"""People's answers as tables of people by images, and what follows from them, with the same resamples for all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corruptset.scores.estimates import Bootstrap, interval_of, value
from corruptset.scores.formulas import Estimate
from corruptset.scores.profiles import THRESHOLDS

from .study_records import Answer, AnswerSheet, Gap, PeopleBelow, Rate, StudyKey, Trial

CLUSTERS = "people and images, each drawn anew and independently of the other"

Row = tuple[int, Trial, Answer]
"""An answer, with its person's number and its picture."""


@dataclass(frozen=True)
class People:
    """The answers that count.

    A resample draws the people with replacement, and the units (pairs, or source images) too: an answer counts as often as its person
    times as often as its unit (Owen 2007, "The pigeonhole bootstrap"). So an interval says what other people and other images would do.
    All estimates have the value of all answers first, then that of each resample.
    """

    key: StudyKey
    sheets: Sequence[AnswerSheet]
    seed: int = 0

    @cached_property
    def rows(self) -> list[Row]:
        """All answers."""
        trials = {(trial.group, trial.id): trial for trial in self.key.trials}
        return [(p, trials[sheet.group, answer.trial], answer) for p, sheet in enumerate(self.sheets) for answer in sheet.answers]

    @cached_property
    def _weights(self) -> tuple[Estimate, Estimate]:
        """How often each person, and each unit, is in each resample: (resamples, people), (1 + resamples, units)."""
        units = 1 + max(trial.unit for trial in self.key.trials)
        # another seed for units than for people: of as many people as units the draws would be the same
        draws = Bootstrap(len(self.sheets), seed=2 * self.seed), Bootstrap(units, seed=2 * self.seed + 1)
        people, images = (draw.means(np.eye(draw.units)) * draw.units for draw in draws)
        return people, np.vstack([np.ones(units), images])

    def shares(self, rows: Iterable[Row]) -> Estimate:
        """Return the share of people who are right about each unit in some answers: (1 + resamples, units), NaN without answers."""
        people, images = self._weights
        right, given = np.zeros((2, people.shape[1], images.shape[1]))
        for person, trial, answer in rows:
            given[person, trial.unit] += 1
            right[person, trial.unit] += answer.answer == trial.category
        with np.errstate(invalid="ignore"):
            return np.vstack([right.sum(axis=0) / given.sum(axis=0), (people @ right) / (people @ given)])

    def mean(self, shares: Estimate) -> Estimate:
        """Return the mean over the units that have a value: (1 + resamples,)."""
        known = ~np.isnan(shares)
        weights = self._weights[1] * known
        with np.errstate(invalid="ignore"):
            mean: Estimate = (weights * np.where(known, shares, 0)).sum(axis=1) / weights.sum(axis=1)
        return mean

    def rate(self, rows: Sequence[Row]) -> Rate:
        """Return how often people are right in some answers."""
        mean = self.mean(self.shares(rows))
        return Rate(
            answers=len(rows),
            accuracy=value(mean),
            interval=interval_of(mean),
            cannot_tell=float(np.mean([answer.answer is None for *_, answer in rows])) if rows else None,
            median_ms=float(np.median([answer.ms for *_, answer in rows])) if rows else None,
        )

    def gap(self, differences: Estimate) -> Gap:
        """Return the mean of what differs between the two members of pairs, (1 + resamples, units)."""
        mean = self.mean(differences)
        return Gap(pairs=int((~np.isnan(differences[0])).sum()), difference=value(mean), interval=interval_of(mean))

    def confidence_gap(self, differences: Estimate) -> Gap | None:
        """Return how much more confident the model is of members that it has right, of pairs that have a difference of people's shares."""
        gaps = differences[0].copy()
        gaps[~np.isnan(gaps)] = 0
        for trial in self.key.trials:
            if trial.confidence is None:
                return None
            gaps[trial.unit] += trial.confidence * (1 if trial.right else -1)
        return self.gap(np.broadcast_to(gaps, differences.shape))

    def first_below(self, by_level: dict[int, list[Row]]) -> dict[str, PeopleBelow]:
        """Return, for each threshold, the first level at which people's accuracy is below it; later than all levels is never."""
        levels: list[int | None] = [*by_level, None]
        means = [self.mean(self.shares(rows)) for rows in by_level.values()]
        found = {}
        for threshold in THRESHOLDS if means else ():
            places = np.argmax([*(mean < threshold for mean in means), np.ones(len(means[0]), bool)], axis=0)
            low, high = np.quantile(places[1:], [0.025, 0.975], method="inverted_cdf")
            found[str(threshold)] = PeopleBelow(level=levels[places[0]], interval=(levels[int(low)], levels[int(high)]))
        return found
