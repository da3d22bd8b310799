"""Error curves over severities, and their scores: AUDE and corruption error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..manifests.records.models import SetRecord
from .evaluation import Evaluation
from .formulas import Estimate, aude, corruption_error, relative_corruption_error
from .published import ALEXNET, FIFTEEN, SEVERITIES, published

ByCorruption = Mapping[str, Estimate]


@dataclass(frozen=True)
class ErrorCurves:
    """A model's errors at severities 1 to 5, by corruption, and on the clean images."""

    model: str
    clean: Estimate | None
    errors: Mapping[str, Sequence[Estimate]]
    tested: frozenset[str]
    """The corruptions whose sets are to test on."""

    def scores(self, baseline: ErrorCurves | None) -> dict[str, ByCorruption]:
        """Return AUDE, CE and relative CE by corruption, as far as they can be had."""
        others = {} if baseline is None else baseline.errors
        pairs = {name: (errors, others[name]) for name, errors in self.errors.items() if name in others}
        found = {name: dict[str, Estimate]() for name in ("aude", "ce", "relative_ce")}
        found["ce"] = {name: corruption_error(*pair) for name, pair in pairs.items()}
        if (clean := self.clean) is not None:
            found["aude"] = {name: aude([clean, *errors]) for name, errors in self.errors.items()}
            if baseline is not None and (other := baseline.clean) is not None:
                found["relative_ce"] = {
                    name: relative_corruption_error(a, clean, b, other) for name, (a, b) in pairs.items()
                }
        return dict(found)

    def mean(self, scores: ByCorruption) -> Estimate | None:
        """Return the mean of scores over the fifteen; None where one of them is missing."""
        whole = self.tested.intersection(scores).issuperset(FIFTEEN)
        return np.asarray(np.mean([scores[name] for name in FIFTEEN], axis=0)) if whole else None


def error_curves(evaluation: Evaluation) -> ErrorCurves:
    """Return the error curves of a model on a data set."""
    curves = severity_curves(evaluation.records)
    to_test = {record.id for record in evaluation.tests}
    return ErrorCurves(
        evaluation.model,
        None if evaluation.clean is None else 1 - evaluation.clean,
        {name: [1 - evaluation.accuracies[id] for id in ids] for name, ids in curves.items()},
        frozenset(name for name, ids in curves.items() if to_test.issuperset(ids)),
    )


def alexnet_curves() -> ErrorCurves:
    """Return AlexNet's published errors.

    Only means over severities are published: each severity has the mean, and sums are right.
    """
    means = {name: np.array([error]) for name, error in published()["alexnet"].items()}
    return ErrorCurves(
        ALEXNET, means["clean"], {name: [means[name]] * len(SEVERITIES) for name in FIFTEEN}, frozenset(FIFTEEN)
    )


def severity_curves(sets: Iterable[SetRecord]) -> dict[str, list[str]]:
    """Return the sets of severities 1 to 5 of what has all five.

    ``fog`` is the corruption alone; ``fog+snow`` the chain with both at each severity; ``fog+snow-3`` and
    ``fog-3+snow`` those where one stage stays.
    """
    found: dict[str, dict[float, str]] = {}
    for record in sets:
        for name, severity in _places(record):
            found.setdefault(name, {}).setdefault(severity, record.id)
    return {name: [ids[s] for s in SEVERITIES] for name, ids in sorted(found.items()) if set(SEVERITIES) <= ids.keys()}


def _places(record: SetRecord) -> Iterator[tuple[str, float]]:
    """Yield what a set is a severity of, and which."""
    stages, links = record.stages, record.id.split("+")
    if len(links) != len(stages):
        links = [stage.corruption for stage in stages]
    severities = [stage.severity for stage in stages]
    if len(stages) > 1 and None not in severities and len(set(severities)) == 1:
        yield "+".join(stage.corruption for stage in stages), severities[0] or 0
    for place, stage in enumerate(stages):
        if stage.severity is not None:
            yield "+".join([*links[:place], stage.corruption, *links[place + 1 :]]), stage.severity
