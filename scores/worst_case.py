"""The worst case over several sets: images that a model has right under every one of them, and an attack's greatest loss, from predictions
alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .estimates import interval_of, value
from .evaluation import Evaluation
from .outcomes import CLEAN
from .published import FAMILIES, FAMILY_OF, SEVERITIES
from .records import WorstCase

_LEAST = float(np.finfo(np.float32).tiny)
"""A probability of less counts as this, so that a loss is finite: 87.3 at most."""
ATTACKS = ("pgd",)
"""Corruptions whose parameter `eps` is how far an image may go."""
ALL = "all"
"""Over all sets to test on."""


def worst_cases(evaluation: Evaluation) -> dict[str, WorstCase]:
    """Return the worst case over all sets to test on, over each family of ImageNet-C's corruptions, over each corruption's strengths,
    and over all that an attack does within each of its radii.

    Of one set alone it would be the accuracy, and there is none.
    """
    groups: dict[str, list[str]] = {ALL: [record.id for record in evaluation.tests], **{family: [] for family in FAMILIES}}
    for record in evaluation.tests:
        if len(record.stages) != 1:
            continue
        (stage,) = record.stages
        groups.setdefault(stage.corruption, []).append(record.id)
        if stage.severity in SEVERITIES and stage.corruption in FAMILY_OF:
            groups[FAMILY_OF[stage.corruption]].append(record.id)
    within = _within(evaluation)
    several = {name: ids for name, ids in groups.items() if len(ids) > 1} | within
    right: dict[str, NDArray[np.bool_]] = {}
    for name, ids in several.items():
        right[name] = np.ones(len(evaluation.data.samples), np.bool_)
        for set_id in ids:
            right[name] &= evaluation.outcomes[set_id].correct
    shares = evaluation.images.estimates(right)
    return {
        name: WorstCase(
            sets=len(ids),
            share=value(shares[name]) or 0.0,
            interval=interval_of(shares[name]),
            mean_accuracy=float(np.mean([evaluation.accuracies[set_id][0] for set_id in ids])),
            loss=_greatest_loss(evaluation, ids) if name in within else None,
        )
        for name, ids in several.items()
    }


def _within(evaluation: Evaluation) -> dict[str, list[str]]:
    """Return for each radius of an attack the sets that go no further, the clean images among them."""
    attacks: dict[tuple[str, str], dict[str, float]] = {}
    for record in evaluation.tests:
        stage = record.stages[0]
        radius = stage.parameters.get("eps")
        if len(record.stages) == 1 and stage.corruption in ATTACKS and isinstance(radius, int | float):
            attacks.setdefault((stage.corruption, str(stage.parameters.get("norm", "linf"))), {})[record.id] = radius
    clean = [CLEAN] if CLEAN in evaluation.outcomes else []
    return {
        f"{name} within {radius:g}{'' if norm == 'linf' else f' ({norm})'}": [*clean, *(i for i, eps in radii.items() if eps <= radius)]
        for (name, norm), radii in attacks.items()
        for radius in sorted(set(radii.values()))
    }


def _greatest_loss(evaluation: Evaluation, ids: Sequence[str]) -> float | None:
    """Return the mean over images of the greatest loss; None where a set's predictions have no probabilities."""
    known = [one for set_id in ids if (one := evaluation.outcomes[set_id].probability) is not None]
    if len(known) < len(ids):
        return None
    return evaluation.mean(-np.log(np.maximum(np.min(np.stack(known), axis=0), _LEAST, dtype=np.float64)))
