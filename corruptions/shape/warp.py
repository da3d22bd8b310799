"""Affine maps of the image plane: each output pixel is read, bilinearly, where its map says."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel
from ..registry import Images


@kernel
def _warp(images, maps):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    out = np.empty_like(images)
    for n in range(count):
        a, b, c = maps[n, 0], maps[n, 1], maps[n, 2]
        d, e, f = maps[n, 3], maps[n, 4], maps[n, 5]
        for y in range(height):
            for x in range(width):
                sx = a * x + b * y + c
                sy = d * x + e * y + f
                if not (sx > -1.0 and sy > -1.0 and sx < width and sy < height):
                    for k in range(channels):
                        out[n, y, x, k] = np.uint8(0)
                    continue
                left, top = np.int64(np.floor(sx)), np.int64(np.floor(sy))
                u, v = sx - left, sy - top
                for k in range(channels):
                    total = 0.0
                    # What lies outside is black, and mixed in like any other pixel.
                    if top >= 0:
                        if left >= 0:
                            total += (1.0 - u) * (1.0 - v) * images[n, top, left, k]
                        if left + 1 < width:
                            total += u * (1.0 - v) * images[n, top, left + 1, k]
                    if top + 1 < height:
                        if left >= 0:
                            total += (1.0 - u) * v * images[n, top + 1, left, k]
                        if left + 1 < width:
                            total += u * v * images[n, top + 1, left + 1, k]
                    out[n, y, x, k] = np.uint8(np.rint(total))
    return out


def warp(images: Images, matrices: NDArray[np.float64], shifts: NDArray[np.float64] | None = None) -> Images:
    """Read every pixel elsewhere.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
        Left untouched.
    matrices : (N, 2, 2) ndarray of float64
        The output pixel at (x, y) from the image's centre is read at ``matrix @ (x, y)`` from it.
    shifts : (N, 2) ndarray of float64, optional
        (x, y) added to that.

    Returns
    -------
    (N, H, W, C) ndarray of uint8
        Bilinear, black outside, rounded (halves to even).
    """
    height, width = images.shape[1:3]
    cx, cy = (width - 1) / 2, (height - 1) / 2
    maps = np.empty((len(images), 6))
    for row in range(2):
        maps[:, 3 * row : 3 * row + 2] = matrices[:, row]
        maps[:, 3 * row + 2] = (cx, cy)[row] - matrices[:, row, 0] * cx - matrices[:, row, 1] * cy
        if shifts is not None:
            maps[:, 3 * row + 2] += shifts[:, row]
    return np.asarray(_warp(images, maps))
