"""People's answers to numbers: against a version that repeats people and images one by one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from corruptset_pairs.people_score import People, Row
from corruptset_pairs.sheet import Sheet
from corruptset_pairs.study_records import AnswerSheet, Gap, StudyKey, Trial
from studies import sheet_of

from corruptset.scores.estimates import Bootstrap
from corruptset.scores.profiles import THRESHOLDS


def people_of(key: StudyKey, groups: str, seed: int = 3) -> list[AnswerSheet]:
    """Return people of some groups who are right by chance, and less often about what the model has wrong or a high
    level.
    """
    draw = np.random.default_rng(seed)

    def says(trial: Trial) -> str | None:
        skill = {True: 0.9, False: 0.5, None: 1 - 0.2 * (trial.level or 0)}[trial.right]
        wrong = [*(name for name in key.categories if name != trial.category), None]
        return trial.category if draw.random() < skill else wrong[draw.integers(len(wrong))]

    return [AnswerSheet.model_validate(sheet_of(key, f"p{i}", group, says)) for i, group in enumerate(groups)]


def members(people: People) -> dict[bool, list[Row]]:
    """Return the answers to what the model has right, and to what it has wrong."""
    return {right: [row for row in people.rows if row[1].right is right] for right in (True, False)}


def gap_of(people: People) -> Gap:
    """Return the gap between what the model has right and what it has wrong."""
    rows = members(people)
    return people.gap(people.shares(rows[True]) - people.shares(rows[False]))


def draws_of(people: int, units: int, seed: int) -> list[tuple[list[int], list[int]]]:
    """Return who and what is in each resample, each as often as it was drawn."""
    counts = [
        np.rint(Bootstrap(n, seed=2 * seed + k).means(np.eye(n)) * n).astype(int) for k, n in enumerate((people, units))
    ]
    return [
        tuple([i for i, times in enumerate(row) for _ in range(times)] for row in rows)
        for rows in zip(*counts, strict=True)
    ]  # type: ignore[misc]


Answers = dict[tuple[int, int, Any], bool]
"""(person, unit, condition) -> whether the person is right."""


def slow_mean(
    answers: Answers, people: Sequence[int], units: Sequence[int], better: Any, worse: Any = None
) -> float | None:
    """Return the mean over units of the share of people who are right about `better`, less that of `worse` if it is
    given.
    """
    values = []
    for unit in units:
        shares = []
        for condition in (better, worse)[: 1 + (worse is not None)]:
            given = [answers[person, unit, condition] for person in people if (person, unit, condition) in answers]
            shares.append(sum(given) / len(given) if given else None)
        if None not in shares:
            values.append(shares[0] - (shares[1] if worse is not None else 0))  # type: ignore[operator]
    return sum(values) / len(values) if values else None


def middle(values: Sequence[float | None]) -> tuple[float, float]:
    """Return the middle 95 % of those that have a value."""
    known = [value for value in values if value is not None]
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)


@pytest.mark.parametrize(("groups", "seed"), [("AABBB", 0), ("ABAB", 5), ("AAAAB", 1)])
def test_rates_and_gaps_are_those_of_the_slow_version(groups: str, seed: int, pairs_of_model: Sheet) -> None:
    key = pairs_of_model.key
    people = People(key, people_of(key, groups), seed)
    answers: Answers = {
        (p, trial.unit, trial.right): answer.answer == trial.category for p, trial, answer in people.rows
    }
    assert len(answers) == 10 * len(groups)
    everyone, units = range(len(groups)), range(10)
    resamples = draws_of(len(groups), 10, seed)
    for right in (True, False):
        rate = people.rate(members(people)[right])
        assert rate.accuracy == pytest.approx(slow_mean(answers, everyone, units, right), abs=1e-12)
        assert rate.interval == pytest.approx(
            middle([slow_mean(answers, *drawn, right) for drawn in resamples]), abs=1e-9
        )
        assert rate.answers == sum(condition is right for *_, condition in answers)
    gap = gap_of(people)
    assert gap.pairs == 10
    assert gap.difference == pytest.approx(slow_mean(answers, everyone, units, True, False), abs=1e-12)
    assert gap.interval == pytest.approx(
        middle([slow_mean(answers, *drawn, True, False) for drawn in resamples]), abs=1e-9
    )


def test_first_levels_are_those_of_the_slow_version(levels_sheet: Sheet) -> None:
    key = levels_sheet.key
    people = People(key, people_of(key, "AABB"), 7)
    answers: Answers = {
        (p, trial.unit, trial.level): answer.answer == trial.category for p, trial, answer in people.rows
    }
    levels = [0, 1, 2, 4]
    found = people.first_below({level: [row for row in people.rows if row[1].level == level] for level in levels})
    resamples = draws_of(4, 20, 7)
    means = {level: slow_mean(answers, range(4), range(20), level) for level in levels}
    in_resamples = [{level: slow_mean(answers, *drawn, level) for level in levels} for drawn in resamples]

    def first(means: dict[int, float | None], threshold: float) -> int | None:
        return next((level for level, mean in means.items() if mean is not None and mean < threshold), None)

    order = [*levels, None]
    for threshold in THRESHOLDS:
        below = found[str(threshold)]
        assert below.level == first(means, threshold)
        places = sorted(order.index(first(one, threshold)) for one in in_resamples)
        assert below.interval == (order[places[24]], order[places[974]])
    assert found["0.9"].level is not None
    assert found["0.1"].level is None


def test_a_gap_is_over_pairs_so_that_groups_of_any_size_weigh_the_same(pairs_of_model: Sheet) -> None:
    """One person of A and nine of B, who know half of the pairs and nothing of the other half: no gap."""
    key = pairs_of_model.key
    sheets = [
        sheet_of(key, f"{group}{i}", group, lambda t: t.category if t.unit % 2 else None)
        for group in "AB"
        for i in range(1 if group == "A" else 9)
    ]
    people = People(key, [AnswerSheet.model_validate(sheet) for sheet in sheets])
    gap = gap_of(people)
    assert gap.difference == 0
    for right in (True, False):
        rate = people.rate(members(people)[right])
        assert rate.accuracy == 0.5
        assert rate.cannot_tell == pytest.approx(
            np.mean(
                [
                    t.unit % 2 == 0
                    for t in itertools.chain(
                        *(
                            [t for t in key.trials if t.right is right and t.group == g] * k
                            for g, k in (("A", 1), ("B", 9))
                        )
                    )
                ]
            )
        )


def test_who_is_always_right_and_who_is_never(pairs_of_model: Sheet) -> None:
    key = pairs_of_model.key
    sheets = [
        sheet_of(key, f"{group}{i}", group, lambda t: t.category if t.right else None)
        for group in "AB"
        for i in range(2)
    ]
    people = People(key, [AnswerSheet.model_validate(sheet) for sheet in sheets])
    gap = gap_of(people)
    assert (gap.pairs, gap.difference, gap.interval) == (10, 1, (1, 1))
    rate = people.rate(members(people)[False])
    assert (rate.answers, rate.accuracy, rate.interval, rate.cannot_tell) == (20, 0, (0, 0), 1)
    assert rate.median_ms == float(np.median([answer.ms for _, trial, answer in people.rows if not trial.right]))
    nothing = people.rate([])
    assert (nothing.answers, nothing.accuracy, nothing.interval, nothing.cannot_tell, nothing.median_ms) == (
        0,
        None,
        None,
        None,
        None,
    )
