"""`schedule`: orders over the sets of a data set, for models that adapt while they are tested, and the images in such
an order.
"""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corruptset.canonical import canonical
from corruptset.cli.options import split_globs
from corruptset.corruptions.keys import check_seed, sample_key, stage_key
from corruptset.corruptions.random.philox import fill_words
from corruptset.errors import CorruptsetError
from corruptset.generate.pixels.picture_file import check_output
from corruptset.generate.recipes.choice import matching_sets
from corruptset.generate.reproduction.recorded_build import specs_of
from corruptset.generate.sources.selection import select
from corruptset.manifests.disk.atomic import write_atomic
from corruptset.manifests.reader import DataSet
from corruptset.manifests.reading.image_set import MapStyle
from corruptset.manifests.records.digests import sha256_bytes

REVISION = 1
"""Of the draws: another one changes every schedule."""
UP_AND_DOWN = [*map(int, "123454321")]
"""Severities of a corruption in a gradual schedule."""


class ScheduleError(CorruptsetError, ValueError):
    """A schedule that cannot be made as asked, cannot be read, or is another data set's."""


class Schedule(NamedTuple):
    """An order over samples of a data set's sets: the lines of its file, as the README describes them."""

    head: dict[str, Any]
    shifts: list[dict[str, Any]]

    @property
    def digest(self) -> str:
        """The schedule's name: the sha256 of its file without the head's key `digest`."""
        return str(self.head["digest"])


def read_schedule(path: str | Path) -> Schedule:
    """Read a schedule's file, or raise `ScheduleError` where it cannot be read, is no schedule, or is damaged."""
    try:
        first, rest = Path(path).read_bytes().split(b"\n", 1)
        head = json.loads(first)
        named = head.pop("digest")
        if (digest := sha256_bytes(canonical(head) + b"\n" + rest)) != named:
            raise ValueError(f"its digest is {digest}, and its first line says {named}")
        return Schedule(head | {"digest": digest}, [json.loads(line) for line in rest.splitlines()])
    except Exception as e:  # whatever a file of another form raises
        raise ScheduleError(f"The schedule {path} cannot be read, or is damaged ({type(e).__name__}: {e}).") from None


def schedule(
    directory: str | Path,
    kind: str = "continual",
    out: str | Path | None = None,
    force: bool = False,
    severity: int | None = None,
    sets: list[str] | None = None,
    reset: str = "never",
    shuffle: bool = True,
    seed: int = 0,
    delta: float | None = None,
    slots: int | None = None,
    orders: int | None = None,
    **selection: Any,
) -> Schedule:
    """Return an order over the sets of a data set, and write it to a file if `out` is given; the README says what the
    options mean.

    The digest of the order is the same on every machine. What is drawn follows from the seed, the kind and the number
    of samples, and of correlated from their labels. `selection`: samples, per_class and ids.
    """
    if out is not None:
        check_output(Path(out), force=force, formats=(Path(out).suffix,))
    data = DataSet(directory)
    classes, climbs = len(data.classes), kind == "gradual"
    usual: dict[str, dict[str, Any]] = {
        "continual": {},
        "gradual": {},
        "mixed": {},
        "correlated": {"delta": 0.1 if classes < 1000 else 0.01, "slots": classes},
        "random-orders": {"orders": 10},
    }
    given = {
        name: value for name, value in (("delta", delta), ("slots", slots), ("orders", orders)) if value is not None
    }
    wrong = [f"--kind is {kind!r}; expected {', '.join(usual)}"] * (kind not in usual)
    wrong += [f"--reset is {reset!r}; expected never or shift"] * (reset not in ("never", "shift"))
    wrong += ["--severity is not for --kind gradual, which goes through all five"] * (climbs and severity is not None)
    for name, value in given.items():
        least, own_kind = int(name != "delta"), next(one for one, own in usual.items() if name in own)
        wrong += [f"--{name} is for --kind {own_kind}"] * (kind != own_kind)
        wrong += [f"--{name} is {value}; expected a number from {least}"] * (not least <= value < 1e9)
    if wrong:
        raise ScheduleError(f"There is no such schedule: {'; '.join(wrong)}.")
    settings = usual[kind] | given
    chosen = select(data.samples, **selection)  # type: ignore[arg-type]
    key = stage_key(check_seed(seed), [(f"schedule@{REVISION}", {"kind": kind})])
    passes = [_sets(data, split_globs(sets), severity, climbs)]
    if kind == "random-orders":
        passes = [_shuffled(key, f"order {order}", passes[0]) for order in range(settings["orders"])]
    names = list(dict.fromkeys(passes[0]))
    every, shifts = range(len(chosen)), list[dict[str, Any]]()
    for order, one_pass in enumerate(passes):
        for at, name in enumerate(one_pass):
            places = _shuffled(key, f"samples {len(shifts)}", every) if shuffle else [*every]
            if kind == "correlated":
                places = _in_runs(key, [sample.class_index for sample in chosen], places, len(shifts), **settings)
            mark = not at or (reset == "shift" and not (climbs and at % len(UP_AND_DOWN)))
            shifts.append({"order": order, "reset": mark, "set": names.index(name), "samples": places})
    length = len(shifts) * len(chosen)
    if kind == "mixed" and len(shifts) > 1:
        pairs = _shuffled(key, "all", [(shift["set"], place) for shift in shifts for place in shift["samples"]])
        of, places = map(list, zip(*pairs, strict=True))
        shifts = [{"order": 0, "reset": True, "set": of, "samples": places}]
    head: dict[str, Any] = {
        "schedule_version": 1,
        "kind": kind,
        "seed": seed,
        "parameters": {"reset": reset, "shuffle": shuffle, **settings},
        "data_set": {"name": data.manifest.name, "version": data.manifest.version, "digest": data.digest},
        "length": length,
        "sets": names,
        "samples": [sample.id for sample in chosen],
    }
    rest = b"".join(canonical(shift) + b"\n" for shift in shifts)
    head["digest"] = sha256_bytes(canonical(head) + b"\n" + rest)
    if out is not None:
        write_atomic(Path(out), canonical(head) + b"\n", rest)
    return Schedule(head, shifts)


