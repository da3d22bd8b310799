"""Relief of water drops.

Edges of the liquid -> distances -> equalised -> embossed -> smoothed, all in integers. Distances are the 5x5 chamfer in
fixed point, free of any library's choice of code path.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import inlined, kernel

_LEVELS = 32
# 1, 1.4 and 2.1969 pixels (straight, diagonal, knight's move) with sixteen fractional bits
ONE = 1 << 16
_STRAIGHT = np.int32(ONE)
_DIAGONAL = np.int32(91750)
_KNIGHT = np.int32(143976)
_FAR = np.int32((1 << 29) - 1)


@inlined
def _from_neighbours(above2, above, width, row):  # type: ignore[no-untyped-def]
    """Take the least way over the two rows on one side of a row.

    row[x + 2] is the least of itself and those ways; all rows are padded by two.
    """
    # Slices rather than x + 1: an index that might be negative keeps LLVM from vectorising.
    line, straight = row[2 : width + 2], above[2 : width + 2]
    diagonal, diagonal2 = above[1 : width + 1], above[3 : width + 3]
    knight, knight2, knight3, knight4 = (
        above2[1 : width + 1],
        above2[3 : width + 3],
        above[:width],
        above[4 : width + 4],
    )
    for x in range(width):
        best = min(line[x], np.int32(straight[x] + _STRAIGHT))
        best = min(best, np.int32(min(diagonal[x], diagonal2[x]) + _DIAGONAL))
        line[x] = min(best, np.int32(min(min(knight[x], knight2[x]), min(knight3[x], knight4[x])) + _KNIGHT))


@kernel
def chamfer(edges, distances):  # type: ignore[no-untyped-def]
    """Fill `distances` with every pixel's chamfer distance to the nearest edge.

    An edge is a non-zero pixel of the picture in `edges`, (N, H, W) uint8.

    Distances are int32 in units of 1 / 65536 pixel, (N, H + 4, W + 4): a picture is padded by two on each side. Without
    any edge all are far (2**29 - 1 or more).
    """
    count, height, width = edges.shape
    for i in range(count):
        flat = distances[i].reshape(-1)
        for p in range(np.uint64(flat.size)):
            flat[p] = _FAR
        for y in range(height):
            edge, line = edges[i, y], distances[i, y + 2, 2 : width + 2]
            for x in range(np.uint64(width)):
                line[x] = np.int32(0) if edge[x] != 0 else _FAR
        # Downwards and to the right, then upwards and to the left
        distance = distances[i]
        for sweep in range(2):
            for k in range(height):
                y = k + 2 if sweep == 0 else height + 1 - k
                back = -1 if sweep == 0 else 1
                row = distance[y]
                _from_neighbours(distance[y + 2 * back], distance[y + back], width, row)
                line = row[2 : width + 2]
                best = _FAR
                if sweep == 0:
                    for x in range(width):
                        best = min(line[x], np.int32(best + _STRAIGHT))
                        line[x] = best
                else:
                    for x in range(width - 1, -1, -1):
                        best = min(line[x], np.int32(best + _STRAIGHT))
                        line[x] = best


@kernel
def _mirror(pictures):  # type: ignore[no-untyped-def]
    """Fill the one-pixel border by reflection about the edge pixels' centres."""
    count, height, width = pictures.shape
    for i in range(count):
        padded = pictures[i]
        for y in range(1, height - 1):
            padded[y, 0] = padded[y, 2]
            padded[y, width - 1] = padded[y, width - 3]
        for x in range(width):
            padded[0, x] = padded[2, x]
            padded[height - 1, x] = padded[height - 3, x]


@kernel
def _cap_and_blur(distances, reach, pictures):  # type: ignore[no-untyped-def]
    """Cap distances at `reach` pixels, average 3x3, and cut down to 0..20 twentieths of `reach`."""
    count, height, width = pictures.shape[0], pictures.shape[1] - 2, pictures.shape[2] - 2
    cap = np.int32(reach * ONE)
    unit = 9.0 * ONE * (reach / 20.0)
    sums = np.empty(width + 2, np.int32)
    middle, left, right = sums[1 : width + 1], sums[:width], sums[2 : width + 2]
    for i in range(count):
        distance = distances[i]
        for y in range(height):
            above = distance[(y - 1 if y > 0 else 1) + 2, 2 : width + 2]
            centre = distance[y + 2, 2 : width + 2]
            below = distance[(y + 1 if y < height - 1 else height - 2) + 2, 2 : width + 2]
            for x in range(width):
                middle[x] = min(above[x], cap) + min(centre[x], cap) + min(below[x], cap)
            sums[0] = sums[2]
            sums[width + 1] = sums[width - 1]
            row = pictures[i, y + 1, 1 : width + 1]
            for x in range(width):
                row[x] = np.uint8(np.int32(np.float64(np.int32(left[x] + middle[x] + right[x])) / unit))


