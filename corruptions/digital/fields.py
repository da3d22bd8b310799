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
from ..border import SYMMETRIC, border_index, pad_row
from ..correlate import band_rows, correlate
from ..gaussian_filter import half_gaussian
from ..kernels import inlined, kernel

_TRUNCATE = 3.0
_DIRECT = 24
"""Up to this radius weight by weight is faster."""
_HALF_PERIOD = 4.0
"""Half the period of the cosine series, in sigmas: its next copy adds exp(-(2 * 4 - 3)**2 / 2) = 4e-6 of the peak at
the cut.
"""
_ROOT_TWO_PI = 2.5066282746310002
_TERMS = 8
"""Cosines of the series, an even number, because they are added in pairs."""
_STRIP = 32
"""Columns that are filtered together, so that their running sums stay in the first-level cache."""
_SUMS = _TERMS * _STRIP


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
    half = [
        exact_exp(-0.5 * (m * math.pi / _HALF_PERIOD) ** 2) * (1.0 if m == 0 else 2.0) * peak for m in range(_TERMS)
    ]
    amplitudes = np.array(half)
    steps, down = _series(sigma, radius, amplitudes, height)
    return Smoother(radius, np.zeros(0), steps, down, _series(sigma, radius, amplitudes, width)[1])


@kernel
def _narrow(noise, weights, factor, fields):  # type: ignore[no-untyped-def]
    """Filter fields (N, H, W) weight by weight, and multiply them."""
    count, height, width = noise.shape
    radius = weights.size - 1
    band = band_rows(height, radius)
    tall = np.empty((band + 2 * radius) * width, np.float64)
    line = np.empty(width + 2 * radius, np.float64)
    down = line[radius : radius + width]
    both = np.empty(width, np.float64)
    for i in range(count):
        for top in range(0, height, band):
            rows = min(band, height - top)
            for k in range(rows + 2 * radius):
                source = noise[i, border_index(top + k - radius, height, SYMMETRIC)]
                row = tall[k * width : (k + 1) * width]
                for x in range(width):
                    row[x] = source[x]
            for y in range(rows):
                correlate(tall, (radius + y) * width, width, weights, False, down)
                pad_row(line, radius, 1, SYMMETRIC)
                correlate(line, radius, 1, weights, False, both)
                target = fields[i, top + y]
                for x in range(width):
                    target[x] = np.float32(both[x] * factor)


@inlined
def _add_samples(work, weights):  # type: ignore[no-untyped-def]
    """Add a row's samples to the cosine sums of the first row."""
    for i in range(np.uint64(_STRIP)):
        value = work[i + np.uint64(2 * _SUMS)]
        for m in range(_TERMS):
            work[i + np.uint64(m * _STRIP)] += weights[m] * value


@inlined
def _next_row(work, now, other, steps):  # type: ignore[no-untyped-def]
    """Add up a row's cosine sums, and replace those of the row before by those of the next row.

    All is in one flat array at constant distances, so that LLVM sees that nothing overlaps and vectorises the loop.
    """
    for i in range(np.uint64(_STRIP)):
        far, near = work[i + np.uint64(2 * _SUMS)], work[i + np.uint64(2 * _SUMS + _STRIP)]
        total = 0.0
        for m in range(0, _TERMS, 2):
            a, b = work[now + i + np.uint64(m * _STRIP)], work[now + i + np.uint64((m + 1) * _STRIP)]
            total = a + b if m == 0 else total + (a + b)
            c, d = other + i + np.uint64(m * _STRIP), other + i + np.uint64((m + 1) * _STRIP)
            work[c] = steps[m, 0] * a - work[c] + (steps[m, 1] * far - steps[m, 2] * near)
            work[d] = steps[m + 1, 0] * b - work[d] + (steps[m + 1, 1] * far - steps[m + 1, 2] * near)
        work[i + np.uint64(2 * _SUMS + 2 * _STRIP)] = total


@kernel
def _cosines(x, radius, steps, first, factor, out):  # type: ignore[no-untyped-def]
    """Filter (H, W) `x` along axis 0 by running cosine sums.

    The result, times a factor, goes into `out` (W, H).
    """
    rows, columns = x.shape
    size = min(_STRIP, columns)
    # The sums of a row and of the row before it, the samples that enter and leave, and the sums of all cosines
    work = np.zeros(2 * _SUMS + 3 * _STRIP, np.float64)
    far, near = work[2 * _SUMS : 2 * _SUMS + _STRIP], work[2 * _SUMS + _STRIP : 2 * _SUMS + 2 * _STRIP]
    total = work[2 * _SUMS + 2 * _STRIP :]
    for start in range(0, columns, _STRIP):
        left = min(start, columns - size)
        for i in range(_SUMS):
            work[i] = 0.0
        for y in range(rows):
            line = x[y, left : left + size]
            for i in range(size):
                far[i] = line[i]
            _add_samples(work, first[y])
        # Reflected samples are symmetric about the edge, and so are the sums.
        for i in range(_SUMS):
            work[_SUMS + i] = work[i]
        for y in range(rows):
            far_below = x[border_index(y + 1 + radius, rows, SYMMETRIC), left : left + size]
            far_above = x[border_index(y - 1 - radius, rows, SYMMETRIC), left : left + size]
            below = x[border_index(y + radius, rows, SYMMETRIC), left : left + size]
            above = x[border_index(y - radius, rows, SYMMETRIC), left : left + size]
            for i in range(size):
                far[i] = far_below[i] + far_above[i]
                near[i] = below[i] + above[i]
            if y % 2 == 0:
                _next_row(work, np.uint64(0), np.uint64(_SUMS), steps)
            else:
                _next_row(work, np.uint64(_SUMS), np.uint64(0), steps)
            for i in range(size):
                out[left + i, y] = total[i] * factor


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
