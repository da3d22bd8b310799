"""`schedule`: orders over the sets of a data set, for models that adapt while they are tested. No pixels are made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ..corruptions.keys import check_seed, sample_key, stage_key
from ..errors import ScheduleError, first_few
from ..manifests.reader import DataSet
from ..manifests.reading.schedule import Schedule, ScheduledData, Shift, joined
from ..manifests.records.models import SetRecord
from .again.from_manifest import specs_of
from .pixels.picture_file import check_output
from .recipes.choice import matching_sets
from .sources.selection import select

Kind = Literal["continual", "gradual", "mixed", "correlated", "random-orders"]
REVISION = 1
"""Of the draws: another one changes every schedule."""
UP_AND_DOWN = (1, 2, 3, 4, 5, 4, 3, 2, 1)
MANY_CLASSES = 1000
"""From so many classes on, labels come in runs as they do in the papers' ImageNet."""
ONLY = {"delta": ("correlated",), "slots": ("correlated",), "orders": ("random-orders",)}


class _Visit(NamedTuple):
    """A set that the stream comes to."""

    order: int
    reset: bool
    record: SetRecord


def schedule(
    directory: str | Path,
    kind: Kind = "continual",
    *,
    out: str | Path | None = None,
    force: bool = False,
    severity: int | None = None,
    sets: Sequence[str] | None = None,
    reset: Literal["never", "shift"] = "never",
    shuffle: bool = True,
    delta: float | None = None,
    slots: int | None = None,
    orders: int | None = None,
    seed: int = 0,
    samples: int | None = None,
    per_class: int | None = None,
    ids: str | Path | Sequence[str] | None = None,
) -> Schedule:
    """Return an order over the sets of a data set, and write it to a file.

    Parameters
    ----------
    directory : path
        A data set, or the records of one.
    kind : {"continual", "gradual", "mixed", "correlated", "random-orders"}
        One set after the other in the recipe's order; each corruption through severities 1 2 3 4 5 4 3 2 1; all sets shuffled into one;
        as continual, with the labels of each set in runs; as continual, in several random orders of the sets.
    out : path, optional
        The file to write.
    force : bool
        Overwrite it if it exists.
    severity : int, optional
        Of the sets of one corruption; 5 by default. Not for gradual, which has all.
    sets : sequence of str, optional
        Globs over ids and aliases: these sets, in place of all those with a severity whose role is test.
    reset : {"never", "shift"}
        Whether a model is put back at every shift (for gradual: at every corruption). The first image of an order has the mark always.
    shuffle : bool
        Whether each set's samples are shuffled anew; else they keep the data set's order.
    delta : float, optional
        Of the Dirichlet distribution that spreads each class over the slots: 0.1 by default, 0.01 for 1,000 classes and more; 0 is one
        run a class.
    slots : int, optional
        Into how many stretches a set is cut; by default as many as there are classes.
    orders : int, optional
        How many random orders; 10 by default.
    seed : int
        0..2**53 - 1. What is drawn follows from it, the kind and the number of samples, and of correlated from their labels.
    samples, per_class, ids : optional
        Which samples: so many spread evenly; the first so many of every class; these ids, or a file with one a line.

    Returns
    -------
    Schedule
        ``schedule.digest`` names it, the same on every machine.

    Raises
    ------
    ScheduleError
        The data set lacks sets for it, or options do not go together.
    UnknownCorruption, SourceError
        A pattern that matches no set; samples that the data set does not have.
    """
    given = {"delta": delta, "slots": slots, "orders": orders}
    _check(kind, reset, severity, given)
    if out is not None:
        check_output(Path(out), force=force, formats=(Path(out).suffix,))
    data = DataSet(directory)
    numbered: Any = data.samples
    chosen = select(numbered, samples=samples, per_class=per_class, ids=ids)
    labels = np.array([record.class_index if kind == "correlated" else record.label or 0 for record in chosen], np.int64)
    draws = _Draws(kind, check_seed(seed), labels)
    records = _records(data, sets, severity, gradual=kind == "gradual")
    parameters: dict[str, Any] = {"reset": reset, "shuffle": shuffle}
    if kind == "correlated":
        few = len(data.classes) < MANY_CLASSES
        parameters |= {"delta": (0.1 if few else 0.01) if delta is None else delta, "slots": slots or len(data.classes)}
    if kind == "random-orders":
        parameters["orders"] = orders or 10
    visits = _visits(kind, records, reset, draws, parameters.get("orders", 1))
    names = list(dict.fromkeys(visit.record.id for visit in visits))
    shifts = []
    for number, visit in enumerate(visits):
        order = draws.samples(number, shuffle)
        if kind == "correlated":
            order = draws.runs(order, number, parameters["delta"], parameters["slots"])
        place = names.index(visit.record.id)
        shifts.append(Shift(visit.order, visit.reset, np.full(len(order), place, np.int64), order))
    if kind == "mixed":
        pairs = joined([shift.sets for shift in shifts]), joined([shift.samples for shift in shifts])
        mixed = draws.permutation("all", len(pairs[0]))
        shifts = [Shift(0, True, pairs[0][mixed], pairs[1][mixed])]
    of = ScheduledData(name=data.manifest.name, version=data.manifest.version, digest=data.digest)
    made = Schedule(kind, seed, parameters, of, tuple(names), tuple(record.id for record in chosen), tuple(shifts))
    if out is not None:
        made.write(out)
    return made


