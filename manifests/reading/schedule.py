"""Schedules: orders over the sets of a data set, as files of ids. docs/schedules.md has the format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...canonical import canonical
from ...errors import ScheduleError
from ...files import reason
from ..disk.atomic import write_atomic
from ..records.digests import sha256_pieces
from ..records.fields import Count, Free, SetId, Sha256
from ..records.models import Record
from ..records.parsing import record_or_mistakes

SCHEDULE_VERSION = 1
R = TypeVar("R", bound=Record)


class ScheduledData(Record):
    """The data set that a schedule is over."""

    name: str
    version: str
    digest: Sha256


class ScheduleHead(Record):
    """The first line of a schedule's file."""

    schedule_version: Literal[1]
    kind: str
    seed: Count
    parameters: Free
    data_set: ScheduledData
    length: Count
    sets: Annotated[list[SetId], Field(min_length=1)]
    samples: Annotated[list[str], Field(min_length=1)]
    """Ids; the other lines number them from 0."""
    digest: Sha256


class ShiftRecord(Record):
    """A line of a schedule's file: one shift of the stream."""

    order: Count
    reset: bool
    set: Count | list[Count]
    """Of all its samples, or of each: places in the head's `sets`."""
    samples: list[Count]
    """Places in the head's `samples`."""


@dataclass(frozen=True)
class Shift:
    """A stretch of a stream: samples of one set, or of several mixed."""

    order: int
    """Of ten random orders: which."""
    reset: bool
    """Whether a model that adapts is put back to its beginning before the first of them."""
    sets: NDArray[np.int64]
    """(n,) places in `Schedule.sets`."""
    samples: NDArray[np.int64]
    """(n,) places in `Schedule.samples`."""

    def line(self) -> bytes:
        """Return it as a line of the file."""
        one = bool((self.sets == self.sets[0]).all()) if len(self.sets) else True
        sets = int(self.sets[0]) if one and len(self.sets) else self.sets.tolist()
        return canonical({"order": self.order, "reset": self.reset, "set": sets, "samples": self.samples.tolist()}) + b"\n"


@dataclass(frozen=True, repr=False)
class Schedule:
    """An order over samples of a data set's sets."""

    kind: str
    seed: int
    parameters: dict[str, Any]
    data_set: ScheduledData
    sets: tuple[str, ...]
    samples: tuple[str, ...]
    shifts: tuple[Shift, ...]

    def __len__(self) -> int:
        return sum(len(shift.samples) for shift in self.shifts)

    def __repr__(self) -> str:
        return f"<Schedule {self.kind} of {self.data_set.name}: {len(self.shifts)} shifts, {len(self)} images, {self.digest}>"

    @cached_property
    def digest(self) -> str:
        """The schedule's name: the sha256 of its file without the head's key `digest`."""
        return sha256_pieces([canonical(self._head), b"\n", *self._lines])

    def write(self, path: str | Path) -> None:
        """Write the file, in place of one that is there."""
        write_atomic(Path(path), canonical({**self._head, "digest": self.digest}) + b"\n", *self._lines)

    @property
    def _head(self) -> dict[str, Any]:
        return {
            "schedule_version": SCHEDULE_VERSION,
            "kind": self.kind,
            "seed": self.seed,
            "parameters": self.parameters,
            "data_set": self.data_set.as_json(),
            "length": len(self),
            "sets": list(self.sets),
            "samples": list(self.samples),
        }

    @cached_property
    def _lines(self) -> list[bytes]:
        return [shift.line() for shift in self.shifts]


def read_schedule(path: str | Path) -> Schedule:
    """Read a schedule's file.

    Raises
    ------
    ScheduleError
        It cannot be read, is no schedule, or is damaged: its digest says so.
    """
    try:
        first, *lines = Path(path).read_bytes().splitlines()
    except OSError as e:
        raise ScheduleError(f"The schedule {path} cannot be read: {reason(e)}.") from None
    except ValueError:
        raise ScheduleError(f"The schedule {path} is empty.") from None
    head = _record(ScheduleHead, first, f"{path}, line 1")
    rows = [_record(ShiftRecord, line, f"{path}, line {number}") for number, line in enumerate(lines, 2)]
    shifts = tuple(_shift(row, head, f"{path}, line {number}") for number, row in enumerate(rows, 2))
    schedule = Schedule(head.kind, head.seed, head.parameters, head.data_set, tuple(head.sets), tuple(head.samples), shifts)
    if (schedule.digest, len(schedule)) != (head.digest, head.length):
        raise ScheduleError(f"The schedule {path} is damaged: its digest is {schedule.digest}, and its first line says {head.digest}.")
    return schedule


def _record(model: type[R], line: bytes, where: str) -> R:
    try:
        json.loads(line)
        record, mistakes = record_or_mistakes(model, line)
    except ValueError as e:
        record, mistakes = None, [f"is no JSON ({e})"]
    if record is None:
        raise ScheduleError(f"{where} is not of a schedule: {'; '.join(mistakes)}.")
    return record


def _shift(row: ShiftRecord, head: ScheduleHead, where: str) -> Shift:
    samples = np.array(row.samples, np.int64)
    sets = np.full(len(samples), row.set, np.int64) if isinstance(row.set, int) else np.array(row.set, np.int64)
    fits = len(sets) == len(samples) and sets.max(initial=0) < len(head.sets) and samples.max(initial=0) < len(head.samples)
    if not fits or not len(samples):
        raise ScheduleError(f"{where}: its sets and samples are not places in the lists of line 1, one set for all samples or for each.")
    return Shift(row.order, row.reset, sets, samples)


def joined(arrays: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return arrays one after the other."""
    return np.concatenate([np.asarray(array, np.int64) for array in arrays]) if arrays else np.empty(0, np.int64)
