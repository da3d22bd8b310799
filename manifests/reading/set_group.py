"""Mappings from keys, such as the severities of a corruption, to sets of a dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ...arguments import as_list
from ...errors import UnknownCorruption, UnknownSet, first_few, suggest
from ..records.models import SetRecord, StageRecord
from .image_set import ImageSet
from .notebook import TILE_COUNT, figure, image_strip

Key = TypeVar("Key", float, str)


class SetGroup(dict[Key, ImageSet]):
    """A mapping from set ids, or from the severities or levels of one corruption, to sets.

    Parameters
    ----------
    name : str
        Name of the group, for display.
    sets : mapping
        The sets by severity, level or id.
    """

    def __init__(self, name: str, sets: Mapping[Key, ImageSet]) -> None:
        super().__init__()
        self.update(sets)
        self._name = name

    def __missing__(self, key: Key) -> ImageSet:
        raise UnknownSet(
            f"{self._name} has no set {key!r}.{_near(key, self)} Its sets are {first_few([str(k) for k in self])}."
        )

    def __repr__(self) -> str:
        return f"<SetGroup {self._name}: {len(self)} sets, {first_few([str(k) for k in self])}>"

    def _repr_html_(self) -> str:
        shown = [*self.values()][:TILE_COUNT]
        return figure(
            repr(self),
            lambda: image_strip([s.single(0) for s in shown if len(s)]),
            ", ".join(s.record.id for s in shown),
        )

    def _ipython_key_completions_(self) -> list[Key]:
        return list(self)


def group_by_corruption(records: Iterable[SetRecord]) -> dict[str, dict[float, SetRecord]]:
    """Group the sets that have a single stage by corruption, and then by severity or level."""
    found: dict[str, dict[float, SetRecord]] = {}
    for record in records:
        if len(record.stages) == 1:
            stage = record.stages[0]
            number = stage.level if stage.severity is None else stage.severity
            if number is not None:
                found.setdefault(stage.corruption, {})[number] = record
    return {name: dict(sorted(sets.items())) for name, sets in found.items()}


def select_records(records: Iterable[SetRecord], family_of: Callable[[str], str], **conditions: Any) -> list[SetRecord]:
    """Return the records that match the conditions of `Dataset.select`.

    Raise `UnknownCorruption` if a value does not occur in any set.
    """
    wanted = {name: _values(value) for name, value in conditions.items() if value is not None}
    table = [(record, stage) for record in records for stage in [*record.stages, *[None] * (not record.stages)]]

    def property_of(name: str, record: SetRecord, stage: StageRecord | None) -> Any:
        """Return a property of a set or of one of its stages."""
        if name in ("role", "stages"):
            return record.role if name == "role" else len(record.stages)
        return None if stage is None else family_of(stage.corruption) if name == "family" else getattr(stage, name)

    problems = []
    for name, values in wanted.items():
        known = {property_of(name, *pair) for pair in table} - {None}
        for value in sorted(values - known, key=str):
            known_values = first_few([str(v) for v in sorted(known)]) or "none"
            problems.append(f"No set has the {name} {value!r}.{_near(value, known)} Known values: {known_values}.")
    if problems:
        raise UnknownCorruption("\n".join(problems))
    selected = {
        pair[0].id: pair[0]
        for pair in table
        if all(property_of(name, *pair) in values for name, values in wanted.items())
    }
    return list(selected.values())


def _near(value: Any, known: Iterable[Any]) -> str:
    names = [str(known_value) for known_value in known]
    if not isinstance(value, str):
        return ""
    return f" Pass it as a number: {value}." if value in names else suggest(value, names)


def _values(value: Any) -> frozenset[Any]:
    return frozenset(as_list(value))
