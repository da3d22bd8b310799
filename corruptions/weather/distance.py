"""Distances to the nearest edge: the 5x5 chamfer in fixed point, free of any library's choice of code path."""

from __future__ import annotations

import numpy as np

from ..kernels import inlined, kernel

# 1, 1.4 and 2.1969 pixels (straight, diagonal, knight's move) with sixteen fractional bits
ONE = 1 << 16
_STRAIGHT = np.int32(ONE)
_DIAGONAL = np.int32(91750)
_KNIGHT = np.int32(143976)
_FAR = np.int32((1 << 29) - 1)


@inlined
def _from_neighbours(above2, above, width, row):  # type: ignore[no-untyped-def]
    """row[x + 2] = the least of itself and the ways over the two rows on one side of it; all rows are padded by two."""
    # Slices rather than x + 1: an index that might be negative keeps LLVM from vectorising.
    line, straight = row[2 : width + 2], above[2 : width + 2]
    diagonal, diagonal2 = above[1 : width + 1], above[3 : width + 3]
    knight, knight2, knight3, knight4 = above2[1 : width + 1], above2[3 : width + 3], above[:width], above[4 : width + 4]
    for x in range(width):
        best = min(line[x], np.int32(straight[x] + _STRAIGHT))
        best = min(best, np.int32(min(diagonal[x], diagonal2[x]) + _DIAGONAL))
        line[x] = min(best, np.int32(min(min(knight[x], knight2[x]), min(knight3[x], knight4[x])) + _KNIGHT))


@kernel
def chamfer(edges, distances):  # type: ignore[no-untyped-def]
    """Fill `distances` with every pixel's chamfer distance to the nearest non-zero pixel of its picture in `edges`, (N, H, W) uint8.

    Distances are int32 in units of 1 / 65536 pixel, (N, H + 4, W + 4): a picture is padded by two on each side. Without any edge all are
    far (2**29 - 1 or more).
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
