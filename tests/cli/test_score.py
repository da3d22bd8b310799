"""Test the command `score`, its arguments, its output and its errors."""

from __future__ import annotations

import json

import numpy as np
import pytest
import record_datasets
import tiny_net

import corruptset
from corruptset.cli.score import put_scores
from corruptset.scores.scores_file import load_scores

SETS = ["contrast/*", "brightness/*", "clean", "contrast-3+brightness-2"]


@pytest.fixture(scope="module")
def directory(shared_data):
    return shared_data.build(sets=SETS)


@pytest.fixture(scope="module")
def train_and_predict(directory, tmp_path_factory):
    """Return a function that writes the predictions of a network that was trained on a set."""
    data, root = corruptset.open(directory), tmp_path_factory.mktemp("p")
    return lambda name, set_id: tiny_net.write_predictions(
        data, root / name, tiny_net.train_network(data, set_id), name
    )


@pytest.fixture(scope="module")
def predictions(train_and_predict):
    return train_and_predict("tiny net", "contrast/2")


def test_score_prints_tables_and_notes_and_writes_files(run, directory, predictions, tmp_path):
    result = run.succeeds("score --out scores --seed 3", directory, predictions)
    scores = load_scores(tmp_path / "scores")
    lines = result.out.splitlines()
    assert (lines[0], lines[1], lines[-1]) == ("tiny net on small-c 1.0.0", "12 sets of 20 images", "Written: scores")
    contrast = next(line.split() for line in lines if line.startswith("contrast "))
    expected_cells = [f"{100 * scores.sets[f'contrast/{s}'].accuracy:.1f}" for s in range(1, 6)]
    assert contrast == ["contrast", *expected_cells, f"{100 * scores.get('aude.contrast'):.1f}"]
    clean = next(line for line in lines if line.startswith("clean accuracy"))
    low, high = scores.interval("clean_accuracy") or (0, 0)
    expected_cells = [f"{100 * value:.2f}" for value in (scores.sets["clean"].accuracy, low, high)]
    assert clean.split("%", 1)[1].strip() == f"{expected_cells[0]} ({expected_cells[1]} to {expected_cells[2]})"
    assert "mAUDE %           - (13 of the 15 corruptions are missing)" in result.out
    assert "small-c 1.0.0 is not a published benchmark" in result.out
    assert "confidence interval from the bootstrap" in result.out
    worst = lines.index("Worst case: images classified correctly on every set of a group")
    assert lines[worst + 1].startswith("correct on every set of")
    names = [line.split(" (")[0] for line in lines[worst + 2 : worst + 7]]
    assert names == [lines[worst + 2], "weather", "digital", "brightness", "contrast"]
    assert lines[worst + 2].startswith("all 11 test sets")
    assert "score: resampling" in result.err
    record = json.loads((tmp_path / "scores/scores.json").read_text("utf-8"))
    assert record["resamples"]["seed"] == 3
    assert corruptset.score(directory, predictions, seed=3).as_json() == record
    assert run.succeeds("score --json --seed 3", directory, predictions).json == record | {"resamples": None}


def test_score_accepts_sets_baseline_and_condition(run, directory, train_and_predict, predictions):
    subset = run.succeeds("score --sets 'contrast/*,brightness/2' --json", directory, predictions).json
    assert set(subset["sets"]) == {"clean", "brightness/2", *(f"contrast/{s}" for s in range(1, 6))}
    assert [score["name"] for score in subset["scores"] if score["name"].startswith("aude.")] == ["aude.contrast"]
    other = train_and_predict("other", "contrast/5")
    judged = run.succeeds("score", directory, predictions, "--baseline", other).out
    assert "CE and mCE are relative to the errors of other" in judged
    assert "Accuracy at severities 1 to 5, and the area under the error curve (AUDE), in %" in judged
    assert "CE and relative CE are errors in % of those of other." in judged
    (heading,) = (line for line in judged.splitlines() if line.startswith("corruption "))
    assert heading.split()[-4:] == ["AUDE", "CE", "rel.", "CE"]
    output = run.succeeds("score", directory, predictions, "--condition", f"correct@clean={other}").out
    labels = corruptset.open(directory)["clean"].labels
    correct = sum(np.load(other / "clean.npz")["logits"].argmax(axis=1) == labels)
    assert f"12 sets of 20 images, {correct} of which are scored (correct@clean=other)" in output


