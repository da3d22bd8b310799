"""The contents of an export: the sets and samples of a dataset, and the options of the export."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pydantic import BaseModel, ConfigDict

from ...errors import BuildError, listed
from ...manifests.images.image_formats import stored_format
from ...manifests.paths import keeps_source_names
from ...manifests.records.models import ClassRecord, Manifest, SampleRecord, SetRecord
from ..recipes.expectations import NamedShape, expectation_error
from .layouts import LAYOUTS, Layout


class ExportOptions(BaseModel):
    """The options that decide what an export contains. VIEW.json records the options that were given."""

    model_config = ConfigDict(frozen=True)

    severities: dict[str, tuple[str, ...]] = {}
    """The set ids of each name in the export, for sets that are not one corruption at severities 1 to 5."""
    images: tuple[str, ...] = ()
    """The names on the list of images, for a layout that exports only the images on a list."""
    allow_missing_classes: bool = False


@dataclass(frozen=True)
class ExportSet:
    """The properties of a set that decide its place in an export."""

    id: str
    names: tuple[str, ...]
    """The id and the aliases."""
    stages: int
    corruption: str | None = None
    """The corruption of a set with one stage."""
    severity: int | None = None
    """The severity, if the set has one stage with the parameters of a whole severity."""
    level: int | None = None
    """The level, if the set has one stage with the parameters of a level."""

    @classmethod
    def of(cls, record: SetRecord) -> ExportSet:
        """Return the properties of a recorded set.

        A severity or level counts only if the id or an alias contains it (``fog/3``, ``black_lines/07``). A set that
        records a severity or level without such a name has different parameters.
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
        """Return the contents of a dataset, or of some of its samples."""
        return cls(manifest, tuple(map(ExportSet.of, manifest.sets)), samples)

    def only(self, ids: Iterable[str]) -> ExportContents:
        """Return the same contents with some of the sets, in the order of the dataset."""
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
        """Every set by its id and by its aliases."""
        return {name: export_set for export_set in self.sets for name in export_set.names}

    @cached_property
    def _source_names(self) -> bool:
        return keeps_source_names(self.manifest)

    def stored_format(self, index: int) -> str:
        """Return the format of the stored images of a sample, ``jpeg`` or ``png``.

        If images keep the names of their source, those whose names end in .png are PNGs.
        """
        return stored_format(self.samples[index].path or "", self.format) if self._source_names else self.format

    @cached_property
    def has_splits(self) -> bool:
        """Whether samples had a split in their source."""
        return any(sample.split for sample in self.samples)

    @cached_property
    def labels(self) -> dict[str, dict[str, str | int]]:
        """The columns ``corruption``, ``severity`` and, if any set has one, ``level`` of every set.

        The corruption is the set id, unless the set is one corruption at a severity or level. Missing severities and
        levels are 0, because readers infer one type for a column.
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
    """Raise `BuildError` with the problems of exporting a dataset and the next step, if there are problems."""
    if problems:
        raise BuildError(f"This dataset cannot be exported as {layout}:\n{listed(problems)}\n{then}")


def placed(layout: Layout, sets: Sequence[ExportSet], named: Collection[str] = ()) -> list[ExportSet]:
    """Return the sets to export. Clean images are omitted if the layout has no place for them.

    Clean images are kept if they are named, or if there are no other sets.
    """
    if layout.takes_clean:
        return list(sets)
    return [
        export_set for export_set in sets if export_set.stages or not set(named).isdisjoint(export_set.names)
    ] or list(sets)


def unexpected(layout: Layout, images: Sequence[NamedShape]) -> str | None:
    """Return a message if the loaders of a layout do not expect these images, or None.

    The message explains the reason and names layouts that fit.

    Parameters
    ----------
    layout : Layout
    images : sequence of (name, (width, height, channels))
        The images of the export.
    """
    if layout.expects is None or not (problems := layout.expects.problems(images)):
        return None
    made_for = {name: other.expects for name, other in LAYOUTS.items()}
    fitting = [name for name, expects in made_for.items() if expects is not None and not expects.problems(images)]
    fit = f"Layouts that fit: {', '.join(fitting)}; any" if fitting else "Any"
    instead = f"{fit} images go into {', '.join(name for name, expects in made_for.items() if expects is None)}."
    return expectation_error(f"The layout {layout.name}", layout.expects, problems, instead)
