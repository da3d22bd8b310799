"""Write schedules, and iterate over the images in them. A schedule is a recorded order of the samples of a dataset."""

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
from corruptset.cli.options import split_list
from corruptset.corruptions.keys import check_seed, sample_key, stage_key
from corruptset.corruptions.random.philox import fill_words
from corruptset.errors import CorruptsetError
from corruptset.generate.pixels.image_file import check_output
from corruptset.generate.recipes.choice import match_sets
from corruptset.generate.reproduction.recorded_build import specs_of
from corruptset.generate.sources.selection import select
from corruptset.manifests.disk.atomic import write_atomic
from corruptset.manifests.reader import Dataset
from corruptset.manifests.reading.image_set import MapStyle
from corruptset.manifests.records.digests import sha256_bytes

REVISION = 1
"""The version of the random draws. A new version changes every schedule."""
UP_AND_DOWN = [*map(int, "123454321")]
"""The severities of each corruption in a gradual schedule, in this order."""


class ScheduleError(CorruptsetError, ValueError):
    """An error for a schedule with unsuitable options, a schedule that cannot be read, or one for another dataset."""


class Schedule(NamedTuple):
    """A recorded order of the samples of a dataset: the header line of a schedule file, and the list of shifts.

    The README describes the file.
    """

    head: dict[str, Any]
    shifts: list[dict[str, Any]]

    @property
    def digest(self) -> str:
        """The digest of the schedule: the SHA-256 of its file, without the key `digest` in the first line."""
        return str(self.head["digest"])


def read_schedule(path: str | Path) -> Schedule:
    """Read a schedule file. Raise `ScheduleError` if it cannot be read or is damaged."""
    try:
        first, rest = Path(path).read_bytes().split(b"\n", 1)
        head = json.loads(first)
        named = head.pop("digest")
        if (digest := sha256_bytes(canonical(head) + b"\n" + rest)) != named:
            raise ValueError(f"its digest is {digest}, but its first line contains {named}")
        return Schedule(head | {"digest": digest}, [json.loads(line) for line in rest.splitlines()])
    except Exception as e:  # A file in another format can raise any exception.
        raise ScheduleError(
            f"The schedule {path} cannot be read or is damaged ({type(e).__name__}: {e}). Write it again with "
            "`corruptset schedule`."
        ) from None


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
    samples: int | None = None,
    per_class: int | None = None,
    ids: str | Path | Sequence[str] | None = None,
) -> Schedule:
    """Make a schedule for a dataset, and write it to a file if `out` is given.

    The schedule and its digest are the same on all machines. Random draws depend on the seed, the kind and the number
    of samples. If `kind` is ``"correlated"``, they also depend on the labels.

    Parameters
    ----------
    directory : str or Path
        The directory of the dataset. Its images may be missing.
    kind : {"continual", "gradual", "mixed", "correlated", "random-orders"}
        The order of sets and samples. The README describes each kind.
    out : str or Path, optional
        The file to write. By default, no file is written.
    force : bool
        Overwrite the file if it exists.
    severity : int, optional
        The severity of the sets. The default is 5, and a gradual schedule uses all severities.
    sets : list of str, optional
        Set ids, aliases or patterns. By default, the test sets with a single corruption are used.
    reset : {"never", "shift"}
        Whether the model should be reset at every shift, or never after the start of an order.
    shuffle : bool
        Shuffle the samples of each set.
    seed : int
        The random seed, from 0 to 2**53 - 1.
    delta, slots : float and int, optional
        The concentration of the Dirichlet distribution, and the number of slots per set. They can only be given if
        `kind` is ``"correlated"``.
    orders : int, optional
        The number of random orders of the sets. It can only be given if `kind` is ``"random-orders"``. The default is
        10.
    samples, per_class, ids : optional
        Options that select samples, as for `corruptset.build`.

    Raises
    ------
    ScheduleError
        If the options do not suit the kind, or if no set matches.
    """
    if out is not None:
        check_output(Path(out), force=force, formats=(Path(out).suffix,))
    data = Dataset(directory)
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
    wrong = [f"--kind {kind} does not exist. Choose one of {', '.join(usual)}."] * (kind not in usual)
    wrong += [f"--reset {reset} does not exist. Choose never or shift."] * (reset not in ("never", "shift"))
    wrong += [
        "--severity cannot be used with --kind gradual, which uses all five severities. Leave out --severity."
    ] * (climbs and severity is not None)
    for name, value in given.items():
        least, right_kind = int(name != "delta"), next(one for one, options in usual.items() if name in options)
        wrong += [f"--{name} can only be used with --kind {right_kind}."] * (kind != right_kind)
        wrong += [f"--{name} is {value}. Use a number from {least} to 1e9."] * (not least <= value < 1e9)
    if wrong:
        raise ScheduleError(" ".join(wrong))
    settings = usual[kind] | given
    # The records have all attributes of `Sample` that the selection reads.
    chosen = select(data.samples, samples=samples, per_class=per_class, ids=ids)  # type: ignore[arg-type]
    key = stage_key(check_seed(seed), [(f"schedule@{REVISION}", {"kind": kind})])
    passes = [_sets(data, split_list(sets), severity, climbs)]
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


