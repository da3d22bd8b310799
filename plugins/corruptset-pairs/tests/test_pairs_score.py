"""pairs_score: what the answers of a study come to, and what it says beside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import corruptset_pairs
import numpy as np
import pytest
from corruptset_pairs.sheet import Sheet, pairs_sheet
from corruptset_pairs.study_records import PeopleScores, StudyKey
from studies import save, sheet_of

from corruptset.errors import StudyError
from corruptset.manifests.reader import DataSet
from corruptset.scores.records import Scores


def test_people_trials_gaps_and_refusals(pairs_of_model: Sheet, tmp_path: Path) -> None:
    key = pairs_of_model.key
    for n, group in enumerate("AAABB"):
        save(tmp_path, sheet_of(key, f"p{n}", group, lambda t: t.category if t.right or t.change == "shift" else None))
    save(tmp_path, sheet_of(key, "P1", "B", started="2027-01-01T00:00:00.000Z"), "again")
    cut = sheet_of(key, "cut", "B")
    save(tmp_path, cut | {"finished": False, "answers": cut["answers"][:3]})
    scored = corruptset_pairs.pairs_score(pairs_of_model.key_file, [tmp_path])
    shifts = sum(trial.change == "shift" for trial in key.trials) / 2
    assert (scored.people, scored.answers, scored.unfinished, scored.chance) == ({"A": 3, "B": 2}, 50, 1, 0.1)
    assert scored.members["right"].accuracy == 1
    assert scored.members["wrong"].accuracy == pytest.approx(shifts / 10)
    assert scored.gap is not None
    assert scored.gap.difference == pytest.approx(1 - shifts / 10)
    assert (scored.gaps["shift"].difference, scored.gaps["shrink"].difference) == (0, 1)
    assert (scored.gaps["shift"].pairs, scored.gaps["shrink"].pairs) == (shifts, 10 - shifts)
    assert {Path(one.file).name for one in scored.refused} == {"again.json", "cut.json"}
    assert (scored.study, scored.digest, scored.model) == (key.study, key.digest, key.model)
    assert scored.clusters == "people and images, each drawn anew and independently of the other"
    assert scored.profiles == {}
    assert scored.mean_profile is None
    with_all = corruptset_pairs.pairs_score(key, [tmp_path], unfinished=True)
    assert (with_all.people, with_all.answers, with_all.unfinished) == ({"A": 3, "B": 3}, 53, 1)
    assert with_all == corruptset_pairs.pairs_score(key, [tmp_path], unfinished=True)
    assert with_all != corruptset_pairs.pairs_score(key, [tmp_path], unfinished=True, seed=1)


def test_without_a_model_the_gap_is_of_anchors_and_their_partners(regions: DataSet, tmp_path: Path) -> None:
    key = pairs_sheet(regions, tmp_path / "p.html", n=6).key
    files = [
        save(tmp_path, sheet_of(key, group, group, lambda t: t.category if t.member == "anchor" else None))
        for group in "AB"
    ]
    scored = corruptset_pairs.pairs_score(key, files)
    assert set(scored.members) == {"anchor", "partner"}
    assert scored.gap is not None
    assert scored.gap.difference == 1
    assert scored.notes == ["2 people are few: resamples of so few make the intervals too narrow."]
    alone = corruptset_pairs.pairs_score(key, files[:1])
    assert alone.gap is not None
    assert (alone.gap.pairs, alone.gap.difference, alone.gap.interval) == (0, None, None)
    assert alone.notes[1].startswith("Nobody of group B answered")


def scores_of(levels: DataSet, accuracy: dict[str, float], **changed: Any) -> Scores:
    """Return a scores file of which the sets' accuracies alone mean something."""
    record = {name: field.annotation for name, field in Scores.model_fields.items()}
    empty: dict[str, Any] = {
        name: {} if str(kind).startswith("dict") else [] if str(kind).startswith("list") else None
        for name, kind in record.items()
    }
    sets = {
        name: {"n": 20, "accuracy": a, "top5": None, "rank": None, "probability": None, "interval": None}
        for name, a in accuracy.items()
    }
    given = {
        "schema_version": 1,
        "digest": levels.digest,
        "name": "levels 1.0.0",
        "model": "net",
        "samples": 20,
        "sets": sets,
    }
    return Scores.model_validate(empty | given | changed)


