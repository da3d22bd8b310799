"""All that `score` says of a data set, against plain Python."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import plain_scores
import pytest
import unbuilt
from plain_scores import FIFTEEN, accuracy, mean

import corruptset
from corruptset.errors import ParameterError, PredictionError, ScoreError, UnknownCorruption
from corruptset.manifests.records.models import SetRecord
from corruptset.scores.error_curves import severity_curves
from corruptset.scores.outcomes import Outcome, Predictions

EXTRA = ("speckle_noise", "gaussian_blur", "spatter", "saturate")
GROUPS = [*["microsoft", "apple", "apple", "google"] * 9, "apple", "apple", "apple", "rare"]
"""A third of the resamples have no image of the last one."""


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


def test_every_set(data, predictions, scores):
    assert list(scores.sets) == sorted(data.set_ids)
    for name, scored in scores.sets.items():
        outcome = predictions.outcomes[name]
        of_it = (accuracy(outcome.correct), accuracy(outcome.top5), mean(outcome.rank.tolist()))
        assert (scored.n, scored.accuracy, scored.top5, scored.rank) == (40, *map(pytest.approx, of_it))
        assert scored.probability == pytest.approx(mean(outcome.probability.tolist()), rel=1e-6)
        assert scored.interval[0] <= scored.accuracy <= scored.interval[1]
    assert (scores.digest, scores.name, scores.model, scores.samples) == (
        data.digest, "imagenet-c-all 1.1.0", "made up", 40,
    )  # fmt: skip
    frame = scores.to_pandas()
    assert list(frame.columns) == ["n", "accuracy", "top5", "rank", "probability", "low", "high"]
    assert frame.loc["fog/3", "accuracy"] == scores.sets["fog/3"].accuracy
    assert re.match(r"<Scores of made up on imagenet-c-all 1\.1\.0: 96 sets, maude 0\.", str(scores))
    bare = {name: Outcome(outcome.correct) for name, outcome in predictions.outcomes.items()}
    less = corruptset.score(data, replace(predictions, outcomes=bare))
    assert less.sets["fog/1"].top5 is less.sets["fog/1"].rank is less.sets["fog/1"].probability is None
    assert any("do not say the top5, rank, probability" in note for note in less.notes)


def test_error_curves_and_means_over_test_sets(data, predictions, scores):
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
    tests = [accuracy(right[f"{name}/{s}"]) for name in FIFTEEN for s in range(1, 6)]
    assert scores.mean_accuracy == pytest.approx(mean(tests))
    assert scores.rb_index == pytest.approx(plain_scores.rb_index(accuracy(right["clean"]), tests))
    noise = [accuracy(right[f"{name}/{s}"]) for name in FIFTEEN[:3] for s in range(1, 6)]
    assert scores.families["noise"] == pytest.approx(mean(noise))
    assert list(scores.families) == ["noise", "blur", "weather", "digital"]
    # the four extra corruptions are for choosing a method: worse predictions of them change no mean
    worse = {name: Outcome(~o.correct) if name.startswith(EXTRA) else o for name, o in predictions.outcomes.items()}
    again = corruptset.score(data, replace(predictions, outcomes=worse))
    assert again.aude["spatter"] != scores.aude["spatter"]
    for name in ("maude", "mean_accuracy", "rb_index", "families"):
        assert getattr(again, name) == getattr(scores, name)


def test_the_worst_case_is_of_images_that_are_right_under_every_set(data, predictions, scores):
    right = right_of(predictions)
    for name, corruptions in {"all": FIFTEEN, "noise": FIFTEEN[:3], "fog": ["fog"]}.items():
        ids = [f"{corruption}/{s}" for corruption in corruptions for s in range(1, 6)]
        every = [all(right[set_id][i] for set_id in ids) for i in range(len(data.samples))]
        one = scores.worst_case[name]
        assert (one.sets, one.share) == (len(ids), pytest.approx(mean(every)))
        assert one.mean_accuracy == pytest.approx(mean(accuracy(right[set_id]) for set_id in ids))
    # those to validate on are in none
    assert set(scores.worst_case) == {"all", "noise", "blur", "weather", "digital", *FIFTEEN}
    few = corruptset.score(data, predictions, sets=["fog/1", "fog/2", "snow/1"]).worst_case
    assert {name: one.sets for name, one in few.items()} == {"all": 3, "weather": 3, "fog": 2}


def test_an_attack_within_a_radius_counts_what_goes_no_further_and_the_clean_images(tmp_path):
    attacked = unbuilt.data_set(tmp_path / "pgd", "pgd-5")
    made = unbuilt.made_up(attacked)
    scores = corruptset.score(attacked, made)
    radii = {s.id: s.stages[0].parameters["eps"] for s in attacked.manifest.sets if s.stages}
    assert len(set(radii.values())) > 1
    for radius in set(radii.values()):
        one = scores.worst_case[f"pgd within {radius:g}"]
        ids = ["clean", *(set_id for set_id, eps in radii.items() if eps <= radius)]
        every = np.all([made.outcomes[set_id].correct for set_id in ids], axis=0)
        least = np.min([made.outcomes[set_id].probability for set_id in ids], axis=0).astype(float)
        assert (one.sets, one.share) == (len(ids), pytest.approx(every.mean()))
        assert one.loss == pytest.approx(np.mean([-math.log(p) for p in least]))
    assert "loss" not in scores.as_json()["worst_case"]["all"]
    farthest = f"pgd within {max(radii.values()):g}"
    for probability, loss in ((None, None), (np.zeros(40, np.float32), pytest.approx(87.336545, abs=1e-5))):
        others = {name: replace(one, probability=probability) for name, one in made.outcomes.items()}
        assert corruptset.score(attacked, replace(made, outcomes=others)).worst_case[farthest].loss == loss
    for record in attacked.manifest.sets:
        for stage in record.stages:
            stage.parameters["eps"] = "far"
    assert set(corruptset.score(attacked, made).worst_case) == {"all", "pgd"}


def test_replicates_are_the_formulas_over_resampled_images(data, predictions, scores):
    right, other = right_of(predictions), right_of(unbuilt.made_up(data, 1))
    assert (scores.resamples.seed, scores.resamples.units) == (0, 40)
    values = scores.resamples.values
    assert set(values) == set(scores.intervals)
    assert {len(rows) for rows in values.values()} == {1000}
    for resample in (0, 7):
        drawn, others = (plain_scores.resampled(rows, 0, resample) for rows in (right, other))
        tests = [accuracy(drawn[f"{name}/{s}"]) for name in FIFTEEN for s in range(1, 6)]
        wanted = {
            "maude": plain_scores.maude(drawn),
            "relative_maude": plain_scores.maude(drawn) - (1 - accuracy(drawn["clean"])),
            "mce": mean(plain_scores.ce(drawn, others, name) for name in FIFTEEN),
            "rb_index": plain_scores.rb_index(accuracy(drawn["clean"]), tests),
        }
        assert {name: values[name][resample] for name in wanted} == pytest.approx(wanted, rel=1e-5)
    for name, rows in values.items():
        assert scores.intervals[name] == pytest.approx(np.quantile(rows, [0.025, 0.975]), rel=1e-5)
    other_seed = corruptset.score(data, predictions, seed=1)
    assert other_seed.maude == scores.maude
    assert other_seed.intervals["maude"] != scores.intervals["maude"]


def test_a_perfect_model_and_a_constant_one(data):
    labels = data["clean"].labels
    guesses = [Outcome(guess == labels) for guess in (labels, np.zeros(len(labels), np.int64))]
    perfect, constant = (Predictions("m", data.digest, dict.fromkeys(data.set_ids, guess)) for guess in guesses)
    best = corruptset.score(data, perfect, baseline=constant)
    assert {s.accuracy for s in best.sets.values()} == {1.0}
    numbers = (best.maude, best.relative_maude, best.mce, best.rb_index, best.mean_accuracy)
    assert (numbers, best.intervals["maude"]) == ((0, 0, 0, 0, 1), (0, 0))
    # the baseline is as bad on clean images: a loss relative to none is no number
    assert (best.relative_mce, best.relative_ce) == (None, {})
    assert any("divided by 0" in n and "relative_ce of brightness" in n and "and 15 more" in n for n in best.notes)
    same = corruptset.score(data, constant, baseline=constant)
    share = float((labels == 0).mean())
    assert {round(s.accuracy, 12) for s in same.sets.values()} == {round(share, 12)}
    assert (same.maude, same.relative_maude, same.mce, same.rb_index) == pytest.approx((1 - share, 0, 1, 0))


def test_scores_of_some_sets_are_those_of_a_build_of_them(tmp_path, data, predictions):
    part = unbuilt.data_set(tmp_path, only=lambda name: name.startswith("fog/") or name in ("clean", "saturate/2"))
    here = corruptset.score(data, predictions, sets=["fog/*", "clean", "saturate/2"])
    of_part = {name: predictions.outcomes[name] for name in part.set_ids}
    assert here == corruptset.score(part, replace(predictions, outcomes=of_part))
    assert (list(here.aude), here.maude) == (["fog"], None)
    assert any("14 of them are missing" in note for note in here.notes)
    assert any(note.startswith("7 of the recipe's 96 sets are scored") for note in here.notes)
    with pytest.raises(UnknownCorruption, match="Did you mean"):
        corruptset.score(data, predictions, sets=["fogg/*"])
    unclean = unbuilt.data_set(tmp_path / "unclean", clean=False)
    without = {name: outcome for name, outcome in predictions.outcomes.items() if name != "clean"}
    scores = corruptset.score(unclean, replace(predictions, outcomes=without))
    # clean images need not be a set of the data set
    assert corruptset.score(unclean, predictions).maude == corruptset.score(unclean, predictions, sets=["*"]).maude
    assert (scores.maude, scores.aude, scores.rb_index) == (None, {}, None)
    assert scores.mean_accuracy is not None
    assert any("add clean.npz" in note for note in scores.notes)
    whole = corruptset.open(data.path)
    train = [record.model_copy(update={"role": "train"}) for record in whole.manifest.sets]
    whole.manifest = whole.manifest.model_copy(update={"sets": train})
    trained = corruptset.score(whole, predictions)
    assert (trained.maude, trained.mean_accuracy, trained.rb_index, trained.families) == (None, None, None, {})
    assert any("role train" in note for note in trained.notes)


def test_predictions_and_baselines_of_something_else(data, predictions, tmp_path, monkeypatch):
    some = {name: outcome for name, outcome in predictions.outcomes.items() if name != "fog/2"}
    short = {name: outcome.rows(np.arange(40) < 39) for name, outcome in predictions.outcomes.items()}
    for wrong, says in (
        (replace(predictions, outcomes=some), "lack the sets fog/2"),
        (replace(predictions, outcomes=short), "have 39 rows a set"),
        (replace(predictions, digest="sha256:" + "7" * 64), "are of sha256:777"),
    ):
        with pytest.raises(PredictionError, match=says):
            corruptset.score(data, wrong)
    # a baseline needs what error curves need
    mixed = unbuilt.data_set(tmp_path / "mixed", only=lambda name: name.startswith("fog/") or name == "snow/3")
    other = unbuilt.made_up(mixed, 1, "other")
    del other.outcomes["snow/3"]
    scores = corruptset.score(mixed, unbuilt.made_up(mixed), baseline=other)
    assert (list(scores.ce), scores.baseline) == (["fog"], "other")
    del other.outcomes["fog/3"]
    with pytest.raises(PredictionError, match="lack the sets fog/3"):
        corruptset.score(mixed, unbuilt.made_up(mixed), baseline=other)
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ScoreError, match="pip install pandas"):
        scores.to_pandas()


def test_only_images_that_a_model_has_right(data, tmp_path):
    made, other = (unbuilt.made_up(data, seed, best=0.7) for seed in (0, 1))
    (tmp_path / "judge").mkdir()
    labels = data["clean"].labels
    first = np.where(other.outcomes["clean"].correct, labels, (labels + 1) % 7)
    np.savez(tmp_path / "judge/clean.npz", top=np.stack([first, (first + 2) % 7], axis=1))
    for text, said, judge in (
        ("correct@clean", "correct@clean", made),
        (f"correct@clean={tmp_path / 'judge'}", "correct@clean=judge", other),
    ):
        right = judge.outcomes["clean"].correct
        scores = corruptset.score(data, made, condition=text)
        assert (scores.condition, scores.samples, scores.resamples.units) == (said, 40, right.sum())
        assert {s.n for s in scores.sets.values()} == {int(right.sum())}
        assert scores.sets["fog/3"].accuracy == pytest.approx(made.outcomes["fog/3"].correct[right].mean())
        assert scores.sets["fog/3"].rank == pytest.approx(made.outcomes["fog/3"].rank[right].mean())
        assert (scores.sets["clean"].accuracy == 1) == (judge is made)
        assert any(f"Only images count that are {said}" in note for note in scores.notes)
        every = [made.outcomes[f"{name}/{s}"].correct[right] for name in FIFTEEN for s in range(1, 6)]
        assert scores.worst_case["all"].share == pytest.approx(np.all(every, axis=0).mean())
    for text in ("", "correct", "correct@fog/3", "correct@clean="):
        with pytest.raises(ParameterError, match="expected 'correct@clean', or 'correct@clean=PREDICTIONS'"):
            corruptset.score(data, made, condition=text)
    wrong = replace(made, outcomes={**made.outcomes, "clean": Outcome(np.zeros(40, bool))})
    with pytest.raises(PredictionError, match="no clean image right"):
        corruptset.score(data, wrong, condition="correct@clean")
    unclean = unbuilt.data_set(tmp_path / "unclean", "cifar10-c", clean=False)
    with pytest.raises(PredictionError, match=r"those of made up have none: add clean\.npz"):
        corruptset.score(unclean, unbuilt.made_up(unclean), condition="correct@clean")


def test_groups_of_samples_and_their_gap(tmp_path):
    icons = unbuilt.data_set(tmp_path / "icons", "icons50-microsoft", samples=[{"group": group} for group in GROUPS])
    made = unbuilt.made_up(icons, best=0.6)
    scores = corruptset.score(icons, made)
    correct = made.outcomes["clean"].correct.tolist()
    of_group = {g: [c for c, of in zip(correct, GROUPS, strict=True) if of == g] for g in sorted(set(GROUPS))}
    wanted = {group: accuracy(flags) for group, flags in of_group.items()}
    assert scores.style == pytest.approx(wanted)
    assert scores.style_gap == pytest.approx(max(wanted.values()) - min(wanted.values()))
    for resample in range(20):
        shares: dict[str, list[bool]] = {}
        for row in plain_scores.drawn(0, 40, resample):
            shares.setdefault(GROUPS[row], []).append(correct[row])
        means = [accuracy(flags) for flags in shares.values()]
        assert scores.resamples.values["style_gap"][resample] == pytest.approx(max(means) - min(means), abs=1e-6)
    made.outcomes["clean"].correct[:] = np.array([group != "google" for group in GROUPS])
    chosen = corruptset.score(icons, made, condition="correct@clean")
    assert chosen.style == {"apple": 1.0, "microsoft": 1.0, "rare": 1.0}
    one = unbuilt.data_set(tmp_path / "one", "icons50-microsoft", samples=[{"group": "microsoft"}] * 40)
    alone = corruptset.score(one, unbuilt.made_up(one))
    assert (list(alone.style), alone.style_gap, "style_gap" in alone.intervals) == (["microsoft"], None, False)


def test_two_factors_over_names_and_sets_and_in_both_orders(tmp_path):
    data = unbuilt.data_set(tmp_path / "all", "two-factor-69")
    made = unbuilt.made_up(data, 3)
    scored = corruptset.score(data, made)
    for resample in (None, 11):
        right = right_of(made) if resample is None else plain_scores.resampled(right_of(made), 0, resample)
        of_set = {name: accuracy(flags) for name, flags in right.items()}
        names = [of_set[data.aliases[f"type {number}"]] for number in range(1, 70)]
        wanted = {
            "mean_accuracy": mean(names),
            "cv_percent": plain_scores.cv_percent(names),
            "distinct_mean_accuracy": mean(of_set.values()),
            "distinct_cv_percent": plain_scores.cv_percent(list(of_set.values())),
        }
        found = {
            name: getattr(scored.two_factor, name)
            if resample is None
            else scored.resamples.values[f"two_factor.{name}"][resample]
            for name in wanted
        }
        assert found == pytest.approx(wanted, rel=1e-6)
    two = scored.two_factor
    assert (two.names, two.distinct) == (69, 53)
    assert two.cv_percent_interval == scored.intervals["two_factor.cv_percent"]
    effects = {(e.first, e.second): e for e in two.order_effects}
    assert set(effects) == {tuple(sorted((n, "+".join(reversed(n.split("+")))))) for n in data if "+" in n}
    for (first, second), effect in effects.items():
        a, b = made.outcomes[first].correct, made.outcomes[second].correct
        assert effect.difference == pytest.approx(accuracy(a) - accuracy(b))
        # the images are the same on both sides: the difference is resampled, not each side by itself
        paired = [np.mean(a[rows]) - np.mean(b[rows]) for rows in (plain_scores.drawn(0, 40, r) for r in range(100))]
        assert min(paired) - 0.2 < effect.interval[0] <= effect.interval[1] < max(paired) + 0.2
    some = ("sp010+ga010", "sp010", "ga010+sp015")
    part = unbuilt.data_set(tmp_path / "some", "two-factor-69", only=some.__contains__)
    few = corruptset.score(part, unbuilt.made_up(part)).two_factor
    # clean, sp010 as often as the paper names it, and the two chains
    assert (few.names, few.distinct, few.order_effects) == (1 + 4 + 2, 4, [])


def record(id: str, *stages: tuple[str, int | None]) -> SetRecord:
    rows = [{"corruption": c, "revision": 1, "severity": s, "level": None, "parameters": {"p": s}} for c, s in stages]
    stored = {"count": 1, "files": 1, "bytes": 1, "pixel_digest": unbuilt.BLAKE3, "metrics": None}
    return SetRecord.model_validate({"id": id, "aliases": [], "stages": rows, "role": "test", **stored})


def test_which_sets_are_the_five_severities_of_one_thing():
    sets = [record(f"fog/{s}", ("fog", s)) for s in (5, 3, 1, 2, 4)]
    sets += [record(f"snow/{s}", ("snow", s)) for s in (1, 2, 3, 4)]
    assert severity_curves(sets) == {"fog": [f"fog/{s}" for s in range(1, 6)]}
    pairs = [record(f"fog-{a}+snow-{b}", ("fog", a), ("snow", b)) for a in range(1, 6) for b in range(1, 6)]
    curves = severity_curves(pairs)
    assert curves["fog+snow"] == [f"fog-{s}+snow-{s}" for s in range(1, 6)]
    assert curves["fog-3+snow"] == [f"fog-3+snow-{s}" for s in range(1, 6)]
    assert curves["fog+snow-3"] == [f"fog-{s}+snow-3" for s in range(1, 6)]
    assert len(curves) == 11
    given = [record(f"sp010+fog-{s}", ("salt_pepper", None), ("fog", s)) for s in range(1, 6)]
    assert severity_curves(given) == {"sp010+fog": [f"sp010+fog-{s}" for s in range(1, 6)]}
