"""Test the formulas on published values. test_score.py compares them with plain Python."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import reference_scores

from corruptset.scores.formulas import corruption_error, cv_percent, ratio, rb_index


def test_undefined_ratio_is_nan():
    for undefined in (
        ratio(np.array([1.0]), np.array([0.0])),
        rb_index(np.array([0.0]), [np.array([0.5])]),
        cv_percent([np.array([0.0]), np.array([0.0])]),
    ):
        assert np.isnan(undefined).all()


ROWS = list(csv.reader((Path(__file__).parent / "robustbench_imagenet_c.csv").read_text("utf-8").splitlines()))
PRINTED = {
    "AlexNet": (21.12, 100.0),
    "Standard_R50": (39.48, 76.38),
    "Hendrycks2020AugMix": (49.33, 64.17),
    "Hendrycks2020Many": (52.9, 60.04),
    "Geirhos2018_SIN": (39.92, 76.67),
    "Tian2022Deeper_DeiT-B": (67.55, 41.7),
}
"""Mean accuracy and mCE in RobustBench's leaderboard of ImageNet-C: 5,000 images, relative to AlexNet's accuracies on
the same.
"""


def test_published_rows_give_published_mce():
    places = list(zip(ROWS[0][1:], ROWS[1][1:], strict=True))
    rows = {row[0]: dict(zip(places, map(float, row[1:]), strict=True)) for row in ROWS[2:]}
    errors = {
        m: {c: [np.array([1 - row[c, str(s)]]) for s in range(1, 6)] for c in reference_scores.FIFTEEN}
        for m, row in rows.items()
    }
    for model, (accuracy, printed) in PRINTED.items():
        mce = np.mean([corruption_error(errors[model][c], errors["AlexNet"][c])[0] for c in reference_scores.FIFTEEN])
        assert 100 * np.mean(list(rows[model].values())) == pytest.approx(accuracy, abs=0.0051), model
        assert 100 * mce == pytest.approx(printed, abs=0.0051), model
