"""Compare score values with the formulas of the papers, computed with NumPy alone.

To print the largest differences: ``python -m pytest -m ci -s tests/scores/test_numpy.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from record_datasets import random_predictions, records_dataset

import corruptset
from corruptset.manifests.reader import Dataset

Accuracies = dict[str, float]
Arrays = dict[str, NDArray[np.float64]]

IMAGENET_C = (
    "gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur snow frost fog "
    "brightness contrast elastic_transform pixelate jpeg_compression"
).split()


def error_table(accuracy: Accuracies) -> NDArray[np.float64]:
    """Return the errors of ImageNet-C, one row per corruption and one column per severity."""
    return 1 - np.array([[accuracy[f"{name}/{severity}"] for severity in range(1, 6)] for name in IMAGENET_C])


def imagenet_c(data: Dataset, model: Accuracies, baseline: Accuracies) -> Accuracies:
    """Compute mCE, relative mCE and the areas under the curves of error over severity."""
    errors, baseline_errors = error_table(model), error_table(baseline)
    clean, baseline_clean = 1 - model["clean"], 1 - baseline["clean"]
    curves = np.column_stack([np.full(len(errors), clean), errors])
    areas = np.trapezoid(curves, axis=1) / 5
    ratios = errors.sum(axis=1) / baseline_errors.sum(axis=1)
    relative = (errors - clean).sum(axis=1) / (baseline_errors - baseline_clean).sum(axis=1)
    values = {"mce": ratios.mean(), "relative_mce": relative.mean(), "maude": areas.mean()}
    values["relative_maude"] = areas.mean() - clean
    values |= {f"ce.{name}": value for name, value in zip(IMAGENET_C, ratios, strict=True)}
    return values | {f"aude.{name}": value for name, value in zip(IMAGENET_C, areas, strict=True)}


def two_factor(data: Dataset, model: Accuracies, baseline: Accuracies) -> Accuracies:
    """Compute mean and coefficient of variation over the 69 named and the 53 distinct sets."""
    typed_values = np.array([model[data.aliases[f"type {number}"]] for number in range(1, 70)])
    distinct = np.array(list(model.values()))
    return {
        "two_factor.mean_accuracy": typed_values.mean(),
        "two_factor.cv_percent": 100 * typed_values.std() / typed_values.mean(),
        "two_factor.distinct_mean_accuracy": distinct.mean(),
        "two_factor.distinct_cv_percent": 100 * distinct.std() / distinct.mean(),
    }


def gradual(data: Dataset, model: Accuracies, baseline: Accuracies) -> Accuracies:
    """Return no further scores, because the test compares the curves of gradual degradations."""
    return {}


@pytest.mark.ci
@pytest.mark.parametrize(
    ("recipe", "formulas"), [("imagenet-c", imagenet_c), ("image-degrade-30", gradual), ("two-factor-69", two_factor)]
)
def test_scores_equal_numpy_computation(
    tmp_path: Path, recipe: str, formulas: Callable[[Dataset, Accuracies, Accuracies], Accuracies]
) -> None:
    data = records_dataset(tmp_path / recipe, recipe, 500)
    model, baseline = random_predictions(data), random_predictions(data, 1, "baseline")
    accuracy, baseline_accuracy = (
        {set_id: float(np.mean(outcome.correct)) for set_id, outcome in predictions.outcomes.items()}
        for predictions in (model, baseline)
    )
    corrupted = np.array([value for set_id, value in accuracy.items() if set_id != "clean"])
    clean = accuracy["clean"]
    expected = {
        "clean_accuracy": clean,
        "mean_accuracy": corrupted.mean(),
        "rb_index": ((clean - corrupted) / clean).mean(),
        **formulas(data, accuracy, baseline_accuracy),
    }

    scores = corruptset.score(data, model, baseline=baseline)
    differences = [abs(scores[name].value - value) for name, value in expected.items()]
    differences += [abs(scores.sets[set_id].accuracy - value) for set_id, value in accuracy.items()]
    if recipe == "image-degrade-30":
        curves: Arrays = {
            name: np.array([clean, *(accuracy[f"{name}/{level:02d}"] for level in range(1, 31))])
            for name in scores.profiles
        }
        assert len(curves) == 14
        differences += [np.abs(curve - scores.profiles[name].accuracy).max() for name, curve in curves.items()]
        differences.append(np.abs(np.mean(list(curves.values()), axis=0) - scores.mean_profile.accuracy).max())
    print(f"{recipe}: {len(accuracy)} sets, {len(expected)} scores, largest difference {max(differences):.2e}")
    assert max(differences) < 1e-12

    rng = np.random.default_rng(5)
    correct = np.stack([model.outcomes[set_id].correct for set_id in accuracy if set_id != "clean"])
    resamples = [correct[:, rng.integers(0, 500, 500)].mean() for _ in range(1000)]
    low, high = scores.interval("mean_accuracy")
    expected_low, expected_high = np.quantile(resamples, [0.025, 0.975])
    print(f"  mean accuracy: {low:.4f} to {high:.4f}, NumPy's bootstrap {expected_low:.4f} to {expected_high:.4f}")
    assert abs(low - expected_low) < 0.002
    assert abs(high - expected_high) < 0.002