def _sets(data: DataSet, globs: Any, severity: int | None, climbs: bool) -> list[str]:
    """Return the sets in the recipe's order, or each corruption's up and down: those that are named, else tests of one
    corruption, at 5.
    """
    specs, problems = matching_sets([spec for spec in specs_of(data.manifest) if spec.id in data], globs or ["*"])
    if globs is None:
        specs, severity = [spec for spec in specs if spec.role == "test"], 5 if severity is None else severity
    if climbs or severity is not None:
        severities = UP_AND_DOWN if climbs else [severity]
        specs = [spec for spec in specs if len(spec.stages) == 1 and spec.stages[0].severity in severities]
    if problems or not specs:
        raise ScheduleError(
            " ".join(problems)
            or f"{data.path} has no set of one corruption at severity {severity}. Name others: --sets."
        )
    if not climbs:
        return [spec.id for spec in specs]
    found = {(spec.stages[0].corruption, spec.stages[0].severity): spec.id for spec in specs}
    try:
        return [found[name, severity] for name in dict.fromkeys(name for name, _ in found) for severity in UP_AND_DOWN]
    except KeyError as e:
        raise ScheduleError(
            f"gradual goes through severities 1 to 5, and {e} is not there. Leave the corruption out (--sets)."
        ) from None


def _words(key: np.uint64, name: str, count: int) -> NDArray[np.uint64]:
    """Return random whole numbers below 2**64, counter-based: equal on every machine."""
    words = np.empty(2 * count, np.uint32)
    fill_words(words, 0, key, sample_key(name), 0)
    return words[::2].astype(np.uint64) << np.uint64(32) | words[1::2]


def _shuffled(key: np.uint64, name: str, items: Sequence[Any]) -> list[Any]:
    """Return items in a random order."""
    return [items[n] for n in np.argsort(_words(key, name, len(items)), kind="stable").tolist()]


def _in_runs(key: np.uint64, labels: list[int], places: list[int], visit: int, delta: float, slots: int) -> list[int]:
    """Return samples so that labels come in runs.

    Each class has proportions over `slots`, drawn from a symmetric Dirichlet distribution of concentration `delta`;
    each of its samples falls into a slot by them. Slot follows slot, and in a slot class follows class, in a random
    order of its own. The proportions are never made: a Polya urn draws the same slots. A sample falls into a slot at
    random with weight slots * delta, and with weight 1 into that of each sample of its class before it.
    """
    filled: dict[int, list[int]] = defaultdict(list)  # label -> the slot of each of its samples
    runs: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))  # slot -> label -> samples
    new = slots * delta
    for place, word in zip(places, _words(key, f"slots {visit}", len(places)).tolist(), strict=True):
        uniform, before = (word >> 11) * 2.0**-53, filled[labels[place]]
        at = uniform * (new + len(before))
        slot = min(int(at / new * slots if new else uniform * slots), slots - 1)
        if before and at >= new:
            slot = before[min(int(at - new), len(before) - 1)]
        before.append(slot)
        runs[slot][labels[place]].append(place)
    return [
        place
        for slot, run in sorted(runs.items())
        for one in _shuffled(key, f"classes {visit} {slot}", sorted(run))
        for place in run[one]
    ]


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

    ``len(s)``; ``s[i]`` and iteration give `StreamItem`; a slice gives a stream: ``s[k:]`` goes on at image k. It may
    be pickled, and used in forked or spawned workers. `transform` is given each image as a PIL image, as torchvision's
    data sets give it. A schedule that cannot be read, or is another data set's, is a `ScheduleError`.
    """

    def __init__(self, data: DataSet, schedule: Schedule | str | Path, transform: Any = None) -> None:
        self.schedule = schedule if isinstance(schedule, Schedule) else read_schedule(schedule)
        head, shifts = self.schedule
        of = head.get("data_set")
        if not isinstance(of, dict) or of.get("digest") != data.digest:
            raise ScheduleError(
                f"The schedule is of {of}; this data set is {data!r}. Make one for it: corruptset schedule."
            )
        index = {sample.id: number for number, sample in enumerate(data.samples)}
        try:
            self._index, self._sets = (
                [index[id] for id in head["samples"]],
                [data.torch(name, transform) for name in head["sets"]],
            )
            columns = [
                (number, range(len(shift["samples"])), shift["set"], shift["samples"])
                for number, shift in enumerate(shifts)
            ]
            self._rows = np.concatenate([np.stack(np.broadcast_arrays(*shift), 1) for shift in columns])
            # refuses places that are not there
            np.ravel_multi_index(self._rows.T[2:], (len(self._sets), len(self._index)))
        except (LookupError, TypeError, ValueError):  # a file of another form, with a digest that fits
            raise ScheduleError(
                "The schedule's lines name sets or samples that its first line does not, or the data set does not."
            ) from None

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        rows = self._rows[index]
        if rows.ndim > 1:
            part = copy.copy(self)
            part._rows = rows
            return part
        shift, at, of, place = rows.tolist()
        head, shifts = self.schedule
        image, label = self._sets[of][self._index[place]]
        return StreamItem(
            image, label, head["sets"][of], head["samples"][place], shift, not at and shifts[shift]["reset"]
        )
