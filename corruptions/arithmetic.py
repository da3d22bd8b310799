"""Exponential, trigonometric and gaussian functions whose results are the same on every machine.

The results of libm differ in the last bit between versions and processors. Here exp is computed with `decimal` and
rounded once. Sine, cosine and the hypotenuse use only + - * / and sqrt of doubles. They are computed with twice the
precision and rounded once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .kernels import inlined, kernel

_CONTEXT = Context(prec=40)


def exact_exp(x: float) -> float:
    """Return exp(x), computed with 40 digits and rounded to a double.

    Examples
    --------
    >>> exact_exp(1.0)
    2.718281828459045
    """
    with localcontext(_CONTEXT):
        return float(Decimal(x).exp())


def pairwise_sum(values: Sequence[float]) -> float:
    """Return the sum of doubles, added in the order in which NumPy adds a contiguous array.

    NumPy computes eight partial sums, and splits arrays of more than 128 elements into halves.
    """
    count = len(values)
    if count < 8:
        total = 0.0
        for value in values:
            total += value
        return total
    if count > 128:
        middle = count // 2 - count // 2 % 8
        return pairwise_sum(values[:middle]) + pairwise_sum(values[middle:])
    whole = count - count % 8
    part = list(values[:8])
    for i in range(8, whole):
        part[i % 8] += values[i]
    total = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]))
    for value in values[whole:]:
        total += value
    return total


@functools.lru_cache(maxsize=256)
def gaussian_weights(sigma: float, radius: int) -> NDArray[np.float64]:
    """Return the same gaussian weights as SciPy, but with a correctly rounded exp.

    The weights are exp(-i*i / (2 sigma**2)) for i = -radius..radius, divided by their `pairwise_sum`.
    """
    factor = -0.5 / (sigma * sigma)
    half = [exact_exp(factor * (i * i)) for i in range(radius + 1)]
    weights = half[:0:-1] + half
    total = pairwise_sum(weights)
    out = np.array([weight / total for weight in weights])
    out.setflags(write=False)
    return out


@inlined
def two_sum(a, b):  # type: ignore[no-untyped-def]
    """Return a sum and its exact rounding error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@inlined
def two_product(a, b):  # type: ignore[no-untyped-def]
    """Return a product and its exact rounding error (Dekker), without a fused multiply-add."""
    p = a * b
    t = 134217729.0 * a
    a1 = t - (t - a)
    a2 = a - a1
    t = 134217729.0 * b
    b1 = t - (t - b)
    b2 = b - b1
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


@inlined
def _add(a, a_rest, b, b_rest):  # type: ignore[no-untyped-def]
    s, e = two_sum(a, b)
    return two_sum(s, e + (a_rest + b_rest))


@inlined
def _multiply(a, a_rest, b, b_rest):  # type: ignore[no-untyped-def]
    p, e = two_product(a, b)
    return two_sum(p, e + (a * b_rest + a_rest * b))


def _doubles(value: Fraction, count: int) -> tuple[float, ...]:
    """Return `count` doubles whose sum approximates `value` as closely as possible."""
    out = []
    for _ in range(count):
        out.append(float(value))
        value -= Fraction(out[-1])
    return tuple(out)


# 1 / 255 is split into two numbers, so that the product of a byte and the first number is exact.
_HIGH = np.float32(2.0**-8 + 2.0**-16)
_LOW = np.float32(1.0 / 255.0 - (2.0**-8 + 2.0**-16))


@inlined
def over_255(level):  # type: ignore[no-untyped-def]
    """Return a byte divided by 255 as float32, correctly rounded.

    The result equals that of a division, but is computed in a fraction of the time.
    """
    return np.float32(level) * _HIGH + np.float32(level) * _LOW


# The same two numbers in double precision.
_HIGH_64 = 2.0**-8 + 2.0**-16 + 2.0**-24 + 2.0**-32 + 2.0**-40
_LOW_64 = float(Fraction(1, 255) - Fraction(_HIGH_64))


@inlined
def double_over_255(level):  # type: ignore[no-untyped-def]
    """Return a byte divided by 255 as float64, correctly rounded."""
    return np.float64(level) * _HIGH_64 + np.float64(level) * _LOW_64


