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
def _weight(weights, d):  # type: ignore[no-untyped-def]
    """Return the weight at a distance; what is less than 1 away was added before."""
    return weights[d] if d >= 1 else 0.0


@inlined
def smooth_down(layer, y, weights, out):  # type: ignore[no-untyped-def]
    """Row y of `layer` (H, W), smoothed along the columns; edges are repeated. The outermost rows are added first."""
    height, width = layer.shape
    row = layer[y]
    middle = weights[0]
    for x in range(width):
        out[x] = row[x] * middle
    for d in range(weights.size - 1, 0, -4):
        # Four distances at a time: a quarter of the traffic of `out`; the order of the sums stays.
        up, down, weight = layer[max(y - d, 0)], layer[min(y + d, height - 1)], weights[d]
        up2, down2, weight2 = layer[max(y - d + 1, 0)], layer[min(y + d - 1, height - 1)], _weight(weights, d - 1)
        e, f = max(d - 2, 0), max(d - 3, 0)
        up3, down3, weight3 = layer[max(y - e, 0)], layer[min(y + e, height - 1)], _weight(weights, d - 2)
        up4, down4, weight4 = layer[max(y - f, 0)], layer[min(y + f, height - 1)], _weight(weights, d - 3)
        for x in range(width):
            outer = (out[x] + (up[x] + down[x]) * weight) + (up2[x] + down2[x]) * weight2
            out[x] = (outer + (up3[x] + down3[x]) * weight3) + (up4[x] + down4[x]) * weight4


@inlined
def smooth_along(padded, width, weights, out):  # type: ignore[no-untyped-def]
    """One row, smoothed; `padded` holds it from index weights.size - 1 on and gets its edges repeated."""
    radius = weights.size - 1
    for x in range(radius):
        padded[x] = padded[radius]
        padded[radius + width + x] = padded[radius + width - 1]
    middle = padded[radius : radius + width]
    for x in range(width):
        out[x] = middle[x] * weights[0]
    for d in range(radius, 0, -4):
        e, f, g = d - 1, max(d - 2, 0), max(d - 3, 0)
        weight, weight2, weight3, weight4 = weights[d], _weight(weights, d - 1), _weight(weights, d - 2), _weight(weights, d - 3)
        left, right = padded[radius - d : radius - d + width], padded[radius + d : radius + d + width]
        left2, right2 = padded[radius - e : radius - e + width], padded[radius + e : radius + e + width]
        left3, right3 = padded[radius - f : radius - f + width], padded[radius + f : radius + f + width]
        left4, right4 = padded[radius - g : radius - g + width], padded[radius + g : radius + g + width]
        for x in range(width):
            outer = (out[x] + (left[x] + right[x]) * weight) + (left2[x] + right2[x]) * weight2
            out[x] = (outer + (left3[x] + right3[x]) * weight3) + (left4[x] + right4[x]) * weight4
