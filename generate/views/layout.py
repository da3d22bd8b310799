"""What all views share: what is exported, the options, and what a layout is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import BuildError, listed
from ...manifests.images.pictures import FORMATS
from ...manifests.records.models import ClassRecord, Manifest
from .writer import Writer

if TYPE_CHECKING:
    from ...manifests.reader import DataSet

SEVERITIES = (1, 2, 3, 4, 5)


class Item(Protocol):
    """A sample, of a source or of a data set."""

    @property
    def id(self) -> str: ...
    @property
    def label(self) -> int: ...
    @property
    def split(self) -> str | None: ...


@dataclass(frozen=True)
class SetRef:
    """What a view needs to know of a set."""

    id: str
    aliases: tuple[str, ...]
    corruption: str | None
    """Of a set of one stage."""
    severity: int | None
    """Of a set whose only stage is at a severity of the table."""
    level: int | None
    """Of a set whose only stage is at a level of the ladder."""
    stages: int


@dataclass(frozen=True)
class Subject:
    """What is laid out: a data set, or a build that is to be one."""

    name: str
    version: str
    sets: tuple[SetRef, ...]
    samples: Sequence[Item]
    classes: tuple[ClassRecord, ...]
    encoding: str
    """``jpeg`` or ``png``."""
    manifest: Manifest | None = None
    """Of the data set; a build that is to be has none, and takes no file of severities."""

    def labels(self, ref: SetRef) -> dict[str, str | int]:
        """Return what metadata says of every image of a set: ``corruption`` and ``severity``, and ``level`` where any set has one.

        The corruption is the set id, unless the set is one corruption at a severity or level; those are 0 where there is none, since
        readers infer one type for a column.
        """
        plain = ref.severity is not None or ref.level is not None
        found: dict[str, str | int] = {"corruption": ref.corruption if plain and ref.corruption else ref.id, "severity": ref.severity or 0}
        return found | ({"level": ref.level or 0} if self._has_levels else {})

    @cached_property
    def _has_levels(self) -> bool:
        return any(s.level is not None for s in self.sets)

    @property
    def suffix(self) -> str:
        """The ending of image files, without a dot."""
        return FORMATS[self.encoding][1]

    @classmethod
    def of(cls, data: DataSet) -> Subject:
        """Return a data set as the subject of a view."""
        m = data.manifest
        refs = tuple(set_ref(s.id, s.aliases, s.stages) for s in m.sets)
        return cls(m.name, m.version, refs, data.samples, tuple(m.classes), m.encoding["format"], m)

    def only(self, ids: Iterable[str]) -> Subject:
        """Return the subject with some of its sets, in its own order."""
        wanted = set(ids)
        return replace(self, sets=tuple(s for s in self.sets if s.id in wanted))


class StageLike(Protocol):
    """A stage, of a recipe or of a manifest."""

    @property
    def corruption(self) -> str: ...
    @property
    def severity(self) -> int | None: ...
    @property
    def level(self) -> int | None: ...


def set_ref(set_id: str, aliases: Iterable[str], stages: Sequence[StageLike]) -> SetRef:
    """Return what a view needs to know of a set.

    A severity or level counts only where the set is called by it (``fog/3``, ``black_lines/07``), by its id or an alias: another set of
    that severity or level has parameters of its own.
    """
    names = (set_id, *aliases)
    if len(stages) != 1:
        return SetRef(set_id, names[1:], None, None, None, len(stages))
    name, severity, level = stages[0].corruption, stages[0].severity, stages[0].level
    return SetRef(
        set_id,
        names[1:],
        name,
        severity if severity is not None and f"{name}/{severity}" in names else None,
        level if level is not None and f"{name}/{level:02d}" in names else None,
        1,
    )


@dataclass(frozen=True)
class ViewOptions:
    """What can be asked of a view; they stand in VIEW.json."""

    severities: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Name in the view -> set ids, explicitly: for sets that are not one corruption at a severity 1..5."""
    images: tuple[str, ...] = ()
    """The names on the list of ``imagenet-c-5k``."""
    allow_missing_classes: bool = False

    def refuse_unused(self, view: str, takes: Iterable[str]) -> None:
        """Raise `BuildError` for an option that the view has no use for."""
        flags = {"severities": "--severities", "images": "--list", "allow_missing_classes": "--allow-missing-classes"}
        unused = [flag for name, flag in flags.items() if getattr(self, name) and name not in takes]
        if unused:
            raise BuildError(f"The view {view} does not take {', '.join(unused)}. Leave {'it' if len(unused) == 1 else 'them'} out.")

    def as_json(self) -> dict[str, Any]:
        """Return the options as JSON values, those that were given."""
        record: dict[str, Any] = {}
        if self.severities:
            record["severities"] = {name: list(sets) for name, sets in self.severities.items()}
        if self.images:
            record["images"] = list(self.images)
        if self.allow_missing_classes:
            record["allow_missing_classes"] = True
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ViewOptions:
        """Return options as they stand in VIEW.json."""
        return cls(
            {str(name): tuple(map(str, sets)) for name, sets in dict(record.get("severities", {})).items()},
            tuple(map(str, record.get("images", ()))),
            bool(record.get("allow_missing_classes", False)),
        )


