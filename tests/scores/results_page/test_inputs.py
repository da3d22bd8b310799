"""What does not belong together is refused, all at once."""

from __future__ import annotations

import json
from pathlib import Path

import made_scores
import numpy as np
import predictions
import pytest
from result_pages import scored, write_scores

import corruptset
from corruptset.errors import ScoreError
from corruptset.manifests.reader import DataSet
from corruptset.scores.outcomes import Predictions
from corruptset.scores.records import Scores


def test_all_that_is_wrong_is_told_at_once(data: DataSet, tmp_path: Path) -> None:
    scores, predictions = scored(data, "net-a", "net-b")
    other = Scores.model_validate(made_scores.bare("other"))
    files = write_scores(tmp_path, [*scores, other, scores[0]])
    (tmp_path / "bad.json").write_text("{}")
    wrong = Predictions("net-b", data.digest, dict(predictions[0].outcomes))
    foreign = Predictions("net-z", data.digest, dict(predictions[0].outcomes))
    with pytest.raises(ScoreError) as caught:
        corruptset.report(
            data, [*files, tmp_path / "bad.json"], tmp_path / "r.html", predictions=[wrong, foreign, f"none={tmp_path}"]
        )
    lines = str(caught.value)
    for part in (
        "bad.json is no scores file",
        f"'net-a' is there 2 times ({files[0]}, {files[3]})",
        f"{files[2]} has scores of another data set, small-c 1.0.0",
        "the predictions of 'net-b' are not those that were scored: their accuracy on",
        "the predictions are of 'net-z', which is none of the models (net-a, net-b, other, net-a): name it, as "
        "NAME=PATH",
        "there are predictions of 'none', which is none of the models",
    ):
        assert part in lines, lines
    assert not (tmp_path / "r.html").exists()
    with pytest.raises(ScoreError, match="are there twice"):
        corruptset.report(data, scores, tmp_path / "r.html", predictions=[predictions[0], predictions[0]])
    with pytest.raises(ScoreError, match="no scores were given"):
        corruptset.report(data, [], tmp_path / "r.html")


def test_predictions_beside_the_scores_are_found(
    data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = np.array([sample.label for sample in data.samples])
    logits = np.random.default_rng(1).normal(size=(len(labels), len(data.classes)))
    logits[::2, 0] += 9
    sets = {
        name: {"logits": logits + 4 * (labels[:, None] == np.arange(len(data.classes))) * (name == "clean")}
        for name in data
    }
    beside = predictions.write_folder(tmp_path / "net", sets)
    (beside / "predictions.json").write_text(json.dumps({"model": "net", "digest": data.digest}))
    scores = corruptset.score(data, beside, out=beside)
    apart = tmp_path / "apart"
    corruptset.score(data, beside, out=apart)
    given = corruptset.report(data, [apart], tmp_path / "given.html", predictions=[beside])
    for found in (beside, beside / "scores.json"):
        assert corruptset.report(data, [found], tmp_path / "found.html").pictures == given.pictures
        assert (tmp_path / "found.html").read_bytes() == (tmp_path / "given.html").read_bytes()

    monkeypatch.chdir(beside)  # scores that come from no file have no neighbours
    without = {corruptset.report(data, [one], tmp_path / "without.html").pictures for one in (apart, scores)}
    # odd ones are right when clean
    half = np.where(np.arange(len(labels)) % 2, 0, labels)[:, None] == np.arange(len(data.classes))
    predictions.write_folder(beside, {name: {"logits": 9.0 * half} for name in data if name != "clean"})
    without.add(corruptset.report(data, [beside], tmp_path / "without.html").pictures)
    (beside / "clean.npz").write_bytes(b"damaged")
    without.add(corruptset.report(data, [beside], tmp_path / "without.html").pictures)
    assert len(without) == 1
    assert given.pictures > without.pop()
