"""The disk of defocus_blur.

Its aliased kernel, and the same kernel taken apart so that it is cheap to apply.

The published kernel is B D B': D the disk of ones, B a small gaussian along one axis that *reflects at the kernel's
window*. Inside the window B is a plain gaussian G; where the disk comes near the window's edge it differs by R = B - G:
what would spread beyond the window is folded back, so the kernel sums to more than 1. Then

    B D B' = G D G' + R D G' + G D R'        (R D R' lies in the window's corners, which a disk does not reach)

and D is a stack of horizontal runs: a few sums of runs and one small gaussian replace hundreds of taps.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import exact_exp

SMALL_RADIUS = 8
"""Up to this radius the window is 17 wide and the gaussian has 3 taps; above, the disk's own width and 5."""


@dataclass(frozen=True)
class Disk:
    """What `defocus._filter` needs to know of a disk."""

    runs: NDArray[np.int64]
    """(reach + 1,): the disk's row d covers columns -runs[d]..runs[d]; the same with rows and columns exchanged."""
    taps: NDArray[np.float64]
    """(p + 1,): the gaussian G, centre to edge."""
    folded: NDArray[np.float64]
    """(terms, 3): a row or column at distance `a` gets `weight` times the disk's row at distance `h`, as (a, h,
    weight).
    """
    scale: float
    """Divides the sum by the count of pixels, and gives it the sum of the published float32 kernel."""


def window(radius: float) -> tuple[int, int]:
    """Return the half-width of the kernel's window and of its gaussian."""
    return (SMALL_RADIUS, 1) if radius <= SMALL_RADIUS else (math.floor(radius), 2)


def _gaussian(sigma: float, half: int) -> list[float]:
    right = [exact_exp(-0.5 * (i * i) / (sigma * sigma)) for i in range(half + 1)]
    total = 0.0
    for i in range(-half, half + 1):
        total += right[abs(i)]
    # OpenCV hands the taps to a float32 filter
    return [float(np.float32(value / total)) for value in right]


def disk_kernel(radius: float, alias_sigma: float) -> NDArray[np.float32]:
    """Return the published kernel, (2m + 1, 2m + 1) float32, m = `window`'s."""
    half, p = window(radius)
    taps = [np.float32(w) for w in _gaussian(alias_sigma, p)]
    axis = np.arange(-half, half + 1)
    inside = axis[:, None] ** 2 + axis[None, :] ** 2 <= radius**2
    disk: NDArray[np.float32] = inside.astype(np.float32) / np.float32(inside.sum())
    size = 2 * half + 1
    for _ in range(2):
        padded = np.pad(disk, ((0, 0), (p, p)), mode="reflect")
        blurred: NDArray[np.float32] = padded[:, p : p + size] * taps[0]
        for j in range(1, p + 1):
            blurred = blurred + (padded[:, p - j : p - j + size] + padded[:, p + j : p + j + size]) * taps[j]
        disk = np.ascontiguousarray(blurred.T)
    return disk


@functools.lru_cache(maxsize=64)
@np.errstate(under="ignore")
def make_disk(radius: float, alias_sigma: float) -> Disk:
    """Return the parts of a disk; one of a radius below 1 is one pixel."""
    half, p = window(radius)
    reach = math.floor(radius)
    runs = [max(h for h in range(reach + 1) if h * h + d * d <= radius**2) for d in range(reach + 1)]
    taps = _gaussian(alias_sigma, p)
    folded: dict[tuple[int, int], float] = {}
    for source in range(max(half - p, 0), reach + 1):
        for j in range(1, p + 1):
            if source + j > half:  # falls outside the window
                folded[source + j, source] = folded.get((source + j, source), 0.0) - taps[j]
            target = 2 * half - source - j  # its mirror image beyond the edge is read by the pixel `target`
            if source < half and target <= half:
                folded[target, source] = folded.get((target, source), 0.0) + taps[j]
    terms = [(a, h, w) for (a, h), w in sorted(folded.items()) if w != 0.0]
    count = sum((2 * h + 1) * (1 if d == 0 else 2) for d, h in enumerate(runs))
    along = taps[0] + 2.0 * sum(taps[1:])
    extra = 0.0
    for _, h, w in terms:
        extra += 4.0 * w * (2 * runs[h] + 1)
    ideal = (count * along + extra) * along
    published = 0.0
    for value in disk_kernel(radius, alias_sigma).ravel().tolist():
        published += value
    parts = np.array(terms, np.float64).reshape(-1, 3)
    return Disk(np.array(runs, np.int64), np.array(taps), parts, published / ideal)
