"""What is laid out as a view: a data set, or a build that is to be one; and what can be asked of a view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from ...corruptions.stages import Stage
from ...errors import BuildError, listed
from ...manifests.records.models import ClassRecord, Manifest, SampleRecord, StageRecord
from ..sources.source import Sample

if TYPE_CHECKING:
    from ...manifests.reader import DataSet


class ViewOptions(BaseModel):
    """What can be asked of a view; those that were given stand in VIEW.json."""

    model_config = ConfigDict(frozen=True)

    severities: dict[str, tuple[str, ...]] = {}
    """Name in the view -> set ids, explicitly: for sets that are not one corruption at a severity 1..5."""
    images: tuple[str, ...] = ()
    """The names on the list of a listed layout."""
    allow_missing_classes: bool = False


def refuse(view: str, problems: Sequence[str], then: str) -> None:
    """Raise `BuildError` for what does not fit into a view, all at once, with the next step."""
    if problems:
        raise BuildError(f"This data set does not fit into the view {view}:\n{listed(problems)}\n{then}")


@dataclass(frozen=True)
class SetRef:
    """What a view needs to know of a set."""

    id: str
    names: tuple[str, ...]
    """The id and the aliases."""
    stages: int
    corruption: str | None = None
    """Of a set of one stage."""
    severity: int | None = None
    """Of a set whose only stage is at a severity of the table, a whole one."""
    level: int | None = None
    """Of a set whose only stage is at a level of the ladder."""

    @classmethod
    def of(cls, set_id: str, aliases: Iterable[str], stages: Sequence[Stage | StageRecord]) -> SetRef:
        """Return what a view needs to know of a set.

        A severity or level counts only where the set is called by it (``fog/3``, ``black_lines/07``), by its id or an
        alias: another set of that severity or level has parameters of its own.
        """
        names = (set_id, *aliases)
        if len(stages) != 1:
            return cls(set_id, names, len(stages))
        name, severity, level = stages[0].corruption, stages[0].severity, stages[0].level
        tabled = isinstance(severity, int) and f"{name}/{severity}" in names
        return cls(
            set_id,
            names,
            1,
            name,
            int(severity or 0) if tabled else None,
            level if f"{name}/{level or 0:02d}" in names else None,
        )


@dataclass(frozen=True)
class Subject:
    """What is laid out."""

    name: str
    version: str
    sets: tuple[SetRef, ...]
    samples: Sequence[Sample | SampleRecord]
    classes: tuple[ClassRecord, ...]
    format: str
    """``jpeg`` or ``png``."""
    manifest: Manifest | None = None
    """Of the data set; a build that is to be has none, and takes no file of severities."""

    @classmethod
    def of(cls, data: DataSet) -> Subject:
        """Return a data set as the subject of a view."""
        m = data.manifest
        refs = tuple(SetRef.of(s.id, s.aliases, s.stages) for s in m.sets)
        return cls(m.name, m.version, refs, data.samples, tuple(m.classes), m.encoding["format"], m)

    def only(self, ids: Iterable[str]) -> Subject:
        """Return the subject with some of its sets, in its own order."""
        wanted = set(ids)
        return replace(self, sets=tuple(s for s in self.sets if s.id in wanted))

    @cached_property
    def by_name(self) -> dict[str, SetRef]:
        """Every set by its id and by its aliases."""
        return {name: ref for ref in self.sets for name in ref.names}

    @cached_property
    def has_splits(self) -> bool:
        """Whether samples had a split in their source."""
        return any(sample.split for sample in self.samples)

    @cached_property
    def labels(self) -> dict[str, dict[str, str | int]]:
        """What metadata says of every set: ``corruption`` and ``severity``, and ``level`` where any set has one.

        The corruption is the set id, unless the set is one corruption at a severity or level; those are 0 where there
        is none, since readers infer one type for a column.
        """
        levels = any(ref.level is not None for ref in self.sets)
        return {
            ref.id: {
                "corruption": ref.id if ref.corruption is None or ref.severity is ref.level is None else ref.corruption,
                "severity": ref.severity or 0,
                **({"level": ref.level or 0} if levels else {}),
            }
            for ref in self.sets
        }
