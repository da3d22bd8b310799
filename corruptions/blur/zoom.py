"""Zoom blur: the mean of an image and its enlargements."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import over_255
from ..kernels import inlined, kernel
from ..keys import Keys
from ..lanes import SIDE_BY_SIDE, add_between, put_between, turn_bytes
from ..references import HENDRYCKS_2019
from ..registry import Images, Parameter, corruption
from ..rounding import ROUNDING, half

_MANY = 48 * 48
"""Up to this many pixels; larger images have long runs, and so many of them at once would leave the nearer caches."""


def zoom_factors(stop: float, step: float) -> list[float]:
    """Return the factors of numpy.arange(1, stop, step), its rounding included: the last may reach `stop`.

    Examples
    --------
    >>> len(zoom_factors(1.11, 0.01)), round(zoom_factors(1.11, 0.01)[-1], 6)
    (12, 1.11)
    """
    spacing = (1.0 + step) - 1.0
    return [1.0 + i * spacing for i in range(max(math.ceil((stop - 1.0) / step), 0))]


def zoom_grid(side: int, factor: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return where each of `side` pixels of an enlargement lies in the image.

    Parameters
    ----------
    side : int
        Height or width.
    factor : float
        At least 1.

    Returns
    -------
    index : (side,) ndarray of int64
        The pixel before.
    part : (side,) ndarray of float64
        How far beyond it, 0..1; 0 at the last pixel.

    Notes
    -----
    scipy.ndimage.zoom's grid: the crop's first and last pixel centres fall on the enlargement's, the surplus is
    trimmed from both ends.
    """
    crop = math.ceil(side / factor)
    first = (side - crop) // 2
    size = round(crop * factor)
    trim = (size - side) // 2
    ratio = (crop - 1) / (size - 1)
    where = np.array([min((trim + i) * ratio, crop - 1.0) for i in range(side)])
    index = np.minimum(where.astype(np.int64), crop - 2)
    return first + index, where - index


@functools.lru_cache(maxsize=64)
def _grids(side: int, stop: float, step: float) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
    """Return the grids of all factors, (factors, side) each, and the runs of pixels whose index grows by one a pixel.

    Row f of the third holds where factor f's runs begin, and `side` from its last run's end on.
    """
    grids = [zoom_grid(side, factor) for factor in zoom_factors(stop, step)]
    index = np.array([g[0] for g in grids], np.int64).reshape(-1, side)
    part = np.array([g[1] for g in grids], np.float32).reshape(-1, side)
    starts = [[0, *(np.flatnonzero(np.diff(row) != 1) + 1).tolist()] for row in index]
    runs = np.full((len(starts), max(map(len, starts), default=0) + 1), side, np.int64)
    for row, start in zip(runs, starts, strict=True):
        row[: len(start)] = start
    return index, part, runs


@inlined
def _stretch_row(source, first, index, part, runs, channels, out):  # type: ignore[no-untyped-def]
    """Interpolate along the row that begins at `first`. Within a run the source moves along with the target, so its values are
    taken side by side; those behind its end are overwritten by the next run."""
    width = index.size
    r = 0
    while runs[r] < width:
        begin, end = np.uint64(runs[r] * channels), np.uint64(runs[r + 1] * channels)
        at = np.uint64(first + index[runs[r]] * channels)
        for j in range(begin, end, np.uint64(SIDE_BY_SIDE)):
            put_between(source, at, at + np.uint64(channels), part, out, j)
            at += np.uint64(SIDE_BY_SIDE)
        r += 1


@kernel
def _zoom(images, rows, row_parts, columns, column_parts, runs, half):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    factors = rows.shape[0]
    out = np.empty_like(images)
    n = width * channels
    unit = np.zeros(height * n + SIDE_BY_SIDE, np.float32)
    # each factor's last two stretched rows, source row r in slot r % 2
    stretched = np.empty((factors, 2, n + SIDE_BY_SIDE), np.float32)
    total = np.empty(n, np.float32)
    levels = np.empty(256, np.float32)
    for level in range(256):
        levels[level] = np.float32(np.float64(level) / 255.0)
    share = np.float32(factors + 1)
    for i in range(count):
        for y in range(height):
            source = images[i, y].reshape(n)
            target = unit[y * n : (y + 1) * n]
            for j in range(n):
                target[j] = levels[source[j]]
        for y in range(height):
            total[:] = np.float32(0.0)
            for f in range(0, factors, 2):
                for g in range(f, min(f + 2, factors)):
                    first = rows[g, y]
                    fresh = first if y == 0 or rows[g, y - 1] < first - 1 else rows[g, y - 1] + 2
                    for row in range(fresh, first + 2):
                        _stretch_row(unit, row * n, columns[g], column_parts[g], runs[g], channels, stretched[g, row & 1])
                above, below = stretched[f, rows[f, y] & 1], stretched[f, (rows[f, y] + 1) & 1]
                t = row_parts[f, y]
                if f + 1 < factors:
                    above2, below2 = stretched[f + 1, rows[f + 1, y] & 1], stretched[f + 1, (rows[f + 1, y] + 1) & 1]
                    t2 = row_parts[f + 1, y]
                    for j in range(n):
                        total[j] = (total[j] + (above[j] + t * (below[j] - above[j]))) + (above2[j] + t2 * (below2[j] - above2[j]))
                else:
                    for j in range(n):
                        total[j] += above[j] + t * (below[j] - above[j])
            here = unit[y * n : (y + 1) * n]
            target8 = out[i, y].reshape(n)
            for j in range(n):
                value = (here[j] + total[j]) / share
                target8[j] = np.uint8(np.int32(min(value, np.float32(1.0)) * np.float32(255.0) + half))
    return out


