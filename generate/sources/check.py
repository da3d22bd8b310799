"""Check a source before a build: decode every selected image, and report all problems together."""

from __future__ import annotations

import copy
import functools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ...errors import SourceError, first_few, format_list
from ...quantities import folders_and_files
from ...workers import Workers
from .decoding import pillow_settings
from .source import BadSample, Note, Sample, Source

BATCH = 64
"""Number of images per task. Decoding these images takes about 100 ms, much longer than sending a task to a worker."""
TIMED_BATCHES = 2
"""Number of batches that are checked in this process, to measure how long a batch takes."""
MIN_SECONDS_FOR_WORKERS = 4.0
"""Workers are started only if the remaining work would take longer than this, in seconds. Starting workers takes a
second or two.
"""

SizeCheck = Callable[[int, int], str | None]
"""Callback that takes a width and a height. It returns the reason why an image of this size cannot be used, or None."""

OnChecked = Callable[[int], None]
"""Callback that takes the number of images that have been checked so far."""


@dataclass(frozen=True)
class Checked:
    """The result of a check, in the order of the source."""

    good: list[tuple[Sample, str, int, int, int]] = field(default_factory=list)
    """Usable images, each as (sample, sha256, width, height, channels)."""
    bad: list[Note] = field(default_factory=list)
    """Unusable images, each as (path or id, reason)."""
    with_orientation: list[str] = field(default_factory=list)
    """Paths or ids of the usable images that have an EXIF orientation tag."""

    @classmethod
    def concatenated(cls, parts: Iterable[Checked]) -> Checked:
        """Return the results of several checks as one result."""
        checked = cls()
        for part in parts:
            checked.good.extend(part.good)
            checked.bad.extend(part.bad)
            checked.with_orientation.extend(part.with_orientation)
        return checked

    def orientation_notes(self, source: Source) -> list[str]:
        """Return notes for users about images of a source with an EXIF orientation tag."""
        if not self.with_orientation:
            return []
        count, examples = len(self.with_orientation), first_few(self.with_orientation, 3)
        effect = (
            "OpenCV and many labelling tools rotate such images, so their boxes and masks may not fit."
            if source.scheme == "tree"
            else "Images with an orientation may be stored sideways. To store them upright, rotate the pixels of the "
            "files first, for example with `mogrify -auto-orient`."
        )
        return [
            f"{count:,} of {len(self.good):,} checked images have an EXIF orientation ({examples}). Builds ignore the "
            f"orientation and do not keep the tag. {effect}"
        ]

    def raise_for_bad(self, notes: Sequence[Note] = ()) -> None:
        """Raise `SourceError` if there are bad images or notes about the source. The message lists all of them.

        Folders come first, because long lists are truncated.
        """
        if results := sorted([*notes, *self.bad], key=lambda note: (not note[0].endswith("/"), note)):
            problems = [f"{path}: {reason}" for path, reason in results]
            count = folders_and_files((path for path, _ in results), "file")
            raise SourceError(
                f"{count} of the source cannot be used:\n{format_list(problems)}\n"
                "Nothing was written. Fix them, or build without them: --skip-bad (they are then recorded in the "
                "manifest)."
            )


def check(
    source: Source,
    chosen: Sequence[Sample],
    *,
    workers: Workers | None = None,
    check_size: SizeCheck | None = None,
    min_seconds_for_workers: float = MIN_SECONDS_FOR_WORKERS,
    on_checked: OnChecked = lambda images: None,
) -> Checked:
    """Decode every chosen sample once, without keeping the pixels.

    Parameters
    ----------
    source : Source
        The source that the samples are loaded from.
    chosen : sequence of Sample
        The samples to check.
    workers : Workers, optional
        Worker processes, which are started if there are many images. Each process holds one image at a time.
    check_size : callable, optional
        Takes a width and a height, and returns the reason why an image of this size cannot be used, or None. An example
        is `Preprocessing.problem`.
    min_seconds_for_workers : float, optional
        Workers are started only if the remaining work would take longer than this, in seconds.
    on_checked : callable, optional
        Called after every batch with the number of images that have been checked.

    Returns
    -------
    Checked
        The result in the order of `chosen`. It does not depend on the number of workers.
    """
    batches = list(enumerate(chosen[i : i + BATCH] for i in range(0, len(chosen), BATCH)))
    results: dict[int, Checked] = {}
    light_source = copy.copy(source)  # without its list of samples, which would be sent with every batch
    light_source.samples, light_source.notes, light_source.other_files = (), (), {}
    check_batch = functools.partial(_check_batch, light_source, check_size)

    def add(batch: tuple[int, Sequence[Sample]], checked: Checked) -> None:
        results[batch[0]] = checked
        on_checked(min(len(results) * BATCH, len(chosen)))

    for batch in batches[:TIMED_BATCHES]:  # the first batch may unpack an archive, so the last batch is timed
        started = time.perf_counter()
        add(batch, check_batch(batch))
        seconds = time.perf_counter() - started
    if remaining := batches[TIMED_BATCHES:]:
        worthwhile = workers is not None and seconds * len(remaining) > min_seconds_for_workers
        (workers if workers is not None and worthwhile else Workers(1)).run(
            check_batch, remaining, add, describe=_describe
        )
    return Checked.concatenated(results[number] for number in range(len(batches)))


def _describe(batch: tuple[int, Sequence[Sample]]) -> str:
    return f"the images {batch[1][0].id} to {batch[1][-1].id} of the source"


def _check_batch(source: Source, check_size: SizeCheck | None, batch: tuple[int, Sequence[Sample]]) -> Checked:
    checked = Checked()
    with pillow_settings():
        for sample in batch[1]:
            try:
                probe = source.probe(sample)
                if check_size is not None and (problem := check_size(probe.width, probe.height)) is not None:
                    raise BadSample(problem)
            except BadSample as e:
                checked.bad.append((sample.path or sample.id, str(e)))
            else:
                checked.good.append((sample, *probe[:4]))
                checked.with_orientation.extend([sample.path or sample.id] if probe.has_orientation else [])
    return checked
