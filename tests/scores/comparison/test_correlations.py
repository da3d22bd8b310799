"""Correlations against scipy's, and the quadrants as the paper numbers them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from corruptset.scores.comparison.correlations import pearson, quadrant, reference_point, spearman

VALUES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=12)


@given(VALUES)
def test_they_are_scipys(points):
    x, y = ([p[i] / 10 for p in points] for i in (0, 1))
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert pearson(x, y) is spearman(x, y) is None
    else:
        assert pearson(x, y) == pytest.approx(scipy.stats.pearsonr(x, y).statistic, abs=1e-9)
        assert spearman(x, y) == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-9)


def test_two_models_have_no_correlation():
    assert pearson([1, 2], [3, 4]) is spearman([1, 2], [3, 4]) is None


def test_the_quadrants_by_hand():
    # the paper's reference point, and a model in each quadrant
    points = {"a": (1.0, 0.95), "b": (5.0, 0.93), "c": (1.5, 0.80), "d": (4.26, 0.8524)}
    reference = reference_point(*zip(*points.values(), strict=True))
    assert reference == pytest.approx((2.94, 0.8831))
    assert {name: quadrant(*point, reference) for name, point in points.items()} == {
        "a": "I",
        "b": "II",
        "c": "III",
        "d": "IV",
    }


def test_one_model_is_its_own_reference():
    assert quadrant(3.1, 0.7, reference_point([3.1], [0.7])) == "I"


def test_a_model_on_a_line_counts_as_low_in_cv_and_high_in_accuracy():
    reference = (3.0, 0.8)
    assert quadrant(3.0, 0.7, reference) == "III"
    assert quadrant(3.5, 0.8, reference) == "II"
    assert quadrant(np.nextafter(3.0, 4), 0.8, reference) == "II"
