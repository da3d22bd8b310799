"""Canny's edges with a 3x3 Sobel filter, in whole numbers.

They are those of the published code's library, without the cost of its calls.
"""

from __future__ import annotations

import numpy as np

from ..kernels import inlined, kernel

# tan 22.5 degrees, with fifteen fractional bits; tan 67.5 is 2 more
_TAN = np.int32(13573)
_0 = np.int32(0)
_1 = np.int32(1)
_2 = np.int32(2)
_15 = np.int32(15)
_16 = np.int32(16)
_AT_ONCE = 64
_WEAK, _STRONG = np.uint8(1), np.uint8(2)


@inlined
def _slopes(picture, y, smoothed, steps, across, down, size):  # type: ignore[no-untyped-def]
    """Write row y's Sobel sums, and the sum of their magnitudes to `size`.

    Edges are repeated.
    """
    height, width = picture.shape
    above, row, below = picture[max(y - 1, 0)], picture[y], picture[min(y + 1, height - 1)]
    middle, left, right = smoothed[1 : width + 1], smoothed[:width], smoothed[2 : width + 2]
    step, step_left, step_right = steps[1 : width + 1], steps[:width], steps[2 : width + 2]
    for x in range(width):
        middle[x] = np.int32(above[x]) + _2 * np.int32(row[x]) + np.int32(below[x])
        step[x] = np.int32(below[x]) - np.int32(above[x])
    smoothed[0], smoothed[width + 1] = smoothed[1], smoothed[width]
    steps[0], steps[width + 1] = steps[1], steps[width]
    for x in range(width):
        dx = np.int32(right[x] - left[x])
        dy = np.int32(step_left[x] + _2 * step[x] + step_right[x])
        across[x] = dx
        down[x] = dy
        size[x] = np.int32(abs(dx) + abs(dy))


@inlined
def _thin(sizes, y, across, down, low, high, marks):  # type: ignore[no-untyped-def]
    """Mark row y's pixels that exceed their two neighbours along the slope.

    They are weak above `low`, strong above `high`.
    """
    width = across.size
    sums, left, right = sizes[y + 1, 1 : width + 1], sizes[y + 1, :width], sizes[y + 1, 2 : width + 2]
    above, above_left, above_right = sizes[y, 1 : width + 1], sizes[y, :width], sizes[y, 2 : width + 2]
    below, below_left, below_right = sizes[y + 2, 1 : width + 1], sizes[y + 2, :width], sizes[y + 2, 2 : width + 2]
    for x in range(width):
        # Every neighbour is read, whether it matters or not: so LLVM vectorises.
        m, dx, dy = sums[x], across[x], down[x]
        a, b, c, d = left[x], right[x], above[x], below[x]
        e, f, g, h = above_left[x], below_right[x], above_right[x], below_left[x]
        flat = np.int32(np.int32(abs(dx)) * _TAN)
        steep = np.int32(flat + np.int32(np.int32(abs(dx)) << _16))
        rise = np.int32(np.int32(abs(dy)) << _15)
        crossed = np.int32(dx ^ dy) < _0
        before, after = np.int32(g if crossed else e), np.int32(h if crossed else f)
        before, after = np.int32(c if rise > steep else before), np.int32(np.int32(d - _1) if rise > steep else after)
        before, after = np.int32(a if rise < flat else before), np.int32(np.int32(b - _1) if rise < flat else after)
        least = np.int32(max(np.int32(max(before, after)), low))
        marks[x] = np.uint8(_0 if m <= least else _1 if m <= high else _2)


@inlined
def spread(marks, stride, queue, waiting):  # type: ignore[no-untyped-def]
    """Make weak marks strong that touch a strong one, directly or not.

    Across a corner, too. The first `waiting` of the queue are the places of strong ones; no mark lies on the border.
    """
    while waiting > 0:
        waiting -= 1
        corner = queue[waiting] - stride - 1
        for row in range(3):
            for column in range(3):
                p = corner + row * stride + column
                if marks[p] == _WEAK:
                    marks[p] = _STRONG
                    queue[waiting] = p
                    waiting += 1


@kernel
def canny(pictures, low, high, edges):  # type: ignore[no-untyped-def]
    """Fill `edges` with 255 at the edges of pictures, else with 0.

    Pictures are (N, H, W) uint8: ``cv2.Canny(picture, low, high)`` (Canny 1986).

    An edge starts where the sum of the two slopes' magnitudes (Sobel 3x3) is above `high`, and goes on above `low`.
    """
    count, height, width = pictures.shape
    least, most = np.int32(low), np.int32(high)
    sizes = np.zeros((height + 2, width + 2), np.int32)
    across = np.empty((height, width), np.int32)
    down = np.empty((height, width), np.int32)
    smoothed = np.empty(width + 2, np.int32)
    steps = np.empty(width + 2, np.int32)
    marks = np.zeros((height + 2, width + 2), np.uint8)
    flat = marks.reshape(-1)
    queue = np.empty(height * width, np.int64)
    stride = width + 2
    for i in range(count):
        for y in range(height):
            _slopes(pictures[i], y, smoothed, steps, across[y], down[y], sizes[y + 1, 1 : width + 1])
        for y in range(height):
            _thin(sizes, y, across[y], down[y], least, most, marks[y + 1, 1 : width + 1])
        waiting = np.int64(0)
        for start in range(0, flat.size, _AT_ONCE):
            # Most stretches hold none: one look at all of a stretch, and another only where that finds one.
            part = flat[start : start + _AT_ONCE]
            every = np.uint8(0)
            for p in range(part.size):
                every |= part[p]
            if every & _STRONG:
                for p in range(part.size):
                    if part[p] == _STRONG:
                        queue[waiting] = start + p
                        waiting += 1
        spread(flat, stride, queue, waiting)
        for y in range(height):
            mark, edge = marks[y + 1, 1 : width + 1], edges[i, y]
            for x in range(width):
                edge[x] = np.uint8(255) if mark[x] == _STRONG else np.uint8(0)
