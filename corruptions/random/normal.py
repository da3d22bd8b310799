"""Standard normal numbers, each computed from one 32-bit word with an inverse-CDF table.

The computation is the same on every machine, because it uses no function of libm. The tail probabilities at the points
of a grid come from series in `decimal`. Between these points, Taylor polynomials are evaluated by elementwise + - * /
of doubles. IEEE 754 requires each of these operations to be rounded correctly, with or without SIMD.

Kernels take the result of `normal_table` as an argument and pass it to `fill_normals` or `normal_from_word`.
"""

from __future__ import annotations

import functools
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from ..kernels import inlined, kernel
from .philox import fill_words

Floats = NDArray[np.float64]

_STEPS = 32  # This is the number of grid points per unit.
_REACH = 10  # Beyond this the tail is below 2**-76, which is far below the resolution of any table.
_ORDER = 12  # At this order (reach / (2 * steps)) ** 13 / 13! is below 1e-19.
_OCTAVES = 32
_SEGMENT_BITS = 7
_SEGMENTS = 1 << _SEGMENT_BITS
_SHIFT = np.int64(52 - _SEGMENT_BITS)
_FIRST = np.int64((1023 - 1) << _SEGMENT_BITS)  # This is the exponent of 0.5, which is the smallest argument.
_FRACTION = np.int64((1 << (52 - _SEGMENT_BITS)) - 1)
_ONE = np.int64(1023 << 52)
_31_BITS = np.uint32(0x7FFFFFFF)
_SIGN = np.uint32(0x80000000)
_CHUNK = 4096  # This number of words stays in the first-level cache.


@functools.cache
def _grid() -> tuple[Floats, Floats]:
    """Return the density and the upper tail at the grid points i / 32, i = 0 .. 320."""
    density, tail = [], []
    with localcontext() as context:
        context.prec = 60  # The tail is a difference of numbers near 1/2 that agree to 24 digits.
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
    """Return the density and the upper tail at 0 <= z <= 10, by Taylor polynomials about the nearest grid point."""
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
    """Return the probability that a standard normal number exceeds z.

    The relative error is at most 1e-13 from -10 to 10. Outside of this range, the result is 0 for larger z and 1 for
    smaller z.
    """
    size = np.minimum(np.abs(z), float(_REACH))
    tail = np.where(np.abs(z) > _REACH, 0.0, _expand(size)[1])
    return np.where(z < 0, 1.0 - tail, tail)


def inverse_upper_tail(p: Floats) -> Floats:
    """Return z with ``upper_tail(z) == p``, for 2**-60 <= p <= 1/2."""
    rising = _grid()[1][::-1]
    z = (_REACH * _STEPS - np.searchsorted(rising, p)) / _STEPS
    for _ in range(4):  # The convergence is cubic, from a start within 1/32.
        density, tail = _expand(z)
        w = (tail - p) / density
        z = np.minimum(np.maximum(z + w * (1.0 + 0.5 * z * w), 0.0), float(_REACH))
    return z


@functools.cache
def normal_table() -> NDArray[np.float32]:
    """Return the inverse of the upper tail of the normal distribution as a piecewise linear table.

    Returns
    -------
    (4096, 2) ndarray of float32
        The first value of each segment, and its slope times 128.

    Notes
    -----
    The tail probabilities are p = (u + 1/2) / 2**32, u = 0 .. 2**31 - 1. They are divided into 32 octaves of 128 equal
    segments. The resolution in the tail, up to 6.3 standard deviations, is therefore as fine as in the middle. The
    error of a value is at most 4e-6.
    """
    octave = np.repeat(np.arange(_OCTAVES, dtype=np.float64), _SEGMENTS)
    start = np.tile(np.arange(_SEGMENTS, dtype=np.float64), _OCTAVES)
    scale = np.ldexp(1.0, octave.astype(np.int64) - 33)
    values = inverse_upper_tail(np.append(scale * (1.0 + start / _SEGMENTS), 0.5))
    out = np.empty((_OCTAVES * _SEGMENTS, 2), np.float32)
    out[:, 0] = values[:-1]
    out[:, 1] = np.diff(values) * _SEGMENTS
    return out


@inlined
def normal_from_word(word, table):  # type: ignore[no-untyped-def]
    """Return one standard normal number as float32.

    The top bit of the word is the sign. The other 31 bits are the tail probability.
    """
    # The exponent of u + 1/2 is the octave. The top bits of its mantissa are the segment, and the other bits are the
    # position in the segment.
    bits = np.float64(np.float64(np.int32(word & _31_BITS)) + 0.5).view(np.int64)
    at = np.uint64((bits >> _SHIFT) - _FIRST)
    place = np.float32(np.int64((bits & _FRACTION) | _ONE).view(np.float64) - 1.0)
    z = table[at, 0] + place * table[at, 1]
    return np.uint32(np.float32(z).view(np.uint32) ^ (word & _SIGN)).view(np.float32)


@kernel
def fill_normals(out, stage_key, sample_key, stream, table):  # type: ignore[no-untyped-def]
    """Fill `out`, (n,) float32, with standard normal numbers.

    Element e is computed from word e of the stream.
    """
    words = np.empty(min(out.size, _CHUNK), np.uint32)
    for start in range(0, out.size, _CHUNK):
        part = out[start : start + _CHUNK]
        fill_words(words[: part.size], start >> 2, stage_key, sample_key, stream)
        for i in range(np.uint32(part.size)):
            part[i] = normal_from_word(words[i], table)


@kernel
def normal_layers(height, width, mean, std, stage_key, sample_keys, stream, table):  # type: ignore[no-untyped-def]
    """Return a layer of normal numbers for each sample, (N, height, width) float64.

    Element (y, x) is computed from word y * width + x.
    """
    count = sample_keys.size
    size = height * width
    out = np.empty((count, size), np.float64)
    normals = np.empty(size, np.float32)
    for i in range(count):
        fill_normals(normals, stage_key, sample_keys[i], stream, table)
        row = out[i]
        for k in range(size):
            row[k] = mean + std * np.float64(normals[k])
    return out.reshape(count, height, width)
