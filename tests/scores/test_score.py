"""Test all results of `score` for a dataset against plain Python."""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
import record_datasets
import reference_scores
from reference_scores import FIFTEEN, accuracy, mean

import corruptset
from corruptset.cli.score import put_scores
from corruptset.errors import ParameterError, PredictionError, ScoreError, UnknownCorruption, VerificationError
from corruptset.scores.outcomes import Outcome, Predictions

EXTRA = ("speckle_noise", "gaussian_blur", "spatter", "saturate")
GROUPS = [*["microsoft", "apple", "apple", "google"] * 9, "apple", "apple", "apple", "rare"]
"""A third of the resamples have no image of the last one."""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return record_datasets.records_dataset(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def predictions(data):
    return record_datasets.random_predictions(data)


@pytest.fixture(scope="module")
def scores(data, predictions):
    return corruptset.score(data, predictions, baseline=record_datasets.random_predictions(data, 1, "other"))


def correct_by_set(predictions):
    return {name: outcome.correct.tolist() for name, outcome in predictions.outcomes.items()}


def accuracies(correct, names=FIFTEEN):
    """Return the accuracy of some corruptions at each severity."""
    return [accuracy(correct[f"{name}/{severity}"]) for name in names for severity in range(1, 6)]


def has_note(scores, text):
    return any(text in note for note in scores.notes)


def test_every_set_is_scored(data, predictions, scores):
    in_order = [f"{name}/{s}" for name in (*FIFTEEN, *EXTRA) for s in range(1, 6)]
    assert list(scores.sets) == ["clean", *in_order]
    for name, scored in scores.sets.items():
        outcome = predictions.outcomes[name]
        of_it = (accuracy(outcome.correct), accuracy(outcome.top5), mean(outcome.rank.tolist()))
        assert (scored.n, scored.accuracy, scored.top5, scored.rank) == (40, *map(pytest.approx, of_it))
        assert scored.probability == pytest.approx(mean(outcome.probability.tolist()), rel=1e-6)
        assert scored.interval[0] <= scored.accuracy <= scored.interval[1]
    head = scores.digest, scores.name, scores.model, scores.samples, scores.baseline
    assert head == (data.digest, "imagenet-c-all 1.1.0", "made up", 40, "other")
    frame = scores.to_pandas()
    assert list(frame.columns) == ["n", "accuracy", "top5", "rank", "probability", "low", "high"]
    assert frame.loc["fog/3", "accuracy"] == scores.sets["fog/3"].accuracy
    assert re.match(r"<Scores of made up on imagenet-c-all 1\.1\.0: 96 sets, clean_accuracy 0\.", str(scores))
    bare = {name: Outcome(outcome.correct) for name, outcome in predictions.outcomes.items()}
    less = corruptset.score(data, replace(predictions, outcomes=bare))
    assert less.sets["fog/1"].top5 is less.sets["fog/1"].rank is less.sets["fog/1"].probability is None
    assert has_note(less, "do not contain the top5, rank, probability")


def test_error_curves_and_means_cover_test_sets_with_resamples(data, predictions, scores):
    correct, other = correct_by_set(predictions), correct_by_set(record_datasets.random_predictions(data, 1))
    assert list(scores.group("aude")) == [*FIFTEEN, *EXTRA]
    for name in scores.group("aude"):
        assert scores[f"aude.{name}"].value == pytest.approx(reference_scores.aude(correct, name))
        assert scores[f"ce.{name}"].value == pytest.approx(reference_scores.ce(correct, other, name))
        assert scores[f"relative_ce.{name}"].value == pytest.approx(reference_scores.relative_ce(correct, other, name))
    values = scores.resamples.values
    assert (scores.resamples.seed, scores.resamples.units) == (0, 40)
    assert set(values) == {score.name for score in scores.scores if "." not in score.name}
    for resample in (None, 0, 7):
        if resample is not None:
            correct, other = (
                reference_scores.resample_outcomes(
                    correct_by_set(record_datasets.random_predictions(data, n)), 0, resample
                )
                for n in (0, 1)
            )
        clean, tests = accuracy(correct["clean"]), accuracies(correct)
        expected = {
            "maude": reference_scores.maude(correct),
            "relative_maude": reference_scores.maude(correct) - (1 - clean),
            "mce": mean(reference_scores.ce(correct, other, name) for name in FIFTEEN),
            "relative_mce": mean(reference_scores.relative_ce(correct, other, name) for name in FIFTEEN),
            "rb_index": reference_scores.rb_index(clean, tests),
        }
        result = {name: scores.get(name) if resample is None else values[name][resample] for name in expected}
        assert result == pytest.approx(expected, rel=1e-5)
        if resample is None:
            assert scores.get("mean_accuracy") == pytest.approx(mean(tests))
    for name, rows in values.items():
        assert len(rows) == 1000
        assert scores.interval(name) == pytest.approx(np.quantile(rows, [0.025, 0.975]), rel=1e-5)
    assert list(scores.group("mean_accuracy")) == ["noise", "blur", "weather", "digital", *FIFTEEN]
    assert scores["mean_accuracy.noise"].value == pytest.approx(
        mean(accuracies(correct_by_set(predictions), FIFTEEN[:3]))
    )
    # The four extra corruptions are for validation, so worse predictions for them change no mean.
    worse = {name: Outcome(~o.correct) if name.startswith(EXTRA) else o for name, o in predictions.outcomes.items()}
    repeated = corruptset.score(data, replace(predictions, outcomes=worse), seed=1)
    assert repeated.get("aude.spatter") != scores.get("aude.spatter")
    for name in ("maude", "mean_accuracy", "rb_index", "mean_accuracy.noise"):
        assert repeated.get(name) == scores.get(name)
    assert repeated.interval("maude") != scores.interval("maude")


def test_worst_case_counts_images_correct_under_every_set(data, predictions, scores):
    correct = correct_by_set(predictions)
    for name, corruptions in {"all": FIFTEEN, "noise": FIFTEEN[:3], "fog": ["fog"]}.items():
        ids = [f"{corruption}/{s}" for corruption in corruptions for s in range(1, 6)]
        every, one = np.all([correct[set_id] for set_id in ids], axis=0), scores[f"worst_case.{name}"]
        average = scores.get("mean_accuracy" if name == "all" else f"mean_accuracy.{name}")
        expected = (len(ids), *map(pytest.approx, (mean(every), mean(accuracies(correct, corruptions)))))
        assert (one.count, one.value, average) == expected
    # Validation sets are in none of the groups.
    assert list(scores.group("worst_case")) == ["all", "noise", "blur", "weather", "digital", *FIFTEEN]
    subset = corruptset.score(data, predictions, sets=["fog/1", "fog/2", "snow/1"]).group("worst_case")
    assert {name: item.count for name, item in subset.items()} == {"all": 3, "weather": 3, "fog": 2}


def test_attack_within_radius_includes_smaller_radii_and_clean_images(tmp_path):
    attacked = record_datasets.records_dataset(tmp_path, "pgd-5")
    predictions = record_datasets.random_predictions(attacked)
    result = corruptset.score(attacked, predictions)
    radii = {s.id: s.stages[0].parameters["eps"] for s in attacked.manifest.sets if s.stages}
    assert len(set(radii.values())) > 1
    for radius in set(radii.values()):
        one = result[f"worst_case.pgd within {radius:g}"]
        within = [predictions.outcomes[set_id] for set_id in ("clean", *radii) if radii.get(set_id, 0) <= radius]
        assert (one.count, one.value) == (len(within), np.all([o.correct for o in within], axis=0).mean())
        minimum = np.min([o.probability for o in within], axis=0).astype(float)
        assert result[f"greatest_loss.pgd within {radius:g}"].value == pytest.approx(
            mean(-math.log(p) for p in minimum)
        )
    assert "all" not in result.group("greatest_loss")
    farthest = f"pgd within {max(radii.values()):g}"
    for probability, loss in ((None, None), (np.zeros(40, np.float32), pytest.approx(87.336545, abs=1e-5))):
        others = {
            name: replace(job_result, probability=probability) for name, job_result in predictions.outcomes.items()
        }
        assert (
            corruptset.score(attacked, replace(predictions, outcomes=others)).get(f"greatest_loss.{farthest}") == loss
        )
    for record in attacked.manifest.sets:
        for stage in record.stages:
            stage.parameters["eps"] = "far"
    assert set(corruptset.score(attacked, predictions).group("worst_case")) == {"all", "pgd"}


def test_baseline_without_loss_is_never_divisor(data):
    labels = data["clean"].labels
    guesses = [Outcome(guess == labels) for guess in (labels, np.zeros(len(labels), np.int64))]
    perfect, constant = (Predictions("m", data.digest, dict.fromkeys(data.set_ids, guess)) for guess in guesses)
    best = corruptset.score(data, perfect, baseline=constant)
    numbers = tuple(map(best.get, ("maude", "relative_maude", "mce", "rb_index", "mean_accuracy")))
    assert (numbers, best.interval("maude")) == ((0, 0, 0, 0, 1), (0, 0))
    row = best["relative_mce"]
    assert (row.value, row.reason) == (None, "the baseline loses no accuracy on 15 corruptions")
    assert best["relative_ce.fog"].reason == "the baseline loses no accuracy"
    assert has_note(best, f"no relative CE for {', '.join((*FIFTEEN, *EXTRA))}, because the baseline loses no accuracy")
    flawless = corruptset.score(data, constant, baseline=perfect)
    assert flawless["mce"].reason == "the baseline makes no errors on 15 corruptions"


def test_baseline_that_gains_accuracy_has_no_relative_ce(data, predictions):
    clean = np.arange(40) < 20
    gain, loss = Outcome(np.arange(40) < 24), Outcome(np.arange(40) < 10)
    outcomes = {name: gain if name.startswith("frost") else loss for name in data.set_ids}
    outcomes |= dict.fromkeys(("clean", *(f"fog/{severity}" for severity in range(1, 6))), Outcome(clean))
    # This corruption loses three images and gains two, so the baseline gains accuracy in some resamples.
    outcomes |= {f"snow/{severity}": Outcome(np.isin(np.arange(40), range(3, 22))) for severity in range(1, 6)}
    scores = corruptset.score(data, predictions, baseline=Predictions("other", data.digest, outcomes))
    for name in ("frost", "fog"):
        row = scores[f"relative_ce.{name}"]
        assert (row.value, row.interval, row.reason) == (None, None, "the baseline loses no accuracy")
    row = scores["relative_mce"]
    assert (row.value, row.reason) == (None, "the baseline loses no accuracy on 2 corruptions")
    assert has_note(scores, "no relative CE for frost, fog, because the baseline loses no accuracy")
    assert scores.get("ce.frost") is not None
    assert scores.get("relative_ce.brightness") is not None
    assert scores.interval("relative_ce.brightness") is not None
    snow = scores["relative_ce.snow"]
    assert snow.value is not None
    assert (snow.interval, snow.reason) == (None, "no interval, because some resamples divide by almost 0")


def test_ratio_with_near_zero_divisors_has_no_interval(data, predictions, capsys):
    rng = np.random.default_rng(0)
    clean = rng.random(40) < 0.5
    outcomes = dict.fromkeys(data.set_ids, Outcome(clean))
    for name in FIFTEEN:  # This baseline loses one image, which a third of the resamples do not contain.
        outcomes[f"{name}/5"] = Outcome(clean & (np.arange(40) != np.argmax(clean)))
    other = Predictions("other", data.digest, outcomes)
    scores = corruptset.score(data, predictions, baseline=other)
    for row in (scores["relative_mce"], scores["relative_ce.fog"]):
        assert (row.interval, row.reason) == (None, "no interval, because some resamples divide by almost 0")
    correct = correct_by_set(predictions)
    expected = mean(reference_scores.relative_ce(correct, correct_by_set(other), name) for name in FIFTEEN)
    assert scores.get("relative_mce") == pytest.approx(expected)
    assert scores.interval("mce") is not None
    put_scores(scores)
    row = f"relative mCE % {100 * expected:.2f} (no interval, because some resamples divide by almost 0)"
    assert row in " ".join(capsys.readouterr().out.split())  # Lines are wrapped in a narrow terminal.


def test_top5_accuracy_needs_at_least_six_classes(tmp_path):
    for classes, is_shown in ((5, False), (6, True)):
        subset = record_datasets.records_dataset(
            tmp_path / str(classes), "cifar10-c", classes=classes, only="fog/1".__eq__
        )
        scores = corruptset.score(subset, record_datasets.random_predictions(subset))
        assert (scores.sets["fog/1"].top5 is not None) == is_shown
        assert not has_note(scores, "top5")


def test_manifest_recipe_without_stages_is_named(tmp_path):
    folder = record_datasets.write_records(tmp_path, "cifar10-c")
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    del manifest["recipe"]["sets"][3]["stages"]
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    data = corruptset.open(folder)
    with pytest.raises(VerificationError, match=r"manifest\.json: recipe\.sets\[3\] has no 'stages'"):
        corruptset.score(data, record_datasets.random_predictions(data))


def test_missing_scores_of_recipe_are_named(tmp_path):
    data = record_datasets.records_dataset(tmp_path, "image-degrade-30")
    predictions = record_datasets.random_predictions(data)
    assert not has_note(corruptset.score(data, predictions), "Not applicable")
    (note,) = (n for n in corruptset.score(data, predictions, sets=["clean"]).notes if "Not applicable" in n)
    assert "degradation profiles" in note
    assert "two-factor" not in note


def test_scores_of_selected_sets_equal_build_of_those_sets(tmp_path, data, predictions):
    part = record_datasets.records_dataset(
        tmp_path, only=lambda name: name.startswith("fog/") or name in ("clean", "saturate/2")
    )
    here = corruptset.score(data, predictions, sets=["fog/*", "clean", "saturate/2"])
    of_part = {name: predictions.outcomes[name] for name in part.set_ids}
    assert here == corruptset.score(part, replace(predictions, outcomes=of_part))
    assert (list(here.group("aude")), here.get("maude")) == (["fog"], None)
    assert here["maude"].reason == here["mce"].reason == "14 of the 15 corruptions are missing"
    assert has_note(here, f"14 of them are missing: {', '.join(name for name in FIFTEEN if name != 'fog')}.")
    assert has_note(here, "7 of the 96 sets of the recipe are scored")
    unclean = record_datasets.records_dataset(tmp_path / "unclean", clean=False)
    without = {name: outcome for name, outcome in predictions.outcomes.items() if name != "clean"}
    scores = corruptset.score(unclean, replace(predictions, outcomes=without))
    # The dataset need not contain the clean images.
    assert corruptset.score(unclean, predictions).scores == corruptset.score(unclean, predictions, sets=["*"]).scores
    assert (scores.get("maude"), scores.values("aude"), scores.get("rb_index")) == (None, {}, None)
    assert scores["maude"].reason == scores["rb_index"].reason == "no predictions of the clean images"
    assert scores.get("mean_accuracy") is not None
    assert has_note(scores, "Add clean.npz")
    dataset = corruptset.open(data.path)
    train = [record.model_copy(update={"role": "train"}) for record in dataset.manifest.sets]
    dataset.manifest = dataset.manifest.model_copy(update={"sets": train})
    trained = corruptset.score(dataset, predictions)
    assert {trained.get(name) for name in ("maude", "mean_accuracy", "rb_index")} == {None}
    assert (trained.group("mean_accuracy"), trained["mean_accuracy"].reason) == ({}, "no test set")
    assert has_note(trained, "role train")


def test_unsuitable_predictions_and_baselines_are_rejected(data, predictions, tmp_path, monkeypatch):
    subset = {name: outcome for name, outcome in predictions.outcomes.items() if name != "fog/2"}
    short = {name: outcome.rows(np.arange(40) < 39) for name, outcome in predictions.outcomes.items()}
    for changes, message in (
        ({"outcomes": subset}, "lack the sets fog/2"),
        ({"outcomes": short}, "have 39 rows per set"),
        ({"digest": "sha256:" + "7" * 64}, "belong to sha256:777"),
    ):
        with pytest.raises(PredictionError, match=message):
            corruptset.score(data, replace(predictions, **changes))
    with pytest.raises(UnknownCorruption, match="Did you mean"):
        corruptset.score(data, predictions, sets=["fogg/*"])
    # A baseline needs the sets of the error curves.
    mixed = record_datasets.records_dataset(tmp_path, only=lambda name: name.startswith("fog/") or name == "snow/3")
    other = record_datasets.random_predictions(mixed, 1, "other")
    del other.outcomes["snow/3"]
    scores = corruptset.score(mixed, record_datasets.random_predictions(mixed), baseline=other)
    assert (list(scores.group("ce")), scores.baseline) == (["fog"], "other")
    del other.outcomes["fog/3"]
    with pytest.raises(PredictionError, match="lack the sets fog/3"):
        corruptset.score(mixed, record_datasets.random_predictions(mixed), baseline=other)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ScoreError, match="pip install pandas"):
        scores.to_pandas()


