"""Compute scores over several sets or groups of samples: mean accuracy, worst case, two-factor scores and styles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..canonical import canonical
from ..manifests.records.models import SetRecord
from .bootstrap import interval_of
from .evaluation import Evaluation, mean
from .formulas import Estimate, cv_percent, rb_index
from .outcomes import CLEAN
from .published import FAMILIES, FAMILY_OF, SEVERITIES, sort_by_literature
from .records import OrderEffect
from .score_values import Measured, without_resamples

PAPER_NAME = "type "
"""The prefix of the aliases that number the sets in the list of Dai & Berleant 2021."""
MIN_PROBABILITY = float(np.finfo(np.float32).tiny)
"""The minimum probability. It replaces smaller probabilities, so that a loss is finite (at most 87.3)."""
ATTACKS = ("pgd",)
"""The corruptions whose parameter `eps` is the radius of an attack."""
ALL = "all"
"""The group of all test sets."""


def means_over_tests(evaluation: Evaluation) -> dict[str, Measured]:
    """Return the mean accuracy and the robustness index over the test sets except ``clean``."""
    tests = [evaluation.accuracies[record.id] for record in evaluation.tests]
    if not tests:
        return {name: Measured(None, "no test set") for name in ("mean_accuracy", "rb_index")}
    clean = evaluation.clean
    index = None if clean is None else rb_index(clean, tests)
    why = "no predictions of the clean images" if clean is None else "the clean accuracy is 0"
    means = Measured(np.asarray(np.mean(tests, axis=0)), count=len(tests))
    return {"mean_accuracy": means, "rb_index": Measured(index, why, len(tests))}


def two_factor(evaluation: Evaluation) -> dict[str, Measured]:
    """Return the mean accuracy and its variation over two-factor sets, including the clean set.

    The paper's list can name a set several times. The scores are computed twice: over the names in the list, and over
    the distinct sets. There are no scores if no set has two stages.

    References
    ----------
    Dai & Berleant 2021, "Benchmarking Robustness of Deep Learning Classifiers Using Two-Factor Perturbation" (IEEE Big
    Data).
    """
    if not any(len(record.stages) > 1 for record in evaluation.tests):
        return {}
    times = {CLEAN: 1} if evaluation.clean is not None else {}
    times |= {r.id: times_named(r) for r in evaluation.records if r.id == CLEAN or r in evaluation.tests}
    sets = [evaluation.accuracies[name] for name in times]
    names = [accuracy for accuracy, count in zip(sets, times.values(), strict=True) for _ in range(count)]
    found = {}
    for prefix, accuracies in (("", names), ("distinct_", sets)):
        average = np.asarray(np.mean(accuracies, axis=0))
        found[f"two_factor.{prefix}mean_accuracy"] = Measured(average, count=len(accuracies))
        spread = cv_percent(accuracies)
        found[f"two_factor.{prefix}cv_percent"] = Measured(spread, "the mean accuracy is 0", len(accuracies))
    return found


def times_named(record: SetRecord) -> int:
    """Return how many times the paper's list names a set. The result is 1 for a set that is not in the list.

    The paper's list repeats a set if one of its factors has level zero.
    """
    return max(1, sum(alias.startswith(PAPER_NAME) for alias in record.aliases))


def order_effects(evaluation: Evaluation) -> list[OrderEffect]:
    """Return the difference in accuracy for each pair of sets that have the same two stages in both orders."""
    pairs = {
        tuple(canonical(stage.as_json()) for stage in r.stages): r.id for r in evaluation.tests if len(r.stages) == 2
    }
    both = sorted((first, second) for (a, b), first in pairs.items() if (second := pairs.get((b, a), "")) > first)
    differences = {(a, b): evaluation.accuracies[a] - evaluation.accuracies[b] for a, b in both}
    return [
        OrderEffect(first=a, second=b, difference=float(d[0]), interval=interval_of(d))
        for (a, b), d in differences.items()
    ]


def group_scores(evaluation: Evaluation) -> dict[str, Measured]:
    """Return the mean accuracy and the worst case over groups of test sets.

    There are groups for all test sets together, for each family of ImageNet-C, for all strengths of each corruption,
    and for the sets within each radius of an attack. The worst case is the fraction of images that are classified
    correctly in every set of the group. It is omitted for groups with a single set. For attacks, the result also
    includes each image's greatest loss, averaged over all images, if the predictions contain probabilities.
    """
    groups, within = _groups(evaluation), _within_radii(evaluation)
    several = {name: ids for name, ids in groups.items() if len(ids) > 1} | within
    outcomes = evaluation.outcomes
    shares = evaluation.images.estimates(
        {name: np.logical_and.reduce([outcomes[id].correct for id in ids]) for name, ids in several.items()}
    )
    averaged = {name: ids for name, ids in groups.items() if ids and name in FAMILIES} | several
    averaged.pop(ALL, None)
    found = {
        f"mean_accuracy.{name}": Measured(np.mean([evaluation.accuracies[id] for id in ids], axis=0), count=len(ids))
        for name, ids in averaged.items()
    }
    found |= {f"worst_case.{name}": Measured(shares[name], count=len(ids)) for name, ids in several.items()}
    for name, ids in within.items():
        if (loss := _greatest_loss(evaluation, ids)) is not None:
            found[f"greatest_loss.{name}"] = Measured(without_resamples(loss), count=len(ids))
    return found


def _groups(evaluation: Evaluation) -> dict[str, list[str]]:
    """Return the ids of the test sets by group, without the groups for the radii of attacks."""
    groups: dict[str, list[str]] = {name: [] for name in (ALL, *FAMILIES)}
    corruptions: dict[str, list[str]] = {}
    for record in evaluation.tests:
        groups[ALL].append(record.id)
        if len(record.stages) == 1:
            stage = record.stages[0]
            if stage.corruption in FAMILY_OF and stage.severity in SEVERITIES:
                groups[FAMILY_OF[stage.corruption]].append(record.id)
            corruptions.setdefault(stage.corruption, []).append(record.id)
    return groups | {name: corruptions[name] for name in sort_by_literature(corruptions)}


def _within_radii(evaluation: Evaluation) -> dict[str, list[str]]:
    """Return the ids of the sets within each radius of an attack, including the clean set."""
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
    """Return the mean over images of the greatest loss that each image has on any of the given sets.

    The result is None if the predictions contain no probabilities.
    """
    known = [one for set_id in ids if (one := evaluation.outcomes[set_id].probability) is not None]
    if len(known) < len(ids):
        return None
    return mean(-np.log(np.maximum(np.min(np.stack(known), axis=0), MIN_PROBABILITY, dtype=np.float64)))


def styles(evaluation: Evaluation) -> dict[str, Measured]:
    """Return the accuracy of each group of samples and the gap between the best and the worst group.

    The scores are those of the clean set, or of the only set if there is just one. Groups are, for example, styles of
    icons.

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
        return {}
    correct = outcomes[name].correct
    found: dict[str, Estimate] = evaluation.images.estimates(
        {group: np.where(groups == group, correct, np.nan).astype(np.float32) for group in present}
    )
    rows = np.stack(list(found.values()))
    gap = None
    if len(found) > 1:
        # A resample may contain no image of a small group. The value of the group is NaN in such a resample.
        gap = np.asarray(np.fmax.reduce(rows) - np.fmin.reduce(rows))
    return {"style_gap": Measured(gap, "only one group")} | {f"style.{of}": Measured(one) for of, one in found.items()}
