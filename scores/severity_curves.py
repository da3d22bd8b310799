"""Which sets of a data set are the five severities of one thing: of a corruption, or of a chain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..manifests.records.models import SetRecord
from .published import SEVERITIES


def severity_curves(sets: Iterable[SetRecord]) -> dict[str, list[str]]:
    """Return the ids of the sets of severities 1 to 5, by what they are of; what lacks one of the five is left out.

    ``fog`` is the corruption alone; ``fog+snow`` the chain with both at each severity; ``fog+snow-3`` and ``fog-3+snow`` those where one
    stage stays.
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