def test_condition_selects_correctly_classified_images(data, tmp_path):
    model_predictions, other = (record_datasets.random_predictions(data, seed, best=0.7) for seed in (0, 1))
    (tmp_path / "judge").mkdir()
    labels = data["clean"].labels
    first = np.where(other.outcomes["clean"].correct, labels, (labels + 1) % 7)
    np.savez(tmp_path / "judge/clean.npz", top=first[:, None])
    for text, message, judge in (
        ("correct@clean", "correct@clean", model_predictions),
        (f"correct@clean={tmp_path / 'judge'}", "correct@clean=judge", other),
    ):
        correct = judge.outcomes["clean"].correct
        scores = corruptset.score(data, model_predictions, condition=text)
        assert (scores.condition, scores.samples, scores.resamples.units) == (message, 40, correct.sum())
        assert {s.n for s in scores.sets.values()} == {int(correct.sum())}
        assert scores.sets["fog/3"].accuracy == pytest.approx(
            model_predictions.outcomes["fog/3"].correct[correct].mean()
        )
        assert (scores.sets["clean"].accuracy == 1) == (judge is model_predictions)
        assert has_note(scores, f"Only images that meet the condition {message} are scored")
        all_correct = [
            model_predictions.outcomes[f"{name}/{s}"].correct[correct] for name in FIFTEEN for s in range(1, 6)
        ]
        assert scores["worst_case.all"].value == pytest.approx(np.all(all_correct, axis=0).mean())
    for text in ("", "correct", "correct@fog/3", "correct@clean="):
        with pytest.raises(ParameterError, match="expected 'correct@clean', or 'correct@clean=PREDICTIONS'"):
            corruptset.score(data, model_predictions, condition=text)
    invalid = replace(model_predictions, outcomes={**model_predictions.outcomes, "clean": Outcome(np.zeros(40, bool))})
    unclean = record_datasets.records_dataset(tmp_path, "cifar10-c", clean=False)
    for dataset, arguments, expected_message in (
        (data, invalid, "classifies no clean image correctly"),
        (unclean, record_datasets.random_predictions(unclean), r"those of made up have none. Add clean\.npz"),
    ):
        with pytest.raises(PredictionError, match=expected_message):
            corruptset.score(dataset, arguments, condition="correct@clean")


