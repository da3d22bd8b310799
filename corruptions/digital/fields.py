"""Gaussian smoothing of random fields, at a cost that does not grow with sigma.

The filter is that of the released code: a gaussian that is cut off at 3 sigma, with normalised weights and symmetric
padding (cba|abcd|dcb). Narrow filters are computed by direct summation. For wide filters, the gaussian is approximated
on its window by a short cosine series, whose error is at most 4e-6 of the peak. The windowed sum of one cosine follows
exactly from its two previous values and four samples:

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
"""Up to this radius, direct summation is faster than the cosine series."""
_HALF_PERIOD = 4.0
"""Half the period of the cosine series, in sigmas.

The next period of the series adds exp(-(2 * 4 - 3)**2 / 2) = 4e-6 of the peak at the end of the window.
"""
_ROOT_TWO_PI = 2.5066282746310002
_TERMS = 8
"""The number of cosines in the series, which is even because they are added in pairs."""
_STRIP = 32
"""The number of columns that are filtered together, so that their running sums stay in the first-level cache."""
_SUMS = _TERMS * _STRIP


class Smoother(NamedTuple):
    """The coefficients of a gaussian filter for fields of one shape."""

    radius: int
    """The radius in pixels, which is 0 if nothing is smoothed."""
    weights: NDArray[np.float64]
    """A narrow filter's weights from the centre outwards, (radius + 1,). For a wide filter, the array is empty."""
    steps: NDArray[np.float64]
    """The factors of each cosine with amplitude a, (terms, 3): 2 cos(t), a cos(R t), a cos((R + 1) t)."""
    first_down: NDArray[np.float64]
    """The weights of a column's samples in the cosine sums at its first row, (H, terms)."""
    first_across: NDArray[np.float64]
    """The weights of a row's samples in the cosine sums at its first column, (W, terms)."""


@kernel
def _series(sigma, radius, amplitudes, size):  # type: ignore[no-untyped-def]
    """Return `Smoother.steps`, and the weights of `size` samples in the cosine sums at the first sample.

    The samples have symmetric padding.
    """
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
def make_smoother(height: int, width: int, sigma: float) -> Smoother:
    """Return the coefficients of a gaussian filter for fields (height, width).

    `sigma` is in pixels and at least 0.
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
    """Filter fields (N, H, W) by direct summation, and multiply them by a factor."""
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
    """Add the samples of a row to the cosine sums of the first row."""
    for i in range(np.uint64(_STRIP)):
        value = work[i + np.uint64(2 * _SUMS)]
        for m in range(_TERMS):
            work[i + np.uint64(m * _STRIP)] += weights[m] * value


@inlined
def _next_row(work, now, other, steps):  # type: ignore[no-untyped-def]
    """Add up the cosine sums of a row, and replace the sums of the row before with those of the next row.

    All values are in one flat array at constant offsets, so that LLVM can prove that nothing overlaps and vectorises
    the loop.
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
    """Filter `x` (H, W) along axis 0 with running sums of cosines, and write the transposed result to `out` (W, H).

    The result is multiplied by a factor.
    """
    rows, columns = x.shape
    size = min(_STRIP, columns)
    # `work` holds the sums of a row and of the row before, the samples that enter and leave, and the sums of all
    # cosines.
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
        # The padded samples are symmetric about the edge, and so are the sums.
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


def smooth(noise: NDArray[np.float64], smoother: Smoother, factor: float) -> NDArray[np.float32]:
    """Return the smoothed noise times a factor, computed in double precision.

    The noise and the result are (N, H, W) arrays.
    """
    if smoother.radius == 0:
        return (noise * factor).astype(np.float32)
    fields = np.empty(noise.shape, np.float32)
    if smoother.weights.size > 0:
        _narrow(noise, smoother.weights, factor, fields)
        return fields
    # The first call filters the columns. The second call filters the rows, which are the columns of the transposed
    # result.
    turned = np.empty(noise.shape[:0:-1])
    for source, target in zip(noise, fields, strict=True):
        _cosines(source, smoother.radius, smoother.steps, smoother.first_down, 1.0, turned)
        _cosines(turned, smoother.radius, smoother.steps, smoother.first_across, factor, target)
    return fields
