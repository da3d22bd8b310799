"""What a call costs beside its kernel: ``python -m benchmarks.calls``.

One image, one corruption: its kernel alone, `Corrupt` with a key and keyed by the image's own pixels, and `corrupt`. Each repeat
measures all of them in turn, in processor time; read the medians of the differences to the kernel of the same repeat.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import cv2

from corruptset import Corrupt, RandomCorrupt, corrupt
from corruptset.corruptions.calibrations import for_shape, shipped
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.registry import get_corruption
from corruptset.corruptions.stages import chain_keys, resolve_stage

from .kernels import photographs
from .timing import options, save, seconds, show

CALLS = 40
"""Calls of a kind in a row, so that the clock is small against them."""


def calls(name: str, size: int) -> dict[str, Callable[[], object]]:
    """Return what is measured, the kernel first."""
    image = photographs(size, 1)
    table = shipped(for_shape(size, size))
    stage = resolve_stage(name, table, severity=3)
    key, keys = chain_keys([stage], 0)[0], sample_keys(["a"])
    transform, drawn = Corrupt(name, severity=3), RandomCorrupt([name], severities=[3], p=1.0)
    return {
        "kernel": partial(get_corruption(name).apply, image, stage.parameters, key, keys),
        "Corrupt, key": partial(transform, image[0], key="a"),
        "Corrupt": partial(transform, image[0]),
        "RandomCorrupt, key": partial(drawn, image[0], key="a"),
        "corrupt(), key": partial(corrupt, image[0], name, severity=3, key="a"),
        "corrupt()": partial(corrupt, image[0], name, severity=3),
    }


def measure(name: str, size: int, repeats: int) -> dict[str, float]:
    """Return the medians of the kernel's microseconds, and of what each other call takes more."""
    measured = calls(name, size)
    for call in measured.values():
        call()
    rounds = [[seconds(call, CALLS, clock=time.process_time) / CALLS * 1e6 for call in measured.values()] for _ in range(repeats)]
    more = {what: statistics.median(r[i] - r[0] for r in rounds) for i, what in enumerate(measured)}
    return {**more, "kernel": statistics.median(r[0] for r in rounds)}


def main() -> None:
    parser = options(__doc__, repeats=60)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    figures = {
        f"{name}, {size} px": measure(name, size, arguments.repeats) for size in (32, 224) for name in ("contrast", "impulse_noise", "fog")
    }
    headings = ["one image", "kernel: us", *(f"{what}: + us" for what in next(iter(figures.values())) if what != "kernel")]
    rows = [[row, f"{f['kernel']:.1f}", *(f"{us:.1f}" for what, us in f.items() if what != "kernel")] for row, f in figures.items()]
    show("medians; + is what a call takes more than its kernel", headings, rows)
    save(arguments.json, figures)


if __name__ == "__main__":
    main()