def test_groups_have_scores_and_gap(tmp_path):
    icons = record_datasets.records_dataset(
        tmp_path / "icons", "icons50-microsoft", samples=[{"group": group} for group in GROUPS]
    )
    predictions = record_datasets.random_predictions(icons, best=0.6)
    scores = corruptset.score(icons, predictions)
    correct = predictions.outcomes["clean"].correct

    def of_groups(rows):
        results = {}
        for row in rows:
            results.setdefault(GROUPS[row], []).append(bool(correct[row]))
        return {group: accuracy(flags) for group, flags in results.items()}

    expected = of_groups(range(40))
    assert (list(scores.values("style")), scores.values("style")) == (sorted(expected), pytest.approx(expected))
    assert scores.get("style_gap") == pytest.approx(max(expected.values()) - min(expected.values()))
    for resample in range(20):
        means = of_groups(reference_scores.draw_units(0, 40, resample)).values()
        assert scores.resamples.values["style_gap"][resample] == pytest.approx(max(means) - min(means), abs=1e-6)
    correct[:] = np.array([group != "google" for group in GROUPS])
    chosen = corruptset.score(icons, predictions, condition="correct@clean")
    assert chosen.values("style") == {"apple": 1.0, "microsoft": 1.0, "rare": 1.0}
    one = record_datasets.records_dataset(tmp_path / "one", "icons50-microsoft", samples=[{"group": "microsoft"}] * 40)
    alone = corruptset.score(one, record_datasets.random_predictions(one))
    assert (list(alone.values("style")), alone.get("style_gap")) == (["microsoft"], None)
    assert alone["style_gap"].reason == "only one group"


