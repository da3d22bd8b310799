"""A data set's images in the order of a schedule: a map-style data set, so that a data loader keeps the order with any workers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from ...errors import ScheduleError
from ..records.models import Manifest, SampleRecord
from .image_set import ImageSet, MapStyle
from .schedule import Schedule, joined

BLOCK = 64
"""Images of one set that iteration asks for together."""


class HasSets(Protocol):
    """A data set, stored or virtual: `DataSet`."""

    manifest: Manifest

    @property
    def digest(self) -> str:
        """Its name."""

    @property
    def samples(self) -> list[SampleRecord]:
        """By index."""

    def __getitem__(self, name: str, /) -> ImageSet:
        """Return a set by its id."""


class StreamItem(NamedTuple):
    """One image of a stream."""

    image: Any
    """(H, W, C) ndarray of uint8, or what the transform makes of it."""
    label: int
    set: str
    id: str
    shift: int
    """Which shift of the schedule it is in, from 0."""
    reset: bool
    """Whether a model that adapts is put back to its beginning before this image."""


class Stream(MapStyle[StreamItem]):
    """A data set's images in the order of a schedule.

    ``len(s)``; ``s[i]`` and iteration give `StreamItem`; a slice gives a stream: ``s[k:]`` goes on at image k. It may be pickled, and
    used in forked or spawned workers.

    Parameters
    ----------
    data : DataSet
    schedule : Schedule
    transform : callable, optional
        Is given each image as a PIL image, as torchvision's data sets give it.

    Raises
    ------
    ScheduleError
        The schedule is another data set's.
    """

    def __init__(self, data: HasSets, schedule: Schedule, transform: Callable[[Any], Any] | None = None) -> None:
        if schedule.data_set.digest != data.digest:
            of, here = schedule.data_set, data.manifest
            raise ScheduleError(
                f"The schedule is of {of.name} {of.version} ({of.digest}); this data set is {here.name} {here.version} ({data.digest}). "
                "Make one for it: corruptset schedule."
            )
        self.schedule = schedule
        self._data, self._transform = data, transform
        place = {record.id: index for index, record in enumerate(data.samples)}
        if unknown := [id for id in schedule.samples if id not in place]:
            raise ScheduleError(f"The schedule names {len(unknown)} samples that the data set does not have, such as {unknown[0]!r}.")
        shifts = schedule.shifts
        lengths = [len(shift.samples) for shift in shifts]
        self._sets = joined([shift.sets for shift in shifts])
        self._indices = np.array([place[id] for id in schedule.samples], np.int64)[joined([shift.samples for shift in shifts])]
        self._shifts = np.repeat(np.arange(len(shifts)), lengths)
        self._resets = np.zeros(len(self._sets), bool)
        self._resets[np.cumsum([0, *lengths[:-1]])] = [shift.reset for shift in shifts]
        self._opened: dict[int, ImageSet] = {}

    def __getstate__(self) -> Mapping[str, Any]:
        return {**self.__dict__, "_opened": {}}  # each process opens its own files

    def __len__(self) -> int:
        return len(self._sets)

    @overload
    def __getitem__(self, index: SupportsIndex) -> StreamItem: ...
    @overload
    def __getitem__(self, index: slice) -> Stream: ...
    def __getitem__(self, index: Any) -> StreamItem | Stream:
        if isinstance(index, slice):
            part = object.__new__(Stream)
            chosen = {name: getattr(self, name)[index] for name in ("_sets", "_indices", "_shifts", "_resets")}
            part.__dict__.update({**self.__dict__, "_opened": {}, **chosen})
            return part
        number = operator.index(index)
        if not -len(self) <= number < len(self):
            raise IndexError(f"the stream has {len(self)} images; there is no image {number}")
        return self.__getitems__([number % len(self)])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[StreamItem]:
        """Return the items of a batch, as PyTorch's loaders ask for them; neighbours of one set are read together."""
        chosen = np.asarray(indices, np.int64)
        cuts = np.flatnonzero(np.diff(self._sets[chosen])) + 1
        return [item for run in np.split(chosen, cuts) for item in self._of_one_set(run)]

    def __iter__(self) -> Iterator[StreamItem]:
        for start in range(0, len(self), BLOCK):
            yield from self.__getitems__(range(start, min(start + BLOCK, len(self))))

    def __repr__(self) -> str:
        return f"<Stream of {self._data.manifest.name}: {len(self)} of {self.schedule!r}>"

    def _of_one_set(self, positions: NDArray[np.int64]) -> Iterator[StreamItem]:
        if not len(positions):
            return
        number = int(self._sets[positions[0]])
        if number not in self._opened:
            images = self._data[self.schedule.sets[number]]
            self._opened[number] = images if self._transform is None else images.with_transform(self._transform)
        images = self._opened[number]
        pairs = images.__getitems__(self._indices[positions].tolist())
        for position, (image, label) in zip(positions.tolist(), pairs, strict=True):
            sample = self._data.samples[int(self._indices[position])].id
            yield StreamItem(image, label, images.record.id, sample, int(self._shifts[position]), bool(self._resets[position]))
