"""Gaussian smoothing of a random layer, in double precision."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import gaussian_weights
from ..kernels import inlined


def half_weights(sigma: float) -> NDArray[np.float64]:
    """Return the weights at distance 0, 1, ... of a gaussian cut off after 4 sigma; sigma 0 leaves things as they are."""
    radius = int(4.0 * sigma + 0.5)
    return gaussian_weights(sigma, radius)[radius:].copy() if radius > 0 else np.ones(1)


@inlined
def smooth_down(layer, y, weights, out):  # type: ignore[no-untyped-def]
    """Row y of `layer` (H, W), smoothed along the columns; edges are repeated. The outermost rows are added first."""
    height, width = layer.shape
    row = layer[y]
    middle = weights[0]
    for x in range(width):
        out[x] = row[x] * middle
    d = weights.size - 1
    while d >= 2:
        # Two distances at a time halve the traffic of `out`; the order of the sums stays.
        up, down, weight = layer[max(y - d, 0)], layer[min(y + d, height - 1)], weights[d]
        up2, down2, weight2 = layer[max(y - d + 1, 0)], layer[min(y + d - 1, height - 1)], weights[d - 1]
        for x in range(width):
            out[x] = (out[x] + (up[x] + down[x]) * weight) + (up2[x] + down2[x]) * weight2
        d -= 2
    if d == 1:
        up, down, weight = layer[max(y - 1, 0)], layer[min(y + 1, height - 1)], weights[1]
        for x in range(width):
            out[x] += (up[x] + down[x]) * weight


@inlined
def smooth_along(padded, width, weights, out):  # type: ignore[no-untyped-def]
    """One row, smoothed; `padded` holds it from index weights.size - 1 on and gets its edges repeated."""
    radius = weights.size - 1
    padded[:radius] = padded[radius]
    padded[radius + width : 2 * radius + width] = padded[radius + width - 1]
    middle = padded[radius : radius + width]
    for x in range(width):
        out[x] = middle[x] * weights[0]
    d = radius
    while d >= 2:
        left, right, weight = padded[radius - d : radius - d + width], padded[radius + d : radius + d + width], weights[d]
        left2, right2 = padded[radius - d + 1 : radius - d + 1 + width], padded[radius + d - 1 : radius + d - 1 + width]
        weight2 = weights[d - 1]
        for x in range(width):
            out[x] = (out[x] + (left[x] + right[x]) * weight) + (left2[x] + right2[x]) * weight2
        d -= 2
    if d == 1:
        left, right, weight = padded[radius - 1 : radius - 1 + width], padded[radius + 1 : radius + 1 + width], weights[1]
        for x in range(width):
            out[x] += (left[x] + right[x]) * weight
