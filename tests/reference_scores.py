"""The formulas of the papers in plain Python."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

FIFTEEN = (
    "gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur snow frost fog brightness "
    "contrast elastic_transform pixelate jpeg_compression"
).split()

Right = Mapping[str, Sequence[bool]]
"""Set id -> whether each image is classified correctly."""


def accuracy(correct: Iterable[bool]) -> float:
    flags = list(correct)
    return sum(1 for flag in flags if flag) / len(flags)


def aude(correct: Right, name: str) -> float:
    curve = [1 - accuracy(correct["clean"]), *(1 - accuracy(correct[f"{name}/{s}"]) for s in range(1, 6))]
    return sum((left + later) / 2 for left, later in pairwise(curve)) / 5


def maude(correct: Right) -> float:
    return sum(aude(correct, name) for name in FIFTEEN) / 15


def ce(correct: Right, other: Right, name: str) -> float:
    return _errors(correct, name) / _errors(other, name)


def relative_ce(correct: Right, other: Right, name: str) -> float:
    above = sum((1 - accuracy(correct[f"{name}/{s}"])) - (1 - accuracy(correct["clean"])) for s in range(1, 6))
    below = sum((1 - accuracy(other[f"{name}/{s}"])) - (1 - accuracy(other["clean"])) for s in range(1, 6))
    return above / below


def _errors(correct: Right, name: str) -> float:
    return sum(1 - accuracy(correct[f"{name}/{s}"]) for s in range(1, 6))


def mean(values: Iterable[float]) -> float:
    all_values = list(values)
    return math.fsum(all_values) / len(all_values)


def cv_percent(values: Sequence[float]) -> float:
    middle = mean(values)
    return 100 * math.sqrt(mean((v - middle) ** 2 for v in values)) / middle


def rb_index(clean: float, others: Sequence[float], flag: int = 1) -> float:
    return flag / (len(others) * clean) * sum(clean - other for other in others)


def draw_units(seed: int, units: int, resample: int) -> list[int]:
    """Return the units of a bootstrap resample, drawn with Philox4x64-10 as its authors define it."""
    words = [word for block in range(-(-units // 8)) for word in philox4x64((block + 1, 0, 0, 0), (seed, resample))]
    halves = [half for word in words for half in (word & 0xFFFFFFFF, word >> 32)]
    return [half * units >> 32 for half in halves[:units]]


def philox4x64(counter: tuple[int, ...], key: tuple[int, int]) -> tuple[int, ...]:
    """Return a block of Philox4x64-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3")."""
    mask = 2**64 - 1
    for number in range(10):
        low, high = (key[0] + number * 0x9E3779B97F4A7C15) & mask, (key[1] + number * 0xBB67AE8584CAA73B) & mask
        first, second = counter[0] * 0xD2E7470EE14C6C93, counter[2] * 0xCA5A826395121157
        counter = (
            second >> 64 ^ counter[1] ^ low, second & mask, first >> 64 ^ counter[3] ^ high, first & mask,
        )  # fmt: skip
    return counter


def resample_outcomes(correct: Right, seed: int, resample: int) -> Right:
    """Return a resample of images, which may occur several times."""
    rows = draw_units(seed, len(correct["clean"]), resample)
    return {name: [flags[row] for row in rows] for name, flags in correct.items()}
