"""A few images, made as a build makes them: `plan` measures on them how long all of them take, and how many bytes they are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from ...corruptions.registry import Images
from ...errors import SourceError
from ...manifests.images.pictures import decode
from ...pages.jpeg import resized
from ...pages.rungs import MOST
from ...pages.sheets.style import LARGEST
from ..pixels.preprocessing import preprocess
from ..recipes.set_spec import SetSpec
from ..sources.selection import spread
from ..sources.source import BadSample, Sample
from .builds import Build
from .parts import batches

MOST_PIXELS = 48_000_000
"""Of all images that are made: eight photographs at 224x224 under a hundred sets, a second or two."""
MOST_SAMPLES = 64
MOST_SECONDS = 30
"""Of samples after the second: a model or a plugin may be slow."""


@dataclass(frozen=True)
class Made:
    """An image as it is stored."""

    set_id: str
    index: int
    sample: Sample
    shape: tuple[int, ...]
    encoded: int
    """Bytes; 0 where no sink encodes."""


@dataclass
class Measured:
    """What was made of a few samples."""

    made: list[Made] = field(default_factory=list)
    pictures: dict[str, list[Images]] = field(default_factory=dict)
    """Set -> images of a few samples, reduced, as they are stored."""
    seconds: float = inf
    """Of one sample in all sets, the least that was seen: to read it, and to make and encode its images."""


def measure(spec: Build, sets: Sequence[SetSpec], samples: Sequence[Sample], good: Sample) -> Measured:
    """Make some samples under some sets, both spread evenly.

    Parameters
    ----------
    spec : Build
    sets : sequence of SetSpec
    samples : sequence of Sample
        Those of `spec.loader`; bad ones are left out.
    good : Sample
        One of them that can be read. It is made first, while kernels are loaded, so that its time is the longest and seldom counts.
    """
    pixels = spec.image_size[0] * spec.image_size[1]
    chosen = spread(sets, MOST_PIXELS // (2 * pixels))
    rest = [one for one in spread(samples, min(MOST_SAMPLES, MOST_PIXELS // (pixels * len(chosen)))) if one != good]
    numbers = {sample.id: number for number, sample in enumerate(samples)}
    pictured = {sample.id for sample in spread([good, *rest], MOST)}
    tree, encodes = spec.maker.tree(chosen), any(sink.encodes for sink in spec.asked_sinks)
    measured = Measured(pictures={one.id: [] for one in chosen})
    for several, most in (([good], inf), (rest[:1], inf), (rest[1:], MOST_SECONDS)):
        if len(several) * measured.seconds > most:
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
                    measured.made.append(Made(set_id, numbers[sample.id], sample, image.shape, len(data)))
                    if sample.id in pictured:
                        stored = decode(data, encoding.format) if data and not encoding.lossless else image
                        measured.pictures[set_id].append(resized(stored, LARGEST).copy())
        if loaded:
            made = (time.perf_counter() - read) * len(sets) / len(chosen)
            measured.seconds = min(measured.seconds, (read - began + made) / len(loaded))
    return measured