@kernel
def _zoom_many(images, rows, row_parts, columns, column_parts, half):  # type: ignore[no-untyped-def]
    """The same as `_zoom`, value for value, for 16 or more small images.

    Their runs are too short to be worth a loop each, so images lie side by side: every loop is over the same pixel of 16
    images, which have one weight. Channel by channel and column by column, since the columns of a channel that are
    enlarged to one lie in the nearest cache.
    """
    count, height, width, channels = images.shape
    factors = rows.shape[0]
    out = np.empty_like(images)
    size = height * width * channels
    n = height * SIDE_BY_SIDE
    flat, target = images.reshape(-1), out.reshape(-1)
    beside = np.empty(size * SIDE_BY_SIDE, np.uint8)
    unit = np.empty((width, n), np.float32)
    stretched = np.empty(n, np.float32)
    total = np.empty(n, np.float32)
    eight = np.empty(n, np.uint8)
    share = np.float32(factors + 1)
    step, line = np.uint64(SIDE_BY_SIDE), np.uint64(width * channels * SIDE_BY_SIDE)
    for start in range(0, count, SIDE_BY_SIDE):
        first = min(start, count - SIDE_BY_SIDE)  # the last ones overlap
        for p in range(0, size, SIDE_BY_SIDE):
            p = min(p, size - SIDE_BY_SIDE)
            turn_bytes(flat, first * size + p, size, beside, p * SIDE_BY_SIDE, SIDE_BY_SIDE)
        for c in range(channels):
            for x in range(width):
                column = unit[x]
                at = np.uint64((x * channels + c) * SIDE_BY_SIDE)
                for y in range(np.uint64(0), np.uint64(n), step):
                    for lane in range(step):
                        column[y + lane] = over_255(beside[at + lane])
                    at += line
            for x in range(width):
                total[:] = np.float32(0.0)
                for f in range(factors):
                    left = unit[columns[f, x]]
                    right = unit[columns[f, x] + 1]
                    t = column_parts[f, x]
                    # Only the middle of the column is enlarged.
                    for j in range(np.uint64(rows[f, 0] * SIDE_BY_SIDE), np.uint64((rows[f, height - 1] + 2) * SIDE_BY_SIDE)):
                        stretched[j] = left[j] + t * (right[j] - left[j])
                    for y in range(np.uint64(height)):
                        above = np.uint64(rows[f, y] * SIDE_BY_SIDE)
                        add_between(stretched, above, above + np.uint64(SIDE_BY_SIDE), row_parts[f, y], total, y * np.uint64(SIDE_BY_SIDE))
                here = unit[x]
                for j in range(n):
                    value = (here[j] + total[j]) / share
                    eight[j] = np.uint8(np.int32(min(value, np.float32(1.0)) * np.float32(255.0) + half))
                at = np.uint64((x * channels + c) * SIDE_BY_SIDE)
                for y in range(np.uint64(0), np.uint64(n), step):
                    for lane in range(step):
                        beside[at + lane] = eight[y + lane]
                    at += line
        for p in range(0, size, SIDE_BY_SIDE):
            p = min(p, size - SIDE_BY_SIDE)
            turn_bytes(beside, p * SIDE_BY_SIDE, SIDE_BY_SIDE, target, first * size + p, size)
    return out


@corruption(
    revision=1,
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, zoom_blur",
    parameters=(
        Parameter("stop", low=1.0, high=3.0, about="the factors are numpy.arange(1, stop, step)"),
        Parameter("step", low=0.005, high=1.0, about="see stop"),
        ROUNDING,
    ),
    deterministic=True,
    compile_seconds=2,
)
def zoom_blur(images: Images, keys: Keys, *, stop: float, step: float, rounding: str = "floor") -> Images:
    """Average the image with enlargements of its middle.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
    keys : Keys
        Not used: nothing is drawn.
    stop : float
        1..3. The factors are numpy.arange(1, stop, step), the overshoot of its rounding included.
    step : float
        0.005..1.
    rounding : {"floor", "round"}
        How the result becomes whole: floored, as ImageNet-C's generator does, or rounded, as MNIST-C's.

    Returns
    -------
    (N, H, W, C) ndarray of uint8

    Notes
    -----
    Each enlargement is cropped, interpolated linearly and trimmed as scipy.ndimage.zoom does, along each axis by its own
    length (the published code takes the height for both, and fails on an image that is not square). The image itself
    counts once more than its factor of 1. Sums are in float32, in the order of the factors, as published.

    References
    ----------
    Hendrycks and Dietterich 2019, released ImageNet-C code, zoom_blur and clipped_zoom
    """
    channels = images.shape[3]
    more = np.float32(half(rounding))
    rows, row_parts, _ = _grids(images.shape[1], stop, step)
    columns, column_parts, runs = _grids(images.shape[2], stop, step)
    if len(images) >= SIDE_BY_SIDE and images.shape[1] * images.shape[2] <= _MANY:
        return np.asarray(_zoom_many(images, rows, row_parts, columns, column_parts, more))
    parts = np.pad(np.repeat(column_parts, channels, axis=1), ((0, 0), (0, SIDE_BY_SIDE)))
    return np.asarray(_zoom(images, rows, row_parts, columns, parts, runs, more))
