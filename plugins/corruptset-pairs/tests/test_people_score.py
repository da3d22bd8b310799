"""Test the scores of participants against a slow implementation that repeats participants and images one by one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import corruptset_pairs
import numpy as np
import pytest
from corruptset_pairs.people_score import People
from corruptset_pairs.sheet import Sheet, pairs_sheet
from corruptset_pairs.study_records import AnswerSheet, StudyKey, Trial
from studies import answer_sheet, save

from corruptset.errors import StudyError
from corruptset.manifests.reader import Dataset
from corruptset.scores.bootstrap import Bootstrap
from corruptset.scores.profiles import THRESHOLDS
from corruptset.scores.records import SCORES_VERSION, Scores


def random_people(key: StudyKey, groups: str, seed: int) -> People:
    """Return participants of some groups with random answers, which are less often correct for difficult images."""
    draw = np.random.default_rng(3)

    def answer(trial: Trial) -> str | None:
        skill = {True: 0.9, False: 0.5, None: 1 - 0.2 * (trial.level or 0)}[trial.right]
        wrong_answers = [*(name for name in key.categories if name != trial.category), None]
        return trial.category if draw.random() < skill else wrong_answers[draw.integers(len(wrong_answers))]

    sheets = [AnswerSheet.model_validate(answer_sheet(key, f"p{i}", group, answer)) for i, group in enumerate(groups)]
    return People(key, sheets, seed)


def resample_draws(people: int, units: int, seed: int) -> list[tuple[list[int], list[int]]]:
    """Return the participants and units of each resample, each repeated as often as it was drawn."""
    sizes = enumerate((people, units))
    counts = [np.rint(Bootstrap(n, seed=2 * seed + k).means(np.eye(n)) * n).astype(int) for k, n in sizes]
    repeated = [[[i for i, times in enumerate(row) for _ in range(times)] for row in rows] for rows in counts]
    return list(zip(*repeated, strict=True))


Answers = dict[tuple[int, int, Any], bool]
"""Whether a participant is correct, by participant, unit and condition."""


def reference_mean(answers: Answers, people: Sequence[int], units: Sequence[int], *conditions: Any) -> float | None:
    """Return the fraction of correct participants, averaged over units, for one condition or as a difference of two."""
    values = []
    for unit in units:
        shares = []
        for condition in conditions:
            arguments = [answers[person, unit, condition] for person in people if (person, unit, condition) in answers]
            shares.append(sum(arguments) / len(arguments) if arguments else np.nan)
        values.append(shares[0] - sum(shares[1:]))
    finite = [value for value in values if not np.isnan(value)]
    return sum(finite) / len(finite) if finite else None


def central_interval(values: Sequence[float | None]) -> list[float]:
    """Return the 2.5 % and 97.5 % quantiles of the values that are not None."""
    result: list[float] = np.quantile([value for value in values if value is not None], [0.025, 0.975]).tolist()
    return result


@pytest.mark.parametrize(("groups", "seed"), [("AABBB", 0), ("AAAAB", 1)])
def test_rates_and_gaps_match_reference(groups: str, seed: int, pairs_of_model: Sheet) -> None:
    people = random_people(pairs_of_model.key, groups, seed)
    answers: Answers = {(p, trial.unit, trial.right): a.answer == trial.category for p, trial, a in people.rows}
    assert len(answers) == 10 * len(groups)
    everyone, units = range(len(groups)), range(10)
    resamples = resample_draws(len(groups), 10, seed)
    members = {correct: [row for row in people.rows if row[1].right is correct] for correct in (True, False)}
    for correct, rows in members.items():
        rate = people.rate(rows)
        assert rate.accuracy == pytest.approx(reference_mean(answers, everyone, units, correct), abs=1e-12)
        assert rate.interval == pytest.approx(
            central_interval([reference_mean(answers, *drawn, correct) for drawn in resamples]), abs=1e-9
        )
        assert rate.answers == len(rows)
        assert rate.cannot_tell == np.mean([answer.answer is None for *_, answer in rows])
        assert rate.median_ms == np.median([answer.ms for *_, answer in rows])
    gap = people.gap(people.shares(members[True]) - people.shares(members[False]))
    assert gap.pairs == 10
    assert gap.difference == pytest.approx(reference_mean(answers, everyone, units, True, False), abs=1e-12)
    slow = central_interval([reference_mean(answers, *drawn, True, False) for drawn in resamples])
    assert gap.interval == pytest.approx(slow, abs=1e-9)


def test_first_levels_match_reference(levels_sheet: Sheet) -> None:
    people = random_people(levels_sheet.key, "AABB", 7)
    answers: Answers = {(p, trial.unit, trial.level): a.answer == trial.category for p, trial, a in people.rows}
    levels = [0, 1, 2, 4]
    result = people.first_below({level: [row for row in people.rows if row[1].level == level] for level in levels})

    def first(threshold: float, *draws: Sequence[int]) -> int:
        """Return the index of the first level below a threshold, or the number of levels if there is none."""
        means = [reference_mean(answers, *draws, level) for level in levels]
        return next((i for i, mean in enumerate(means) if mean is not None and mean < threshold), len(levels))

    order = [*levels, None]
    for threshold in THRESHOLDS:
        below = result[str(threshold)]
        assert below.level == order[first(threshold, range(4), range(20))]
        places = sorted(first(threshold, *drawn) for drawn in resample_draws(4, 20, 7))
        assert below.interval == (order[places[24]], order[places[974]])
    assert result["0.9"].level is not None
    assert result["0.1"].level is None


def test_people_score_reports_gaps_and_refusals_of_study(pairs_of_model: Sheet, tmp_path: Path) -> None:
    key = pairs_of_model.key
    for n, group in enumerate("AAABB"):
        save(
            tmp_path,
            answer_sheet(key, f"p{n}", group, lambda t: t.category if t.right or t.change == "shift" else None),
        )
    save(tmp_path, answer_sheet(key, "P1", "B", started="2027-01-01T00:00:00.000Z"), "again")
    incomplete = answer_sheet(key, "cut", "B")
    save(tmp_path, incomplete | {"finished": False, "answers": incomplete["answers"][:3]})
    result = corruptset_pairs.pairs_score(pairs_of_model.key_file, [tmp_path])
    shifts = sum(trial.change == "shift" for trial in key.trials) / 2
    assert (result.people, result.answers, result.unfinished, result.chance) == ({"A": 3, "B": 2}, 50, 1, 0.1)
    accuracies = {name: rate.accuracy for name, rate in result.members.items()}
    assert accuracies == {"right": 1, "wrong": pytest.approx(shifts / 10)}
    assert result.gap is not None
    assert result.gap.difference == pytest.approx(1 - shifts / 10)
    gaps = {change: (gap.difference, gap.pairs) for change, gap in result.gaps.items()}
    assert gaps == {"shift": (0, shifts), "shrink": (1, 10 - shifts)}
    assert {Path(item.file).name for item in result.refused} == {"again.json", "cut.json"}
    with_all = corruptset_pairs.pairs_score(key, [tmp_path], unfinished=True)
    assert (with_all.people, with_all.answers, with_all.unfinished) == ({"A": 3, "B": 3}, 53, 1)
    assert with_all == corruptset_pairs.pairs_score(key, [tmp_path], unfinished=True)
    assert with_all != corruptset_pairs.pairs_score(key, [tmp_path], unfinished=True, seed=1)
    with pytest.raises(StudyError, match="no files were given"):
        corruptset_pairs.pairs_score(key, [])


def test_gap_without_model_compares_anchors_with_partners(regions: Dataset, tmp_path: Path) -> None:
    key = pairs_sheet(regions, tmp_path / "p.html", n=6).key
    answer = lambda t: t.category if t.member == "anchor" else None  # noqa: E731
    files = [save(tmp_path, answer_sheet(key, group, group, answer)) for group in "AB"]
    result = corruptset_pairs.pairs_score(key, files)
    assert set(result.members) == {"anchor", "partner"}
    assert result.gap is not None
    assert result.gap.difference == 1
    assert result.notes == ["The study has only 2 participants, fewer than 5, so the intervals are too narrow."]
    alone = corruptset_pairs.pairs_score(key, files[:1])
    assert alone.gap is not None
    assert (alone.gap.pairs, alone.gap.difference, alone.gap.interval) == (0, None, None)
    assert alone.notes[1].startswith("Group B has no answers. The gap cannot be computed")


def accuracy_scores(levels: Dataset, accuracy: dict[str, float], **changed: Any) -> Scores:
    """Return scores that contain only the accuracies of sets."""
    kinds = {name: str(field.annotation) for name, field in Scores.model_fields.items()}
    empty = {
        name: {} if kind.startswith("dict") else [] if kind.startswith("list") else None for name, kind in kinds.items()
    }
    nothing = {"n": 20, "top5": None, "rank": None, "probability": None, "interval": None}
    sets = {name: nothing | {"accuracy": value} for name, value in accuracy.items()}
    options = {
        "schema_version": SCORES_VERSION,
        "digest": levels.digest,
        "name": "levels 1.0.0",
        "model": "net",
        "samples": 20,
        "sets": sets,
    }
    return Scores.model_validate(empty | options | changed)


def test_participant_profile_includes_model_profile(levels: Dataset, tmp_path: Path) -> None:
    accuracy = {"clean": 0.95, "black_lines/01": 0.8, "posterize/01": 0.9, "black_lines/02": 0.3, "posterize/02": 0.6}
    accuracy |= {"black_lines/04": 0.05, "posterize/04": 0.1}
    key = pairs_sheet(levels, tmp_path / "p.html", n=20, scores=accuracy_scores(levels, accuracy)).key
    assert (key.model, key.model_accuracy["posterize"]) == ("net", {"1": 0.9, "2": 0.6, "4": 0.1})
    answer = lambda t: t.category if (t.level or 0) < 2 else None  # noqa: E731
    files = [save(tmp_path, answer_sheet(key, group, group, answer)) for group in "AB"]
    result = corruptset_pairs.pairs_score(key, files)
    mean = result.mean_profile
    assert mean is not None
    assert mean.levels == [0, 1, 2, 4]
    assert [(rate.accuracy, rate.answers) for rate in mean.rates] == [(1, 10), (1, 10), (0, 10), (0, 10)]
    assert {name: below.level for name, below in mean.first_below.items()} == {"0.9": 2, "0.5": 2, "0.1": 2}
    assert mean.model_accuracy == pytest.approx([0.95, 0.85, 0.45, 0.075])
    assert mean.model_first_below == {"0.9": 1, "0.5": 2, "0.1": 4}
    assert set(result.profiles) == {"black_lines", "posterize"}
    assert result.profiles["posterize"].model_accuracy == pytest.approx([0.95, 0.9, 0.6, 0.1])
    two = {c.folder: "first half" if c.index < 5 else "second half" for c in levels.classes}
    coarse = pairs_sheet(
        levels, tmp_path / "two.html", n=20, scores=accuracy_scores(levels, accuracy), categories=two
    ).key
    files = [save(tmp_path / "two", answer_sheet(coarse, group, group)) for group in "AB"]
    noted = corruptset_pairs.pairs_score(coarse, files)
    assert noted.chance == 0.5
    assert noted.notes[1].startswith("The model chose among 10 classes but the participants among 2 answers")
    with pytest.raises(StudyError, match="scores belong to another dataset"):
        pairs_sheet(
            levels, tmp_path / "q.html", n=20, scores=accuracy_scores(levels, accuracy, digest="sha256:" + "0" * 64)
        )


def test_model_confidence_gap_uses_answered_pairs(regions: Dataset, tmp_path: Path) -> None:
    draw, count = np.random.default_rng(8), len(regions.samples)
    probability = np.where(draw.random(count) < 0.6, draw.uniform(0.5, 1, count), draw.uniform(0, 0.3, count))
    (tmp_path / "net").mkdir()
    np.savez(tmp_path / "net/clean.npz", rank_true=(probability < 0.5).astype(np.int64), p_true=probability)
    key = pairs_sheet(regions, tmp_path / "p.html", n=8, predictions=tmp_path / "net").key
    of_sample = {sample.id: float(np.float32(probability[sample.index])) for sample in regions.samples}
    assert all(trial.confidence == pytest.approx(of_sample[trial.sample]) for trial in key.trials)
    sheet = answer_sheet(key, "part", "B")
    unanswered = {answer["trial"] for answer in sheet["answers"][5:]}
    left_out = {trial.unit for trial in key.trials if trial.id in unanswered}
    part = sheet | {"finished": False, "answers": sheet["answers"][:5]}
    files = [save(tmp_path, answers) for answers in (answer_sheet(key, "whole", "A"), part)]
    result = corruptset_pairs.pairs_score(key, files, unfinished=True)
    gaps: dict[int, float] = {}
    for trial in key.trials:
        if trial.unit not in left_out:
            gaps[trial.unit] = gaps.get(trial.unit, 0) + of_sample[trial.sample] * (1 if trial.right else -1)
    actual = result.confidence_gap
    assert actual is not None
    assert actual.pairs == len(gaps) == 5
    assert actual.difference == pytest.approx(np.mean([*gaps.values()]))
    low, high = actual.interval or (0, 0)
    assert low < actual.difference < high
