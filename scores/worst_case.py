"""The worst case over several sets: images that a model has right under every one of them, from predictions alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .estimates import interval_of, value
from .evaluation import Evaluation
from .published import FAMILIES, FAMILY_OF, SEVERITIES
from .records import WorstCase

ALL = "all"
"""Over all sets to test on."""


def worst_cases(evaluation: Evaluation) -> dict[str, WorstCase]:
    """Return the worst case over all sets to test on, over each family of ImageNet-C's corruptions, and over each corruption's strengths.

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
    several = {name: ids for name, ids in groups.items() if len(ids) > 1}
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
        )
        for name, ids in several.items()
    }