def test_complete_benchmark_has_all_scores(tmp_path):
    data = record_datasets.records_dataset(tmp_path, "imagenet-c")
    scores = corruptset.score(data, record_datasets.random_predictions(data))
    assert len(scores.values("aude")) == 15
    assert None not in map(scores.get, ("maude", "relative_maude", "rb_index"))
    tests = [item.accuracy for name, item in scores.sets.items() if name != "clean"]
    assert (len(tests), scores.get("mean_accuracy")) == (75, pytest.approx(np.mean(tests)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["DIR", "nowhere"], "nowhere does not exist"),
        (["DIR", "PREDICTIONS", "--sets", "contrasst/*"], "Did you mean"),
        (["DIR", "PREDICTIONS", "--condition", "right"], "expected 'correct@clean'"),
        (["DIR", "DIR"], "is a dataset, not predictions"),
        (["DIR", "PREDICTIONS", "--out", "file"], "file"),
    ],
)
def test_score_errors_are_named(run, directory, predictions, tmp_path, arguments, message):
    (tmp_path / "file").write_text("")
    places = {"DIR": directory, "PREDICTIONS": predictions}
    assert run.fails(message, "score", *(places.get(item, item) for item in arguments)).out == ""


def test_every_table_fits_80_columns(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("imagenet-c-all", "image-degrade-30", "two-factor-69", "icons50-apple"):
        rows = [{"group": f"style {i % 4}"} for i in range(40)] if "icons" in name else []
        data = record_datasets.records_dataset(tmp_path / name, name, samples=rows)
        scores = corruptset.score(
            data,
            record_datasets.random_predictions(data, best=0.99),
            baseline=record_datasets.random_predictions(data, 1),
        )
        put_scores(scores)
        out = capsys.readouterr().out
        tables = [line for line in out.splitlines() if not line.startswith(("Note: ", "Digest: "))]
        assert max(map(len, tables)) <= 80
        # No text is truncated or wrapped.
        assert "…" not in out
        assert not any(line.startswith(" ") for line in tables)
        if name == "two-factor-69":  # All rows of a long table are printed.
            assert {line.partition(" ")[0] for line in tables} >= scores.sets.keys() - {"clean"}


def test_headings_are_same_for_any_model_name(tmp_path, capsys):
    data = record_datasets.records_dataset(tmp_path, "cifar10-c")
    shown = []
    for name in ("A", "something else"):
        put_scores(corruptset.score(data, record_datasets.random_predictions(data, model=name)))
        title, _, text = capsys.readouterr().out.partition("\n")
        shown.append(text)
        assert title.startswith(f"{name} on cifar10-c ")
    assert len(set(shown)) == 1


def test_scores_of_one_image_have_no_interval(tmp_path):
    data = record_datasets.records_dataset(tmp_path, count=1, digest="sha256:" + 64 * "1")
    scores = corruptset.score(
        data, record_datasets.random_predictions(data), baseline=record_datasets.random_predictions(data, 1)
    )
    assert {item.interval for item in (*scores.scores, *scores.sets.values())} == {None}
    assert scores["clean_accuracy"].reason == "one image has no interval"
    other = scores.model_copy(update={"model": "other"})
    assert {d.exceeds for d in corruptset.compare([scores, other]).differences} == {None}


def test_missing_model_is_named(run, dataset_dir):
    run.fails("none.toml cannot be read: No such file", "predict --model none.toml --out p", dataset_dir)
