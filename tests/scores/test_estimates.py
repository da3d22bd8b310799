"""Means over images and resamples, against plain Python."""

from __future__ import annotations

import numpy as np
import plain_scores
import pytest
import unbuilt
from hypothesis import given, settings
from hypothesis import strategies as st

from corruptset.errors import ParameterError
from corruptset.scores.estimates import COLUMNS, Bootstrap, images_of, interval_of, replicates, value


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    return unbuilt.data_set(tmp_path_factory.mktemp("data"), count=11).samples


@settings(deadline=None, max_examples=8)
@given(st.lists(st.booleans(), min_size=11, max_size=11), st.integers(0, 2**53 - 1))
def test_all_images_first_and_then_each_resample(samples, flags, seed):
    images = images_of(samples, seed)
    (estimate,) = images.estimates({"x": np.array(flags)}).values()
    assert estimate.shape == (1001,)
    assert estimate[0] == pytest.approx(sum(flags) / 11)
    for resample in (0, 1, 99):
        rows = plain_scores.drawn(seed, 11, resample)
        assert estimate[1 + resample] == pytest.approx(sum(flags[row] for row in rows) / 11)


def test_only_images_with_a_value_count(samples):
    values = np.arange(11, dtype=np.float32)
    values[:8] = np.nan
    (estimate,) = images_of(samples, 0).estimates({"x": values}).values()
    assert estimate[0] == 9
    for resample in range(20):
        there = [values[row] for row in plain_scores.drawn(0, 11, resample) if row >= 8]
        wanted = np.mean(there) if there else np.nan
        assert estimate[1 + resample] == pytest.approx(wanted, nan_ok=True)


def test_regions_are_drawn_with_their_image(tmp_path):
    place = {"group": "s8", "fraction": None, "side": 8, "role": "base", "row": 0, "col": 0, "anchor": False, "y": 0}
    sizes = [(source, x) for source, size in enumerate([1, 4, 2]) for x in range(size)]
    rows = [{"region": place | {"source": f"photo {source}", "x": x}} for source, x in sizes]
    data = unbuilt.data_set(tmp_path, "fragile-cifar10", 7, samples=rows)
    flags = np.array([1, 0, 1, 0, 0, 1, 1], bool)
    images = images_of(data.samples, 5)
    assert images.bootstrap.units == 3
    (estimate,) = images.estimates({"x": flags}).values()
    assert estimate[0] == pytest.approx(4 / 7)
    of_image = [[1], [0, 1, 0, 0], [1, 1]]
    for resample in range(30):
        together = [flag for source in plain_scores.drawn(5, 3, resample) for flag in of_image[source]]
        assert estimate[1 + resample] == pytest.approx(np.mean(together))
    # of the chosen ones, too
    images = images_of(data.samples[1:6], 5)
    assert images.bootstrap.units == 2
    assert images.estimates({"x": flags[1:6]})["x"][0] == pytest.approx(2 / 5)


def test_every_set_and_every_model_has_the_same_resamples(samples):
    rng = np.random.default_rng(0)
    values = {i: rng.random(11) < 0.5 for i in range(COLUMNS + 3)}
    images = images_of(samples, 0)
    together = images.estimates(values)
    assert list(together) == list(values)
    for i in (0, COLUMNS - 1, COLUMNS, COLUMNS + 2):
        np.testing.assert_allclose(together[i], images.estimates({i: values[i]})[i])
    one, columns = Bootstrap(50, seed=4), rng.random((50, 2))
    assert (one.means(columns) != Bootstrap(50, seed=5).means(columns)).any()
    # no resample is drawn twice, as it would be if all blocks began alike
    assert len(set(one.means(columns)[:, 0].tolist())) > 990


def test_what_has_no_value_and_seeds_that_are_none(samples):
    broken = np.array([0.5, np.nan, 0.25])
    assert value(broken) == 0.5
    assert replicates(broken) is None
    assert interval_of(broken) == (0.25, 0.25)
    nothing = np.array([np.nan, 0.5])
    assert value(nothing) is None
    assert interval_of(nothing) is None
    assert replicates(np.array([1, 1 / 3, 2 / 3])) == [0.3333333, 0.6666667]
    for seed in (-1, 2**53, 1.5, True, "0"):
        with pytest.raises(ParameterError, match="seed is"):
            images_of(samples, seed)
