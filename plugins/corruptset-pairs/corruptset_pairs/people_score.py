"""Score the answers of participants: the gap between the members of pairs, or the accuracy at each level."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from corruptset.errors import StudyError, format_list
from corruptset.scores.bootstrap import Bootstrap, interval_of, value
from corruptset.scores.formulas import Estimate
from corruptset.scores.outcomes import CLEAN
from corruptset.scores.profiles import THRESHOLDS

from .answer_files import read_answers, read_key
from .study_records import Answer, AnswerSheet, Gap, PeopleBelow, PeopleProfile, PeopleScores, Rate, StudyKey, Trial

FEW = 5
"""If there are fewer participants than this, a note warns that the intervals are too narrow."""
Row = tuple[int, Trial, Answer]
"""The number of a participant, the record of an image, and the participant's answer to this image."""


@dataclass(frozen=True)
class People:
    """The participants of a study and their answers.

    Each bootstrap resample draws the participants with replacement. It also draws the units (pairs or source images)
    with replacement, independently of the participants. The weight of an answer is the product of how often its
    participant and its unit were drawn (Owen 2007, "The pigeonhole bootstrap"). The intervals therefore reflect the
    choice of both participants and images. The first value of each estimate is for all answers, and the others are for
    the resamples.
    """

    key: StudyKey
    sheets: Sequence[AnswerSheet]
    seed: int = 0

    @cached_property
    def rows(self) -> list[Row]:
        """All answers of all participants."""
        trials = {(trial.group, trial.id): trial for trial in self.key.trials}
        return [
            (p, trials[sheet.group, answer.trial], answer)
            for p, sheet in enumerate(self.sheets)
            for answer in sheet.answers
        ]

    @cached_property
    def _weights(self) -> tuple[Estimate, Estimate]:
        """The number of times that each participant and each unit is drawn.

        The shapes are (resamples, participants) and (1 + resamples, units).
        """
        units = 1 + max(trial.unit for trial in self.key.trials)
        # If the numbers of participants and units are equal, equal seeds would draw both identically.
        draws = Bootstrap(len(self.sheets), seed=2 * self.seed), Bootstrap(units, seed=2 * self.seed + 1)
        people, images = (draw.means(np.eye(draw.units)) * draw.units for draw in draws)
        return people, np.vstack([np.ones(units), images])

    def shares(self, rows: Iterable[Row]) -> Estimate:
        """Return the fraction of participants who answered each unit (a pair or an image) correctly.

        The array has the shape (1 + resamples, units). The first row is for all participants, and each further row is
        for one bootstrap resample. If a unit has no answers in `rows`, its fraction is NaN.
        """
        people, images = self._weights
        right, given = np.zeros((2, people.shape[1], images.shape[1]))
        for person, trial, answer in rows:
            given[person, trial.unit] += 1
            right[person, trial.unit] += answer.answer == trial.category
        with np.errstate(invalid="ignore"):
            return np.vstack([right.sum(axis=0) / given.sum(axis=0), (people @ right) / (people @ given)])

    def mean(self, shares: Estimate) -> Estimate:
        """Return the mean over all units that have a value, as an array (1 + resamples,)."""
        known = ~np.isnan(shares)
        weights = self._weights[1] * known
        with np.errstate(invalid="ignore"):
            mean: Estimate = (weights * np.where(known, shares, 0)).sum(axis=1) / weights.sum(axis=1)
        return mean

    def rate(self, rows: Sequence[Row]) -> Rate:
        """Return the accuracy and other statistics of some answers."""
        mean = self.mean(self.shares(rows))
        return Rate(
            answers=len(rows),
            accuracy=value(mean),
            interval=interval_of(mean),
            cannot_tell=float(np.mean([answer.answer is None for *_, answer in rows])) if rows else None,
            median_ms=float(np.median([answer.ms for *_, answer in rows])) if rows else None,
        )

    def gap(self, differences: Estimate) -> Gap:
        """Return the gap for pairs. `differences` between the two members have the shape (1 + resamples, units)."""
        mean = self.mean(differences)
        return Gap(pairs=int((~np.isnan(differences[0])).sum()), difference=value(mean), interval=interval_of(mean))

    def confidence_gap(self, differences: Estimate) -> Gap | None:
        """Return the model's confidence gap over the pairs for which `differences` has a value.

        The confidence gap is the mean difference between the members of a pair in the model's probability of the true
        class.
        """
        gaps = differences[0].copy()
        gaps[~np.isnan(gaps)] = 0
        for trial in self.key.trials:
            if trial.confidence is None:
                return None
            gaps[trial.unit] += trial.confidence * (1 if trial.right else -1)
        return self.gap(np.broadcast_to(gaps, differences.shape))

    def first_below(self, by_level: dict[int, list[Row]]) -> dict[str, PeopleBelow]:
        """Return the first level with an accuracy below each threshold. The level is None if there is no such level."""
        levels: list[int | None] = [*by_level, None]
        means = [self.mean(self.shares(rows)) for rows in by_level.values()]
        first = {}
        for threshold in THRESHOLDS if means else ():
            places = np.argmax([*(mean < threshold for mean in means), np.ones(len(means[0]), bool)], axis=0)
            numbers = places[0], *np.quantile(places[1:], [0.025, 0.975], method="inverted_cdf")
            level, low, high = (levels[int(number)] for number in numbers)
            first[str(threshold)] = PeopleBelow(level=level, interval=(low, high))
        return first


