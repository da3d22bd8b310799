"""The normal distribution's upper tail and its inverse, the same on every machine.

Values at the points of a grid come from `decimal` series; between them stand Taylor polynomials, evaluated with
elementwise + - * / of doubles only (each correctly rounded by IEEE 754, so SIMD and libm have no say).
"""

from __future__ import annotations

import functools
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_STEPS = 32  # grid points per unit
_REACH = 10  # beyond it the tail is below 2**-76, far under what any table resolves
_ORDER = 12  # (reach / (2 * steps)) ** 13 / 13! is below 1e-19


@functools.cache
def _grid() -> tuple[Floats, Floats]:
    """Return the density and the upper tail at i / 32, i = 0 .. 320."""
    density, tail = [], []
    with localcontext() as context:
        context.prec = 60  # the tail is a difference of numbers near 1/2 that agree to 24 digits
        turn = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
        peak = 1 / (2 * turn).sqrt()
        for i in range(_REACH * _STEPS + 1):
            z = Decimal(i) / _STEPS
            square = z * z
            height = peak * (-square / 2).exp()
            # 1/2 - Q(z) = density * (z + z**3/3 + z**5/(3*5) + ...)
            term, total, k = z, Decimal(0), 1
            while term > Decimal("1e-50"):
                total += term
                k += 2
                term = term * square / k
            density.append(float(height))
            tail.append(float(Decimal("0.5") - height * total))
    return np.array(density), np.array(tail)


def _expand(z: Floats) -> tuple[Floats, Floats]:
    """Return density and upper tail at 0 <= z <= 10 by Taylor polynomials about the nearest grid point."""
    density, tail = _grid()
    at = np.floor(z * _STEPS + 0.5).astype(np.int64)
    g = at / _STEPS
    d = z - g
    # The n-th derivative of the density is (-1)**n He_n(g) times the density.
    before, now, power = np.zeros_like(g), np.ones_like(g), np.ones_like(g)
    height, area = np.zeros_like(g), np.zeros_like(g)
    for n in range(_ORDER + 1):
        term = now * power
        height = height + term
        area = area + term * d / (n + 1)
        before, now = now, g * now - n * before
        power = power * -d / (n + 1)
    return density[at] * height, tail[at] - density[at] * area


def upper_tail(z: Floats) -> Floats:
    """Return the probability that a standard normal exceeds z: within 1e-13 relative from -10 to 10; 0 above and 1 below."""
    size = np.minimum(np.abs(z), float(_REACH))
    tail = np.where(np.abs(z) > _REACH, 0.0, _expand(size)[1])
    return np.where(z < 0, 1.0 - tail, tail)


def inverse_upper_tail(p: Floats) -> Floats:
    """Return z with ``upper_tail(z) == p``, for 2**-60 <= p <= 1/2."""
    rising = _grid()[1][::-1]
    z = (_REACH * _STEPS - np.searchsorted(rising, p)) / _STEPS
    for _ in range(4):  # cubic convergence from within 1/32
        density, tail = _expand(z)
        w = (tail - p) / density
        z = np.minimum(np.maximum(z + w * (1.0 + 0.5 * z * w), 0.0), float(_REACH))
    return z
