"""What a build takes: a few of its images are made as it makes them, timed and counted; all else is counted.

Nothing that a build writes depends on it. Of a source of few images all are made, so little is left to guess.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod, sqrt
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np

from ...corruptions.registry import Images
from ...errors import SourceError
from ...manifests.images.pictures import decode
from ...manifests.images.shard_writer import shard_pieces
from ...manifests.layout import shard_path
from ...pages.jpeg import SMALL, resized
from ...pages.rungs import MOST, best_rung
from ...pages.sheets.style import LARGEST
from ..pixels.matrix import blocks_of, contact_sheet, thinned
from ..pixels.preprocessing import preprocess
from ..recipes.set_spec import SetSpec
from ..sinks.containers import Sink
from ..sinks.sink import Run, file_record, json_text
from ..sources.selection import spread
from ..sources.source import BadSample, Sample
from .builds import Build
from .parts import batches

MOST_PIXELS = 48_000_000
"""Of all images that are made: eight photographs at 224x224 under a hundred sets, a second or two."""
MOST_SAMPLES = 64
MOST_SECONDS = 30
"""Of samples after the second: a model or a plugin may be slow."""
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

Pictures = dict[str, list[Images]]
"""Set -> images of a few samples, reduced, as they are stored."""


class Made(NamedTuple):
    """An image as it is stored."""

    set_id: str
    number: int
    sample: Sample
    shape: tuple[int, ...]
    encoded: int
    """Bytes; 0 where no sink encodes."""


@dataclass(frozen=True)
class Estimate:
    """What a build takes."""

    seconds: float
    """Of one sample in all sets, the least that was seen: to read it, and to make and encode its images."""
    bytes: int = 0
    """On the disk: the sum of the sizes of its files."""
    alone: Mapping[str, int] = field(default_factory=dict)
    """``folder`` and ``hdf5`` -> what the build takes in that form alone, where every image is stored in both; else
    empty.
    """
    looked_at: int = 0
    """Images of the source that were made under the sets."""
    deviation: float = 0.0
    """How far off the bytes may be as the others were not: two standard errors, as a fraction."""


def estimate(
    spec: Build, sets: Sequence[SetSpec], samples: Sequence[Sample], good: Sample, runs: Sequence[Run]
) -> Estimate:
    """Return about what a build of sets takes, its samples in `runs`; of regions the time alone.

    Parameters
    ----------
    spec : Build
    sets : sequence of SetSpec
    samples : sequence of Sample
        Those of `spec.loader`; bad ones are left out.
    good : Sample
        One of them that can be read.
    runs : sequence of Run
    """
    made, pictures, seconds = _measured(spec, sets, samples, good)
    if spec.regions is not None:
        return Estimate(seconds)
    total, sinks = len(spec.selected), spec.asked_sinks
    images = len(sets) * total
    stored = {sink: images * fmean(_stored(sink, one, runs) for one in made) for sink in sinks}
    for sink in sinks:
        if sink.kind == "shards":
            stored[sink] += len(sets) * (_frames(made, sink, runs) + len(runs) * (_MANIFEST_FILE + _SUM))
    row = len(f'{{"index": {total}, "pixels": "blake3:{"0" * 64}", "files": []}}\n')
    beside: float = _CARD + total * _SAMPLE + images * row + len(sets) * (_MANIFEST_SET + _MANIFEST_FILE + _SUM)
    beside += _MANIFEST + len(spec.classes) * _MANIFEST_CLASS + spec.source.other_bytes()
    pictured = sum(len(block.pictured) for block in blocks_of(spec.id for spec in sets))
    beside += _sheet(pictures, pictured) + (_page(pictures, len(sets)) if spec.page else 0)

    def all_of(sinks: Iterable[Sink]) -> int:
        return round(beside + sum(stored[sink] for sink in sinks))

    alone = {sink.container: all_of([sink]) for sink in sinks} if len(sinks) > 1 else {}
    by_sample: dict[int, float] = {}
    for one in made:
        by_sample[one.number] = by_sample.get(one.number, 0.0) + sum(_stored(sink, one, runs) for sink in sinks)
    return Estimate(seconds, all_of(sinks), alone, len(by_sample), _deviation(list(by_sample.values()), total))


def _measured(
    spec: Build, sets: Sequence[SetSpec], samples: Sequence[Sample], good: Sample
) -> tuple[list[Made], Pictures, float]:
    """Make some samples under some sets, both spread evenly; return what was made, a few pictures, and the seconds of
    one sample.

    The good one is made first, while kernels are loaded, so that its time is the longest and seldom counts.
    """
    pixels = spec.image_size[0] * spec.image_size[1]
    chosen = spread(sets, MOST_PIXELS // (2 * pixels))
    rest = [one for one in spread(samples, min(MOST_SAMPLES, MOST_PIXELS // (pixels * len(chosen)))) if one != good]
    numbers = {sample.id: number for number, sample in enumerate(samples)}
    pictured = {sample.id for sample in spread([good, *rest], MOST)}
    tree, encodes = spec.maker.tree(chosen), any(sink.encodes for sink in spec.asked_sinks)
    made, pictures, seconds = list[Made](), Pictures({one.id: [] for one in chosen}), inf
    for several, most in (([good], inf), (rest[:1], inf), (rest[1:], MOST_SECONDS)):
        if len(several) * seconds > most:
            break
        began, loaded = time.perf_counter(), []
        for sample in several:
            try:
                loaded.append((sample, preprocess(spec.loader.load(sample).image, spec.preprocessing)))
            except (BadSample, SourceError):  # the check of the build says what is wrong
                continue
        read = time.perf_counter()
        for positions in batches([image for _, image in loaded]):
            group = [loaded[p][0] for p in positions]
            clean = np.stack([loaded[p][1] for p in positions])
            for set_id, images in spec.maker.images(tree, clean, [s.id for s in group], [s.label for s in group]):
                for sample, image in zip(group, images, strict=True):
                    encoding = spec.encoding_of(sample)
                    data = encoding.encode(np.ascontiguousarray(image)) if encodes else b""
                    made.append(Made(set_id, numbers[sample.id], sample, image.shape, len(data)))
                    if sample.id in pictured:
                        stored = decode(data, encoding.format) if data and not encoding.lossless else image
                        pictures[set_id].append(resized(stored, LARGEST).copy())
        if loaded:
            making = (time.perf_counter() - read) * len(sets) / len(chosen)
            seconds = min(seconds, (read - began + making) / len(loaded))
    return made, pictures, seconds


def _stored(sink: Sink, one: Made, runs: Sequence[Run]) -> int:
    """Return the bytes of an image in a sink, with its record; without what a shard adds."""
    if sink.kind == "files":
        size, row, path = one.encoded, None, sink.image_path(one.set_id, one.number, one.sample)
    elif sink.kind == "shards":
        size, row, path = one.encoded if sink.encodes else prod(one.shape), runs[0].count, shard_path(one.set_id, 0)
    else:
        size, row, path = (
            prod(one.shape),
            one.number,
            next(iter(sink.set_paths([one.set_id]).get(one.set_id, [one.set_id]))),
        )
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
            labels=[0] * count, indices=range(count), pixels=["0" * 64] * count, set_id=set_id, build=sink.title,
            encoding="raw",
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
    sheet = contact_sheet({name: pictures[name][0] for name in shown}, clean=pictures[shown[0]][0], title="0" * 40)
    return len(sheet) * min(sets, MOST_SHOWN) / len(shown)


def _page(pictures: Mapping[str, Sequence[Images]], sets: int) -> float:
    """Return the bytes of the page."""
    shown = thinned(list(pictures), MOST_SHOWN)
    small = max(pictures[shown[0]][0].shape[:2]) <= SMALL
    of = min(sets, MOST_SHOWN)
    few = {name: spread(pictures[name], MOST) for name in shown}
    _, encoded = best_rung(shown, lambda name, most: few[name][:most], small=small, of=of)
    return sum(map(len, encoded.values())) * 4 / 3 * of / len(shown) + _PAGE + sets * _PAGE_SET


def _deviation(by_sample: Sequence[float], total: int) -> float:
    """Return two standard errors of the mean over samples, of so many in all, as a fraction of it."""
    if len(by_sample) < 2 or len(by_sample) == total:
        return 0.0
    return 2 * stdev(by_sample) / fmean(by_sample) * sqrt((1 - len(by_sample) / total) / len(by_sample))
