"""All that `score` says of a data set, against plain Python."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import plain_scores
import pytest
import unbuilt
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_scores import FIFTEEN, accuracy, mean

import corruptset
from corruptset.errors import PredictionError, ScoreError, UnknownCorruption
from corruptset.scores.outcomes import Outcome, Predictions

EXTRA = ("speckle_noise", "gaussian_blur", "spatter", "saturate")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return unbuilt.data_set(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def predictions(data):
    return unbuilt.made_up(data)


@pytest.fixture(scope="module")
def scores(data, predictions):
    return corruptset.score(data, predictions, baseline=unbuilt.made_up(data, 1, "other"))


def right_of(predictions: Predictions) -> dict[str, list[bool]]:
    return {name: outcome.correct.tolist() for name, outcome in predictions.outcomes.items()}


def test_of_every_set(data, predictions, scores):
    assert list(scores.sets) == sorted(data.set_ids)
    for name, scored in scores.sets.items():
        outcome = predictions.outcomes[name]
        assert scored.n == 40
        assert scored.accuracy == pytest.approx(accuracy(outcome.correct))
        assert scored.top5 == pytest.approx(accuracy(outcome.top5))
        assert scored.rank == pytest.approx(mean(outcome.rank.tolist()))
        assert scored.probability == pytest.approx(mean(outcome.probability.tolist()), rel=1e-6)
        assert scored.interval[0] <= scored.accuracy <= scored.interval[1]
    assert (scores.digest, scores.name, scores.model, scores.samples) == (
        data.digest,
        "imagenet-c-all 1.1.0",
        "made up",
        40,
    )


def test_error_curves(data, predictions, scores):
    right, other = right_of(predictions), right_of(unbuilt.made_up(data, 1))
    assert set(scores.aude) == {*FIFTEEN, *EXTRA}
    for name in scores.aude:
        assert scores.aude[name] == pytest.approx(plain_scores.aude(right, name))
        assert scores.ce[name] == pytest.approx(plain_scores.ce(right, other, name))
        assert scores.relative_ce[name] == pytest.approx(plain_scores.relative_ce(right, other, name))
    assert scores.maude == pytest.approx(plain_scores.maude(right))
    assert scores.relative_maude == pytest.approx(plain_scores.maude(right) - (1 - accuracy(right["clean"])))
    assert scores.mce == pytest.approx(mean(plain_scores.ce(right, other, name) for name in FIFTEEN))
    assert scores.relative_mce == pytest.approx(mean(plain_scores.relative_ce(right, other, name) for name in FIFTEEN))
    assert scores.baseline == "other"
    # the four extra corruptions are for choosing a method: worse predictions of them change no mean
    worse = {name: Outcome(~o.correct) if name.startswith(EXTRA) else o for name, o in predictions.outcomes.items()}
    again = corruptset.score(data, replace(predictions, outcomes=worse))
    assert again.aude["spatter"] != scores.aude["spatter"]
    assert (again.maude, again.mean_accuracy, again.rb_index, again.families) == (
        scores.maude,
        scores.mean_accuracy,
        scores.rb_index,
        scores.families,
    )


def test_means_over_test_sets(predictions, scores):
    right = right_of(predictions)
    tests = [accuracy(right[f"{name}/{s}"]) for name in FIFTEEN for s in range(1, 6)]
    assert scores.mean_accuracy == pytest.approx(mean(tests))
    assert scores.rb_index == pytest.approx(plain_scores.rb_index(accuracy(right["clean"]), tests))
    noise = [accuracy(right[f"{name}/{s}"]) for name in FIFTEEN[:3] for s in range(1, 6)]
    assert scores.families["noise"] == pytest.approx(mean(noise))
    assert list(scores.families) == ["noise", "blur", "weather", "digital"]


def test_the_worst_case_is_of_images_that_are_right_under_every_set(data, predictions, scores):
    right = right_of(predictions)
    groups = {"all": FIFTEEN, "noise": FIFTEEN[:3], "fog": ["fog"]}
    for name, corruptions in groups.items():
        ids = [f"{corruption}/{s}" for corruption in corruptions for s in range(1, 6)]
        every = [all(right[set_id][i] for set_id in ids) for i in range(len(data.samples))]
        one = scores.worst_case[name]
        assert (one.sets, one.share) == (len(ids), pytest.approx(mean(every)))
        assert one.mean_accuracy == pytest.approx(mean(accuracy(right[set_id]) for set_id in ids))
    # those to validate on are in none
    assert set(scores.worst_case) == {"all", "noise", "blur", "weather", "digital", *FIFTEEN}
    few = corruptset.score(data, predictions, sets=["fog/1", "fog/2", "snow/1"]).worst_case
    assert {name: one.sets for name, one in few.items()} == {"all": 3, "weather": 3, "fog": 2}
    chosen = corruptset.score(data, predictions, condition="correct@clean").worst_case["all"].share
    of_right = [
        all(right[f"{name}/{s}"][i] for name in FIFTEEN for s in range(1, 6)) for i in np.flatnonzero(right["clean"])
    ]
    assert chosen == pytest.approx(mean(of_right))


def test_an_attack_within_a_radius_counts_what_goes_no_further_and_the_clean_images(tmp_path):
    attacked = unbuilt.data_set(tmp_path / "pgd", "pgd-5")
    made = unbuilt.made_up(attacked)
    outcomes = made.outcomes
    scores = corruptset.score(attacked, made)
    radii = {s.id: s.stages[0].parameters["eps"] for s in attacked.manifest.sets if s.stages}
    assert len(set(radii.values())) > 1
    for radius in set(radii.values()):
        one = scores.worst_case[f"pgd within {radius:g}"]
        ids = ["clean", *(set_id for set_id, eps in radii.items() if eps <= radius)]
        every = np.all([outcomes[set_id].correct for set_id in ids], axis=0)
        least = np.min([outcomes[set_id].probability for set_id in ids], axis=0).astype(float)
        assert (one.sets, one.share) == (len(ids), pytest.approx(every.mean()))
        assert one.loss == pytest.approx(np.mean([-math.log(p) for p in least]))
    assert "loss" not in scores.as_json()["worst_case"]["all"]
    shares = [scores.worst_case[f"pgd within {radius:g}"].share for radius in sorted(set(radii.values()))]
    assert shares == sorted(shares, reverse=True)
    bare = {name: replace(one, probability=None) for name, one in outcomes.items()}
    assert (
        corruptset.score(attacked, replace(made, outcomes=bare)).worst_case[f"pgd within {max(radii.values()):g}"].loss
        is None
    )
    certain = {name: replace(one, probability=np.zeros_like(one.probability)) for name, one in outcomes.items()}
    impossible = corruptset.score(attacked, replace(made, outcomes=certain)).worst_case[
        f"pgd within {max(radii.values()):g}"
    ]
    assert impossible.loss == pytest.approx(87.336545, abs=1e-5)


@pytest.mark.parametrize("eps", ["far", [1], None])
def test_a_radius_that_is_no_number_is_none(tmp_path, eps):
    attacked = unbuilt.data_set(tmp_path / "pgd", "pgd-5")
    for record in attacked.manifest.sets:
        for stage in record.stages:
            stage.parameters["eps"] = eps
    assert set(corruptset.score(attacked, unbuilt.made_up(attacked)).worst_case) == {"all", "pgd"}


def test_replicates_are_the_formulas_over_resampled_images(data, predictions, scores):
    right, other = right_of(predictions), right_of(unbuilt.made_up(data, 1))
    assert (scores.resamples.seed, scores.resamples.units) == (0, 40)
    values = scores.resamples.values
    assert set(values) == set(scores.intervals)
    assert {len(rows) for rows in values.values()} == {1000}
    for resample in (0, 7):
        drawn = plain_scores.resampled(right, 0, resample)
        drawn_other = plain_scores.resampled(other, 0, resample)
        assert values["maude"][resample] == pytest.approx(plain_scores.maude(drawn), rel=1e-6)
        assert values["relative_maude"][resample] == pytest.approx(
            plain_scores.maude(drawn) - (1 - accuracy(drawn["clean"])), rel=1e-5
        )
        mce = mean(plain_scores.ce(drawn, drawn_other, name) for name in FIFTEEN)
        assert values["mce"][resample] == pytest.approx(mce, rel=1e-6)
        tests = [accuracy(drawn[f"{name}/{s}"]) for name in FIFTEEN for s in range(1, 6)]
        assert values["rb_index"][resample] == pytest.approx(
            plain_scores.rb_index(accuracy(drawn["clean"]), tests), rel=1e-5
        )
    for name, rows in values.items():
        assert scores.intervals[name] == pytest.approx(np.quantile(rows, [0.025, 0.975]), rel=1e-5)
    other_seed = corruptset.score(data, predictions, seed=1)
    assert other_seed.maude == scores.maude
    assert other_seed.intervals["maude"] != scores.intervals["maude"]


def test_a_perfect_model_and_a_constant_one(data):
    count = len(data.samples)
    labels = data["clean"].labels

    def predicted(guess: np.ndarray) -> Predictions:
        correct = guess == labels
        outcome = Outcome(
            correct,
            correct,
            np.where(correct, 0, 9).astype(np.int32),
            correct.astype(np.float32),
            guess.astype(np.int32),
        )
        return Predictions("m", data.digest, dict.fromkeys(data.set_ids, outcome))

    perfect = corruptset.score(data, predicted(labels), baseline=predicted(np.zeros(count, np.int64)))
    assert {s.accuracy for s in perfect.sets.values()} == {1.0}
    assert (perfect.maude, perfect.relative_maude, perfect.mce, perfect.rb_index, perfect.mean_accuracy) == (
        0,
        0,
        0,
        0,
        1,
    )
    assert perfect.intervals["maude"] == (0, 0)
    # the baseline is as bad on clean images: a loss relative to none is no number
    assert (perfect.relative_mce, perfect.relative_ce) == (None, {})
    assert any(
        "divided by 0" in note and "relative_ce of brightness" in note and "and 15 more" in note
        for note in perfect.notes
    )
    constant = corruptset.score(
        data, predicted(np.zeros(count, np.int64)), baseline=predicted(np.zeros(count, np.int64))
    )
    share = float((labels == 0).mean())
    assert {round(s.accuracy, 12) for s in constant.sets.values()} == {round(share, 12)}
    assert constant.maude == pytest.approx(1 - share)
    assert constant.relative_maude == pytest.approx(0)
    assert constant.mce == pytest.approx(1)
    assert constant.rb_index == pytest.approx(0)


@settings(max_examples=5, deadline=None)
@given(st.permutations(range(40)))
def test_permuting_images_with_their_rows_changes_no_score(data, predictions, scores, order):
    moved = {
        name: Outcome(**{part: values[order] for part, values in vars(outcome).items()})
        for name, outcome in predictions.outcomes.items()
    }
    again = corruptset.score(data, replace(predictions, outcomes=moved))
    assert again.maude == pytest.approx(scores.maude)
    assert again.aude == pytest.approx(scores.aude)
    assert again.sets["fog/3"].rank == pytest.approx(scores.sets["fog/3"].rank)
    assert again.rb_index == pytest.approx(scores.rb_index)


def test_scores_of_some_sets_are_those_of_a_build_of_them(tmp_path, data, predictions):
    some = ["fog/*", "clean", "saturate/2"]
    part = unbuilt.data_set(tmp_path, only=lambda name: name.startswith("fog/") or name in ("clean", "saturate/2"))
    here = corruptset.score(data, predictions, sets=some)
    there = corruptset.score(
        part, replace(predictions, outcomes={name: predictions.outcomes[name] for name in part.set_ids})
    )
    assert here == there
    assert list(here.aude) == ["fog"]
    assert here.maude is None
    assert any("14 of them are missing" in note for note in here.notes)
    assert any(note.startswith("7 of the recipe's 96 sets are scored") for note in here.notes)
    with pytest.raises(UnknownCorruption, match="Did you mean"):
        corruptset.score(data, predictions, sets=["fogg/*"])


def test_predictions_that_say_less(data, predictions):
    bare = {name: Outcome(outcome.correct) for name, outcome in predictions.outcomes.items()}
    scores = corruptset.score(data, replace(predictions, outcomes=bare))
    assert scores.sets["fog/1"].top5 is scores.sets["fog/1"].rank is scores.sets["fog/1"].probability is None
    assert any("do not say the top5, rank, probability" in note for note in scores.notes)


def test_without_clean_images(tmp_path, predictions):
    data = unbuilt.data_set(tmp_path, clean=False)
    without = {name: outcome for name, outcome in predictions.outcomes.items() if name != "clean"}
    scores = corruptset.score(data, replace(predictions, outcomes=without))
    # they need not be a set of the data set
    assert (
        corruptset.score(data, predictions).maude == corruptset.score(data, predictions, sets=["*"]).maude is not None
    )
    assert (scores.maude, scores.aude, scores.rb_index) == (None, {}, None)
    assert scores.mean_accuracy is not None
    assert any("add clean.npz" in note for note in scores.notes)


def test_sets_to_train_with_enter_no_mean(tmp_path):
    data = unbuilt.data_set(tmp_path, "cifar10-c")
    train = [record.model_copy(update={"role": "train"}) for record in data.manifest.sets]
    data.manifest = data.manifest.model_copy(update={"sets": train})
    data._sets = {record.id: record for record in train}
    scores = corruptset.score(data, unbuilt.made_up(data))
    assert (scores.maude, scores.mean_accuracy, scores.rb_index, scores.families) == (None, None, None, {})
    assert len(scores.aude) == 19
    assert any("role train" in note for note in scores.notes)


def test_as_a_table_and_in_words(scores):
    frame = scores.to_pandas()
    assert list(frame.columns) == ["n", "accuracy", "top5", "rank", "probability", "low", "high"]
    assert frame.loc["fog/3", "accuracy"] == scores.sets["fog/3"].accuracy
    assert repr(scores).startswith("<Scores of made up on imagenet-c-all 1.1.0: 96 sets, maude 0.")
    assert str(scores) == repr(scores)
    assert len(repr(scores)) < 200


def test_pandas_is_asked_for_where_it_is_needed(scores, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ScoreError, match="pip install pandas"):
        scores.to_pandas()


def test_a_seed_makes_the_same_file(data, predictions, tmp_path):
    for folder in ("a", "b"):
        corruptset.score(data, predictions, out=tmp_path / folder)
    for file in ("scores.json", "sets.csv"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_no_image_fits(data, predictions):
    wrong = replace(predictions, outcomes={**predictions.outcomes, "clean": Outcome(np.zeros(40, bool))})
    with pytest.raises(PredictionError, match="no clean image right"):
        corruptset.score(data, wrong, condition="correct@clean")


def test_predictions_of_something_else(data, predictions):
    some = {name: outcome for name, outcome in predictions.outcomes.items() if name != "fog/2"}
    short = {name: outcome.rows(np.arange(40) < 39) for name, outcome in predictions.outcomes.items()}
    for wrong, says in (
        (replace(predictions, outcomes=some), "lack the sets fog/2"),
        (replace(predictions, outcomes=short), "have 39 rows a set"),
        (replace(predictions, digest="sha256:" + "7" * 64), "are of sha256:777"),
    ):
        with pytest.raises(PredictionError, match=says):
            corruptset.score(data, wrong)


def test_a_baseline_needs_what_error_curves_need(tmp_path):
    data = unbuilt.data_set(tmp_path, "two-factor-69")
    mixed = unbuilt.data_set(tmp_path / "mixed", only=lambda name: name.startswith("fog/") or name == "snow/3")
    other = unbuilt.made_up(mixed, 1, "other")
    del other.outcomes["snow/3"]
    scores = corruptset.score(mixed, unbuilt.made_up(mixed), baseline=other)
    assert (list(scores.ce), scores.baseline) == (["fog"], "other")
    del other.outcomes["fog/3"]
    with pytest.raises(PredictionError, match="lack the sets fog/3"):
        corruptset.score(mixed, unbuilt.made_up(mixed), baseline=other)
    nothing = replace(other, outcomes={"clean": unbuilt.made_up(data).outcomes["clean"]})
    assert corruptset.score(data, unbuilt.made_up(data), baseline=nothing).ce == {}