def _sets(data: Dataset, globs: Any, severity: int | None, climbs: bool) -> list[str]:
    """Return set ids in the order of the recipe. If `climbs` is true, go up and down each corruption's severities.

    Without `globs`, the test sets with a single corruption are used, by default at severity 5.
    """
    specs, problems = match_sets([spec for spec in specs_of(data.manifest) if spec.id in data], globs or ["*"])
    if globs is None:
        specs, severity = [spec for spec in specs if spec.role == "test"], 5 if severity is None else severity
    if climbs or severity is not None:
        severities = UP_AND_DOWN if climbs else [severity]
        specs = [spec for spec in specs if len(spec.stages) == 1 and spec.stages[0].severity in severities]
    if problems or not specs:
        raise ScheduleError(
            " ".join(problems)
            or f"{data.path} has no set of a single corruption at severity {severity}. Select other sets with --sets."
        )
    if not climbs:
        return [spec.id for spec in specs]
    found = {(spec.stages[0].corruption, spec.stages[0].severity): spec.id for spec in specs}
    try:
        return [found[name, severity] for name in dict.fromkeys(name for name, _ in found) for severity in UP_AND_DOWN]
    except KeyError as e:
        name, absent = e.args[0]
        raise ScheduleError(
            f"--kind gradual needs severities 1 to 5 of each corruption, but {data.path} has no set {name}/{absent}. "
            "Select other corruptions with --sets."
        ) from None


def _words(key: np.uint64, name: str, count: int) -> NDArray[np.uint64]:
    """Return random integers below 2**64 from a counter-based generator. They are the same on all machines."""
    words = np.empty(2 * count, np.uint32)
    fill_words(words, 0, key, sample_key(name), 0)
    return words[::2].astype(np.uint64) << np.uint64(32) | words[1::2]


def _shuffled(key: np.uint64, name: str, items: Sequence[Any]) -> list[Any]:
    """Return items in a random order."""
    return [items[n] for n in np.argsort(_words(key, name, len(items)), kind="stable").tolist()]


def _in_runs(key: np.uint64, labels: list[int], places: list[int], visit: int, delta: float, slots: int) -> list[int]:
    """Return the samples in an order with runs of equal labels.

    The proportions of a class over the slots follow a symmetric Dirichlet distribution with the concentration `delta`.
    Each sample of the class is assigned to a slot with these probabilities. Slots follow one another, and within a
    slot, the classes follow one another in random order.

    A Polya urn draws such slots without computing the proportions. A sample is assigned to a uniformly random slot with
    weight ``slots * delta``. It is assigned to the slot of each earlier sample from the same class with weight 1.
    """
    filled: dict[int, list[int]] = defaultdict(list)  # The slots of the samples with each label.
    runs: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))  # The samples by slot and label.
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
    """An image in a stream, with its label and origin."""

    image: Any
    """An ndarray (H, W, C) of uint8, or the result of the transform."""
    label: int
    set: str
    id: str
    shift: int
    """The number of the shift in the schedule, counted from 0."""
    reset: bool
    """Whether an adapting model should be reset to its initial state before this image."""


class Stream(MapStyle[StreamItem]):
    """A sequence of the images of a dataset, in the order of a schedule.

    Indexing and iteration return `StreamItem` objects. A slice such as ``stream[k:]`` returns a stream that starts at
    image k. Streams can be pickled, and they can be used in forked or spawned workers.

    Parameters
    ----------
    data : Dataset
        The dataset that the schedule was written for.
    schedule : Schedule, str or Path
        The schedule, or the path of its file.
    transform : callable, optional
        A function that is applied to each image. It receives a PIL image, as in torchvision's datasets.

    Raises
    ------
    ScheduleError
        If the schedule cannot be read or belongs to a different dataset.
    """

    def __init__(self, data: Dataset, schedule: Schedule | str | Path, transform: Any = None) -> None:
        self.schedule = schedule if isinstance(schedule, Schedule) else read_schedule(schedule)
        head, shifts = self.schedule
        of = head.get("data_set")
        if not isinstance(of, dict) or of.get("digest") != data.digest:
            raise ScheduleError(
                f"The schedule belongs to {of}, but this dataset is {data!r}. Write a schedule for this dataset with "
                "`corruptset schedule`."
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
            # This call raises ValueError if a position is out of range.
            np.ravel_multi_index(self._rows.T[2:], (len(self._sets), len(self._index)))
        except (LookupError, TypeError, ValueError):  # The file has a valid digest but wrong contents.
            raise ScheduleError(
                "The schedule refers to sets or samples that are missing from its first line or from the dataset. "
                "Write it again with `corruptset schedule`."
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
