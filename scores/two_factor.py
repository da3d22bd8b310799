"""Two-factor scores: mean accuracy and its variation over sets, and whether the order of two corruptions matters.

Dai & Berleant 2021, "Benchmarking Robustness of Deep Learning Classifiers Using Two-Factor Perturbation" (IEEE Big Data).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..canonical import canonical
from ..manifests.records.models import SetRecord
from .estimates import interval_of, value
from .evaluation import Evaluation
from .formulas import Estimate, cv_percent
from .outcomes import CLEAN
from .records import OrderEffect, TwoFactor

PAPER_NAME = "type "
"""How an alias begins that is a number in the paper's list of sets."""


def two_factor_estimates(evaluation: Evaluation) -> dict[str, Estimate]:
    """Return mean accuracy and CV, over the names and over the sets, by field of `TwoFactor`; empty without a set of two stages."""
    if not any(len(record.stages) > 1 for record in evaluation.tests):
        return {}
    accuracies = _counted(evaluation)
    names = [accuracy for accuracy, times in accuracies for _ in range(times)]
    distinct = [accuracy for accuracy, _ in accuracies]
    return {
        "mean_accuracy": np.mean(names, axis=0),
        "cv_percent": cv_percent(names),
        "distinct_mean_accuracy": np.mean(distinct, axis=0),
        "distinct_cv_percent": cv_percent(distinct),
    }


def two_factor(evaluation: Evaluation, estimates: dict[str, Estimate]) -> TwoFactor | None:
    """Return the two-factor scores; None where there are no `estimates`."""
    if not estimates:
        return None
    counted = _counted(evaluation)
    scores: dict[str, Any] = {name: value(estimate) for name, estimate in estimates.items()}
    scores |= {f"{name}_interval": interval_of(estimates[name]) for name in ("mean_accuracy", "cv_percent")}
    names = sum(times for _, times in counted)
    return TwoFactor(names=names, distinct=len(counted), **scores, order_effects=list(_order_effects(evaluation)))


def times_named(record: SetRecord) -> int:
    """Return how often a set stands in the paper's list, where one with a factor at level zero stands again; once in any other."""
    return max(1, sum(alias.startswith(PAPER_NAME) for alias in record.aliases))


def _counted(evaluation: Evaluation) -> list[tuple[Estimate, int]]:
    """Return the accuracy on each set to test on, clean included, and how often it counts."""
    counted = [(evaluation.accuracies[record.id], times_named(record)) for record in evaluation.tests]
    times_clean = next((times_named(record) for record in evaluation.records if record.id == CLEAN), 1)
    return counted if evaluation.clean is None else [(evaluation.clean, times_clean), *counted]


def _order_effects(evaluation: Evaluation) -> Iterator[OrderEffect]:
    """Yield each pair of sets of the same two stages in both orders."""
    pairs = {tuple(canonical(stage.as_json()) for stage in r.stages): r.id for r in evaluation.tests if len(r.stages) == 2}
    for (a, b), first in sorted(pairs.items(), key=lambda pair: pair[1]):
        second = pairs.get((b, a))
        if second is not None and first < second:
            difference = evaluation.accuracies[first] - evaluation.accuracies[second]
            yield OrderEffect(first=first, second=second, difference=float(difference[0]), interval=interval_of(difference))
