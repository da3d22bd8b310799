"""Gaussian smoothing of random fields, at a cost that does not grow with sigma.

The filter is the one of the released code: a gaussian cut at 3 sigma, its weights normalised, edges reflected
(cba|abcd|dcb). Narrow ones are summed tap by tap. For wide ones the gaussian is written as a short cosine series on the cut
window, which it equals to 4e-6 of its peak or better; the windowed sum of one cosine follows from its two last
values and four samples, exactly:

    C[n+1] = 2 cos(t) C[n] - C[n-1] + cos(R t) (x[n+R+1] + x[n-R-1]) - cos((R+1) t) (x[n+R] + x[n-R])
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import exact_exp, gaussian_weights, sine_cosine
from ..kernels import inlined, kernel

_TRUNCATE = 3.0
_DIRECT = 24
"""Up to this radius tap by tap is faster."""
_HALF_PERIOD = 4.0
"""Half the period of the cosine series, in sigmas: its next copy adds exp(-(2 * 4 - 3)**2 / 2) = 4e-6 of the peak at the cut."""
_TERMS = 8  # even: they are summed in pairs
_STRIP = 64
_ROOT_TWO_PI = 2.5066282746310002


class Smoother(NamedTuple):
    """What smoothing fields of one shape with one sigma needs."""

    radius: int
    """0: nothing to do."""
    taps: NDArray[np.float64]
    """(radius + 1,) weights from the centre outwards where they are summed tap by tap, else empty."""
    steps: NDArray[np.float64]
    """(terms, 3): 2 cos(t), a cos(R t), a cos((R + 1) t) of every cosine of amplitude a."""
    first_down: NDArray[np.float64]
    """(terms, H): weights of a column's samples in the cosine sums at its first row."""
    first_across: NDArray[np.float64]
    """(terms, W): the same for rows."""


@kernel
def _series(sigma, radius, amplitudes, size):  # type: ignore[no-untyped-def]
    """Return `Smoother.steps`, and the weights of `size` reflected samples in the sums at sample 0."""
    terms = amplitudes.size
    steps = np.empty((terms, 3), np.float64)
    first = np.zeros((terms, size), np.float64)
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
    """Return what `smooth` needs for (height, width) fields.

    Parameters
    ----------
    height, width : int
    sigma : float
        At least 0, pixels.
    """
    radius = int(_TRUNCATE * sigma + 0.5)
    none, nothing = np.zeros(0), np.zeros((0, 0))
    if radius == 0:
        return Smoother(0, none, np.zeros((0, 3)), nothing, nothing)
    if radius <= _DIRECT:
        return Smoother(radius, gaussian_weights(sigma, radius)[radius:].copy(), np.zeros((0, 3)), nothing, nothing)
    total = 0.0
    for i in range(radius, 0, -1):
        total += 2.0 * exact_exp(-0.5 * i * i / (sigma * sigma))
    total += 1.0
    peak = _ROOT_TWO_PI / (2.0 * _HALF_PERIOD) / total
    half = [exact_exp(-0.5 * (m * math.pi / _HALF_PERIOD) ** 2) * (1.0 if m == 0 else 2.0) * peak for m in range(_TERMS)]
    amplitudes = np.array(half)
    steps, down = _series(sigma, radius, amplitudes, height)
    return Smoother(radius, none, steps, down, _series(sigma, radius, amplitudes, width)[1])


@inlined
def _reflected(i, n):  # type: ignore[no-untyped-def]
    i = i % (2 * n)
    return i if i < n else 2 * n - 1 - i


@kernel
def _taps_down(x, out, taps):  # type: ignore[no-untyped-def]
    """Filter along axis 0, tap by tap."""
    rows, columns = x.shape
    for y in range(rows):
        target = out[y]
        centre = x[y]
        for j in range(np.uint64(columns)):
            target[j] = taps[0] * centre[j]
        for k in range(1, taps.size):
            weight = taps[k]
            above = x[_reflected(y - k, rows)]
            below = x[_reflected(y + k, rows)]
            for j in range(np.uint64(columns)):
                target[j] += weight * (above[j] + below[j])


@kernel
def _cosines_down(x, out, radius, steps, first):  # type: ignore[no-untyped-def]
    """Filter along axis 0 by running cosine sums."""
    rows, columns = x.shape
    terms = steps.shape[0]
    now = np.empty((terms, _STRIP), np.float64)
    before = np.empty((terms, _STRIP), np.float64)
    far = np.empty(_STRIP, np.float64)
    near = np.empty(_STRIP, np.float64)
    # In strips of columns, whose sums stay in the processor's nearest cache.
    for left in range(0, columns, _STRIP):
        wide = min(_STRIP, columns - left)
        now.fill(0.0)
        for y in range(rows):
            source = x[y, left : left + wide]
            for m in range(0, terms, 2):
                weight_a, weight_b = first[m, y], first[m + 1, y]
                state_a, state_b = now[m], now[m + 1]
                for j in range(np.uint64(wide)):
                    state_a[j] += weight_a * source[j]
                    state_b[j] += weight_b * source[j]
        # Reflected samples are symmetric about the edge, and so are the sums.
        for m in range(terms):
            for j in range(wide):
                before[m, j] = now[m, j]
        for y in range(rows):
            target = out[y, left : left + wide]
            a = x[_reflected(y + radius + 1, rows), left : left + wide]
            b = x[_reflected(y - radius - 1, rows), left : left + wide]
            c = x[_reflected(y + radius, rows), left : left + wide]
            d = x[_reflected(y - radius, rows), left : left + wide]
            for j in range(np.uint64(wide)):
                far[j] = a[j] + b[j]
                near[j] = c[j] + d[j]
                target[j] = 0.0
            # Two cosines at a time: half the loads of what they share.
            for m in range(0, terms, 2):
                turn_a, enter_a, leave_a = steps[m, 0], steps[m, 1], steps[m, 2]
                turn_b, enter_b, leave_b = steps[m + 1, 0], steps[m + 1, 1], steps[m + 1, 2]
                state_a, last_a = now[m], before[m]
                state_b, last_b = now[m + 1], before[m + 1]
                for j in range(np.uint64(wide)):
                    value_a, value_b = state_a[j], state_b[j]
                    target[j] += value_a + value_b
                    last_a[j] = turn_a * value_a - last_a[j] + (enter_a * far[j] - leave_a * near[j])
                    last_b[j] = turn_b * value_b - last_b[j] + (enter_b * far[j] - leave_b * near[j])
            now, before = before, now


@kernel
def _transposed(x, out):  # type: ignore[no-untyped-def]
    rows, columns = x.shape
    for top in range(0, rows, 16):
        for left in range(0, columns, 16):
            for y in range(top, min(top + 16, rows)):
                for j in range(left, min(left + 16, columns)):
                    out[j, y] = x[y, j]


@kernel
def smooth(fields, scratch, kit):  # type: ignore[no-untyped-def]
    """Smooth (N, H, W) float64 fields in place; `scratch` is float64 (H, W)."""
    if kit.radius == 0:
        return
    count, rows, columns = fields.shape
    spare = scratch.reshape((columns, rows))
    for i in range(count):
        field = fields[i]
        turned = field.reshape((columns, rows))
        for along in range(2):
            # First down the columns, then, turned, along the rows.
            source, target = (turned, spare) if along else (field, scratch)
            if kit.taps.size > 0:
                _taps_down(source, target, kit.taps)
            else:
                _cosines_down(source, target, kit.radius, kit.steps, kit.first_across if along else kit.first_down)
            if along:
                _transposed(spare, field)
            else:
                _transposed(scratch, turned)
