"""Gaussian smoothing of random fields, at a cost that does not grow with sigma.

The filter is the one of the released code: a gaussian cut at 3 sigma, its weights normalised, edges reflected
(cba|abcd|dcb). Narrow ones are summed weight by weight. For wide ones the gaussian is written as a short cosine series
on the cut window, which it equals to 4e-6 of its peak or better; the windowed sum of one cosine follows from its two
last values and four samples, exactly:

    C[n+1] = 2 cos(t) C[n] - C[n-1] + cos(R t) (x[n+R+1] + x[n-R-1]) - cos((R+1) t) (x[n+R] + x[n-R])
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import exact_exp, sine_cosine
from ..kernels import inlined, inner, kernel
from ..lanes import RUN, SUMS, TERMS, cosines_down, weigh_outwards, weigh_two_outwards
from ..separable import band_rows, half_gaussian

_TRUNCATE = 3.0
_DIRECT = 24
"""Up to this radius weight by weight is faster."""
_HALF_PERIOD = 4.0
"""Half the period of the cosine series, in sigmas: its next copy adds exp(-(2 * 4 - 3)**2 / 2) = 4e-6 of the peak at
the cut.
"""
_ROOT_TWO_PI = 2.5066282746310002


class Smoother(NamedTuple):
    """What smoothing fields of one shape with one sigma needs."""

    radius: int
    """0: nothing to do."""
    weights: NDArray[np.float64]
    """(radius + 1,) from the centre outwards where the filter is narrow, else empty."""
    steps: NDArray[np.float64]
    """(terms, 3): 2 cos(t), a cos(R t), a cos((R + 1) t) of every cosine of amplitude a."""
    first_down: NDArray[np.float64]
    """(H, terms): weights of a column's samples in the cosine sums at its first row."""
    first_across: NDArray[np.float64]
    """(W, terms): the same for rows."""


@kernel
def _series(sigma, radius, amplitudes, size):  # type: ignore[no-untyped-def]
    """Return `Smoother.steps`, and the weights of `size` reflected samples in the sums at sample 0."""
    terms = amplitudes.size
    steps = np.empty((terms, 3), np.float64)
    first = np.zeros((size, terms), np.float64)
    for m in range(terms):
        angle = m * math.pi / (_HALF_PERIOD * sigma)
        steps[m, 0] = 2.0 * sine_cosine(angle)[1]
        steps[m, 1] = amplitudes[m] * sine_cosine(angle * radius)[1]
        steps[m, 2] = amplitudes[m] * sine_cosine(angle * (radius + 1))[1]
        for i in range(-radius, radius + 1):
            j = i % (2 * size)
            first[j if j < size else 2 * size - 1 - j, m] += amplitudes[m] * sine_cosine(angle * i)[1]
    return steps, first


@functools.lru_cache(maxsize=16)
def smoother(height: int, width: int, sigma: float) -> Smoother:
    """Return the parts of the filter of fields by a gaussian.

    Fields are (height, width), `sigma` is in pixels and at least 0.
    """
    radius = int(_TRUNCATE * sigma + 0.5)
    nothing = np.zeros((0, 0))
    if radius <= _DIRECT:
        return Smoother(radius, half_gaussian(sigma, _TRUNCATE), np.zeros((0, 3)), nothing, nothing)
    total = 0.0
    for i in range(radius, 0, -1):
        total += 2.0 * exact_exp(-0.5 * i * i / (sigma * sigma))
    total += 1.0
    peak = _ROOT_TWO_PI / (2.0 * _HALF_PERIOD) / total
    half = [exact_exp(-0.5 * (m * math.pi / _HALF_PERIOD) ** 2) * (1.0 if m == 0 else 2.0) * peak for m in range(TERMS)]
    amplitudes = np.array(half)
    steps, down = _series(sigma, radius, amplitudes, height)
    return Smoother(radius, np.zeros(0), steps, down, _series(sigma, radius, amplitudes, width)[1])


