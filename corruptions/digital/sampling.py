"""Bilinear sampling of images in single precision at coordinates that may lie outside of them: reflected there, or black."""

from __future__ import annotations

import numpy as np

from ..kernels import inlined, kernel
from ..lanes import mix

# What is reflected about; not True and False, each of which numba would compile `corners` for
EDGES, CENTRES = np.int32(0), np.int32(1)


@inlined
def _fold(i, n, mirror):  # type: ignore[no-untyped-def]
    """Reflect an int32 index at either end, once: about the centres of the outermost pixels (dcb|abcd|cba) with
    `mirror` 1, about the outer edges (cba|abcd|dcb) with 0. An index further out stays outside."""
    once = np.int32(mirror - np.int32(1) - i) if i < 0 else i
    return once if once < n else np.int32(np.int32(2) * n - np.int32(1) - mirror - once)


@kernel
def corners(ix, iy, mirror, height, width, channels, near, at):  # type: ignore[no-untyped-def]
    """Turn upper left pixels, int32, into where all four begin in a flat image: rows of `at`, uint32.

    Return whether all lie inside. Those outside are reflected, see `_fold`. `near` is int32 (2, n), for coordinates that
    were reflected already.
    """
    # Slices and 32 bits throughout: so LLVM vectorises. Nearly every band has pixels at an edge, so all are folded.
    a, b, c, d = at[0], at[1], at[2], at[3]
    wide, high = np.int32(width), np.int32(height)
    step = np.uint32(channels)
    line = np.uint32(np.uint32(wide) * step)
    right, bottom = np.int32(wide - np.int32(1)), np.int32(high - np.int32(1))
    touched, far = np.int32(0), np.int32(1)
    columns, rows = ix, iy
    while far != 0:
        far = np.int32(0)
        for x in range(np.uint64(ix.size)):
            left, top = columns[x], rows[x]
            touched |= np.int32((left < 0) | (top < 0) | (left >= right) | (top >= bottom))
            x0, y0 = _fold(left, wide, mirror), _fold(top, high, mirror)
            x1, y1 = _fold(np.int32(left + np.int32(1)), wide, mirror), _fold(np.int32(top + np.int32(1)), high, mirror)
            far |= np.int32((x0 < 0) | (x1 < 0) | (y0 < 0) | (y1 < 0))
            upper, lower = np.uint32(np.uint32(y0) * line), np.uint32(np.uint32(y1) * line)
            before, behind = np.uint32(np.uint32(x0) * step), np.uint32(np.uint32(x1) * step)
            a[x] = np.uint32(upper + before)
            b[x] = np.uint32(upper + behind)
            c[x] = np.uint32(lower + before)
            d[x] = np.uint32(lower + behind)
        if far != 0:
            # So far out that one reflection does not do: bring the coordinates near first.
            columns, rows = near[0], near[1]
            half_x, half_y = width - np.int64(mirror), height - np.int64(mirror)
            for x in range(ix.size):
                columns[x] = (ix[x] + half_x) % (2 * half_x) - half_x
                rows[x] = (iy[x] + half_y) % (2 * half_y) - half_y
    return touched == 0


@kernel
def blacken(ix, iy, whole, height, width, weights):  # type: ignore[no-untyped-def]
    """Take the weight from pixels outside: those are black. With `whole`, a sum that has some of one is black too."""
    for x in range(ix.size):
        lost = False
        for k in range(4):
            column, row = ix[x] + (k & 1), iy[x] + (k >> 1)
            if (column < 0 or row < 0 or column >= width or row >= height) and weights[k, x] != 0.0:
                weights[k, x] = 0.0
                lost = True
        if whole and lost:
            weights[:, x] = 0.0


@inlined
def interpolate(flat, at, weights, channels, count, out):  # type: ignore[no-untyped-def]
    """Write the weighted sums of four pixels of a flat image, for `count` pixels. Of three channels, both arrays have room for one more."""
    a, b, c, d = at[0], at[1], at[2], at[3]
    w0, w1, w2, w3 = weights[0], weights[1], weights[2], weights[3]
    if channels == 3:
        for x in range(np.uint64(count)):
            p, q, r, s = np.uint64(a[x]), np.uint64(b[x]), np.uint64(c[x]), np.uint64(d[x])
            mix(flat, p, q, r, s, w0[x], w1[x], w2[x], w3[x], out, np.uint64(3) * x)
    else:
        for x in range(np.uint64(count)):
            upper = flat[np.uint64(a[x])] * w0[x] + flat[np.uint64(b[x])] * w1[x]
            out[x] = (upper + flat[np.uint64(c[x])] * w2[x]) + flat[np.uint64(d[x])] * w3[x]
