"""`schedule`: orders over the sets of a data set, for models that adapt while they are tested, and the images in such an order."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from itertools import groupby, repeat
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import numpy as np

from corruptset.canonical import canonical
from corruptset.cli.options import Force, Ids, PerClass, Samples, Seed, Sets, argument, option, split_globs
from corruptset.corruptions.keys import check_seed, sample_key, stage_key
from corruptset.corruptions.random.philox import fill_words
from corruptset.errors import CorruptsetError
from corruptset.generate.again.from_manifest import specs_of
from corruptset.generate.pixels.picture_file import check_output
from corruptset.generate.recipes.choice import matching_sets
from corruptset.generate.recipes.set_spec import SetSpec
from corruptset.generate.sources.selection import select
from corruptset.manifests.disk.atomic import write_atomic
from corruptset.manifests.reader import DataSet
from corruptset.manifests.reading.image_set import MapStyle
from corruptset.manifests.records.digests import sha256_pieces

from .walks import MALFORMED

T = TypeVar("T")
REVISION = 1
"""Of the draws: another one changes every schedule."""
ONLY = {"continual": (), "gradual": (), "mixed": (), "correlated": ("delta", "slots"), "random-orders": ("orders",)}
"""Kind -> the options that no other kind has."""
UP_AND_DOWN = (1, 2, 3, 4, 5, 4, 3, 2, 1)


class ScheduleError(CorruptsetError, ValueError):
    """A schedule that cannot be made as asked, cannot be read, or is another data set's."""


class Schedule(NamedTuple):
    """An order over samples of a data set's sets: the lines of its file, as the README describes them."""

    head: dict[str, Any]
    shifts: list[dict[str, Any]]

    def lines(self, *without: str) -> list[bytes]:
        """Return the lines as they are written, the first without some keys."""
        head = {key: value for key, value in self.head.items() if key not in without}
        return [canonical(line) + b"\n" for line in (head, *self.shifts)]

    @property
    def digest(self) -> str:
        """The schedule's name: the sha256 of its file without the head's key `digest`."""
        return sha256_pieces(self.lines("digest"))

    def rows(self) -> Any:
        """Return (shift, mark, set, sample) of each image, places in the head's lists; raise ValueError where these lack them."""
        rows: list[tuple[Any, ...]] = []
        for number, shift in enumerate(self.shifts):
            sets = shift["set"] if isinstance(shift["set"], list) else repeat(shift["set"])
            rows += [(number, shift["reset"] and not at, *pair) for at, pair in enumerate(zip(sets, shift["samples"], strict=False))]
        found, ends = np.array(rows, np.int64), [len(self.head["sets"]), len(self.head["samples"])]
        if len(rows) != self.head["length"] or found.min() < 0 or (found[:, 2:] >= ends).any():
            raise ValueError("its shifts name sets or samples that its first line does not, or are of another length")
        return found


def read_schedule(path: str | Path) -> Schedule:
    """Read a schedule's file, or raise `ScheduleError` where it cannot be read, is no schedule, or is damaged."""
    try:
        head, *shifts = map(json.loads, Path(path).read_bytes().splitlines())
        made = Schedule(head, shifts)
        made.rows()
        if made.digest != head["digest"]:
            raise ValueError(f"its digest is {made.digest}, and its first line says {head['digest']}")
    except MALFORMED as e:
        raise ScheduleError(f"The schedule {path} cannot be read, or is damaged ({type(e).__name__}: {e}).") from None
    return made


