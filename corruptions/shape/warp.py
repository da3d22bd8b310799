"""Affine maps of the image plane: each output pixel is read where its map says, bilinearly or from the nearest pixel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel
from ..registry import Images

INTERPOLATIONS = ("bilinear", "nearest")


@kernel
def _mix(images, out, maps, fill):  # type: ignore[no-untyped-def]
    height, width, channels = images.shape[1:]
    line, step = np.uint64(width * channels), np.uint64(channels)
    for n in range(out.shape[0]):
        a, b, c = maps[n, 0], maps[n, 1], maps[n, 2]
        d, e, f = maps[n, 3], maps[n, 4], maps[n, 5]
        source = images[n].reshape(height * width * channels)
        for y in range(out.shape[1]):
            target = out[n, y].reshape(out.shape[2] * channels)
            for x in range(out.shape[2]):
                sx = a * x + b * y + c
                sy = d * x + e * y + f
                if not (sx > -1.0 and sy > -1.0 and sx < width and sy < height):
                    for k in range(channels):
                        out[n, y, x, k] = fill
                    continue
                left, top = np.int64(np.floor(sx)), np.int64(np.floor(sy))
                u, v = sx - left, sy - top
                nw, ne, sw, se = (1.0 - u) * (1.0 - v), u * (1.0 - v), (1.0 - u) * v, u * v
                if left >= 0 and top >= 0 and left + 1 < width and top + 1 < height:
                    at = np.uint64((top * width + left) * channels)
                    to = np.uint64(x * channels)
                    if channels == 3:
                        # the same as below with a count that the compiler knows: a fifth faster
                        for k in range(np.uint64(3)):
                            total = nw * source[at + k] + ne * source[at + np.uint64(3) + k]
                            total += sw * source[at + line + k]
                            total += se * source[at + line + np.uint64(3) + k]
                            target[to + k] = np.uint8(np.int32(np.rint(total)))
                        continue
                    for k in range(step):
                        total = nw * source[at + k] + ne * source[at + step + k]
                        total += sw * source[at + line + k]
                        total += se * source[at + line + step + k]
                        target[to + k] = np.uint8(np.int32(np.rint(total)))
                    continue
                above, below = top >= 0, top + 1 < height
                before, behind = left >= 0, left + 1 < width
                for k in range(channels):
                    # What lies outside is mixed in like any other pixel.
                    total = nw * (images[n, top, left, k] if above and before else fill)
                    total += ne * (images[n, top, left + 1, k] if above and behind else fill)
                    total += sw * (images[n, top + 1, left, k] if below and before else fill)
                    total += se * (images[n, top + 1, left + 1, k] if below and behind else fill)
                    out[n, y, x, k] = np.uint8(np.rint(total))


@kernel
def _pick(images, out, matrices, centres, fill):  # type: ignore[no-untyped-def]
    """Read the nearest pixel: the one in which the point lies, in coordinates that start at the image's edge."""
    height, width, channels = images.shape[1:]
    rows, columns = out.shape[1:3]
    step = np.uint64(channels)
    picked = np.empty(columns, np.uint32)
    for n in range(out.shape[0]):
        a, b, d, e = matrices[n, 0, 0], matrices[n, 0, 1], matrices[n, 1, 0], matrices[n, 1, 1]
        cx, cy = centres[n, 0] + 0.5, centres[n, 1] + 0.5
        source = images[n].reshape(height * width * channels)
        for y in range(rows):
            target = out[n, y].reshape(columns * channels)
            # From the centres, so that on the middle lines a product is exactly 0: there a half is exactly a half.
            v = y - 0.5 * (rows - 1)
            right, down = b * v, e * v
            # The pixels of a row that lie inside are neighbours: seek the first and the last, then ask no more.
            begin, end = np.int64(0), np.int64(columns)
            while begin < end:
                u = begin - 0.5 * (columns - 1)
                sx, sy = (a * u + right) + cx, (d * u + down) + cy
                if sx >= 0.0 and sy >= 0.0 and sx < width and sy < height:
                    break
                begin += 1
            while end > begin:
                u = end - 1 - 0.5 * (columns - 1)
                sx, sy = (a * u + right) + cx, (d * u + down) + cy
                if sx >= 0.0 and sy >= 0.0 and sx < width and sy < height:
                    break
                end -= 1
            for p in range(begin * channels):
                target[p] = fill
            for p in range(end * channels, columns * channels):
                target[p] = fill
            for i in range(np.uint32(end - begin)):
                u = (begin + i) - 0.5 * (columns - 1)
                sx, sy = (a * u + right) + cx, (d * u + down) + cy
                picked[i] = np.uint32(np.int32(sy) * np.int32(width) + np.int32(sx))
            if channels == 3:
                for i in range(np.uint32(end - begin)):
                    at = np.uint64(picked[i]) * np.uint64(3)
                    to = np.uint64(begin + i) * np.uint64(3)
                    target[to] = source[at]
                    target[to + np.uint64(1)] = source[at + np.uint64(1)]
                    target[to + np.uint64(2)] = source[at + np.uint64(2)]
            else:
                for i in range(np.uint32(end - begin)):
                    for k in range(step):
                        target[np.uint64(begin + i) * step + k] = source[np.uint64(picked[i]) * step + k]


def warp(
    images: Images,
    matrices: NDArray[np.float64],
    shifts: NDArray[np.float64] | None = None,
    *,
    size: tuple[int, int] | None = None,
    interpolation: str = "bilinear",
    fill: int = 0,
) -> Images:
    """Read every pixel elsewhere.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
        Left untouched.
    matrices : (N, 2, 2) ndarray of float64
        The output pixel at (x, y) from the output's centre is read at ``matrix @ (x, y)`` from the image's centre.
    shifts : (N, 2) ndarray of float64, optional
        (x, y) added to that.
    size : (H', W'), optional
        The output's; as the image by default.
    interpolation : {"bilinear", "nearest"}
        Bilinear, rounded (halves to even); or the nearest pixel (of two the one to the right, or below).
    fill : int
        0..255, the level outside of the image; black by default.

    Returns
    -------
    (N, H', W', C) ndarray of uint8
    """
    count, height, width, channels = images.shape
    rows, columns = size or (height, width)
    out = np.empty((count, rows, columns, channels), np.uint8)
    cx, cy = (width - 1) / 2, (height - 1) / 2
    if interpolation == "nearest":
        centres = np.full((count, 2), (cx, cy)) + (0.0 if shifts is None else shifts)
        _pick(images, out, np.ascontiguousarray(matrices), centres, np.uint8(fill))
        return out
    x, y = (columns - 1) / 2, (rows - 1) / 2
    maps = np.empty((count, 6))
    for row in range(2):
        maps[:, 3 * row : 3 * row + 2] = matrices[:, row]
        maps[:, 3 * row + 2] = (cx, cy)[row] - matrices[:, row, 0] * x - matrices[:, row, 1] * y
        if shifts is not None:
            maps[:, 3 * row + 2] += shifts[:, row]
    _mix(images, out, maps, np.uint8(fill))
    return out
