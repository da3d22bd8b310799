"""Test the command `corruptset report`."""

from __future__ import annotations

import example_scores
import numpy as np
import pytest
from html_tree import read_html
from record_datasets import random_predictions
from result_pages import section

import corruptset


@pytest.fixture(scope="module")
def report_inputs(shared_data, tmp_path_factory):
    """Return a dataset, and the scores and predictions of two models."""
    data = corruptset.open(shared_data.build(sets=["clean", "contrast/*"]))
    folder = tmp_path_factory.mktemp("given")
    predictions = []
    for seed, name in enumerate(["a=b", "net"]):
        model_predictions = random_predictions(data, seed, name)
        rows = {
            id: {"rank_true": o.rank, "p_true": 0.4 * o.probability} for id, o in model_predictions.outcomes.items()
        }
        for id, arrays in rows.items():
            (folder / f"p-{name}" / id).parent.mkdir(parents=True, exist_ok=True)
            np.savez(folder / f"p-{name}" / f"{id}.npz", **arrays)
        predictions.append(folder / f"p-{name}")
    scores = [corruptset.score(data, path).model_copy(update={"model": path.name[2:]}) for path in predictions]
    return data.path, example_scores.write_scores(folder, *scores), predictions


def failures_text(page):
    """Return the text of the section on failures."""
    return section(read_html(page), "failures").text


def test_report_page_is_written_and_described(run, report_inputs, tmp_path):
    directory, scores, predictions = report_inputs
    result = " ".join(run.succeeds("report", directory, *scores).out.split())
    assert "Models: a=b, net" in result
    assert "File: report.html" in result
    assert "because scores files do not contain predictions" in failures_text(tmp_path / "report.html")
    # Predictions that do not contain the model's name are given as NAME=PATH.
    options = ["--predictions", f"a=b={predictions[0]}", "--predictions", f"net={predictions[1]}"]
    sample = corruptset.open(directory).samples[3].id
    record = run.succeeds("report --json --out r/page.html --sample", sample, directory, *scores, *options).json
    assert (record["ok"], record["file"], record["models"]) == (True, "r/page.html", ["a=b", "net"])
    assert record["bytes"] == (tmp_path / "r/page.html").stat().st_size
    assert "A failure is an image that a model classifies correctly" in failures_text(tmp_path / "r/page.html")


def test_report_errors_have_one_message_and_write_nothing(run, report_inputs):
    directory, scores, predictions = report_inputs
    stranger = "Predictions were given for 'nobody', which is not one of the models: a=b, net"
    run.fails("occurs 2 times", "report", directory, *scores, scores[0])
    run.fails(stranger, "report", directory, *scores, "--predictions", f"nobody={predictions[0]}")
    run.fails("has no sample 'nobody'", "report", directory, *scores, "--sample", "nobody")
