"""`pairs-score`: from people's answers to their gap between the members of pairs, or to their profile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from corruptset.errors import StudyError, listed
from corruptset.scores.estimates import Bootstrap, interval_of, value
from corruptset.scores.formulas import Estimate
from corruptset.scores.outcomes import CLEAN
from corruptset.scores.profiles import THRESHOLDS

from .answer_files import read_answers, read_key
from .study_records import Answer, AnswerSheet, Gap, PeopleBelow, PeopleProfile, PeopleScores, Rate, StudyKey, Trial

FEW = 5
"""People below which an interval is said to be narrow by chance."""
Row = tuple[int, Trial, Answer]
"""An answer, with its person's number and its picture."""


@dataclass(frozen=True)
class People:
    """The answers that count.

    A resample draws the people with replacement, and the units (pairs, or source images) too: an answer counts as often
    as its person times as often as its unit (Owen 2007, "The pigeonhole bootstrap"). So an interval says what other
    people and other images would do. All estimates have the value of all answers first, then that of each resample.
    """

    key: StudyKey
    sheets: Sequence[AnswerSheet]
    seed: int = 0

    @cached_property
    def rows(self) -> list[Row]:
        """All answers."""
        trials = {(trial.group, trial.id): trial for trial in self.key.trials}
        return [
            (p, trials[sheet.group, answer.trial], answer)
            for p, sheet in enumerate(self.sheets)
            for answer in sheet.answers
        ]

    @cached_property
    def _weights(self) -> tuple[Estimate, Estimate]:
        """How often each person, and each unit, is in each resample: (resamples, people), (1 + resamples, units)."""
        units = 1 + max(trial.unit for trial in self.key.trials)
        # another seed for units than for people: of as many people as units the draws would be the same
        draws = Bootstrap(len(self.sheets), seed=2 * self.seed), Bootstrap(units, seed=2 * self.seed + 1)
        people, images = (draw.means(np.eye(draw.units)) * draw.units for draw in draws)
        return people, np.vstack([np.ones(units), images])

    def shares(self, rows: Iterable[Row]) -> Estimate:
        """Return the share of people who are right about each unit in some answers: (1 + resamples, units), NaN without
        answers.
        """
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
        """Return how much more confident the model is of members that it has right, of pairs that have a difference of
        people's shares.
        """
        gaps = differences[0].copy()
        gaps[~np.isnan(gaps)] = 0
        for trial in self.key.trials:
            if trial.confidence is None:
                return None
            gaps[trial.unit] += trial.confidence * (1 if trial.right else -1)
        return self.gap(np.broadcast_to(gaps, differences.shape))

    def first_below(self, by_level: dict[int, list[Row]]) -> dict[str, PeopleBelow]:
        """Return, for each threshold, the first level at which people's accuracy is below it; later than all levels is
        never.
        """
        levels: list[int | None] = [*by_level, None]
        means = [self.mean(self.shares(rows)) for rows in by_level.values()]
        found = {}
        for threshold in THRESHOLDS if means else ():
            places = np.argmax([*(mean < threshold for mean in means), np.ones(len(means[0]), bool)], axis=0)
            numbers = places[0], *np.quantile(places[1:], [0.025, 0.975], method="inverted_cdf")
            level, low, high = (levels[int(number)] for number in numbers)
            found[str(threshold)] = PeopleBelow(level=level, interval=(low, high))
        return found


