"""The check of a source: images are decoded before use; problems make one error."""

from __future__ import annotations

import copy
import functools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ...errors import SourceError, first_few, listed
from ...quantities import folders_and_files
from ...workers import Workers
from .source import BadSample, Note, Sample, Source

BATCH = 64
"""Images that one task of the check looks at: some 100 ms of work, much more than the cost of sending it."""
TIMED = 2
"""Batches that are looked at in this process, to learn how long one takes."""
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
    bad: list[Note] = field(default_factory=list)
    """(path or id, reason)"""
    turned: list[str] = field(default_factory=list)
    """Path or id of good images whose EXIF orientation tag asks viewers to turn them."""

    @classmethod
    def joined(cls, parts: Iterable[Checked]) -> Checked:
        """Return what several checks found together."""
        checked = cls()
        for part in parts:
            checked.good.extend(part.good)
            checked.bad.extend(part.bad)
            checked.turned.extend(part.turned)
        return checked

    @property
    def orientation_notes(self) -> list[str]:
        """A note on the images that an EXIF orientation tag asks to turn, if there are any."""
        if not self.turned:
            return []
        return [
            f"Images with an EXIF orientation: {len(self.turned):,} of {len(self.good):,} that were checked "
            f"({first_few(self.turned, 3)}). Builds ignore the orientation: the pixels are used as they are stored, "
            "and the tag is not kept. OpenCV and many labelling tools turn such images, so their boxes and masks may "
            "not fit."
        ]

    def raise_for_bad(self, notes: Sequence[Note] = ()) -> None:
        """Raise `SourceError` with every bad image and every note of the listing, if any.

        Folders come first, because the list is cut after some lines.
        """
        if found := sorted([*notes, *self.bad], key=lambda note: (not note[0].endswith("/"), note)):
            problems = [f"{path}: {reason}" for path, reason in found]
            count = folders_and_files((path for path, _ in found), "file")
            raise SourceError(
                f"{count} of the source cannot be used:\n{listed(problems)}\n"
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
    batches = list(enumerate(chosen[i : i + BATCH] for i in range(0, len(chosen), BATCH)))
    found: dict[int, Checked] = {}
    lean = copy.copy(source)  # without its list of samples, which would travel with every batch
    lean.samples, lean.notes, lean.other_files = (), (), {}
    look = functools.partial(_check_batch, lean, judge)

    def add(batch: tuple[int, Sequence[Sample]], checked: Checked) -> None:
        found[batch[0]] = checked
        seen(min(len(found) * BATCH, len(chosen)))

    for batch in batches[:TIMED]:  # the first may unpack an archive up to its rows
        started = time.perf_counter()
        add(batch, look(batch))
        seconds = time.perf_counter() - started
    if left := batches[TIMED:]:
        worth = workers is not None and seconds * len(left) > worth_workers_s
        (workers if workers is not None and worth else Workers(1)).run(look, left, add, describe=_described)
    return Checked.joined(found[number] for number in range(len(batches)))


def _described(batch: tuple[int, Sequence[Sample]]) -> str:
    return f"the images {batch[1][0].id} to {batch[1][-1].id} of the source"


def _check_batch(source: Source, judge: Judge | None, batch: tuple[int, Sequence[Sample]]) -> Checked:
    checked = Checked()
    for sample in batch[1]:
        try:
            probe = source.probe(sample)
            if judge is not None and (problem := judge(probe.width, probe.height)) is not None:
                raise BadSample(problem)
        except BadSample as e:
            checked.bad.append((sample.path or sample.id, str(e)))
        else:
            checked.good.append((sample, *probe[:4]))
            checked.turned.extend([sample.path or sample.id] if probe.turned else [])
    return checked
