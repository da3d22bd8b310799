"""Some of the sets of a data set: the severities of a corruption, or what `DataSet.select` selects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from ...errors import UnknownCorruption, UnknownSet, first_few, suggest
from ..records.models import SetRecord
from .image_set import ImageSet
from .notebook import SHOWN, figure, strip

Key = TypeVar("Key", float, str)


class SetGroup(Mapping[Key, ImageSet]):
    """A mapping of sets: by severity or level where they are those of one corruption, else by id.

    Parameters
    ----------
    name : str
        What they have in common, for people.
    sets : mapping
    """

    def __init__(self, name: str, sets: Mapping[Key, ImageSet]) -> None:
        self._name = name
        self._sets: dict[Key, ImageSet] = dict(sets)

    def __getitem__(self, key: Key) -> ImageSet:
        try:
            return self._sets[key]
        except KeyError:
            near = suggest(key, map(str, self._sets)) if isinstance(key, str) else ""
            raise UnknownSet(f"{self._name} has no set {key!r}.{near} It has {first_few([str(k) for k in self._sets])}.") from None

    def __iter__(self) -> Iterator[Key]:
        return iter(self._sets)

    def __len__(self) -> int:
        return len(self._sets)

    def __repr__(self) -> str:
        return f"<SetGroup {self._name}: {len(self)} sets, {first_few([str(k) for k in self._sets])}>"

    def _repr_html_(self) -> str:
        shown = [*self._sets.values()][:SHOWN]
        return figure(repr(self), lambda: strip([s.single(0) for s in shown if len(s)]), ", ".join(s.record.id for s in shown))

    def _ipython_key_completions_(self) -> list[Key]:
        return list(self._sets)


def severities_of(records: Iterable[SetRecord], corruption: str) -> dict[float, SetRecord]:
    """Return the sets of one corruption alone, by severity, or by level where it has levels; none of chains."""
    alone = [(record.stages[0], record) for record in records if len(record.stages) == 1]
    numbered = [(s.level if s.severity is None else s.severity, record) for s, record in alone if s.corruption == corruption]
    return dict(sorted(((number, record) for number, record in numbered if number is not None), key=lambda one: one[0]))


def matching(records: Iterable[SetRecord], family_of: Callable[[str], str], *, role: Any, stages: Any, **of_stage: Any) -> list[SetRecord]:
    """Return the sets that `DataSet.select` selects; raises `UnknownCorruption` for values that no set has."""
    records = list(records)
    asked = {name: _values(value) for name, value in {"role": role, "stages": stages, **of_stage}.items() if value is not None}
    read: dict[str, Callable[[Any], Any]] = {
        "role": lambda record: record.role,
        "stages": lambda record: len(record.stages),
        "corruption": lambda stage: stage.corruption,
        "severity": lambda stage: stage.severity,
        "level": lambda stage: stage.level,
        "family": lambda stage: family_of(stage.corruption),
    }
    problems = []
    for name, values in asked.items():
        known = {read[name](each) for r in records for each in (r.stages if name in of_stage else [r])} - {None}
        for value in sorted(values - known, key=str):
            near = suggest(str(value), map(str, known))
            problems.append(f"No set has the {name} {value!r}.{near} There are: {first_few([str(v) for v in sorted(known)])}.")
    if problems:
        raise UnknownCorruption("\n".join(problems))
    whole, staged = [[name for name in asked if (name in of_stage) is each] for each in (False, True)]
    return [
        record
        for record in records
        if all(read[name](record) in asked[name] for name in whole)
        and (not staged or any(all(read[name](stage) in asked[name] for name in staged) for stage in record.stages))
    ]


def _values(value: Any) -> frozenset[Any]:
    return frozenset([value]) if isinstance(value, str) or not isinstance(value, Iterable) else frozenset(value)