def test_two_factor_scores_cover_names_sets_and_both_orders(tmp_path):
    data = record_datasets.records_dataset(tmp_path / "all", "two-factor-69")
    predictions = record_datasets.random_predictions(data, 3)
    result = corruptset.score(data, predictions)
    two, values = result.group("two_factor"), result.resamples.values
    for resample in (None, 11):
        correct = (
            correct_by_set(predictions)
            if resample is None
            else reference_scores.resample_outcomes(correct_by_set(predictions), 0, resample)
        )
        of_set = {name: accuracy(flags) for name, flags in correct.items()}
        names = [of_set[data.aliases[f"type {number}"]] for number in range(1, 70)]
        expected = {
            "mean_accuracy": mean(names),
            "cv_percent": reference_scores.cv_percent(names),
            "distinct_mean_accuracy": mean(of_set.values()),
            "distinct_cv_percent": reference_scores.cv_percent(list(of_set.values())),
        }
        actual = {n: two[n].value if resample is None else values[f"two_factor.{n}"][resample] for n in expected}
        assert actual == pytest.approx(expected, rel=1e-6)
    assert (two["mean_accuracy"].count, two["distinct_mean_accuracy"].count) == (69, 53)
    effects = {(e.first, e.second): e for e in result.order_effects}
    assert set(effects) == {tuple(sorted((n, "+".join(reversed(n.split("+")))))) for n in data if "+" in n}
    for (first, second), effect in effects.items():
        a, b = predictions.outcomes[first].correct, predictions.outcomes[second].correct
        assert effect.difference == pytest.approx(accuracy(a) - accuracy(b))
        # The images are the same in both orders, so the difference is resampled instead of each accuracy.
        paired = [
            np.mean(a[rows]) - np.mean(b[rows]) for rows in (reference_scores.draw_units(0, 40, r) for r in range(100))
        ]
        assert min(paired) - 0.2 < effect.interval[0] <= effect.interval[1] < max(paired) + 0.2
    part = record_datasets.records_dataset(
        tmp_path, "two-factor-69", only={"sp010+ga010", "sp010", "ga010+sp015"}.__contains__
    )
    subset = corruptset.score(part, record_datasets.random_predictions(part))
    counts = [subset[f"two_factor.{kind}cv_percent"].count for kind in ("", "distinct_")]
    # These are clean, sp010 as often as the paper names it, and the two chains.
    assert (counts, subset.order_effects) == ([1 + 4 + 2, 4], [])


def test_chains_have_curve_if_stage_has_all_five_severities(tmp_path):
    pairs = [f"fog-{a}+snow-{b}" for a in range(1, 6) for b in range(1, 6)]
    four = [f"contrast-1+frost-{s}" for s in range(1, 5)]
    extra_sets = "[[sets]]\nclean = true\n" + "".join(f"[[sets]]\nchain = {n.split('+')}\n" for n in [*pairs, *four])
    data = record_datasets.small_dataset(tmp_path, more=extra_sets)
    predictions = record_datasets.random_predictions(data)
    correct, result = correct_by_set(predictions), corruptset.score(data, predictions).values("aude")
    for name, pattern in (
        ("fog+snow", "fog-{0}+snow-{0}"),
        ("fog-3+snow", "fog-3+snow-{0}"),
        ("fog+snow-3", "fog-{0}+snow-3"),
    ):
        curve = {f"chain/{s}": correct[pattern.format(s)] for s in range(1, 6)} | {"clean": correct["clean"]}
        assert result[name] == pytest.approx(reference_scores.aude(curve, "chain"))
    assert len(result) == 11
