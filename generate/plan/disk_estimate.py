"""About how many bytes a build takes on the disk, from a few images of its sets (`measured`); all else is counted.

Nothing that a build writes depends on it. Of a source of few images all are made, so little is left to guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod, sqrt
from statistics import fmean, stdev

import numpy as np

from ...corruptions.registry import Images
from ...manifests.images.shard_writer import shard_pieces
from ...manifests.layout import shard_path
from ...pages.jpeg import SMALL
from ...pages.rungs import MOST, best_rung
from ..pixels.contact_sheet import contact_sheet, thinned
from ..recipes.set_spec import SetSpec
from ..sinks.containers import Sink
from ..sinks.sink import Run, file_record, json_text
from ..sources.selection import spread
from .builds import Build
from .measured import Made, Measured

MOST_SHOWN = 600
"""Sets on the contact sheet and the page."""
_SHARD_ROWS = 64
"""Of a shard that is made to see what HDF5 adds; a larger one adds as much for each row."""
_COLUMNS = 48
"""Bytes of a row's label, index and digest in a shard."""
_CARD, _SAMPLE, _SUM = 2_000, 293, 92
_PAGE, _PAGE_SET = 26_000, 1_850
_MANIFEST, _MANIFEST_SET, _MANIFEST_FILE, _MANIFEST_CLASS = 30_000, 830, 170, 90
"""Bytes of a line or an entry, as builds of `imagenet-c` and `cifar10-c` have them."""
_SHA256 = f"sha256:{'0' * 64}"


@dataclass(frozen=True)
class DiskEstimate:
    """What a build takes on the disk: the sum of the sizes of its files."""

    bytes: int
    alone: Mapping[str, int] = field(default_factory=dict)
    """``folder`` and ``hdf5`` -> what the build takes in that form alone, where every image is stored in both; else empty."""
    looked_at: int = 0
    """Images of the source that were made under the sets."""
    deviation: float = 0.0
    """How far off the estimate may be as the others were not: two standard errors, as a fraction."""


def disk_estimate(spec: Build, sets: Sequence[SetSpec], runs: Sequence[Run], measured: Measured) -> DiskEstimate:
    """Return about how many bytes a build of sets takes, its samples in `runs`."""
    total, sinks, made, pictures = len(spec.selected), spec.asked_sinks, measured.made, measured.pictures
    images = len(sets) * total
    stored = {sink: images * fmean(_stored(sink, one, runs) for one in made) for sink in sinks}
    for sink in sinks:
        if sink.kind == "shards":
            stored[sink] += len(sets) * (_frames(made, sink, runs) + len(runs) * (_MANIFEST_FILE + _SUM))
    row = len(f'{{"index": {total}, "pixels": "blake3:{"0" * 64}", "files": []}}\n')
    beside: float = _CARD + total * _SAMPLE + images * row + len(sets) * (_MANIFEST_SET + _MANIFEST_FILE + _SUM)
    beside += _MANIFEST + len(spec.classes) * _MANIFEST_CLASS + spec.source.other_bytes()
    beside += _sheet(pictures, len(sets)) + (_page(pictures, len(sets)) if spec.page else 0)

    def all_of(sinks: Iterable[Sink]) -> int:
        return round(beside + sum(stored[sink] for sink in sinks))

    alone = {sink.container: all_of([sink]) for sink in sinks} if len(sinks) > 1 else {}
    by_sample: dict[int, float] = {}
    for one in made:
        by_sample[one.index] = by_sample.get(one.index, 0.0) + sum(_stored(sink, one, runs) for sink in sinks)
    return DiskEstimate(all_of(sinks), alone, len(by_sample), _deviation(list(by_sample.values()), total))


def _stored(sink: Sink, one: Made, runs: Sequence[Run]) -> int:
    """Return the bytes of an image in a sink, with its record; without what a shard adds."""
    if sink.kind == "files":
        size, row, path = one.encoded, None, sink.image_path(one.set_id, one.index, one.sample)
    elif sink.kind == "shards":
        size, row, path = one.encoded if sink.encodes else prod(one.shape), runs[0].count, shard_path(one.set_id, 0)
    else:
        size, row, path = prod(one.shape), one.index, next(iter(sink.set_paths([one.set_id]).get(one.set_id, [one.set_id])))
    return size + len(file_record(json_text(path), row, size, _SHA256).encode()) + len(", ")


def _frames(made: Sequence[Made], sink: Sink, runs: Sequence[Run]) -> float:
    """Return what HDF5 adds to the images of one set in all its shards."""
    by_set: dict[str, list[Made]] = {}
    for one in made:
        by_set.setdefault(one.set_id, []).append(one)
    added = []
    for set_id, images in by_set.items() if sink.encodes else list(by_set.items())[:1]:
        count = min(runs[0].count, _SHARD_ROWS)
        rows = [images[i % len(images)].encoded for i in range(count)]
        pieces = shard_pieces(
            [bytes(n) for n in rows] if sink.encodes else np.zeros((count, *images[0].shape), np.uint8),
            labels=[0] * count, indices=range(count), pixels=["0" * 64] * count, set_id=set_id, build=sink.title, encoding="raw",
        )  # fmt: skip
        frame = sum(map(len, pieces)) - (sum(rows) if sink.encodes else count * prod(images[0].shape))
        more = runs[0].count - count
        added.append(frame + more * (frame / count if sink.encodes else _COLUMNS))
    return fmean(added) * len(runs)


def _sheet(pictures: Mapping[str, Sequence[Images]], sets: int) -> float:
    """Return the bytes of the contact sheet."""
    shown = thinned([name for name in pictures if name != "clean"], MOST_SHOWN)
    if not shown:
        return 0
    sheet = contact_sheet([(name, pictures[name][0]) for name in shown], clean=pictures[shown[0]][0], title="0" * 40)
    return len(sheet) * min(sets, MOST_SHOWN) / len(shown)


def _page(pictures: Mapping[str, Sequence[Images]], sets: int) -> float:
    """Return the bytes of the page."""
    shown = thinned(list(pictures), MOST_SHOWN)
    small = max(pictures[shown[0]][0].shape[:2]) <= SMALL
    of = min(sets, MOST_SHOWN)
    few = {name: spread(pictures[name], MOST) for name in shown}
    _, encoded = best_rung(shown, lambda name, most: few[name][:most], small=small, of=of)
    return sum(len(data) for data, _ in encoded.values()) * 4 / 3 * of / len(shown) + _PAGE + sets * _PAGE_SET


def _deviation(by_sample: Sequence[float], total: int) -> float:
    """Return two standard errors of the mean over samples, of so many in all, as a fraction of it."""
    if len(by_sample) < 2 or len(by_sample) == total:
        return 0.0
    return 2 * stdev(by_sample) / fmean(by_sample) * sqrt((1 - len(by_sample) / total) / len(by_sample))
