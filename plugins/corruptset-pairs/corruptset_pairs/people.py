"""People's answers as tables of people by images, and what follows from them, with the same resamples for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from corruptset.scores.estimates import Bootstrap, interval
from corruptset.scores.profiles import THRESHOLDS

from .study_records import Answer, AnswerSheet, Gap, PeopleBelow, Rate, StudyKey, Trial

CLUSTERS = "people and images, each drawn anew and independently of the other"

Floats = NDArray[np.float64]
Wanted = Callable[[Trial], bool]


@dataclass(frozen=True)
class People:
    """The answers that count.

    A resample draws the people with replacement, and the units (pairs, or source images) too: an answer counts as often as its person
    times as often as its unit (Owen 2007, "The pigeonhole bootstrap"). So an interval says what other people and other images would do.
    """

    key: StudyKey
    sheets: Sequence[AnswerSheet]
    seed: int = 0

    @cached_property
    def answers(self) -> list[tuple[int, Trial, Answer]]:
        """Each answer with its person's number and its picture."""
        trials = {(trial.group, trial.id): trial for trial in self.key.trials}
        return [(p, trials[sheet.group, answer.trial], answer) for p, sheet in enumerate(self.sheets) for answer in sheet.answers]

    @cached_property
    def _weights(self) -> tuple[Floats, Floats]:
        """How often each person, and each unit, is in each resample: (resamples, people), (resamples, units)."""
        units = 1 + max(trial.unit for trial in self.key.trials)
        # another seed for units than for people: of as many people as units the draws would be the same
        draws = Bootstrap(len(self.sheets), seed=2 * self.seed), Bootstrap(units, seed=2 * self.seed + 1)
        people, images = (draw.means(np.eye(draw.units)) * draw.units for draw in draws)
        return people, images

    def _accuracies(self, wanted: Wanted) -> tuple[Floats, Floats]:
        """Return the share of people who are right about each unit's wanted pictures: (units,), and in each resample (resamples, units)."""
        people, images = self._weights
        right, given = np.zeros((2, people.shape[1], images.shape[1]))
        for person, trial, answer in self.answers:
            if wanted(trial):
                given[person, trial.unit] += 1
                right[person, trial.unit] += answer.answer == trial.category
        with np.errstate(invalid="ignore"):
            return right.sum(axis=0) / given.sum(axis=0), (people @ right) / (people @ given)

    def _mean(self, share: Floats, shares: Floats) -> tuple[float | None, Floats]:
        """Return the mean over units that have a value, and the same in each resample."""
        known = ~np.isnan(shares)
        weights = self._weights[1] * known
        with np.errstate(invalid="ignore"):
            replicates = (weights * np.where(known, shares, 0)).sum(axis=1) / weights.sum(axis=1)
        return (None if np.isnan(share).all() else float(np.nanmean(share))), replicates

    def rate(self, wanted: Wanted) -> Rate:
        """Return how often people are right about some pictures."""
        accuracy, replicates = self._mean(*self._accuracies(wanted))
        answers = [answer for _, trial, answer in self.answers if wanted(trial)]
        return Rate(
            answers=len(answers),
            accuracy=accuracy,
            interval=interval(replicates),
            cannot_tell=float(np.mean([a.answer is None for a in answers])) if answers else None,
            median_ms=float(np.median([a.ms for a in answers])) if answers else None,
        )

    def gap(self, better: Wanted, worse: Wanted) -> Gap:
        """Return how much more often people are right about some pictures than about others of the same units."""
        (first, firsts), (second, seconds) = self._accuracies(better), self._accuracies(worse)
        return self._gap(first - second, firsts - seconds)

    def confidence_gap(self, better: Wanted, worse: Wanted) -> Gap | None:
        """Return how much more confident the model is of some pictures than of others of the same units, of units with answers to both."""
        gaps = self._accuracies(better)[0] - self._accuracies(worse)[0]
        gaps[~np.isnan(gaps)] = 0
        for trial in self.key.trials:
            if trial.confidence is None:
                return None
            gaps[trial.unit] += trial.confidence * (int(better(trial)) - int(worse(trial)))
        return self._gap(gaps, np.broadcast_to(gaps, self._weights[1].shape))

    def _gap(self, gaps: Floats, replicates: Floats) -> Gap:
        difference, means = self._mean(gaps, replicates)
        return Gap(pairs=int((~np.isnan(gaps)).sum()), difference=difference, interval=interval(means))

    def first_below(self, levels: Sequence[int], wanted: Wanted) -> dict[str, PeopleBelow]:
        """Return, for each threshold, the first of some levels at which people's accuracy is below it, of some pictures."""
        found = [self._mean(*self._accuracies(lambda trial, level=level: trial.level == level and wanted(trial))) for level in levels]  # type: ignore[misc]
        means = np.array([np.nan if mean is None else mean for mean, _ in found])
        replicates = np.stack([values for _, values in found], axis=1)
        return {str(t): _below(levels, means, replicates, t) for t in THRESHOLDS}


def _below(levels: Sequence[int], means: Floats, replicates: Floats, threshold: float) -> PeopleBelow:
    """Return the first level below a threshold, and the middle 95 % of it in the resamples; later than all levels is never."""
    named: list[int | None] = [*levels, None]
    never = np.full(len(replicates), True)
    place = int(np.argmax([*(means < threshold), True]))
    places = np.argmax(np.column_stack([replicates < threshold, never]), axis=1)
    low, high = np.quantile(places, [0.025, 0.975], method="inverted_cdf")
    return PeopleBelow(level=named[place], interval=(named[int(low)], named[int(high)]))
