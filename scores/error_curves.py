"""Compute error curves over severities, and the scores that are derived from them.

The scores are the area under the distortion-error curve (AUDE), the corruption error (CE), and their means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..manifests.records.models import SetRecord
from .bootstrap import value
from .evaluation import Evaluation
from .formulas import Estimate, aude, corruption_error, relative_corruption_error
from .published import ALEXNET, FIFTEEN, SEVERITIES, load_published, sort_by_literature
from .score_values import Measured

NO_CLEAN = "no predictions of the clean images"
NO_BASELINE = "no baseline, see the notes"
NO_ERRORS = "the baseline makes no errors"
NO_LOSS = "the baseline loses no accuracy"
MEANS = {"aude": "maude", "ce": "mce", "relative_ce": "relative_mce"}
"""For each score of a corruption, the name of its mean over the fifteen test corruptions."""


@dataclass(frozen=True)
class ErrorCurves:
    """The errors of a model on the clean images, and at severities 1 to 5 of each corruption."""

    model: str
    clean: Estimate | None
    errors: Mapping[str, Sequence[Estimate]]
    tested: frozenset[str]
    """The corruptions whose sets all have the role ``test``."""

    def scores(self, baseline: ErrorCurves | None) -> dict[str, Measured]:
        """Return the AUDE, CE and relative CE of each corruption, and their means over the fifteen test corruptions."""
        of_each = {name: dict[str, Measured]() for name in MEANS}
        clean, others = self.clean, {} if baseline is None else baseline.errors
        for name, errors in self.errors.items():
            area = None if clean is None else aude([clean, *errors])
            of_each["aude"][name] = Measured(area, NO_CLEAN)
            if name not in others:
                continue
            of_each["ce"][name] = Measured(corruption_error(errors, others[name]), NO_ERRORS)
            if clean is not None and baseline is not None and baseline.clean is not None:
                relative = relative_corruption_error(errors, clean, others[name], baseline.clean)
                of_each["relative_ce"][name] = Measured(relative, NO_LOSS)
        means = {MEANS[group]: self._mean(group, own, baseline) for group, own in of_each.items()}
        maude = means["maude"]
        increase = None if maude.estimate is None or clean is None else maude.estimate - clean
        means = {"maude": maude, "relative_maude": Measured(increase, maude.reason), **means}
        return means | {f"{group}.{name}": one for group, own in of_each.items() for name, one in own.items()}

    def _mean(self, group: str, scores: Mapping[str, Measured], baseline: ErrorCurves | None) -> Measured:
        """Return the mean of a score over the fifteen test corruptions, or the reason why there is no mean."""
        missing = [name for name in FIFTEEN if name not in self.tested]
        if missing:
            return Measured(None, f"{len(missing)} of the 15 corruptions are missing")
        if group != "aude" and baseline is None:
            return Measured(None, NO_BASELINE)
        if group != "ce" and self.clean is None:
            return Measured(None, NO_CLEAN)
        return mean_of_fifteen(scores)


def mean_of_fifteen(scores: Mapping[str, Measured]) -> Measured:
    """Return the mean over the fifteen test corruptions, or a reason if one of the scores has no value."""
    if undefined := [name for name in FIFTEEN if not has_value(scores[name])]:
        of = f"{len(undefined)} corruption{'s' * (len(undefined) > 1)}"
        return Measured(None, f"{scores[undefined[0]].reason} on {of}")
    known = [estimate for name in FIFTEEN if (estimate := scores[name].estimate) is not None]
    return Measured(np.asarray(np.mean(known, axis=0)))


def has_value(measured: Measured) -> bool:
    """Return whether a score has a finite value."""
    return measured.estimate is not None and value(measured.estimate) is not None


def error_curves(evaluation: Evaluation) -> ErrorCurves:
    """Return the error curves of a model on a dataset."""
    curves = severity_curves(evaluation.records)
    tests = {record.id for record in evaluation.tests}
    return ErrorCurves(
        evaluation.model,
        None if evaluation.clean is None else 1 - evaluation.clean,
        {name: [1 - evaluation.accuracies[id] for id in ids] for name, ids in curves.items()},
        frozenset(name for name, ids in curves.items() if tests.issuperset(ids)),
    )


def alexnet_curves() -> ErrorCurves:
    """Return AlexNet's published errors.

    Only means over severities were published. Every severity therefore has the mean error, so that sums are correct.
    """
    means = {name: np.array([error]) for name, error in load_published()["alexnet"].items()}
    return ErrorCurves(
        ALEXNET, means["clean"], {name: [means[name]] * len(SEVERITIES) for name in FIFTEEN}, frozenset(FIFTEEN)
    )


def severity_curves(sets: Iterable[SetRecord]) -> dict[str, list[str]]:
    """Return the sets at severities 1 to 5, for each corruption or chain that has all five.

    For example, ``fog`` is the corruption alone, and ``fog+snow`` is the chain in which both have the same severity.
    In ``fog+snow-3`` and ``fog-3+snow``, one stage keeps severity 3.
    """
    by_curve: dict[str, dict[float, str]] = {}
    for record in sets:
        for name, severity in _curves_of(record):
            by_curve.setdefault(name, {}).setdefault(severity, record.id)
    complete = {name: [ids[s] for s in SEVERITIES] for name, ids in by_curve.items() if set(SEVERITIES) <= ids.keys()}
    return {name: complete[name] for name in sort_by_literature(sorted(complete))}


def _curves_of(record: SetRecord) -> Iterator[tuple[str, float]]:
    """Yield the names of the curves that a set belongs to, each with the severity of the set on that curve."""
    stages, links = record.stages, record.id.split("+")
    if len(links) != len(stages):
        links = [stage.corruption for stage in stages]
    severities = [stage.severity for stage in stages]
    if len(stages) > 1 and None not in severities and len(set(severities)) == 1:
        yield "+".join(stage.corruption for stage in stages), severities[0] or 0
    for place, stage in enumerate(stages):
        if stage.severity is not None:
            yield "+".join([*links[:place], stage.corruption, *links[place + 1 :]]), stage.severity
