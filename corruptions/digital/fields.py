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
from ..kernels import inlined, kernel
from ..separable import band_rows, block_rows, half_gaussian, weigh

_TRUNCATE = 3.0
_DIRECT = 24
"""Up to this radius weight by weight is faster."""
_HALF_PERIOD = 4.0
"""Half the period of the cosine series, in sigmas: its next copy adds exp(-(2 * 4 - 3)**2 / 2) = 4e-6 of the peak at
the cut.
"""
_TERMS = 8  # even: they are summed in pairs
_STRIP = 64
# Where, in strips, `_cosines_down` keeps what it works with
_LAST = np.uint64(_TERMS * _STRIP)
_FAR, _NEAR, _FAR_2, _NEAR_2, _SUMS, _SUMS_2 = (np.uint64((2 * _TERMS + k) * _STRIP) for k in range(6))
_WIDE = np.uint64(_STRIP)
# Unsigned indices spare numba the check for negative ones.
_0, _1, _2, _3, _4, _5, _6 = (np.uint64(k) for k in range(7))
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
    """(terms, H + 3): weights of a column's samples in the cosine sums at its first row; the last three are 0."""
    first_across: NDArray[np.float64]
    """(terms, W): the same for rows."""


@kernel
def _series(sigma, radius, amplitudes, size):  # type: ignore[no-untyped-def]
    """Return `Smoother.steps`, and the weights of `size` reflected samples in the sums at sample 0."""
    terms = amplitudes.size
    steps = np.empty((terms, 3), np.float64)
    first = np.zeros((terms, size + 3), np.float64)
    for m in range(terms):
        angle = m * math.pi / (_HALF_PERIOD * sigma)
        steps[m, 0] = 2.0 * sine_cosine(angle)[1]
        steps[m, 1] = amplitudes[m] * sine_cosine(angle * radius)[1]
        steps[m, 2] = amplitudes[m] * sine_cosine(angle * (radius + 1))[1]
        for i in range(-radius, radius + 1):
            j = i % (2 * size)
            first[m, j if j < size else 2 * size - 1 - j] += amplitudes[m] * sine_cosine(angle * i)[1]
    return steps, first


@functools.lru_cache(maxsize=16)
def smoother(height: int, width: int, sigma: float) -> Smoother:
    """Return the parts of the filter of (height, width) fields by a gaussian of `sigma` pixels, at least 0."""
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


@inlined
def _reflected(i, n):  # type: ignore[no-untyped-def]
    """Reflect an index about the outer edges (cba|abcd|dcb)."""
    once = -1 - i if i < 0 else i
    once = once if once < n else 2 * n - 1 - once
    if once >= 0:  # nearly always, and cheaper than a division
        return once
    i = i % (2 * n)
    return i if i < n else 2 * n - 1 - i


@kernel
def _narrow(noise, weights, fields):  # type: ignore[no-untyped-def]
    """Filter fields (N, H, W) weight by weight, the nearest first."""
    count, height, width = noise.shape
    radius = weights.size - 1
    wide = width + 2 * radius
    band = band_rows(height, radius)
    tall = np.empty((band + 2 * radius) * wide, np.float64)
    block = block_rows(wide)
    down = np.empty(block * wide, np.float64)
    both = np.empty(block * wide, np.float64)
    for i in range(count):
        for top in range(0, height, band):
            rows = min(band, height - top)
            for k in range(rows + 2 * radius):
                source, line = noise[i, _reflected(top + k - radius, height)], tall[k * wide : (k + 1) * wide]
                middle = line[radius : radius + width]
                for x in range(width):
                    middle[x] = source[x]
                for x in range(radius):
                    line[x] = source[_reflected(x - radius, width)]
                    line[radius + width + x] = source[_reflected(width + x, width)]
            for first in range(0, rows, block):
                last = min(first + block, rows)
                size = (last - first) * wide
                weigh(tall, (radius + first) * wide, wide, weights, False, down[:size])
                weigh(down, radius, 1, weights, False, both[: size - 2 * radius])
                for y in range(first, last):
                    target, line = fields[i, top + y], both[(y - first) * wide : (y - first) * wide + width]
                    for x in range(width):
                        target[x] = line[x]


@inlined
def _turn(turn, enter, leave, now, last, far, near):  # type: ignore[no-untyped-def]
    """Return a cosine's sum at the next row."""
    return turn * now - last + (enter * far - leave * near)


