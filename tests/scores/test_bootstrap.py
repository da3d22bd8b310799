"""Test means over images and resamples against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
import record_datasets
import reference_scores
from hypothesis import given, settings
from hypothesis import strategies as st

from corruptset.errors import ParameterError
from corruptset.scores.bootstrap import SETS_AT_ONCE, Bootstrap, Images, images_of, interval_of, stored_resamples, value
from corruptset.scores.formulas import cv_percent


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    return record_datasets.records_dataset(tmp_path_factory.mktemp("data"), count=11).samples


@settings(deadline=None, max_examples=8)
@given(st.lists(st.sampled_from([0, 1, np.nan]), min_size=11, max_size=11), st.integers(0, 2**53 - 1))
def test_bootstrap_starts_with_all_images_followed_by_resamples(samples, values, seed):
    estimate = images_of(samples, seed).estimates({"x": np.array(values, np.float32)})["x"]
    assert estimate.shape == (1001,)
    for place, rows in [(0, range(11)), *((1 + n, reference_scores.draw_units(seed, 11, n)) for n in (0, 1, 99))]:
        finite = [values[row] for row in rows if values[row] == values[row]]
        assert estimate[place] == pytest.approx(np.mean(finite) if finite else np.nan, nan_ok=True)


def test_regions_are_drawn_with_their_image(tmp_path):
    place = {"group": "s8", "fraction": None, "side": 8, "role": "base", "row": 0, "col": 0, "anchor": False, "y": 0}
    of_image = [[1], [0, 1, 0, 0], [1, 1]]
    sizes = [(source, x) for source, flags in enumerate(of_image) for x in range(len(flags))]
    rows = [{"region": place | {"source": f"photo {source}", "x": x}} for source, x in sizes]
    samples = record_datasets.records_dataset(tmp_path, "fragile-cifar10", 7, samples=rows).samples
    flags = np.concatenate(of_image).astype(bool)
    images = images_of(samples, 5)
    assert images.bootstrap.units == 3
    estimate = images.estimates({"x": flags})["x"]
    assert estimate[0] == pytest.approx(4 / 7)
    for resample in range(30):
        together = [flag for source in reference_scores.draw_units(5, 3, resample) for flag in of_image[source]]
        assert estimate[1 + resample] == pytest.approx(np.mean(together))
    # This also holds for the selected images.
    chosen = images_of(samples[1:6], 5)
    assert (chosen.bootstrap.units, chosen.estimates({"x": flags[1:6]})["x"][0]) == (2, pytest.approx(2 / 5))


def test_every_set_and_model_has_same_resamples(samples):
    rng = np.random.default_rng(0)
    values = {i: rng.random(11) < 0.5 for i in range(SETS_AT_ONCE + 3)}
    images = images_of(samples, 0)
    together = images.estimates(values)
    assert list(together) == list(values)
    for i in (0, SETS_AT_ONCE - 1, SETS_AT_ONCE, SETS_AT_ONCE + 2):
        np.testing.assert_allclose(together[i], images.estimates({i: values[i]})[i])
    one, columns = Bootstrap(50, seed=4), rng.random((50, 2))
    assert (one.means(columns) != Bootstrap(50, seed=5).means(columns)).any()
    # Each block of resamples must have different draws.
    assert len(set(one.means(columns)[:, 0].tolist())) > 990


def test_accuracies_that_differ_by_chance_have_no_spread():
    correct = np.random.default_rng(0).random((400, 53)) < 0.75
    accuracies = Images(None, Bootstrap(400)).estimates(dict(enumerate(correct.T)))
    cv = cv_percent(list(accuracies.values()))
    assert min(cv[1:]) > cv[0] > 2
    assert interval_of(cv, is_spread=True) == (0, cv[0])
    # All values of these images are used.
    cv = cv_percent([accuracy * (1 - n / 200) for n, accuracy in enumerate(accuracies.values())])
    low, high = interval_of(cv, is_spread=True)
    assert 7 < low < 8.79 < high < 11


def test_missing_values_and_invalid_seeds_are_handled(samples):
    for estimate, expected in (([0.5, np.nan, 0.25], (0.5, (0.25, 0.25))), ([np.nan, 0.5], (None, None))):
        assert (value(np.array(estimate)), interval_of(np.array(estimate))) == expected
        assert stored_resamples(np.array(estimate)) is None or estimate[0] != 0.5
    assert interval_of(np.array([0.5, np.nan]), is_spread=True) is None
    assert np.isnan(Bootstrap(1).means(np.ones((1, 2)))).all()
    assert stored_resamples(np.array([1, 1 / 3, 2 / 3])) == [0.3333333, 0.6666667]
    for seed in (-1, 2**53, 1.5, True, "0"):
        with pytest.raises(ParameterError, match="seed is"):
            images_of(samples, seed)
