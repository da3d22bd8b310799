"""The formulas against plain Python, and against rows that others published."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import plain_scores
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corruptset.scores.formulas import aude, corruption_error, cv_percent, ratio, rb_index, relative_corruption_error

shares = st.integers(1, 99).map(lambda percent: percent / 100)
six = st.lists(shares, min_size=6, max_size=6)
quick = settings(deadline=None, max_examples=50)


def arrays(values: list[float]) -> list[np.ndarray]:
    return [np.array([v, v]) for v in values]


@quick
@given(six)
def test_aude_is_the_area_by_the_trapezoid_rule(errors):
    area = aude(arrays(errors))
    assert area.shape == (2,)
    assert area[0] == pytest.approx(np.trapezoid(errors, dx=1) / 5)


def test_aude_of_a_curve_that_is_known():
    assert aude(arrays([0.0, 0.1, 0.2, 0.3, 0.4, 0.5]))[0] == pytest.approx(0.25)
    assert aude(arrays([0.2] * 6))[0] == pytest.approx(0.2)
    # the ends count half
    assert aude(arrays([1, 0, 0, 0, 0, 0]))[0] == aude(arrays([0, 0, 0, 0, 0, 1]))[0] == pytest.approx(0.1)
    assert aude(arrays([0, 1, 0, 0, 0, 0]))[0] == pytest.approx(0.2)


@quick
@given(six, six)
def test_corruption_errors(mine, others):
    clean, *errors = mine
    other_clean, *other_errors = others
    assert corruption_error(arrays(errors), arrays(other_errors))[1] == pytest.approx(sum(errors) / sum(other_errors))
    below = sum(e - other_clean for e in other_errors)
    if abs(below) > 1e-9:
        got = relative_corruption_error(
            arrays(errors), arrays([clean])[0], arrays(other_errors), arrays([other_clean])[0]
        )
        assert got[0] == pytest.approx(sum(e - clean for e in errors) / below, rel=1e-6)


@quick
@given(shares, st.lists(shares, min_size=1, max_size=9))
def test_rb_index_grows_with_what_is_lost(clean, others):
    index = rb_index(np.array([clean]), [np.array([other]) for other in others])[0]
    assert index == pytest.approx(plain_scores.rb_index(clean, others), abs=1e-12)


@quick
@given(st.lists(shares, min_size=1, max_size=12))
def test_cv_is_of_the_population(accuracies):
    assert cv_percent(arrays(accuracies))[0] == pytest.approx(plain_scores.cv_percent(accuracies), abs=1e-9)


def test_what_cannot_be_divided_has_no_value():
    assert np.isnan(ratio(np.array([1.0]), np.array([0.0]))).all()
    assert np.isnan(rb_index(np.array([0.0]), [np.array([0.5])])).all()
    assert np.isnan(cv_percent([np.array([0.0]), np.array([0.0])])).all()


ROWS = list(csv.reader((Path(__file__).parent / "robustbench_imagenet_c.csv").read_text("utf-8").splitlines()))
PRINTED = {"AlexNet": (21.12, 100.0), "Standard_R50": (39.48, 76.38), "Hendrycks2020AugMix": (49.33, 64.17)}
PRINTED |= {
    "Hendrycks2020Many": (52.9, 60.04),
    "Geirhos2018_SIN": (39.92, 76.67),
    "Tian2022Deeper_DeiT-B": (67.55, 41.7),
}
"""Mean accuracy and mCE in RobustBench's leaderboard of ImageNet-C: 5,000 images, relative to AlexNet's accuracies on
the same.
"""


@pytest.mark.parametrize("model", PRINTED)
def test_published_rows_give_the_published_mce(model):
    places = list(zip(ROWS[0][1:], ROWS[1][1:], strict=True))
    rows = {row[0]: dict(zip(places, map(float, row[1:]), strict=True)) for row in ROWS[2:]}
    errors = {
        m: {c: [np.array([1 - row[c, str(s)]]) for s in range(1, 6)] for c in plain_scores.FIFTEEN}
        for m, row in rows.items()
    }
    mce = np.mean([corruption_error(errors[model][c], errors["AlexNet"][c])[0] for c in plain_scores.FIFTEEN])
    accuracy, printed = PRINTED[model]
    assert 100 * np.mean(list(rows[model].values())) == pytest.approx(accuracy, abs=0.0051)
    assert 100 * mce == pytest.approx(printed, abs=0.0051)