def schedule(
    directory: Annotated[Path, argument("DIR", "A data set; its images need not be there.")],
    kind: Annotated[
        Literal["continual", "gradual", "mixed", "correlated", "random-orders"],
        option("--kind", "Set after set; up and down the severities; all shuffled into one; labels in runs; several orders."),
    ] = "continual",
    out: Annotated[Path | None, option("--out -o FILE", "The file to write; by default schedule.jsonl.")] = None,
    force: Force = False,
    severity: Annotated[int | None, option("--severity 1-5", "Of the sets; 5 by default, and for gradual all.", min=1)] = None,
    sets: Sets = None,
    reset: Annotated[
        Literal["never", "shift"], option("--reset", "Whether the model is put back at every shift; the marks say so.")
    ] = "never",
    shuffle: Annotated[bool, option("--shuffle/--no-shuffle", "Shuffle the samples of each set.")] = True,
    delta: Annotated[
        float | None,
        option(
            "--delta X", "For correlated: of the Dirichlet distribution; 0.1 by default, 0.01 from 1,000 classes on; 0 is one run a class."
        ),
    ] = None,
    slots: Annotated[int | None, option("--slots N", "For correlated: stretches of a set; by default one a class.", min=1)] = None,
    orders: Annotated[int | None, option("--orders N", "For random-orders: how many; 10 by default.", min=1)] = None,
    seed: Seed = 0,
    samples: Samples = None,
    per_class: PerClass = None,
    ids: Ids = None,
) -> Schedule:
    """Return an order over the sets of a data set, and write it to a file if `out` is given; the README says what the options mean.

    The digest of the order is the same on every machine. What is drawn follows from the seed, the kind and the number of samples, and of
    correlated from their labels.

    Raises
    ------
    ScheduleError, SourceError
        The data set lacks sets or samples for it, or options do not go together.
    """
    given = {"delta": delta, "slots": slots, "orders": orders}
    own: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    right = kind in ONLY and reset in ("never", "shift") and not own.keys() - ONLY[kind]
    if not right or not all(0 <= value < 1e9 for value in own.values()):
        raise ScheduleError(f"There is no schedule {kind!r} with reset {reset!r} and {own}. Own options of the kinds: {ONLY}, from 0 on.")
    if out is not None:
        check_output(Path(out), force=force, formats=(Path(out).suffix,))
    data = DataSet(directory)
    chosen = select(data.samples, samples=samples, per_class=per_class, ids=ids)  # type: ignore[arg-type]
    key = stage_key(check_seed(seed), [(f"schedule@{REVISION}", {"kind": kind})])
    classes, each = len(data.classes), reset == "shift"
    usual = {"delta": 0.1 if classes < 1000 else 0.01, "slots": classes, "orders": 10}
    own = {name: own.get(name, usual[name]) for name in ONLY[kind]}
    specs = _sets(data, split_globs(sets), UP_AND_DOWN if kind == "gradual" else (severity,))
    ways = [_shuffled(key, f"order {n}", specs) for n in range(own.get("orders", 0))] or [specs]
    ways = _climbs(specs) if kind == "gradual" else ways
    names: dict[str, int] = {}
    shifts: list[dict[str, Any]] = []
    for order, at, spec in ((order, at, spec) for order, way in enumerate(ways) for at, spec in enumerate(way)):
        number, places = len(shifts), list(range(len(chosen)))
        if shuffle:
            places = _shuffled(key, f"samples {number}", places)
        if kind == "correlated":
            places = _in_runs(key, [sample.class_index for sample in chosen], places, number, **own)
        mark = (at == 0 and (order == 0 or kind != "gradual")) or (each and not (at and kind == "gradual"))
        of = names.setdefault(spec.id, len(names))
        shifts.append({"order": order * (kind != "gradual"), "reset": mark, "set": of, "samples": places})
    if kind == "mixed" and len(shifts) > 1:
        pairs = _shuffled(key, "all", [(shift["set"], place) for shift in shifts for place in shift["samples"]])
        shifts = [{"order": 0, "reset": True, "set": [of for of, _ in pairs], "samples": [place for _, place in pairs]}]
    head: dict[str, Any] = {
        "schedule_version": 1,
        "kind": kind,
        "seed": seed,
        "parameters": {"reset": reset, "shuffle": shuffle, **own},
        "data_set": {"name": data.manifest.name, "version": data.manifest.version, "digest": data.digest},
        "length": sum(len(shift["samples"]) for shift in shifts),
        "sets": list(names),
        "samples": [sample.id for sample in chosen],
    }
    made = Schedule(head, shifts)
    head["digest"] = made.digest
    if out is not None:
        write_atomic(Path(out), *made.lines())
    return made


def _sets(data: DataSet, globs: Sequence[str] | None, severities: Sequence[int | None]) -> list[SetSpec]:
    """Return the sets in the recipe's order: those that are named, at severities that are given; else tests of one corruption, at 5."""
    specs, problems = matching_sets([spec for spec in specs_of(data.manifest) if spec.id in data], globs or ["*"])
    if globs is None:
        specs, severities = [spec for spec in specs if spec.role == "test"], [severity or 5 for severity in severities]
    if None not in severities:
        specs = [spec for spec in specs if len(spec.stages) == 1 and spec.stages[0].severity in severities]
    if problems or not specs:
        raise ScheduleError(
            " ".join(problems) or f"{data.path} has no set of one corruption at severity {severities[0]}. Name others: --sets."
        )
    return specs