@dataclass(frozen=True)
class Place:
    """Where images of a set lie together. A set has several places where its samples are divided, or where a mapping names it twice."""

    set_id: str
    path: str
    """A folder, an archive or an array."""
    row: int | None
    """The row of the first image, in an array."""
    count: int


@dataclass(frozen=True)
class Found:
    """An image of a view, as it lies there."""

    set_id: str
    index: int
    file: str
    """Relative path of the file that it is, or is in."""
    part: str
    """Empty; or ``#<row>`` of an array, ``:<member>`` of a tar."""
    data: bytes | NDArray[np.uint8] | None
    """Encoded bytes, or pixels; None where it is missing."""


class Layout(ABC):
    """Where a view puts every image. It follows from the records and the options alone, so that it can be checked later."""

    view = ""
    """What the view is called, where a build writes straight into it."""
    numbered = False
    """Whether single images are called by their index and lie in no class folder."""

    def __init__(self, subject: Subject, top: str) -> None:
        self.subject = subject
        self.top = top
        self.notes: list[str] = []
        """What a user should know of this view of this data set."""

    @abstractmethod
    def places(self) -> Sequence[Place]:
        """Return every place of every set."""

    def set_paths(self) -> Mapping[str, Sequence[str]]:
        """Return set id -> its folder, or every array that has rows of it."""
        found: dict[str, list[str]] = {}
        for place in self.places():
            found.setdefault(place.set_id, []).append(place.path)
        return found

    def whole_files(self) -> Iterator[str]:
        """Yield the files that hold many images."""
        yield from ()

    @abstractmethod
    def write(self, data: DataSet, writer: Writer) -> None:
        """Write every image and text."""

    @abstractmethod
    def found(self, root: Path) -> Iterator[Found]:
        """Yield every image that should be in the view, as it lies there."""

    @abstractmethod
    def paths(self) -> Iterator[str]:
        """Yield the relative path of every file of the view but VIEW.json."""

    def texts(self, hashes: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """Yield what is neither image nor array: labels, lists, metadata; `hashes` are the other files' sha256 by path."""
        yield from ()

    def in_build(self, set_id: str, index: int) -> tuple[str, int | None]:
        """Return where ``build --view`` puts an image: path, and row in an array."""
        raise BuildError("A build cannot write straight into this view. Build first, then export.")


def refuse(view: str, problems: Sequence[str], then: str) -> None:
    """Raise `BuildError` for what does not fit into a view, all at once, with the next step."""
    if problems:
        raise BuildError(f"This data set does not fit into the view {view}:\n{listed(problems)}\n{then}")