def pairs_score(
    key: str | Path | StudyKey, answers: Iterable[str | Path], *, unfinished: bool = False, seed: int = 0
) -> PeopleScores:
    """Score the answers of the participants in a study.

    Parameters
    ----------
    key : str, Path or StudyKey
        The key that `pairs_sheet` wrote next to the page, or a folder with one key.
    answers : iterable of str or Path
        Files that the page saved, or folders of such files. Damaged files, files from another study and repeated
        attempts by a participant are excluded. They are listed in `refused`.
    unfinished : bool
        Include the answers of participants who stopped early.
    seed : int
        The random seed of the bootstrap.

    Returns
    -------
    PeopleScores
        The scores, with 95 % confidence intervals from 1,000 resamples of both participants and images.

    Raises
    ------
    StudyError
        If the key cannot be read, or if all answer files are excluded.

    Notes
    -----
    The participants' gap (`gap`) is a difference between accuracies. The model's gap (`confidence_gap`) is a difference
    between its probabilities of the true class. Both use the same pairs and the same resamples of pairs.

    References
    ----------
    Srivastava, Ben-Yosef & Boix 2019, "Minimal Images in Deep Neural Networks: Fragile Object Recognition in Natural
    Images", section 5, compares people and networks on the same pairs.
    """
    study = key if isinstance(key, StudyKey) else read_key(key)
    files = read_answers(study, answers, unfinished=unfinished)
    if not files.sheets:
        reasons = [f"{refusal.file} {refusal.reason}" for refusal in files.refused] or ["no files were given"]
        raise StudyError(
            f"There are no answers to score:\n{format_list(reasons, 20)}\nName the files that the page of study "
            f"{study.study} saved."
        )
    people = People(study, files.sheets, seed)
    # In a study of pairs, the two names sort in the order of the difference: right, wrong or anchor, partner.
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
            f"The study has only {count} participant{'' if count == 1 else 's'}, fewer than {FEW}, so the intervals "
            "are too narrow."
        )
    if members and 0 in groups.values():
        empty = "B" if groups["A"] else "A"
        notes.append(
            f"Group {empty} has no answers. The gap cannot be computed, because it needs answers to both members of "
            "a pair."
        )
    if study.model_accuracy and study.classes > len(study.categories):
        notes.append(
            f"The model chose among {study.classes} classes but the participants among {len(study.categories)} "
            "answers. This alone makes the model's accuracy lower."
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
        clusters="participants and images, resampled independently of each other",
        refused=files.refused,
        notes=notes,
    )


def _member(trial: Trial) -> str | None:
    """Return which member of a pair an image is: "right" or "wrong" with a model, else "anchor" or "partner"."""
    return trial.member if trial.right is None else "right" if trial.right else "wrong"


def _profile(people: People, corruptions: Sequence[str]) -> PeopleProfile:
    """Return the accuracies of the participants and of the model at each level, for the given degradations together.

    The clean images are level 0 of every degradation.
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
