"""Test the reduction of rows of values in every type and range against a plain loop."""

from __future__ import annotations

import numpy as np
from predictions import check_outcome

from corruptset.scores.prediction_files.reduction import reduce_predictions

RANGES = {
    "float16": [1e-7, 1e-3, 3.0, 200.0, 6e4],
    "float32": [1e-30, 3.0, 200.0, 3e38],
    "float64": [1e-300, 3.0, 200.0, 1e300],
}


@np.errstate(all="ignore")
def test_rows_of_any_range_are_reduced():
    for dtype, largest in ((dtype, largest) for dtype, magnitudes in RANGES.items() for largest in magnitudes):
        rng = np.random.default_rng(int(np.log10(largest) + 1000))
        values = (rng.uniform(-0.5, 0.5, (60, 30)) * largest).astype(dtype)
        values[:20] = -np.abs(values[:20])
        values[rng.random(values.shape) < 0.2] = 0
        values[rng.random(values.shape) < 0.2] *= -1  # The value -0.0 is included.
        values[:, 7] = values[:, 3]
        labels = rng.integers(0, 30, 60)
        outcome, faults = reduce_predictions("logits", {"logits": values}, labels, 30)
        assert not any(rows.any() for rows in faults.values())
        check_outcome(outcome, "logits", {"logits": values}, labels)
