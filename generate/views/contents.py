"""What a view is of: sets and samples, of a data set or of a build that is to be one; and what can be asked of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pydantic import BaseModel, ConfigDict

from ...corruptions.stages import Stage
from ...errors import BuildError, listed
from ...manifests.records.models import ClassRecord, Manifest, SampleRecord, StageRecord
from ..sources.source import Sample


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
class ViewSet:
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
    def of(cls, set_id: str, aliases: Iterable[str], stages: Sequence[Stage | StageRecord]) -> ViewSet:
        """Return what a view needs to know of a set.

        A severity or level counts only where the set is called by it (``fog/3``, ``black_lines/07``), by its id or an
        alias: another set of that severity or level has parameters of its own.
        """
        names = (set_id, *aliases)
        if len(stages) != 1:
            return cls(set_id, names, len(stages))
        name, severity, level = stages[0].corruption, stages[0].severity, stages[0].level
        tabled = isinstance(severity, int) and f"{name}/{severity}" in names
        laddered = level is not None and f"{name}/{level:02d}" in names
        return cls(set_id, names, 1, name, int(severity or 0) if tabled else None, level if laddered else None)


@dataclass(frozen=True)
class Contents:
    """The sets and samples that a view is of."""

    name: str
    version: str
    sets: tuple[ViewSet, ...]
    samples: Sequence[Sample | SampleRecord]
    classes: tuple[ClassRecord, ...]
    format: str
    """``jpeg`` or ``png``."""
    manifest: Manifest | None = None
    """Of the data set; a build that is to be has none, and takes no file of severities."""

    @classmethod
    def of(cls, manifest: Manifest, samples: Sequence[SampleRecord]) -> Contents:
        """Return what a view of a data set, or of some of its samples, is of."""
        sets = tuple(ViewSet.of(s.id, s.aliases, s.stages) for s in manifest.sets)
        form = manifest.encoding["format"]
        return cls(manifest.name, manifest.version, sets, samples, tuple(manifest.classes), form, manifest)

    def only(self, ids: Iterable[str]) -> Contents:
        """Return the same with some of the sets, in their own order."""
        wanted = set(ids)
        return replace(self, sets=tuple(s for s in self.sets if s.id in wanted))

    @cached_property
    def by_name(self) -> dict[str, ViewSet]:
        """Every set by its id and by its aliases."""
        return {name: one for one in self.sets for name in one.names}

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
        levels = any(one.level is not None for one in self.sets)
        return {
            one.id: {
                "corruption": one.id if one.corruption is None or one.severity is one.level is None else one.corruption,
                "severity": one.severity or 0,
                **({"level": one.level or 0} if levels else {}),
            }
            for one in self.sets
        }
