"""Only images that a model has right."""

from __future__ import annotations

import numpy as np
import pytest
import unbuilt

import corruptset
from corruptset.errors import ParameterError, PredictionError


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return unbuilt.data_set(tmp_path_factory.mktemp("data"), "cifar10-c")


def write(folder, data, predictions):
    """Write predictions of the clean set as the most likely classes."""
    folder.mkdir()
    labels, correct = data["clean"].labels, predictions.outcomes["clean"].correct
    first = np.where(correct, labels, (labels + 1) % 7)
    np.savez(folder / "clean.npz", top=np.stack([first, (first + 2) % 7], axis=1))
    return folder


def test_everything_is_of_the_images_that_count(data):
    predictions = unbuilt.made_up(data, best=0.7)
    right = predictions.outcomes["clean"].correct
    scores = corruptset.score(data, predictions, condition="correct@clean")
    assert scores.condition == "correct@clean"
    assert scores.samples == 40
    assert {s.n for s in scores.sets.values()} == {int(right.sum())}
    assert scores.sets["clean"].accuracy == 1
    fog = predictions.outcomes["fog/3"]
    assert scores.sets["fog/3"].accuracy == pytest.approx(fog.correct[right].mean())
    assert scores.sets["fog/3"].rank == pytest.approx(fog.rank[right].mean())
    assert scores.resamples.units == right.sum()
    assert any("Only images count that are correct@clean" in note for note in scores.notes)
    assert scores.rb_index == pytest.approx(1 - scores.mean_accuracy)


def test_those_that_another_model_has_right(data, tmp_path):
    predictions, other = unbuilt.made_up(data, best=0.7), unbuilt.made_up(data, 1, best=0.7)
    folder = write(tmp_path / "judge", data, other)
    scores = corruptset.score(data, predictions, condition=f"correct@clean={folder}")
    right = other.outcomes["clean"].correct
    assert scores.condition == "correct@clean=judge"
    assert scores.sets["fog/3"].accuracy == pytest.approx(predictions.outcomes["fog/3"].correct[right].mean())
    assert scores.sets["clean"].accuracy < 1


@pytest.mark.parametrize("text", ["", "correct", "correct@fog/3", "wrong@clean", "correct@clean="])
def test_what_is_no_condition(data, text):
    with pytest.raises(ParameterError, match="expected 'correct@clean', or 'correct@clean=PREDICTIONS'"):
        corruptset.score(data, unbuilt.made_up(data), condition=text)


def test_predictions_without_clean_images(tmp_path):
    data = unbuilt.data_set(tmp_path, "cifar10-c", clean=False)
    with pytest.raises(PredictionError, match=r"those of made up have none: add clean\.npz"):
        corruptset.score(data, unbuilt.made_up(data), condition="correct@clean")
