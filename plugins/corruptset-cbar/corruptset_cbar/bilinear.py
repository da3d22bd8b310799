"""Bilinear sampling of pixels, black outside of the image."""

from __future__ import annotations

import numpy as np

from corruptset.corruptions.kernels import inlined, inner

from .blend import level


@inlined
def _pixel(flat, row, column, height, width, channels, c):  # type: ignore[no-untyped-def]
    if 0 <= row < height and 0 <= column < width:
        return np.float64(flat[np.uint64((row * width + column) * channels + c)])
    return 0.0


@inlined
def mixed(flat, top, left, down, right, height, width, channels, c):  # type: ignore[no-untyped-def]
    """Return one channel of what lies `down` and `right` of a pixel of a flat image (H * W * C), as float64."""
    nw, ne = _pixel(flat, top, left, height, width, channels, c), _pixel(flat, top, left + 1, height, width, channels, c)
    sw, se = _pixel(flat, top + 1, left, height, width, channels, c), _pixel(flat, top + 1, left + 1, height, width, channels, c)
    upper = nw * ((1.0 - down) * (1.0 - right)) + ne * ((1.0 - down) * right)
    return upper + (sw * (down * (1.0 - right)) + se * (down * right))


@inlined
def _inside(flat, above, below, beside, nw, ne, sw, se, more):  # type: ignore[no-untyped-def]
    upper = flat[above] * nw + flat[above + beside] * ne
    return level(upper + (flat[below] * sw + flat[below + beside] * se) + more)


@inner
def sample_row(flat, y, rows, columns, downs, rights, more, height, channels, out):  # type: ignore[no-untyped-def]
    """Write row y: each pixel from `downs` and `rights` of another one, `rows` and `columns` from it, `more` added to every channel."""
    width = rows.size
    one, two, beside, line = np.uint64(1), np.uint64(2), np.uint64(channels), np.uint64(width * channels)
    for x in range(width):
        top, left, down, right, added = np.int64(rows[x]) + y, np.int64(columns[x]) + x, downs[x], rights[x], more[x]
        to = np.uint64(x * channels)
        if 0 <= top < height - 1 and 0 <= left < width - 1:
            above = np.uint64((top * width + left) * channels)
            below = above + line
            nw, ne, sw, se = (1.0 - down) * (1.0 - right), (1.0 - down) * right, down * (1.0 - right), down * right
            # Without a loop over channels, which LLVM would vectorise at a loss
            out[to] = _inside(flat, above, below, beside, nw, ne, sw, se, added)
            if channels == 3:
                out[to + one] = _inside(flat, above + one, below + one, beside, nw, ne, sw, se, added)
                out[to + two] = _inside(flat, above + two, below + two, beside, nw, ne, sw, se, added)
        else:
            for c in range(channels):
                out[to + np.uint64(c)] = level(mixed(flat, top, left, down, right, height, width, channels, c) + added)