@kernel
def _equalise(pictures):  # type: ignore[no-untyped-def]
    """Equalise the histogram inside the border; no level is above 20."""
    count, height, width = pictures.shape[0], pictures.shape[1] - 2, pictures.shape[2] - 2
    # Four counts, by column: neighbours are mostly alike, and one count would wait for the other.
    histogram = np.empty(4 * _LEVELS, np.int64)
    table = np.empty(_LEVELS, np.uint8)
    for i in range(count):
        for level in range(4 * _LEVELS):
            histogram[level] = 0
        for y in range(height):
            row = pictures[i, y + 1, 1 : width + 1]
            for x in range(np.uint64(width)):
                histogram[np.uint64(row[x]) * np.uint64(4) + (x & np.uint64(3))] += 1
        first = np.int64(-1)
        scale = np.float32(0.0)
        total = np.int64(0)
        for level in range(_LEVELS):
            pixels = (histogram[4 * level] + histogram[4 * level + 1]) + (
                histogram[4 * level + 2] + histogram[4 * level + 3]
            )
            table[level] = 0
            if first >= 0:
                total += pixels
                # Whole numbers nearest to the product, ties to even
                table[level] = np.uint8(min(np.rint(np.float32(total) * scale), np.float32(255.0)))
            elif pixels > 0:
                first = np.int64(level)
                rest = height * width - pixels
                if rest == 0:
                    table[level] = level
                    break
                scale = np.float32(np.float32(255.0) / np.float32(rest))
        for y in range(height):
            row = pictures[i, y + 1, 1 : width + 1]
            for x in range(np.uint64(width)):
                row[x] = table[row[x]]


@kernel
def _emboss(sources, targets):  # type: ignore[no-untyped-def]
    """Light a picture from the lower right, clipped to a byte.

    It is correlated with [-2 -1 0; -1 1 1; 0 1 2].
    """
    count, height, width = sources.shape[0], sources.shape[1] - 2, sources.shape[2] - 2
    for i in range(count):
        source = sources[i]
        for y in range(height):
            above, above2 = source[y, :width], source[y, 1 : width + 1]
            beside, beside2, beside3 = source[y + 1, :width], source[y + 1, 1 : width + 1], source[y + 1, 2 : width + 2]
            below2, below3 = source[y + 2, 1 : width + 1], source[y + 2, 2 : width + 2]
            row = targets[i, y + 1, 1 : width + 1]
            for x in range(width):
                bright = (
                    np.int32(beside2[x])
                    + np.int32(beside3[x])
                    + np.int32(below2[x])
                    + np.int32(2) * np.int32(below3[x])
                )
                dark = np.int32(2) * np.int32(above[x]) + np.int32(above2[x]) + np.int32(beside[x])
                row[x] = np.uint8(min(max(np.int32(bright - dark), np.int32(0)), np.int32(255)))


@kernel
def _weigh(reliefs, liquids, opacity, depths):  # type: ignore[no-untyped-def]
    """Smooth the relief 3x3, multiply it by the liquid, and scale it.

    Each picture has `opacity` at its deepest point.
    """
    count, height, width = liquids.shape
    sums = np.empty(width + 2, np.int32)
    left, middle, right = sums[:width], sums[1 : width + 1], sums[2 : width + 2]
    for i in range(count):
        most = np.float32(0.0)
        for y in range(height):
            above, centre, below = reliefs[i, y], reliefs[i, y + 1], reliefs[i, y + 2]
            line, row = liquids[i, y], depths[i, y]
            for x in range(width + 2):
                sums[x] = np.int32(above[x]) + np.int32(centre[x]) + np.int32(below[x])
            for x in range(width):
                # The nearest whole number to a ninth: for sums up to 2295 the product is exact enough.
                mean = np.int32(np.int32(left[x] + middle[x] + right[x] + np.int32(4)) * np.int32(7282)) >> np.int32(16)
                row[x] = np.float32(np.int32(mean * np.int32(line[x])))
            for x in range(width):
                most = max(most, row[x])
        if most > np.float32(0.0):
            for y in range(height):
                row = depths[i, y]
                for x in range(width):
                    row[x] = row[x] / most * opacity


def deepen(liquids: NDArray[np.uint8], edges: NDArray[np.uint8], reach: float, opacity: float) -> NDArray[np.float32]:
    """Return liquid times relief, with `opacity` at the deepest point of each layer.

    It is (N, H, W) float32.

    The liquid stops deepening `reach` pixels from an edge.
    """
    count, height, width = liquids.shape
    distances = np.empty((count, height + 4, width + 4), np.int32)
    first = np.empty((count, height + 2, width + 2), np.uint8)
    second = np.empty((count, height + 2, width + 2), np.uint8)
    depths = np.empty((count, height, width), np.float32)
    chamfer(edges, distances)
    # Small kernels, one after the other, compile in half the time of one that holds them all.
    _cap_and_blur(distances, reach, first)
    _equalise(first)
    _mirror(first)
    _emboss(first, second)
    _mirror(second)
    _weigh(second, liquids, np.float32(opacity), depths)
    return depths
