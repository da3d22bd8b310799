"""The check of a source: every chosen image is decoded before the first one is used, and one error lists all that is
wrong.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...errors import SourceError, listed
from ...workers import Workers
from .source import BadSample, Sample, Source

BATCH = 64
"""Images that one task of the check looks at: some 100 ms of work, much more than the cost of sending it."""

WORTH_WORKERS_S = 4.0
"""Seconds of remaining work above which workers are started: to start them takes a second or two."""

Judge = Callable[[int, int], str | None]
"""(width, height) -> why an image of that size cannot be used, or None."""

Seen = Callable[[int], None]


@dataclass(frozen=True)
class Checked:
    """What a check found, in the source's order."""

    good: list[tuple[Sample, str, int, int, int]] = field(default_factory=list)
    """(sample, sha256, width, height, channels)"""
    bad: list[tuple[str, str]] = field(default_factory=list)
    """(path or id, reason)"""

    def raise_for_bad(self, notes: Sequence[tuple[str, str]] = ()) -> None:
        """Raise `SourceError` listing every bad image and every note of the listing, if there are any."""
        if problems := [f"{path}: {reason}" for path, reason in sorted([*notes, *self.bad])]:
            raise SourceError(
                f"{len(problems)} file{'s' * (len(problems) > 1)} of the source cannot be used:\n{listed(problems)}\n"
                "Nothing was written. Mend them, or build without them: --skip-bad (they are then recorded in the "
                "manifest)."
            )


def check(
    source: Source,
    chosen: Sequence[Sample],
    *,
    workers: Workers | None = None,
    judge: Judge | None = None,
    worth_workers_s: float = WORTH_WORKERS_S,
    seen: Seen = lambda images: None,
) -> Checked:
    """Decode every chosen sample once and throw the pixels away.

    Parameters
    ----------
    source : Source
    chosen : sequence of Sample
    workers : Workers, optional
        Each holds one image at a time. Few images need no workers.
    judge : callable, optional
        A preprocessing's `problem`: what sizes it cannot take.
    worth_workers_s : float, optional
        Seconds of remaining work above which workers are started.
    seen : callable, optional
        Told after every batch how many images are checked.

    Returns
    -------
    Checked
        In the order of `chosen`, whatever the number of workers.
    """
    batches = [chosen[i : i + BATCH] for i in range(0, len(chosen), BATCH)]
    found, done, start = Checked(), 0, 0.0

    def add(batch: Checked) -> None:
        nonlocal done
        found.good.extend(batch.good)
        found.bad.extend(batch.bad)
        done += 1
        seen(min(done * BATCH, len(chosen)))

    while done < len(batches):
        seconds_each = (time.perf_counter() - start) / (done - 1) if done > 1 else 0.0
        if workers is not None and workers.most > 1 and seconds_each * (len(batches) - done) > worth_workers_s:
            _in_workers(source, batches[done:], judge, workers, add)
            workers = None  # where one was killed, what is left is done here
            continue
        add(_check_batch(source, batches[done], judge))
        if done == 1:
            start = time.perf_counter()  # without the first batch, which may unpack an archive up to its rows
    return found


def _in_workers(
    source: Source,
    batches: Sequence[Sequence[Sample]],
    judge: Judge | None,
    workers: Workers,
    add: Callable[[Checked], None],
) -> None:
    """Add what workers find in batches, until one of them is killed."""
    from concurrent.futures.process import BrokenProcessPool

    lean = copy.copy(source)  # without its list of samples, which would travel with every batch
    lean.samples = lean.notes = ()
    lean.other_files = {}
    try:
        workers.start(len(batches))
        for future in [workers.submit(_check_batch, lean, batch, judge) for batch in batches]:
            add(future.result())
    except BrokenProcessPool:
        workers.stop()


def _check_batch(source: Source, batch: Sequence[Sample], judge: Judge | None) -> Checked:
    checked = Checked()
    for sample in batch:
        try:
            probe = source.probe(sample)
            problem = judge(probe.width, probe.height) if judge is not None else None
            if problem is not None:
                raise BadSample(problem)
        except BadSample as e:
            checked.bad.append((sample.path or sample.id, str(e)))
        else:
            checked.good.append((sample, *probe))
    return checked