def _climbs(specs: Sequence[SetSpec]) -> list[list[SetSpec]]:
    """Return the sets of each corruption, up and down."""
    found = {(spec.stages[0].corruption, spec.stages[0].severity): spec for spec in specs}
    try:
        return [[found[name, severity] for severity in UP_AND_DOWN] for name in dict.fromkeys(name for name, _ in found)]
    except KeyError as e:
        raise ScheduleError(f"gradual goes through severities 1 to 5, and {e} is not there. Leave the corruption out (--sets).") from None


def _words(key: np.uint64, name: str, count: int) -> Any:
    """Return random whole numbers below 2**64, counter-based: equal on every machine."""
    words = np.empty(2 * count, np.uint32)
    fill_words(words, 0, key, sample_key(name), 0)
    return words[::2].astype(np.uint64) << np.uint64(32) | words[1::2]


def _shuffled(key: np.uint64, name: str, items: Sequence[T]) -> list[T]:
    """Return items in a random order."""
    return [items[n] for n in np.argsort(_words(key, name, len(items)), kind="stable")]


def _in_runs(key: np.uint64, labels: Sequence[int], places: list[int], visit: int, delta: float, slots: int) -> list[int]:
    """Return samples so that labels come in runs.

    Each class has proportions over `slots`, drawn from a symmetric Dirichlet distribution of concentration `delta`; each of its
    samples falls into a slot by them. Slot follows slot, and in a slot class follows class, in a random order of its own. The
    proportions are never made: a Polya urn draws the same slots. A sample falls into a slot at random with weight slots * delta,
    and with weight 1 into that of each sample of its class before it.
    """
    filled: dict[int, list[int]] = {label: [] for label in labels}
    stretches: dict[tuple[int, int], list[int]] = {}
    new = slots * delta
    for place, word in zip(places, _words(key, f"slots {visit}", len(places)).tolist(), strict=True):
        uniform, before = (word >> 11) * 2.0**-53, filled[labels[place]]
        at = uniform * (new + len(before))
        slot = min(int(at / new * slots if new else uniform * slots), slots - 1)
        if before and at >= new:
            slot = before[min(int(at - new), len(before) - 1)]
        before.append(slot)
        stretches.setdefault((slot, labels[place]), []).append(place)
    runs: list[int] = []
    for slot, stretch in groupby(sorted(stretches), lambda one: one[0]):
        for one in _shuffled(key, f"classes {visit} {slot}", list(stretch)):
            runs += stretches[one]
    return runs


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
    """A data set's images in the order of a schedule, or of its file.

    ``len(s)``; ``s[i]`` and iteration give `StreamItem`; a slice gives a stream: ``s[k:]`` goes on at image k. It may be pickled, and
    used in forked or spawned workers. `transform` is given each image as a PIL image, as torchvision's data sets give it.

    Raises
    ------
    ScheduleError
        The schedule cannot be read, or is another data set's.
    """

    def __init__(self, data: DataSet, schedule: Schedule | str | Path, transform: Callable[[Any], Any] | None = None) -> None:
        self.schedule = schedule if isinstance(schedule, Schedule) else read_schedule(schedule)
        head = self.schedule.head
        if head["data_set"]["digest"] != data.digest:
            raise ScheduleError(f"The schedule is of {head['data_set']}; this data set is {data!r}. Make one for it: corruptset schedule.")
        index = {sample.id: number for number, sample in enumerate(data.samples)}
        self._index, self._rows = [index[id] for id in head["samples"]], self.schedule.rows()
        self._sets = [data.torch(name, transform) for name in head["sets"]]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        rows = self._rows[index]
        if rows.ndim > 1:
            part = copy.copy(self)
            part._rows = rows
            return part
        shift, mark, of, at = rows.tolist()
        image, label = self._sets[of][self._index[at]]
        return StreamItem(image, label, self.schedule.head["sets"][of], self.schedule.head["samples"][at], shift, bool(mark))