def test_a_profile_of_people_stands_beside_the_model_s(levels: DataSet, tmp_path: Path) -> None:
    accuracy = {
        "clean": 0.95,
        "black_lines/01": 0.8,
        "posterize/01": 0.9,
        "black_lines/02": 0.3,
        "posterize/02": 0.6,
        "black_lines/04": 0.05,
        "posterize/04": 0.1,
    }
    key = pairs_sheet(levels, tmp_path / "p.html", n=20, scores=scores_of(levels, accuracy)).key
    assert key.model == "net"
    assert key.model_accuracy["posterize"] == {"1": 0.9, "2": 0.6, "4": 0.1}
    files = [
        save(tmp_path, sheet_of(key, group, group, lambda t: t.category if (t.level or 0) < 2 else None))
        for group in "AB"
    ]
    scored = corruptset_pairs.pairs_score(key, files)
    mean = scored.mean_profile
    assert mean is not None
    assert mean.levels == [0, 1, 2, 4]
    assert [rate.accuracy for rate in mean.rates] == [1, 1, 0, 0]
    assert [rate.answers for rate in mean.rates] == [10] * 4
    assert {name: below.level for name, below in mean.first_below.items()} == {"0.9": 2, "0.5": 2, "0.1": 2}
    assert mean.model_accuracy == pytest.approx([0.95, 0.85, 0.45, 0.075])
    assert mean.model_first_below == {"0.9": 1, "0.5": 2, "0.1": 4}
    assert set(scored.profiles) == {"black_lines", "posterize"}
    assert scored.profiles["posterize"].model_accuracy == pytest.approx([0.95, 0.9, 0.6, 0.1])
    assert scored.profiles["black_lines"].rates[0] == mean.rates[0]
    assert (scored.gap, scored.members) == (None, {})
    assert len(scored.notes) == 1  # of the few people: the model chose among the same ten
    two = {c.folder: "first half" if c.index < 5 else "second half" for c in levels.classes}
    coarse = pairs_sheet(levels, tmp_path / "two.html", n=20, scores=scores_of(levels, accuracy), categories=two).key
    files = [save(tmp_path / "two", sheet_of(coarse, group, group)) for group in "AB"]
    noted = corruptset_pairs.pairs_score(coarse, files)
    assert noted.chance == 0.5
    assert (
        noted.notes[1]
        == "The model chose among 10 classes, and people among 2 answers: its accuracy is lower by that alone."
    )
    with pytest.raises(StudyError, match="scores are of another data set"):
        pairs_sheet(levels, tmp_path / "q.html", n=20, scores=scores_of(levels, accuracy, digest="sha256:" + "0" * 64))


def test_no_answers_that_count_are_an_error_that_says_why(pairs_of_model: Sheet, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"study": 1}))
    with pytest.raises(StudyError, match=r"None of the files of answers counts:\n.*x.json is damaged"):
        corruptset_pairs.pairs_score(pairs_of_model.key, [tmp_path])
    with pytest.raises(StudyError, match="no files were given"):
        corruptset_pairs.pairs_score(pairs_of_model.key, [])


def test_the_model_s_confidence_gap_is_of_the_pairs_that_people_answered(regions: DataSet, tmp_path: Path) -> None:
    labels = regions["clean"].labels
    draw = np.random.default_rng(8)
    probability = np.where(
        draw.random(len(labels)) < 0.6, draw.uniform(0.5, 1, len(labels)), draw.uniform(0, 0.3, len(labels))
    )
    (tmp_path / "net").mkdir()
    np.savez(tmp_path / "net/clean.npz", rank_true=(probability < 0.5).astype(np.int64), p_true=probability)
    key = pairs_sheet(regions, tmp_path / "p.html", n=8, predictions=tmp_path / "net").key
    of_sample = {sample.id: float(np.float32(probability[sample.index])) for sample in regions.samples}
    assert all(trial.confidence == pytest.approx(of_sample[trial.sample]) for trial in key.trials)
    whole = [save(tmp_path, sheet_of(key, group, group)) for group in "AB"]
    sheet = sheet_of(key, "part", "B")
    unanswered = {answer["trial"] for answer in sheet["answers"][5:]}
    part = save(tmp_path, sheet | {"finished": False, "answers": sheet["answers"][:5]})
    for files, left_out in ((whole, set()), ([whole[0], part], {t.unit for t in key.trials if t.id in unanswered})):
        scored = corruptset_pairs.pairs_score(key, files, unfinished=True)
        gaps: dict[int, float] = {}
        for trial in key.trials:
            if trial.unit not in left_out:
                gaps[trial.unit] = gaps.get(trial.unit, 0) + of_sample[trial.sample] * (1 if trial.right else -1)
        assert scored.gap is not None
        assert scored.confidence_gap is not None
        assert scored.confidence_gap.pairs == scored.gap.pairs == len(gaps)
        assert scored.confidence_gap.difference == pytest.approx(np.mean([*gaps.values()]))
        low, high = scored.confidence_gap.interval or (0, 0)
        assert low < scored.confidence_gap.difference < high


def test_predictions_without_probabilities_have_no_confidence_gap(pairs_of_model: Sheet, tmp_path: Path) -> None:
    files = [save(tmp_path, sheet_of(pairs_of_model.key, group, group)) for group in "AB"]
    assert corruptset_pairs.pairs_score(pairs_of_model.key, files).confidence_gap is None


def test_what_a_study_returns_prints_in_a_few_lines(tmp_path: Path) -> None:
    key = StudyKey.model_construct(
        kind="pairs", name="tiny-c 1.0.0", trials=[0] * 500, categories=["a"] * 100, study="sha256:" + "0" * 64
    )
    assert repr(key).startswith("<StudyKey of pairs of tiny-c 1.0.0: 500 pictures, 100 answers, sha256:")
    assert "<StudyKey of pairs" in repr(Sheet(tmp_path / "pairs.html", tmp_path / "pairs.key.json", key, 1))
    counted: dict[str, Any] = {"people": {"A": 3, "B": 4}, "answers": 280, "refused": [], "notes": ["n"] * 99}
    people = PeopleScores.model_construct(kind="pairs", name="tiny-c 1.0.0", **counted)
    assert repr(people) == "<PeopleScores of pairs of tiny-c 1.0.0: 7 people, 280 answers, 0 sheets refused, 99 notes>"