# These constants are pi/2 to 70 digits, 2/pi, and the Taylor coefficients of (sin r) / r and cos r in powers of r*r, as
# double-doubles.
_PI = Fraction(31415926535897932384626433832795028841971693993751058209749445923078164, 10**70)
_P1, _P2, _P3 = _doubles(_PI / 2, 3)
_TWO_OVER_PI = float(2 / _PI)
_TERMS = 15
_SINE = np.array([_doubles(Fraction((-1) ** k, math.factorial(2 * k + 1)), 2) for k in range(_TERMS)])
_COSINE = np.array([_doubles(Fraction((-1) ** k, math.factorial(2 * k)), 2) for k in range(_TERMS)])


@kernel
def sine_cosine(x):  # type: ignore[no-untyped-def]
    """Return (sin x, cos x) for a double whose magnitude is at most a few thousand.

    Sine and cosine are computed as double-doubles (about 100 bits) and rounded once. The result is therefore correctly
    rounded, unless the exact value is within about 2**-100 of the midpoint between two doubles.
    """
    turns = math.floor(x * _TWO_OVER_PI + 0.5)
    p, e = two_product(turns, _P1)
    r, rest = two_sum(x, -p)
    r, rest = _add(r, rest, -e, 0.0)
    p, e = two_product(turns, _P2)
    r, rest = _add(r, rest, -p, -e)
    r, rest = _add(r, rest, -turns * _P3, 0.0)
    z, z_rest = _multiply(r, rest, r, rest)
    s, s_rest = _SINE[_TERMS - 1, 0], _SINE[_TERMS - 1, 1]
    c, c_rest = _COSINE[_TERMS - 1, 0], _COSINE[_TERMS - 1, 1]
    for k in range(_TERMS - 2, -1, -1):
        s, s_rest = _multiply(s, s_rest, z, z_rest)
        s, s_rest = _add(s, s_rest, _SINE[k, 0], _SINE[k, 1])
        c, c_rest = _multiply(c, c_rest, z, z_rest)
        c, c_rest = _add(c, c_rest, _COSINE[k, 0], _COSINE[k, 1])
    s, s_rest = _multiply(s, s_rest, r, rest)
    quadrant = int(turns) & 3
    if quadrant == 0:
        return s, c
    if quadrant == 1:
        return c, -s
    if quadrant == 2:
        return -s, -c
    return -c, s


@inlined
def hypotenuse(x, y):  # type: ignore[no-untyped-def]
    """Return sqrt(x*x + y*y), correctly rounded in practically all cases.

    The magnitudes must be between 1e-100 and 1e100.
    """
    a, a_rest = two_product(x, x)
    b, b_rest = two_product(y, y)
    s, s_rest = _add(a, a_rest, b, b_rest)
    root = math.sqrt(s)
    if root == 0.0:
        return root
    p, e = two_product(root, root)
    return root + (((s - p) - e) + s_rest) / (2.0 * root)


@functools.lru_cache(maxsize=256)
def decimal_sine_cosine(degrees: float) -> tuple[Decimal, Decimal]:
    """Return (sine, cosine) of an angle in degrees, rounded to 60 decimals.

    At multiples of 90 degrees, both are whole numbers.

    Examples
    --------
    >>> decimal_sine_cosine(-30.0)[0] == Decimal("-0.5"), [int(x) for x in decimal_sine_cosine(180.0)]
    (True, [0, -1])
    """
    with localcontext(Context(prec=100)):
        pi = Decimal(_PI.numerator) / Decimal(_PI.denominator)
        angle = Decimal(degrees) % 360 * pi / 180
        term, series = Decimal(1), [Decimal(0), Decimal(0)]
        for k in range(100):
            series[k % 2] += term if k % 4 < 2 else -term
            term = term * angle / (k + 1)
        # The constant pi has 71 digits, so later digits of the results are not exact.
        cosine, sine = (round(value, 60) for value in series)
    return sine, cosine


def exact_sine_cosine(degrees: float) -> tuple[float, float]:
    """Return (sine, cosine) of an angle in degrees, computed with 60 decimals and rounded to doubles.

    Examples
    --------
    >>> exact_sine_cosine(30.0), exact_sine_cosine(-90.0)
    ((0.5, 0.8660254037844386), (-1.0, 0.0))
    """
    sine, cosine = decimal_sine_cosine(degrees)
    return float(sine) + 0.0, float(cosine) + 0.0  # Adding 0.0 turns a negative zero into zero.