def _check(kind: str, reset: str, severity: int | None, given: dict[str, Any]) -> None:
    problems = []
    if kind not in get_args(Kind):
        problems.append(f"kind is {kind!r}; expected one of {', '.join(get_args(Kind))}")
    if reset not in ("never", "shift"):
        problems.append(f"reset is {reset!r}; expected never or shift")
    if severity is not None and (severity not in range(1, 6) or kind == "gradual"):
        problems.append(f"severity is {severity!r}; expected 1 to 5, and none for gradual, which goes through all")
    problems += [
        f"{name} goes with {' and '.join(ONLY[name])}, not with {kind}" for name in given if given[name] and kind not in ONLY[name]
    ]
    if (delta := given["delta"]) is not None and not (np.isfinite(delta) and delta >= 0):
        problems.append(f"delta is {delta!r}; expected a number from 0 upwards")
    problems += [
        f"{n} is {given[n]!r}; expected a whole number from 1" for n in ("slots", "orders") if given[n] is not None and given[n] < 1
    ]
    if problems:
        raise ScheduleError(f"The schedule cannot be made: {'; '.join(problems)}.")


def _records(data: DataSet, globs: Sequence[str] | None, severity: int | None, *, gradual: bool) -> list[SetRecord]:
    """Return the sets in the recipe's order: those that are named; else those of one corruption whose role is test.

    At one severity, 5 by default; where sets are named, only at one that is given. For gradual, at all.
    """
    specs = [spec for spec in specs_of(data.manifest) if spec.id in data]
    if globs is not None:
        specs, problems = matching_sets(specs, globs)
        if problems:
            raise ScheduleError(f"--sets: {'; '.join(problems)}")
    by_id = {record.id: record for record in data.manifest.sets}
    records = [by_id[spec.id] for spec in specs]
    if globs is None or gradual or severity is not None:
        wanted = UP_AND_DOWN if gradual else (5 if severity is None else severity,)
        alone = [record for record in records if len(record.stages) == 1 and (globs is not None or record.role == "test")]
        records = [record for record in alone if record.stages[0].severity in wanted]
    if not records:
        where = "at severities 1 to 5" if gradual else f"at severity {5 if severity is None else severity}"
        raise ScheduleError(f"{data.path} has no set of one corruption {where} for this schedule. Name others with --sets.")
    return records


def _visits(kind: str, records: Sequence[SetRecord], reset: str, draws: _Draws, orders: int) -> list[_Visit]:
    """Return which set comes after which."""
    each = reset == "shift"
    if kind == "random-orders":
        places = [(order, draws.permutation(f"order {order}", len(records))) for order in range(orders)]
        return [_Visit(order, each or at == 0, records[place]) for order, permuted in places for at, place in enumerate(permuted)]
    if kind != "gradual":
        return [_Visit(0, each or at == 0, record) for at, record in enumerate(records)]
    by_corruption: dict[str, dict[float | None, SetRecord]] = {}
    for record in records:
        by_corruption.setdefault(record.stages[0].corruption, {})[record.stages[0].severity] = record
    if partly := [name for name, found in by_corruption.items() if len(found) < max(UP_AND_DOWN)]:
        raise ScheduleError(
            f"gradual goes through severities 1 to 5, and not all are there of {first_few(partly)}. Leave them out (--sets)."
        )
    climbs = [[found[severity] for severity in UP_AND_DOWN] for found in by_corruption.values()]
    return [_Visit(0, at == 0 and (each or n == 0), record) for n, climb in enumerate(climbs) for at, record in enumerate(climb)]


class _Draws:
    """What is drawn for a schedule: by counter-based random numbers and + - * / alone, so equal on every machine."""

    def __init__(self, kind: str, seed: int, labels: NDArray[np.int64]) -> None:
        self._key = stage_key(seed, [(f"schedule@{REVISION}", {"kind": kind})])
        self._labels = labels

    def words(self, name: str, count: int) -> NDArray[np.uint64]:
        """Return whole numbers below 2**64."""
        from ..corruptions.random.philox import fill_words

        words = np.empty(2 * count, np.uint32)
        fill_words(words, 0, self._key, sample_key(name), 0)
        return words[::2].astype(np.uint64) << np.uint64(32) | words[1::2]

    def permutation(self, name: str, count: int) -> NDArray[np.int64]:
        """Return 0 .. count - 1 in a random order."""
        return np.argsort(self.words(name, count), kind="stable").astype(np.int64)

    def samples(self, visit: int, shuffle: bool) -> NDArray[np.int64]:
        """Return the places of all samples, in a random order or in theirs."""
        count = len(self._labels)
        return self.permutation(f"samples {visit}", count) if shuffle else np.arange(count)

    def runs(self, order: NDArray[np.int64], visit: int, delta: float, slots: int) -> NDArray[np.int64]:
        """Return samples so that labels come in runs.

        Each class has proportions over `slots`, drawn from a symmetric Dirichlet distribution of concentration `delta`; each of its
        samples falls into a slot by them. Slot follows slot, and in a slot class follows class, in a random order of its own. The
        proportions are never made: a Polya urn draws the same slots. A sample falls into a slot at random with weight slots * delta,
        and with weight 1 into that of each sample of its class before it.
        """
        uniforms = (self.words(f"slots {visit}", len(order)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        filled: dict[int, list[int]] = {}
        stretches: list[dict[int, list[int]]] = [{} for _ in range(slots)]
        new = slots * delta
        for place, uniform in zip(order.tolist(), uniforms.tolist(), strict=True):
            label = int(self._labels[place])
            before = filled.setdefault(label, [])
            at = uniform * (new + len(before))
            if before and at >= new:
                slot = before[min(int(at - new), len(before) - 1)]
            else:
                slot = min(int(at / new * slots if new else uniform * slots), slots - 1)
            before.append(slot)
            stretches[slot].setdefault(label, []).append(place)
        runs = []
        for slot, stretch in enumerate(stretches):
            labels = sorted(stretch)
            runs += [stretch[labels[n]] for n in self.permutation(f"classes {visit} {slot}", len(labels))]
        return joined([np.array(run) for run in runs])
