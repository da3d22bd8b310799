"""Accuracy by group of samples: the styles of icons, the cameras of photographs.

Hendrycks & Dietterich 2018, "Benchmarking Neural Network Robustness to Common Corruptions and Surface Variations"
(arXiv:1807.01697).
"""

from __future__ import annotations

import numpy as np

from .evaluation import Evaluation
from .formulas import Estimate
from .outcomes import CLEAN


def style_accuracies(evaluation: Evaluation) -> dict[str, Estimate]:
    """Return the accuracy of each group on the clean set, or on the only set; empty where samples have no groups."""
    outcomes = evaluation.outcomes
    name = CLEAN if CLEAN in outcomes else next(iter(outcomes)) if len(outcomes) == 1 else None
    groups = np.array([sample.group or "" for sample in evaluation.data.samples])
    present = sorted(set(groups[evaluation.images.chosen].tolist()) - {""})
    if name is None or not present:
        return {}
    correct = outcomes[name].correct
    return evaluation.images.estimates({group: np.where(groups == group, correct, np.nan).astype(np.float32) for group in present})


def style_gap(accuracies: dict[str, Estimate]) -> Estimate | None:
    """Return how much better the best group is than the worst; None where there are not two."""
    if len(accuracies) < 2:
        return None
    rows = np.stack(list(accuracies.values()))
    # a resample without an image of a group says nothing of it
    return np.asarray(np.nanmax(rows, axis=0) - np.nanmin(rows, axis=0))
