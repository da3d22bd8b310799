"""What rows of values come down to, in every type and range, against plain float64."""

from __future__ import annotations

import numpy as np

from corruptset.scores.prediction_files.reduction import reduced

RANGES = {
    "float16": [1e-7, 1e-3, 3.0, 200.0, 6e4],
    "float32": [1e-30, 3.0, 200.0, 3e38],
    "float64": [1e-300, 3.0, 200.0, 1e300],
}


def test_rows_of_any_range() -> None:
    for dtype, magnitudes in RANGES.items():
        for largest in magnitudes:
            check_range(dtype, largest)


@np.errstate(all="ignore")
def check_range(dtype: str, largest: float) -> None:
    rng = np.random.default_rng(int(np.log10(largest) + 1000))
    values = (rng.uniform(-0.5, 0.5, (60, 30)) * largest).astype(dtype)
    values[:20] = -np.abs(values[:20])
    values[rng.random(values.shape) < 0.2] = 0
    values[rng.random(values.shape) < 0.2] *= -1  # -0 too
    values[:, 7] = values[:, 3]
    labels = rng.integers(0, 30, 60)
    plain = values.astype(np.float64)
    own = plain[np.arange(60), labels][:, None]
    outcome, faults = reduced("logits", {"logits": values}, labels, 30)
    assert not any(rows.any() for rows in faults.values())
    np.testing.assert_array_equal(outcome.predicted, plain.argmax(axis=1))
    np.testing.assert_array_equal(outcome.correct, plain.argmax(axis=1) == labels)
    np.testing.assert_array_equal(outcome.rank, (plain > own).sum(axis=1))
    first = np.argsort(-plain, axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(outcome.top5, (first == labels[:, None]).any(axis=1))
    powers = np.exp(plain - plain.max(axis=1, keepdims=True))
    expected = powers[np.arange(60), labels] / powers.sum(axis=1)
    np.testing.assert_allclose(outcome.probability, expected, rtol=1e-5, atol=1e-37)