@inlined
def _two_terms(work, j, m, steps):  # type: ignore[no-untyped-def]
    """Move cosines m and m + 1 of column j on by two rows; return what they add to either row's sum."""
    a, b = j + m * _WIDE, j + (m + _1) * _WIDE
    last_a, last_b = a + _LAST, b + _LAST
    far, near, far2, near2 = work[j + _FAR], work[j + _NEAR], work[j + _FAR_2], work[j + _NEAR_2]
    now_a, now_b = work[a], work[b]
    k = np.uint64(3) * m
    turn_a, enter_a, leave_a = steps[k], steps[k + _1], steps[k + _2]
    turn_b, enter_b, leave_b = steps[k + _3], steps[k + _4], steps[k + _5]
    next_a = _turn(turn_a, enter_a, leave_a, now_a, work[last_a], far, near)
    next_b = _turn(turn_b, enter_b, leave_b, now_b, work[last_b], far, near)
    work[last_a] = next_a
    work[last_b] = next_b
    work[a] = _turn(turn_a, enter_a, leave_a, next_a, now_a, far2, near2)
    work[b] = _turn(turn_b, enter_b, leave_b, next_b, now_b, far2, near2)
    return now_a + now_b, next_a + next_b


@kernel
def _cosines_down(x, out, radius, steps, first):  # type: ignore[no-untyped-def]
    """Filter (H, W) `x` along axis 0 by running cosine sums, into `out` (W, H).

    In strips of columns, whose sums stay in the processor's nearest cache: in `work` there are, a strip each, the
    cosines' sums at this row, those at the row before, what enters and leaves, and the results, for two rows. All in
    one array, at fixed distances: so LLVM knows that they do not overlap.
    """
    rows, columns = x.shape
    flat = out.reshape(-1)
    turns = steps.reshape(-1)
    work = np.empty((2 * _TERMS + 6) * _STRIP, np.float64)
    for left in range(0, columns, _STRIP):
        wide = min(_STRIP, columns - left)
        work.fill(0.0)
        far, near = work[_FAR : _FAR + wide], work[_NEAR : _NEAR + wide]
        far2, near2 = work[_FAR_2 : _FAR_2 + wide], work[_NEAR_2 : _NEAR_2 + wide]
        sums, sums2 = work[_SUMS : _SUMS + wide], work[_SUMS_2 : _SUMS_2 + wide]
        for y in range(0, rows, 4):
            # Four rows at a time; beyond the last one weights are 0.
            a, b = x[y, left : left + wide], x[min(y + 1, rows - 1), left : left + wide]
            c, d = x[min(y + 2, rows - 1), left : left + wide], x[min(y + 3, rows - 1), left : left + wide]
            for m in range(_TERMS):
                w0, w1, w2, w3 = first[m, y], first[m, y + 1], first[m, y + 2], first[m, y + 3]
                state = work[m * _STRIP : m * _STRIP + wide]
                for j in range(np.uint64(wide)):
                    state[j] = (((state[j] + w0 * a[j]) + w1 * b[j]) + w2 * c[j]) + w3 * d[j]
        # Reflected samples are symmetric about the edge, and so are the sums.
        for k in range(np.uint64(_TERMS * _STRIP)):
            work[k + np.uint64(_TERMS * _STRIP)] = work[k]
        for y in range(0, rows, 2):
            a = x[_reflected(y + radius, rows), left : left + wide]
            b = x[_reflected(y + radius + 1, rows), left : left + wide]
            c = x[_reflected(y + radius + 2, rows), left : left + wide]
            d = x[_reflected(y - radius - 1, rows), left : left + wide]
            e = x[_reflected(y - radius, rows), left : left + wide]
            f = x[_reflected(y - radius + 1, rows), left : left + wide]
            for j in range(np.uint64(wide)):
                far[j] = b[j] + d[j]
                near[j] = a[j] + e[j]
                far2[j] = c[j] + e[j]
                near2[j] = b[j] + f[j]
            for j in range(_WIDE):
                p, p2 = _two_terms(work, j, _0, turns)
                q, q2 = _two_terms(work, j, _2, turns)
                r, r2 = _two_terms(work, j, _4, turns)
                s, s2 = _two_terms(work, j, _6, turns)
                work[j + _SUMS] = ((p + q) + r) + s
                work[j + _SUMS_2] = ((p2 + q2) + r2) + s2
            # To rows of `out`, where the next ones of these columns lie beside them
            at = np.uint64(left * rows + y)
            if y + 1 < rows:
                for j in range(np.uint64(wide)):
                    flat[at] = sums[j]
                    flat[at + np.uint64(1)] = sums2[j]
                    at += np.uint64(rows)
            else:
                for j in range(np.uint64(wide)):
                    flat[at] = sums[j]
                    at += np.uint64(rows)


def smooth(noise: NDArray[np.float64], kit: Smoother) -> NDArray[np.float64]:
    """Return noise smoothed, both (N, H, W) ndarrays of float64."""
    if kit.radius == 0:
        return noise
    fields = np.empty_like(noise)
    if kit.weights.size > 0:
        _narrow(noise, kit.weights, fields)
        return fields
    # First down the columns, then, turned, along the rows.
    turned = np.empty(noise.shape[:0:-1])
    for source, target in zip(noise, fields, strict=True):
        _cosines_down(source, turned, kit.radius, kit.steps, kit.first_down)
        _cosines_down(turned, target, kit.radius, kit.steps, kit.first_across)
    return fields
