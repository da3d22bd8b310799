"""The contents of an export: the sets and samples of a dataset, and the options of the export."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pydantic import BaseModel, ConfigDict

from ...errors import BuildError, format_list
from ...manifests.images.image_formats import stored_format
from ...manifests.paths import keeps_source_names
from ...manifests.records.models import ClassRecord, Manifest, SampleRecord, SetRecord
from ..recipes.expectations import NamedShape, expectation_error
from .layouts import LAYOUTS, Layout


class ExportOptions(BaseModel):
    """The options that determine what an export contains. VIEW.json records those that differ from the defaults."""

    model_config = ConfigDict(frozen=True)

    severities: dict[str, tuple[str, ...]] = {}
    """A mapping from names in the export to set ids.

    It is needed for sets whose images do not have a single corruption at a severity from 1 to 5.
    """
    images: tuple[str, ...] = ()
    """The names on the list of images, for layouts that export only listed images."""
    allow_missing_classes: bool = False


@dataclass(frozen=True)
class ExportSet:
    """The properties of a set that determine its place in an export."""

    id: str
    names: tuple[str, ...]
    """The id and the aliases."""
    stages: int
    corruption: str | None = None
    """The corruption of a set with one stage."""
    severity: int | None = None
    """The severity, if the set has a single stage with the parameters tabulated for a whole-number severity."""
    level: int | None = None
    """The level, if the set has a single stage with the parameters of a level of a gradual degradation."""

    @classmethod
    def of(cls, record: SetRecord) -> ExportSet:
        """Return the properties of a set from its record.

        A severity or level is used only if the id or an alias contains it (``fog/3``, ``black_lines/07``). If the
        record contains a severity or level but no such name, the set's parameters are not those of that severity or
        level.
        """
        names = (record.id, *record.aliases)
        if len(record.stages) != 1:
            return cls(record.id, names, len(record.stages))
        name, severity, level = record.stages[0].corruption, record.stages[0].severity, record.stages[0].level
        tabled = isinstance(severity, int) and f"{name}/{severity}" in names
        laddered = level is not None and f"{name}/{level:02d}" in names
        return cls(record.id, names, 1, name, int(severity or 0) if tabled else None, level if laddered else None)


@dataclass(frozen=True)
class ExportContents:
    """The sets and samples of an export."""

    manifest: Manifest
    sets: tuple[ExportSet, ...]
    samples: Sequence[SampleRecord]

    @classmethod
    def of(cls, manifest: Manifest, samples: Sequence[SampleRecord]) -> ExportContents:
        """Return the contents for an export of all sets and the given samples of a dataset."""
        return cls(manifest, tuple(map(ExportSet.of, manifest.sets)), samples)

    def only(self, ids: Iterable[str]) -> ExportContents:
        """Return these contents with only the given sets, in the order of the dataset."""
        wanted = set(ids)
        return replace(self, sets=tuple(s for s in self.sets if s.id in wanted))

    @property
    def classes(self) -> Sequence[ClassRecord]:
        """The classes of the dataset."""
        return self.manifest.classes

    @cached_property
    def format(self) -> str:
        """The format in which the dataset stores its images, ``jpeg`` or ``png``."""
        return str(self.manifest.encoding["format"])

    @cached_property
    def by_name(self) -> dict[str, ExportSet]:
        """A mapping from ids and aliases to sets."""
        return {name: export_set for export_set in self.sets for name in export_set.names}

    @cached_property
    def _source_names(self) -> bool:
        return keeps_source_names(self.manifest)

    def stored_format(self, index: int) -> str:
        """Return the format in which the images of a sample are stored, ``jpeg`` or ``png``.

        If images keep their names from the source, each image whose name ends in .png is a PNG.
        """
        return stored_format(self.samples[index].path or "", self.format) if self._source_names else self.format

    @cached_property
    def has_splits(self) -> bool:
        """Whether any sample has a split in the source."""
        return any(sample.split for sample in self.samples)

    @cached_property
    def labels(self) -> dict[str, dict[str, str | int]]:
        """A mapping from set ids to the columns ``corruption`` and ``severity``, and ``level`` if any set has a level.

        If a set does not have a single corruption at a severity or level, its id is used as the corruption. Missing
        severities and levels are 0, because readers infer a single type for each column.
        """
        levels = any(export_set.level is not None for export_set in self.sets)
        return {
            export_set.id: {
                "corruption": export_set.id
                if export_set.corruption is None or export_set.severity is export_set.level is None
                else export_set.corruption,
                "severity": export_set.severity or 0,
                **({"level": export_set.level or 0} if levels else {}),
            }
            for export_set in self.sets
        }


def refuse(layout: str, problems: Sequence[str], then: str) -> None:
    """Raise `BuildError` if there are problems. The message lists them, followed by the next step `then`."""
    if problems:
        raise BuildError(f"This dataset cannot be exported as {layout}:\n{format_list(problems)}\n{then}")


def place_sets(layout: Layout, sets: Sequence[ExportSet], named: Collection[str] = ()) -> list[ExportSet]:
    """Return the sets to export. The clean images are omitted if the layout has no place for them.

    They are kept if `named` contains one of their names, or if there are no other sets.
    """
    if layout.takes_clean:
        return list(sets)
    return [
        export_set for export_set in sets if export_set.stages or not set(named).isdisjoint(export_set.names)
    ] or list(sets)


def shape_message(layout: Layout, images: Sequence[NamedShape]) -> str | None:
    """Return a message if the loaders of a layout expect different image sizes or channels, or None.

    The message explains the reason, and names layouts that suit the images.

    Parameters
    ----------
    layout : Layout
    images : sequence of (name, (width, height, channels))
        The name and shape of each exported image.
    """
    if layout.expects is None or not (problems := layout.expects.problems(images)):
        return None
    made_for = {name: other.expects for name, other in LAYOUTS.items()}
    fitting = [name for name, expects in made_for.items() if expects is not None and not expects.problems(images)]
    fit = f"Layouts that fit: {', '.join(fitting)}. " if fitting else ""
    accepting = ", ".join(name for name, expects in made_for.items() if expects is None)
    instead = f"{fit}Layouts that accept any images: {accepting}."
    return expectation_error(f"The layout {layout.name}", layout.expects, problems, instead)
