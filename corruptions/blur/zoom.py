"""The corruption `zoom_blur`, which averages an image and its enlargements."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from ...references import HENDRYCKS_2019
from ..arithmetic import over_255
from ..kernels import LERP_LENGTH, inlined, inner, kernel, lerp_row
from ..levels import ROUNDING, rounding_offset
from ..registry import Images, Keys, Parameter, corruption


def zoom_factors(stop: float, step: float) -> list[float]:
    """Return the zoom factors numpy.arange(1, stop, step).

    Because of rounding, the last factor can reach `stop`.

    Examples
    --------
    >>> len(zoom_factors(1.11, 0.01)), round(zoom_factors(1.11, 0.01)[-1], 6)
    (12, 1.11)
    """
    spacing = (1.0 + step) - 1.0
    return [1.0 + i * spacing for i in range(max(math.ceil((stop - 1.0) / step), 0))]


def zoom_grid(side: int, factor: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each of the `side` pixels of an enlargement, return its position in the image.

    The positions are those of scipy.ndimage.zoom. The centres of the crop's first and last pixels map to the centres of
    the enlargement's first and last pixels. The enlargement is then trimmed at both ends.

    Returns
    -------
    index : (side,) ndarray of int64
        The pixel before each position.
    fraction : (side,) ndarray of float64
        The distance from this pixel, in [0, 1].
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
    """Return the results of `zoom_grid` for all factors, (factors, side) each, and the runs of the indices.

    A run is a sequence of output pixels whose index grows by one. Row f of the runs contains the start of each run for
    factor f, and is padded with `side`.
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
def _stretch_row(source, start, index, part, runs, channels, out):  # type: ignore[no-untyped-def]
    """Interpolate along the row that begins at `start`.

    Within a run, the positions in the source advance with those in the output, so several values are computed together.
    Values that are written beyond the end of a run are overwritten by the next run.
    """
    r = 0
    while runs[r] < index.size:
        begin, end = runs[r] * channels, runs[r + 1] * channels
        at = start + index[runs[r]] * channels - begin
        for to in range(begin, end, LERP_LENGTH):
            lerp_row(source, np.uint64(at + to), np.uint64(channels), part, out, np.uint64(to))
        r += 1


@inner
def _average(image, rows, row_parts, columns, column_parts, runs, half, unit, stretched, total, out):  # type: ignore[no-untyped-def]
    """Write the mean of an image and its enlargements.

    `stretched` holds the last two rows of each factor, with source row r in slot r % 2.
    """
    height, width, channels = image.shape
    factors = rows.shape[0]
    n = width * channels
    share = np.float32(factors + 1)
    source = image.reshape(height * n)
    for j in range(height * n):
        unit[j] = over_255(source[j])
    for y in range(height):
        for j in range(n):
            total[j] = np.float32(0.0)
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
                    total[j] = (total[j] + (above[j] + t * (below[j] - above[j]))) + (
                        above2[j] + t2 * (below2[j] - above2[j])
                    )
            else:
                for j in range(n):
                    total[j] += above[j] + t * (below[j] - above[j])
        line, target = unit[y * n : (y + 1) * n], out[y].reshape(n)
        for j in range(n):
            value = (line[j] + total[j]) / share
            target[j] = np.uint8(np.int32(min(value, np.float32(1.0)) * np.float32(255.0) + half))


@kernel
def _zoom(images, rows, row_parts, columns, column_parts, runs, half):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    out = np.empty_like(images)
    n = width * channels
    unit = np.empty(height * n + 2 * LERP_LENGTH, np.float32)
    stretched = np.empty((rows.shape[0], 2, n + LERP_LENGTH), np.float32)
    total = np.empty(n, np.float32)
    for i in range(count):
        _average(images[i], rows, row_parts, columns, column_parts, runs, half, unit, stretched, total, out[i])
    return out


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, zoom_blur and clipped_zoom",
    parameters=(
        Parameter(
            "stop",
            float,
            1.0,
            3.0,
            "end of the zoom factors numpy.arange(1, stop, step), including the overshoot by rounding",
        ),
        Parameter("step", float, 0.005, 1.0, "difference between two zoom factors"),
        ROUNDING,
    ),
    deterministic=True,
)
def zoom_blur(images: Images, keys: Keys, *, stop: float, step: float, rounding: str = "floor") -> Images:
    """Average the image and enlargements of its centre.

    Notes
    -----
    Each enlargement is cropped, interpolated linearly and trimmed as scipy.ndimage.zoom does. Each axis uses its own
    length. The published code uses the height for both axes, and fails on images that are not square. The image itself
    is counted twice, because 1 is also among the factors. Sums are in float32, in the order of the factors, as
    published.
    """
    rows, row_parts, _ = _grids(images.shape[1], stop, step)
    columns, column_parts, runs = _grids(images.shape[2], stop, step)
    parts = np.pad(np.repeat(column_parts, images.shape[3], axis=1), ((0, 0), (0, LERP_LENGTH)))
    return np.asarray(_zoom(images, rows, row_parts, columns, parts, runs, np.float32(rounding_offset(rounding))))