def pairs_score(
    key: str | Path | StudyKey, answers: Iterable[str | Path], *, unfinished: bool = False, seed: int = 0
) -> PeopleScores:
    """Return what people's answers to a sheet come to.

    Parameters
    ----------
    key : str, Path or StudyKey
        The key that `pairs_sheet` wrote beside the page, or a folder with one key.
    answers : iterable of str or Path
        Files that the page saved, or folders of them. Files of another study, damaged ones, and a person's second sheet
        do not count, and are listed in `refused`.
    unfinished : bool
        Let the answers of people who stopped count too.
    seed : int
        Of the resamples.

    Returns
    -------
    PeopleScores
        Intervals are the middle 95 % over 1,000 resamples of both people and images.

    Raises
    ------
    StudyError
        The key cannot be read, or no file of answers counts.

    References
    ----------
    Srivastava, Ben-Yosef & Boix 2019, "Minimal Images in Deep Neural Networks: Fragile Object Recognition in Natural
    Images", section 5: people and networks on the same pairs. People's gap is the difference of the shares who are
    right (`gap`), the model's the difference of its probabilities of the true class (`confidence_gap`), over the same
    pairs and the same resamples of pairs.
    """
    study = key if isinstance(key, StudyKey) else read_key(key)
    files = read_answers(study, answers, unfinished=unfinished)
    if not files.sheets:
        reasons = [f"{one.file} {one.reason}" for one in files.refused] or ["no files were given"]
        raise StudyError(
            f"None of the files of answers counts:\n{listed(reasons, 20)}\nGive the files that the page of study "
            f"{study.study} saved."
        )
    people = People(study, files.sheets, seed)
    # of pairs two, the better one first: right and wrong, or anchor and partner
    names = sorted({name for trial in study.trials if (name := _member(trial)) is not None})
    members = {name: [row for row in people.rows if _member(row[1]) == name] for name in names}

    def differences(change: str | None = None) -> Estimate:
        better, worse = ([row for row in rows if change in (None, row[1].change)] for rows in members.values())
        return people.shares(better) - people.shares(worse)

    groups = {group: sum(sheet.group == group for sheet in files.sheets) for group in ("A", "B")}
    count = sum(groups.values())
    notes = []
    if count < FEW:
        notes.append(
            f"{count} {'person is' if count == 1 else 'people are'} few: resamples of so few make the intervals too "
            "narrow."
        )
    if members and 0 in groups.values():
        empty = "B" if groups["A"] else "A"
        notes.append(
            f"Nobody of group {empty} answered: no pair has answers to both of its members, so there is no gap."
        )
    if study.model_accuracy and study.classes > len(study.categories):
        notes.append(
            f"The model chose among {study.classes} classes, and people among {len(study.categories)} answers: its "
            "accuracy is lower by that alone."
        )
    shown = sorted({trial.corruption for trial in study.trials if trial.corruption is not None})
    return PeopleScores(
        **study.model_dump(include=set(PeopleScores.model_fields)),
        people=groups,
        answers=len(people.rows),
        unfinished=files.unfinished,
        chance=1 / len(study.categories),
        members={name: people.rate(rows) for name, rows in members.items()},
        gap=people.gap(differences()) if members else None,
        confidence_gap=people.confidence_gap(differences()) if "right" in members else None,
        gaps={
            change: people.gap(differences(change))
            for change in sorted({t.change for t in study.trials if t.change is not None})
        },
        profiles={name: _profile(people, (name,)) for name in shown},
        mean_profile=None if members else _profile(people, shown),
        clusters="people and images, each drawn anew and independently of the other",
        refused=files.refused,
        notes=notes,
    )


def _member(trial: Trial) -> str | None:
    """Return which member of its pair a picture is: for a model, or without one."""
    return trial.member if trial.right is None else "right" if trial.right else "wrong"


def _profile(people: People, corruptions: Sequence[str]) -> PeopleProfile:
    """Return people's accuracy at each level of some degradations, and the model's; the clean images are level 0 of
    each.
    """
    at: dict[int, list[Row]] = {}
    for row in people.rows:
        trial = row[1]
        if trial.level is not None and trial.corruption in (None, *corruptions):
            at.setdefault(trial.level, []).append(row)
    by_level = dict(sorted(at.items()))
    accuracies: dict[int, list[float]] = {}
    for name in (CLEAN, *corruptions):
        for level, accuracy in people.key.model_accuracy.get(name, {}).items():
            accuracies.setdefault(int(level), []).append(accuracy)
    model = {level: sum(values) / len(values) for level, values in sorted(accuracies.items())}
    return PeopleProfile(
        levels=list(by_level),
        rates=[people.rate(rows) for rows in by_level.values()],
        first_below=people.first_below(by_level),
        model_accuracy=[model.get(level) for level in by_level] if model else None,
        model_first_below={str(t): next((level for level in model if model[level] < t), None) for t in THRESHOLDS}
        if model
        else None,
    )
