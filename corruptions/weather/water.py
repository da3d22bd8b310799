"""Compute the opacity of water drops from the distance to their edges.

The distance is a 5x5 chamfer distance in whole numbers. OpenCV's chamfer distance is not used, because its values
depend on whether Intel's primitives (IPP) are active. All other steps use OpenCV, whose results are the same on every
machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import inlined, kernel

# The light comes from the lower right, as published.
_EMBOSS = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], np.float32)
# The steps are 1, 1.4 and 2.1969 pixels (straight, diagonal, knight's move), with sixteen fractional bits.
ONE = 1 << 16
_STRAIGHT = np.int32(ONE)
_DIAGONAL = np.int32(91750)
_KNIGHT = np.int32(143976)
_FAR = np.int32((1 << 29) - 1)


@inlined
def _from_neighbours(above2, above, width, row):  # type: ignore[no-untyped-def]
    """Update the distances of a row from the two rows on one side of it.

    ``row[x + 2]`` becomes the minimum of its value and the distances via its neighbours. All rows are padded by two.
    """
    # Slices are used instead of x + 1, because LLVM does not vectorise if an index might be negative.
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

    Parameters
    ----------
    edges : (N, H, W) ndarray of uint8
        The edge maps. Nonzero pixels are edges.
    distances : (N, H + 4, W + 4) ndarray of int32
        The distances in units of 1 / 65536 pixel, with two pixels of padding on each side. In an image without edges,
        all distances are at least 2**29 - 1.
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
        # The first sweep goes downwards and to the right, the second one upwards and to the left.
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


def water_opacity(liquids: NDArray[np.uint8], reach: float, opacity: float) -> NDArray[np.float32]:
    """Return the opacity of the water at every pixel, scaled to a given maximum.

    Parameters
    ----------
    liquids : (N, H, W) ndarray of uint8
        The layers of liquid, which are 0 at dry pixels.
    reach : float
        The distance from an edge, in pixels, beyond which the depth is constant.
    opacity : float
        The maximum opacity of each layer.

    Returns
    -------
    (N, H, W) ndarray of float32
        The opacity, which is 0 in a layer without liquid.
    """
    import cv2  # This is a local import, so that corruptions can be listed without OpenCV.

    count, height, width = liquids.shape
    edges = np.stack([cv2.Canny(liquid, 50, 150) for liquid in liquids])
    distances = np.empty((count, height + 4, width + 4), np.int32)
    chamfer(edges, distances)
    cap, unit = int(reach * ONE), 9.0 * ONE * (reach / 20.0)
    depths = np.empty(liquids.shape, np.float32)
    for liquid, distance, depth in zip(liquids, distances[:, 2:-2, 2:-2], depths, strict=True):
        # The nine distances are summed as integers. Their mean is expressed in twentieths of the reach and rounded
        # down, which gives 0 to 20.
        sums = cv2.boxFilter(np.minimum(distance, cap), cv2.CV_32S, (3, 3), normalize=False)
        steps = cv2.equalizeHist((sums / unit).astype(np.uint8))
        relief = cv2.blur(cv2.filter2D(steps, cv2.CV_8U, _EMBOSS), (3, 3))
        np.multiply(liquid, relief, depth, dtype=np.float32)
        if deepest := depth.max():
            depth /= deepest
            depth *= np.float32(opacity)
    return depths