@inlined
def reflected(i, n):  # type: ignore[no-untyped-def]
    """Reflect an index about the outer edges (cba|abcd|dcb)."""
    once = -1 - i if i < 0 else i
    once = once if once < n else 2 * n - 1 - once
    if once >= 0:  # nearly always, and cheaper than a division
        return once
    i = i % (2 * n)
    return i if i < n else 2 * n - 1 - i


@inner
def _narrow_rows(tall, weights, factor, rows, down, both, fields):  # type: ignore[no-untyped-def]
    """Filter rows weight by weight, the nearest first, and multiply them.

    `tall` has `radius` rows more at either end, and `down` room for two rows with so many values.
    """
    width = fields.shape[1]
    radius = weights.size - 1
    wide = down.size // 2
    for y in range(0, rows, 2):
        for x in range(0, width, SUMS):
            to = radius + x
            weigh_two_outwards(tall, (radius + y) * width + x, width, weights, radius, down, to, wide + to)
        for k in range(min(2, rows - y)):
            line, target = down[k * wide : (k + 1) * wide], fields[y + k]
            for x in range(radius):
                line[x] = line[radius + reflected(x - radius, width)]
                line[radius + width + x] = line[radius + reflected(width + x, width)]
            for x in range(0, width, SUMS):
                weigh_outwards(line, radius + x, 1, weights, radius, both, x, x)
            for x in range(width):
                target[x] = np.float32(both[x] * factor)


@kernel
def _narrow(noise, weights, factor, fields):  # type: ignore[no-untyped-def]
    """Filter fields (N, H, W) weight by weight, and multiply them."""
    count, height, width = noise.shape
    radius = weights.size - 1
    band = band_rows(height, radius)
    tall = np.empty((band + 2 * radius + 1) * width + SUMS, np.float64)
    down = np.empty(2 * (width + 2 * radius + SUMS), np.float64)
    both = np.empty(width + SUMS, np.float64)
    for i in range(count):
        for top in range(0, height, band):
            rows = min(band, height - top)
            for k in range(rows + 2 * radius + 1):
                source, line = noise[i, reflected(top + k - radius, height)], tall[k * width : (k + 1) * width]
                for x in range(width):
                    line[x] = source[x]
            _narrow_rows(tall, weights, factor, rows, down, both, fields[i, top : top + rows])


@kernel
def _cosines(x, radius, steps, first, factor, out):  # type: ignore[no-untyped-def]
    """Filter (H, W) `x` along axis 0 by running cosine sums.

    The result, times a factor, goes into `out` (W, H).
    """
    rows, columns = x.shape
    below, above = np.empty(rows + 1, np.int64), np.empty(rows + 1, np.int64)
    for y in range(rows + 1):
        below[y] = reflected(y + radius, rows) * columns
        above[y] = reflected(y - radius - 1, rows) * columns
    for left in range(0, columns, RUN):
        at = min(left, columns - RUN)
        cosines_down(
            x.reshape(-1),
            at,
            columns,
            rows,
            below,
            above,
            steps.reshape(-1),
            first.reshape(-1),
            factor,
            out.reshape(-1),
        )


def smooth(noise: NDArray[np.float64], kit: Smoother, factor: float) -> NDArray[np.float32]:
    """Return noise smoothed in doubles, times a factor, both (N, H, W) ndarrays."""
    if kit.radius == 0:
        return (noise * factor).astype(np.float32)
    fields = np.empty(noise.shape, np.float32)
    if kit.weights.size > 0:
        _narrow(noise, kit.weights, factor, fields)
        return fields
    # First down the columns, then, turned, along the rows.
    turned = np.empty(noise.shape[:0:-1])
    for source, target in zip(noise, fields, strict=True):
        _cosines(source, kit.radius, kit.steps, kit.first_down, 1.0, turned)
        _cosines(turned, kit.radius, kit.steps, kit.first_across, factor, target)
    return fields
