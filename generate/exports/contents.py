"""The contents of a view: sets, samples, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from ...errors import BuildError, listed
from ...manifests.images.pictures import stored_format
from ...manifests.paths import own_names
from ...manifests.records.models import ClassRecord, Manifest, SampleRecord, SetRecord
from ..recipes.expectations import Named, refusal
from ..recipes.set_spec import SetSpec
from ..sources.source import Sample
from .layouts import LAYOUTS, Layout


class ViewOptions(BaseModel):
    """What can be asked of a view; those that were given stand in VIEW.json."""

    model_config = ConfigDict(frozen=True)

    severities: dict[str, tuple[str, ...]] = {}
    """Name in the view -> set ids, explicitly: for sets that are not one corruption at a severity 1..5."""
    images: tuple[str, ...] = ()
    """The names on the list of a listed layout."""
    allow_missing_classes: bool = False


@dataclass(frozen=True)
class ViewSet:
    """What a view needs to know of a set."""

    id: str
    names: tuple[str, ...]
    """The id and the aliases."""
    stages: int
    corruption: str | None = None
    """The corruption of a set of one stage."""
    severity: int | None = None
    """The whole severity of a table that the only stage of a set is at."""
    level: int | None = None
    """The level of the ladder that the only stage of a set is at."""

    @classmethod
    def of(cls, one: SetSpec | SetRecord) -> ViewSet:
        """Return what a view needs to know of a set.

        A severity or level counts only where the set is called by it (``fog/3``, ``black_lines/07``), by its id or an
        alias: another set of that severity or level has parameters of its own.
        """
        names = (one.id, *one.aliases)
        if len(one.stages) != 1:
            return cls(one.id, names, len(one.stages))
        name, severity, level = one.stages[0].corruption, one.stages[0].severity, one.stages[0].level
        tabled = isinstance(severity, int) and f"{name}/{severity}" in names
        laddered = level is not None and f"{name}/{level:02d}" in names
        return cls(one.id, names, 1, name, int(severity or 0) if tabled else None, level if laddered else None)


@dataclass(frozen=True)
class ViewContents:
    """The sets and samples that a view is of."""

    name: str
    version: str
    sets: tuple[ViewSet, ...]
    samples: Sequence[Sample | SampleRecord]
    classes: tuple[ClassRecord, ...]
    format: str
    """``jpeg`` or ``png``."""
    manifest: Manifest | None = None
    """The data set's; a build that is to be has none, and takes no file of severities."""

    @classmethod
    def of(cls, manifest: Manifest, samples: Sequence[SampleRecord]) -> ViewContents:
        """Return the contents of a data set, or of some of its samples."""
        sets, form = tuple(map(ViewSet.of, manifest.sets)), manifest.encoding["format"]
        return cls(manifest.name, manifest.version, sets, samples, tuple(manifest.classes), form, manifest)

    def only(self, ids: Iterable[str]) -> ViewContents:
        """Return the same with some of the sets, in their own order."""
        wanted = set(ids)
        return replace(self, sets=tuple(s for s in self.sets if s.id in wanted))

    @cached_property
    def by_name(self) -> dict[str, ViewSet]:
        """Every set by its id and by its aliases."""
        return {name: one for one in self.sets for name in one.names}

    @cached_property
    def _own_names(self) -> bool:
        """Whether the images of the dataset keep the names of their source, of which those in .png are PNGs."""
        return self.manifest is not None and own_names(self.manifest)

    def stored_format(self, index: int) -> str:
        """Return how the images of a sample are stored: ``jpeg`` or ``png``."""
        return stored_format(self.samples[index].path or "", self.format) if self._own_names else self.format

    @cached_property
    def has_splits(self) -> bool:
        """Whether samples had a split in their source."""
        return any(sample.split for sample in self.samples)

    @cached_property
    def labels(self) -> dict[str, dict[str, str | int]]:
        """What metadata says of every set: corruption, severity, and level where any has one.

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


def refuse(view: str, problems: Sequence[str], then: str) -> None:
    """Raise `BuildError` for what does not fit into a view, with the next step."""
    if problems:
        raise BuildError(f"This data set does not fit into the view {view}:\n{listed(problems)}\n{then}")


_Set = TypeVar("_Set", SetSpec, ViewSet)


def placed(layout: Layout, sets: Sequence[_Set], named: Collection[str] = ()) -> list[_Set]:
    """Return the sets that go into a view, without clean where it has no place.

    It goes in where it is named, or where there is no other.
    """
    if layout.takes_clean:
        return list(sets)
    return [one for one in sets if one.stages or not set(named).isdisjoint(one.names)] or list(sets)


def unexpected(layout: Layout, images: Sequence[Named], *, all_seen: bool = True) -> str | None:
    """Return why images do not go into a view, and which views fit; or None.

    Parameters
    ----------
    layout : Layout
    images : sequence of (name, (width, height, channels))
        As they would lie in the view.
    all_seen : bool
        Whether these are all images.
    """
    if layout.expects is None or not (problems := layout.expects.problems(images, all_seen=all_seen)):
        return None
    made_for = {name: other.expects for name, other in LAYOUTS.items()}
    fitting = [name for name, expects in made_for.items() if expects is not None and not expects.problems(images)]
    fit = f"Views that fit: {', '.join(fitting)}; any" if fitting else "Any"
    instead = f"{fit} images go into {', '.join(name for name, expects in made_for.items() if expects is None)}."
    return refusal(f"The view {layout.name}", layout.expects, problems, instead)
