"""score as a user runs it: what it hands on, what it prints, what it refuses; and, marked ci, on builds of the shipped
recipes.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
import tiny_net
import unbuilt
from commands import Done

import corruptset
from corruptset.cli.score import put_scores
from corruptset.scores.scores_file import load_scores

Run = Callable[..., Done]
SETS = ["contrast/*", "brightness/*", "clean", "contrast-3+brightness-2"]


@pytest.fixture(scope="module")
def directory(shared):
    return shared.build(sets=SETS)


@pytest.fixture(scope="module")
def predictions(directory, tmp_path_factory):
    data = corruptset.open(directory)
    folder = tmp_path_factory.mktemp("p") / "net"
    return tiny_net.write_predictions(data, folder, tiny_net.trained(data, "contrast/2"))


def test_tables_notes_and_files(run, directory, predictions, tmp_path):
    done = run("score --out scores", directory, predictions)
    assert done.code == 0
    scores = load_scores(tmp_path / "scores")
    lines = done.out.splitlines()
    assert lines[0] == "tiny net on small-c 1.0.0"
    assert lines[1] == "12 sets of 20 images"
    contrast = next(line.split() for line in lines if line.startswith("contrast "))
    shown = [f"{100 * scores.sets[f'contrast/{s}'].accuracy:.1f}" for s in range(1, 6)]
    assert contrast == ["contrast", *shown, f"{100 * scores.aude['contrast']:.1f}"]
    clean = next(line for line in lines if line.startswith("clean accuracy"))
    low, high = scores.intervals["clean_accuracy"] or (0, 0)
    shown = [f"{100 * value:.2f}" for value in (scores.sets["clean"].accuracy, low, high)]
    assert clean.split("%", 1)[1].strip() == f"{shown[0]} ({shown[1]} to {shown[2]})"
    assert "13 of them are missing" in done.out
    assert "small-c 1.0.0 is no published benchmark" in done.out
    assert lines[-1] == "Written: scores"
    assert "score: resampling" in done.err


def test_json_is_the_file_without_resamples(run, directory, predictions, tmp_path):
    done = run("score --json --out scores --seed 3", directory, predictions)
    written = json.loads((tmp_path / "scores/scores.json").read_text("utf-8"))
    assert done.json == written | {"resamples": None}
    assert written["resamples"]["seed"] == 3
    python = corruptset.score(directory, predictions, seed=3)
    assert python.as_json() == written


def test_sets_a_baseline_and_a_condition(run, directory, predictions, tmp_path):
    some = run("score --sets 'contrast/*,brightness/2' --json", directory, predictions).json
    assert set(some["sets"]) == {"clean", "brightness/2", *(f"contrast/{s}" for s in range(1, 6))}
    assert set(some["aude"]) == {"contrast"}
    data = corruptset.open(directory)
    other = tiny_net.write_predictions(data, tmp_path / "other", tiny_net.trained(data, "contrast/5"), "other")
    judged = run("score", directory, predictions, "--baseline", other)
    assert "CE and mCE are relative to the errors of other" in judged.out
    (heading,) = (line for line in judged.out.splitlines() if line.startswith("accuracy %"))
    assert heading.split()[-4:] == ["AUDE", "CE", "rel.", "CE"]
    counted = run("score", directory, predictions, "--condition", f"correct@clean={other}")
    right = sum(np.load(other / "clean.npz")["logits"].argmax(axis=1) == data["clean"].labels)
    assert f"12 sets of 20 images, {right} of which count (correct@clean=other)" in counted.out


def test_the_commands_of_the_readme_leave_no_score_empty(run, tmp_path):
    quick = "--samples 2 --format hdf5 --metrics 0 --no-page --jobs 1 --out sets"
    built = run("build imagenet-c", *quick.split())
    assert built.code == 0, built.err
    data = corruptset.open(tmp_path / "sets/imagenet-c-1.1.0")
    assert len(data.set_ids) == 76
    folder = tiny_net.write_predictions(data, tmp_path / "predictions", tiny_net.trained(data, "clean"))
    scores = run("score --json", data.path, folder).json
    assert len(scores["aude"]) == 15
    assert None not in [scores[name] for name in ("maude", "relative_maude", "rb_index", "mean_accuracy")]
    tests = [one["accuracy"] for name, one in scores["sets"].items() if name != "clean"]
    assert (len(tests), scores["mean_accuracy"]) == (75, pytest.approx(np.mean(tests)))


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["DIR", "nowhere"], 2, "nowhere is not there"),
        (["DIR", "PREDICTIONS", "--sets", "contrasst/*"], 2, "Did you mean"),
        (["DIR", "PREDICTIONS", "--condition", "right"], 2, "expected 'correct@clean'"),
        (["DIR", "DIR"], 2, "is a data set, not predictions"),
        (["DIR", "PREDICTIONS", "--out", "file"], 2, "file"),
    ],
)
def test_mistakes(run, directory, predictions, tmp_path, arguments, code, says):
    (tmp_path / "file").write_text("")
    places = {"DIR": directory, "PREDICTIONS": predictions}
    done = run("score", *(places.get(one, one) for one in arguments))
    assert (done.code, done.out) == (code, "")
    assert says in done.err


def test_every_table_fits_80_columns(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("imagenet-c-all", "image-degrade-30", "two-factor-69", "icons50-apple"):
        rows = [{"group": f"style {i % 4}"} for i in range(40)] if "icons" in name else []
        data = unbuilt.data_set(tmp_path / name, name, samples=rows)
        put_scores(corruptset.score(data, unbuilt.made_up(data, best=0.99), baseline=unbuilt.made_up(data, 1)))
        out = capsys.readouterr().out
        tables = [line for line in out.splitlines() if not line.startswith(("Note: ", "Digest: "))]
        assert max(map(len, tables)) <= 80
        # nothing is cut, nothing goes to a second line
        assert "…" not in out
        assert not any(line.startswith(" ") for line in tables)


@pytest.mark.ci
def test_a_trained_net_from_build_to_scores(run, tmp_path):
    """The whole way: a build, `predict` with a network that reads digits, `score`."""
    from PIL import Image
    from surrogates import digits

    net = digits()
    for i in range(120):
        file = tmp_path / "digits" / f"{net.labels[i]}" / f"{i:03d}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(net.images[i, ..., 0]).save(file)
    quick = "--jobs 1 --metrics 0 --any-shape --no-page --out out"
    assert run("build two-factor-69 --source", f"folder:{tmp_path / 'digits'}", *quick.split()).code == 0
    assert run("predict out/two-factor-69-1.0.0 --model", net.model, "--out", "net").code == 0
    done = run("score out/two-factor-69-1.0.0 net --json")
    scores = done.json
    assert scores["model"] == "digits"
    assert scores["sets"]["clean"]["accuracy"] > 0.9
    low, high = scores["intervals"]["two_factor.cv_percent"]
    assert low < scores["two_factor"]["cv_percent"] < high
    # turned digits are others to a network that never saw one
    assert (
        scores["sets"]["ro060"]["accuracy"] < scores["sets"]["sp010"]["accuracy"] < scores["sets"]["clean"]["accuracy"]
    )
