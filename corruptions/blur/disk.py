"""The disk kernel of defocus_blur, and a decomposition that is cheap to apply.

The published kernel is B D B'. D is the disk of ones, and B is a small gaussian along one axis that *reflects at the
edges of the kernel's window*. Away from these edges, B is a plain gaussian G. Near an edge, weights that would spread
beyond the window are reflected, so B differs from G by R = B - G. If the disk comes near an edge, the kernel sums to
more than 1, and

    B D B' = G D G' + R D G' + G D R'        (R D R' is 0, because a disk does not reach the corners of the window)

D consists of horizontal runs of ones. A few sums over runs and one small gaussian therefore replace hundreds of taps
(weights of single pixels).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import exact_exp

SMALL_RADIUS = 8
"""Up to this radius the window is 17 pixels wide and the gaussian has 3 taps.

Above this radius, the window is as wide as the disk, and the gaussian has 5 taps.
"""


@dataclass(frozen=True)
class Disk:
    """The decomposition of a disk kernel for `defocus._filter`."""

    runs: NDArray[np.int64]
    """The half-widths of the disk's rows, (reach + 1,), where row d covers the columns -runs[d]..runs[d].

    The columns have the same half-widths.
    """
    taps: NDArray[np.float64]
    """The gaussian G from its centre outwards, (p + 1,)."""
    folded: NDArray[np.float64]
    """The terms of the reflected weights, as an array (terms, 3) of rows (a, h, weight).

    Each term takes the row of the disk at the distance `h` from the centre. It adds `weight` times this row to the row
    or column at the distance `a`.
    """
    scale: float
    """The factor for sums over the disk.

    It divides by the number of pixels, and adjusts the sum of the kernel to that of the published float32 kernel.
    """


def window(radius: float) -> tuple[int, int]:
    """Return the half-widths of the kernel's window and of its gaussian."""
    return (SMALL_RADIUS, 1) if radius <= SMALL_RADIUS else (math.floor(radius), 2)


def _gaussian(sigma: float, half: int) -> list[float]:
    right = [exact_exp(-0.5 * (i * i) / (sigma * sigma)) for i in range(half + 1)]
    total = 0.0
    for i in range(-half, half + 1):
        total += right[abs(i)]
    # OpenCV converts the taps to float32 for its filter.
    return [float(np.float32(value / total)) for value in right]


def disk_kernel(radius: float, alias_sigma: float) -> NDArray[np.float32]:
    """Return the published kernel, (2m + 1, 2m + 1) float32, where m is the half-width from `window`."""
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
    """Return the decomposition of a disk kernel into runs of pixels. For radii below 1, the disk is a single pixel."""
    half, p = window(radius)
    reach = math.floor(radius)
    runs = [max(h for h in range(reach + 1) if h * h + d * d <= radius**2) for d in range(reach + 1)]
    taps = _gaussian(alias_sigma, p)
    folded: dict[tuple[int, int], float] = {}
    for source in range(max(half - p, 0), reach + 1):
        for j in range(1, p + 1):
            if source + j > half:  # This position is outside of the window.
                folded[source + j, source] = folded.get((source + j, source), 0.0) - taps[j]
            target = 2 * half - source - j  # This pixel reads the reflection of the source beyond the edge.
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
