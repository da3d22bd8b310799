"""Images sampled where every pixel's own move says: the second step of the elastic transform."""

from __future__ import annotations

import numpy as np

from ..kernels import inlined, inner, kernel
from ..lanes import blend, mix
from .fields import reflected

_UNSURE = np.float32(16 * 255 * 2.0**-24)
"""Levels: float32 takes at most 13 roundings of 255 levels away from doubles (eight of the interpolation, two of
the level; and three of the doubles' own sample and level, which are float32)."""


@inlined
def _mirrored(i, move, n, beyond):  # type: ignore[no-untyped-def]
    """Return the two pixels of a row between which pixel `i` is read.

    Beyond its edges it is their reflection (cba|abcd|dcb). Returned are the first, the second's share, and whether one
    lies further than `beyond` pixels beyond the row.
    """
    whole = np.floor(move)
    share = move - whole
    first = np.int32(i + np.int32(whole))
    folded = max(first, np.int32(np.int32(-2) - first))
    last = np.int32(n - np.int32(2))
    far = np.uint32(first + beyond) > np.uint32(last + np.int32(np.int32(2) * beyond))
    folded = min(folded, np.int32(np.int32(last + n) - folded))
    share = share if folded == first else np.float32(1.0) - share
    # The edge itself lies between two that are the same pixel.
    share = np.float32(0.0) if folded < 0 else np.float32(1.0) if folded > last else share
    return min(max(folded, np.int32(0)), last), share, far


@inlined
def _exact(warped, x, y, move_x, move_y, height, width, channels, black, sample):  # type: ignore[no-untyped-def]
    """Write one pixel of a warped image, displaced, as doubles sample it."""
    sx, sy = np.float64(x) + move_x, np.float64(y) + move_y
    fx, fy = np.floor(sx), np.floor(sy)
    u, v = sx - fx, sy - fy
    x0, y0 = np.int64(fx), np.int64(fy)
    x1, y1 = x0 + 1, y0 + 1
    nw, ne, sw, se = (1.0 - u) * (1.0 - v), u * (1.0 - v), (1.0 - u) * v, u * v
    if (x0 < 0) | (x1 >= width) | (y0 < 0) | (y1 >= height):
        if black and ((sx < 0.0) | (sx > width - 1) | (sy < 0.0) | (sy > height - 1)):
            nw = ne = sw = se = 0.0
        x0, x1, y0, y1 = reflected(x0, width), reflected(x1, width), reflected(y0, height), reflected(y1, height)
    a, b = np.uint64((y0 * width + x0) * channels), np.uint64((y0 * width + x1) * channels)
    c, d = np.uint64((y1 * width + x0) * channels), np.uint64((y1 * width + x1) * channels)
    if channels == 3:
        mix(warped, a, b, c, d, nw, ne, sw, se, sample, np.uint64(0))
    else:
        sample[0] = ((warped[a] * nw + warped[b] * ne) + warped[c] * sw) + warped[d] * se


@inner
def _displace_one(image, moves_x, moves_y, black, half, work, at, doubtful, outside, out):  # type: ignore[no-untyped-def]
    height, width, channels = out.shape
    step = np.uint64(channels)
    line = np.uint64(width) * step
    sampled, u, v, sample = work[0], work[1], work[2], work[3]
    doubtful_8, outside_8 = doubtful.view(np.uint64), outside.view(np.uint64)
    wide, high = np.int32(width), np.int32(height)
    beyond_x, beyond_y = (np.int32(0), np.int32(0)) if black else (wide, high)
    for y in range(height):
        move_x, move_y, target = moves_x[y], moves_y[y], out[y].reshape(width * channels)
        # An axis at a time: with more arrays than these LLVM does not vectorise.
        for x in range(np.uint32(width)):
            left, u[x], outside[x] = _mirrored(np.int32(x), move_x[x], wide, beyond_x)
            at[x] = np.uint32(left) * np.uint32(step)
        for x in range(np.uint32(width)):
            top, v[x], far = _mirrored(np.int32(y), move_y[x], high, beyond_y)
            outside[x] |= far
            at[x] += np.uint32(top) * np.uint32(line)
        for x in range(np.uint64(width)):
            upper = np.uint64(at[x])
            lower = upper + line
            if channels == 3:
                blend(image, upper, lower, u[x], v[x], sampled, np.uint64(3) * x)
            else:
                left = image[upper] + v[x] * (image[lower] - image[upper])
                behind = image[upper + step] + v[x] * (image[lower + step] - image[upper + step])
                sampled[x] = left + u[x] * (behind - left)
        for j in range(np.uint64(target.size)):
            value = sampled[j] * np.float32(255.0) + half
            low = np.int32(max(value - _UNSURE, np.float32(0.0)))
            target[j] = np.uint8(min(low, np.int32(255)))
            doubtful[j] = (np.int32(value + _UNSURE) != low) & (low < np.int32(255))
        for k in range(np.uint64(doubtful_8.size)):
            if doubtful_8[k] != 0:
                for j in range(np.uint64(8) * k, np.uint64(8) * (k + np.uint64(1))):
                    if doubtful[j] != 0:
                        outside[j // np.uint64(3) if channels == 3 else j] = 1
        for k in range(np.uint64(outside_8.size)):
            if outside_8[k] != 0:
                for x in range(8 * k, 8 * k + 8):
                    if outside[x] != 0:
                        _exact(image, x, y, move_x[x], move_y[x], height, width, channels, black, sample)
                        for c in range(channels):
                            level = min(sample[c], np.float32(1.0)) * np.float32(255.0) + half
                            target[x * channels + c] = np.uint8(np.int32(level))


@kernel
def displace(warped, moves_x, moves_y, black, half, out):  # type: ignore[no-untyped-def]
    """Sample images at the grid plus their moves, bilinearly.

    They are reflected about the edges, or black beyond the outermost centres.

    `warped` is that of `elastic._warp`, the moves float32 (N, H, W), `out` is uint8 (N, H, W, C). The result is that of
    doubles; but those work only where a step of levels is so near that float32 cannot tell, and far outside.
    """
    count, _, width, channels = out.shape
    work = np.empty((4, width * channels + 1), np.float32)
    at = np.empty(width, np.uint32)
    doubtful = np.zeros((width * channels + 7) // 8 * 8, np.uint8)
    outside = np.zeros((width + 7) // 8 * 8, np.uint8)
    for i in range(count):
        _displace_one(warped[i], moves_x[i], moves_y[i], black, half, work, at, doubtful, outside, out[i])
