"""`corruptset report` as a user runs it."""

from __future__ import annotations

import re

import made_scores
import numpy as np
import pytest
from html_tree import read_html
from result_pages import section
from unbuilt import made_up

import corruptset


@pytest.fixture(scope="module")
def given(shared, tmp_path_factory):
    """A data set, and two models' scores and predictions."""
    data = corruptset.open(shared.build(sets=["clean", "contrast/*"]))
    folder = tmp_path_factory.mktemp("given")
    predictions = []
    for seed, name in enumerate(["a=b", "net"]):
        made = made_up(data, seed, name)
        rows = {id: {"rank_true": o.rank, "p_true": 0.4 * o.probability} for id, o in made.outcomes.items()}
        for id, arrays in rows.items():
            (folder / f"p-{name}" / id).parent.mkdir(parents=True, exist_ok=True)
            np.savez(folder / f"p-{name}" / f"{id}.npz", **arrays)
        predictions.append(folder / f"p-{name}")
    scores = [corruptset.score(data, path).model_copy(update={"model": path.name[2:]}) for path in predictions]
    return data.path, made_scores.write(folder, *scores), predictions


def test_a_page_is_written_and_described(run, given, tmp_path):
    directory, scores, predictions = given
    done = run("report", directory, *scores)
    assert done.code == 0, done.err
    assert re.search("^Models: +a=b, net$", done.out, re.MULTILINE)
    assert re.search("^File: +report.html$", done.out, re.MULTILINE)
    assert "give corruptset report the predictions too" in section(read_html(tmp_path / "report.html"), "failures").text
    # predictions without a model's name are named on the command line
    named = [f"a=b={predictions[0]}", f"net={predictions[1]}"]
    options = [option for one in named for option in ("--predictions", one)]
    sample = corruptset.open(directory).samples[3].id
    done = run("report --json", directory, *scores, "--out", "r/page.html", *options, "--sample", sample)
    assert done.code == 0, done.err
    assert done.json["ok"] is True
    assert (done.json["file"], done.json["models"]) == ("r/page.html", ["a=b", "net"])
    assert done.json["bytes"] == (tmp_path / "r/page.html").stat().st_size
    assert "Images that flip, by set" in section(read_html(tmp_path / "r/page.html"), "failures").text


def test_mistakes_have_one_message_and_write_nothing(run, given, tmp_path):
    directory, scores, predictions = given
    for arguments, said in [
        ([directory, *scores, scores[0]], "is there 2 times"),
        (
            [directory, *scores, "--predictions", f"nobody={predictions[0]}"],
            "predictions of 'nobody', which is none of the models: a=b, net",
        ),
        ([directory, *scores, "--sample", "nobody"], "has no sample 'nobody'"),
    ]:
        done = run("report", *arguments)
        assert done.code in (1, 2), said
        assert said in done.err
        assert not (tmp_path / "report.html").exists()
