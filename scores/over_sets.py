"""Scores over several sets or groups: two factors, worst case, families, styles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..canonical import canonical
from ..manifests.records.models import SetRecord
from .estimates import interval_of, value
from .evaluation import Evaluation, mean
from .formulas import Estimate, cv_percent
from .outcomes import CLEAN
from .published import FAMILIES, FAMILY_OF, SEVERITIES
from .records import OrderEffect, TwoFactor, WorstCase

PAPER_NAME = "type "
"""How an alias begins that is a number in the list of sets of Dai & Berleant 2021."""
_LEAST = float(np.finfo(np.float32).tiny)
"""A probability of less counts as this, so that a loss is finite: 87.3 at most."""
ATTACKS = ("pgd",)
"""Corruptions whose parameter `eps` is how far an image may go."""
ALL = "all"
"""Over all sets to test on."""


def two_factor(evaluation: Evaluation) -> tuple[TwoFactor | None, dict[str, Estimate]]:
    """Return mean accuracy and its variation over sets, clean included, and order effects.

    Over the names of the paper's list, each as often as it stands there, and over the sets; None without a set of two
    stages.

    References
    ----------
    Dai & Berleant 2021, "Benchmarking Robustness of Deep Learning Classifiers Using Two-Factor Perturbation" (IEEE Big
    Data).
    """
    if not any(len(record.stages) > 1 for record in evaluation.tests):
        return None, {}
    times = {CLEAN: 1} if evaluation.clean is not None else {}
    times |= {r.id: times_named(r) for r in evaluation.records if r.id == CLEAN or r in evaluation.tests}
    distinct = [evaluation.accuracies[name] for name in times]
    names = [accuracy for accuracy, count in zip(distinct, times.values(), strict=True) for _ in range(count)]
    estimates = {
        "mean_accuracy": np.mean(names, axis=0),
        "cv_percent": cv_percent(names),
        "distinct_mean_accuracy": np.mean(distinct, axis=0),
        "distinct_cv_percent": cv_percent(distinct),
    }
    scores: dict[str, Any] = {name: value(estimate) for name, estimate in estimates.items()}
    scores["mean_accuracy_interval"] = interval_of(estimates["mean_accuracy"])
    scores["cv_percent_interval"] = interval_of(estimates["cv_percent"], is_spread=True)
    return TwoFactor(
        names=len(names), distinct=len(distinct), **scores, order_effects=_order_effects(evaluation)
    ), estimates


def times_named(record: SetRecord) -> int:
    """Return how often a set stands in the paper's list; once in any other list.

    There a set stands again where one factor is at level zero.
    """
    return max(1, sum(alias.startswith(PAPER_NAME) for alias in record.aliases))


def _order_effects(evaluation: Evaluation) -> list[OrderEffect]:
    """Return each pair of sets of the same two stages in both orders."""
    pairs = {
        tuple(canonical(stage.as_json()) for stage in r.stages): r.id for r in evaluation.tests if len(r.stages) == 2
    }
    both = sorted((first, second) for (a, b), first in pairs.items() if (second := pairs.get((b, a), "")) > first)
    differences = {(a, b): evaluation.accuracies[a] - evaluation.accuracies[b] for a, b in both}
    return [
        OrderEffect(first=a, second=b, difference=float(d[0]), interval=interval_of(d))
        for (a, b), d in differences.items()
    ]


def _groups(evaluation: Evaluation) -> dict[str, list[str]]:
    """Return the sets to test on: all, by family of ImageNet-C, by corruption."""
    groups: dict[str, list[str]] = {name: [] for name in (ALL, *FAMILIES)}
    for record in evaluation.tests:
        groups[ALL].append(record.id)
        if len(record.stages) == 1:
            stage = record.stages[0]
            if stage.corruption in FAMILY_OF and stage.severity in SEVERITIES:
                groups[FAMILY_OF[stage.corruption]].append(record.id)
            groups.setdefault(stage.corruption, []).append(record.id)
    return groups


def families(evaluation: Evaluation) -> dict[str, float]:
    """Return the mean accuracy on the sets of each family of ImageNet-C's corruptions."""
    groups = _groups(evaluation)
    return {family: evaluation.mean_accuracy(groups[family]) for family in FAMILIES if groups[family]}


def worst_cases(evaluation: Evaluation) -> dict[str, WorstCase]:
    """Return the share of images that are right under every one of several sets.

    Over all sets to test on, each family of ImageNet-C's corruptions, each corruption's strengths, and all that an
    attack does within each of its radii, there with its greatest loss. Of one set alone it would be the accuracy, and
    there is none.
    """
    within = _within(evaluation)
    several = {name: ids for name, ids in _groups(evaluation).items() if len(ids) > 1} | within
    outcomes = evaluation.outcomes
    shares = evaluation.images.estimates(
        {name: np.logical_and.reduce([outcomes[id].correct for id in ids]) for name, ids in several.items()}
    )
    return {
        name: WorstCase(
            sets=len(ids),
            share=value(shares[name]) or 0.0,
            interval=interval_of(shares[name]),
            mean_accuracy=evaluation.mean_accuracy(ids),
            loss=_greatest_loss(evaluation, ids) if name in within else None,
        )
        for name, ids in several.items()
    }


def _within(evaluation: Evaluation) -> dict[str, list[str]]:
    """Return the sets within each radius of an attack, the clean images among them."""
    attacks: dict[tuple[str, str], dict[str, float]] = {}
    for record in evaluation.tests:
        stage = record.stages[0]
        radius, norm = stage.parameters.get("eps"), str(stage.parameters.get("norm", "linf"))
        if len(record.stages) == 1 and stage.corruption in ATTACKS and isinstance(radius, int | float):
            attacks.setdefault((stage.corruption, "" if norm == "linf" else f" ({norm})"), {})[record.id] = radius
    clean = [CLEAN] if CLEAN in evaluation.outcomes else []
    return {
        f"{name} within {radius:g}{norm}": clean + [set_id for set_id, eps in radii.items() if eps <= radius]
        for (name, norm), radii in attacks.items()
        for radius in sorted(set(radii.values()))
    }


def _greatest_loss(evaluation: Evaluation, ids: Sequence[str]) -> float | None:
    """Return the mean greatest loss; None where a set's predictions have no probabilities."""
    known = [one for set_id in ids if (one := evaluation.outcomes[set_id].probability) is not None]
    if len(known) < len(ids):
        return None
    return mean(-np.log(np.maximum(np.min(np.stack(known), axis=0), _LEAST, dtype=np.float64)))


def styles(evaluation: Evaluation) -> tuple[dict[str, Estimate], Estimate | None]:
    """Return the accuracy of each group of samples, and the best less the worst.

    On the clean set, or on the only set. Groups are the styles of icons, the cameras of photographs.

    References
    ----------
    Hendrycks & Dietterich 2018, "Benchmarking Neural Network Robustness to Common Corruptions and Surface Variations"
    (arXiv:1807.01697).
    """
    outcomes = evaluation.outcomes
    name = CLEAN if CLEAN in outcomes else next(iter(outcomes)) if len(outcomes) == 1 else None
    groups = np.array([sample.group or "" for sample in evaluation.samples])
    present = sorted(set(groups.tolist()) - {""})
    if name is None or not present:
        return {}, None
    correct = outcomes[name].correct
    found = evaluation.images.estimates(
        {group: np.where(groups == group, correct, np.nan).astype(np.float32) for group in present}
    )
    rows = np.stack(list(found.values()))
    # a resample without an image of a group says nothing of it
    return found, np.asarray(np.fmax.reduce(rows) - np.fmin.reduce(rows)) if len(found) > 1 else None
