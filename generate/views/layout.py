"""What all views share: the options, and what a layout is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from ...errors import BuildError, listed
from ..recipes.expectations import Expects
from .subject import Subject
from .writer import Writer

if TYPE_CHECKING:
    from ...manifests.reader import DataSet

SEVERITIES = (1, 2, 3, 4, 5)


class ViewOptions(BaseModel):
    """What can be asked of a view; those that were given stand in VIEW.json."""

    model_config = ConfigDict(frozen=True)

    severities: dict[str, tuple[str, ...]] = {}
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
        """Return the options that were given, as JSON values."""
        return self.model_dump(mode="json", exclude_defaults=True)


@dataclass(frozen=True)
class SetSlice:
    """Images of a set that lie together.

    A set has several slices where its samples are divided, or where a file of severities names it twice.
    """

    set_id: str
    path: str
    """Their folder, array or archive."""
    samples: Sequence[int]
    """Which they are, upwards."""
    row: int | None = None
    """The row of the first one, in an array."""


@dataclass(frozen=True)
class ViewImage:
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

    view: ClassVar[str]
    """What the view is called."""
    takes: ClassVar[tuple[str, ...]] = ()
    """The fields of `ViewOptions` that the view has a use for."""
    expects: ClassVar[Expects | None] = None
    """What images its loaders expect; None is any."""
    numbered: ClassVar[bool] = False
    """Whether single images are called by their index and lie in no class folder."""

    own_names: ClassVar[bool] = False
    """Whether images keep the paths that they have in their source, and with them their formats."""
    labelled: ClassVar[bool] = True
    """Whether it tells labels, so that images without labels do not go into it."""
    takes_clean: ClassVar[bool] = True
    """Whether the clean images go into it although nobody names them."""

    def __init__(self, subject: Subject, top: str, slices: Iterable[SetSlice]) -> None:
        self.subject = subject
        self.top = top
        """The folder that a loader is pointed at, or whose parent is."""
        self.slices = tuple(slices)
        self.notes: list[str] = []
        """What a user should know of this view of this data set."""

    def set_paths(self) -> Mapping[str, Sequence[str]]:
        """Return set id -> its folder, or every array that has rows of it."""
        return {set_id: [images.path for images in slices] for set_id, slices in self.slices_of.items()}

    @cached_property
    def slices_of(self) -> Mapping[str, Sequence[SetSlice]]:
        """Set id -> its slices."""
        by_set: dict[str, list[SetSlice]] = {}
        for images in self.slices:
            by_set.setdefault(images.set_id, []).append(images)
        return by_set

    @property
    def array_rows(self) -> Mapping[str, int]:
        """Path of every array of images -> its rows; empty where images are files."""
        return {}

    def location(self, set_id: str, index: int) -> tuple[str, int | None]:
        """Return where ``build --view`` puts an image: path, and row in an array."""
        raise BuildError("A build cannot write straight into this view. Build first, then export.")

    @abstractmethod
    def write(self, data: DataSet, writer: Writer) -> None:
        """Write every image and text."""

    @abstractmethod
    def read(self, root: Path) -> Iterator[ViewImage]:
        """Yield every image that should be in the view, as it lies there."""

    def image_files(self) -> Iterable[str]:
        """Return the files that the images are, or are in."""
        return dict.fromkeys(images.path for images in self.slices)

    def texts(self, hashes: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """Yield what is neither image nor array: labels, lists, metadata; `hashes` are the other files' sha256 by path."""
        yield from ()

    def paths(self) -> Iterator[str]:
        """Yield the relative path of every file of the view but VIEW.json."""
        yield from self.image_files()
        yield from (path for path, _ in self.texts({}))


def refuse(view: str, problems: Sequence[str], then: str) -> None:
    """Raise `BuildError` for what does not fit into a view, all at once, with the next step."""
    if problems:
        raise BuildError(f"This data set does not fit into the view {view}:\n{listed(problems)}\n{then}")
