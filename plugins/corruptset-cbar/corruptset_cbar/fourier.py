"""Compute Fourier transforms in single precision, with equal results on all machines.

A field of complex numbers is a float32 array of shape (S, 2, S). Each row contains the real parts, followed by the
imaginary parts. The butterflies of the transform operate on whole rows, so that they vectorise.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.kernels import inner, kernel

from .elementary import along, single_sine_cosine


@functools.cache
def smooth_side(least: int) -> int:
    """Return the smallest even number that is at least `least` and has no prime factor above 7.

    Examples
    --------
    >>> smooth_side(224), smooth_side(32), smooth_side(37), smooth_side(299)
    (224, 32, 40, 300)
    """
    side = least + least % 2
    while np.prod(steps(side)) < side:
        side += 2
    return side


@functools.cache
def steps(side: int) -> NDArray[np.int64]:
    """Return the factors of a side, at most 7 each, in the order in which `transform` uses them."""
    factors = []
    for factor in (4, 7, 5, 3, 2):
        while side % factor == 0:
            factors.append(factor)
            side //= factor
    return np.array(factors, np.int64)


# Each loop uses only a few rows. With more rows, LLVM cannot prove that they do not overlap, so it does not vectorise
# the loop.
@inner
def _turn(row, by, out):  # type: ignore[no-untyped-def]
    """Multiply a row by the complex number cosine + i sine, and write the product to `out`."""
    s, c = by
    side = row.size // 2
    re, im, out_re, out_im = row[:side], row[side:], out[:side], out[side:]
    for x in along(re):
        a, b = re[x], im[x]
        out_re[x] = a * c - b * s
        out_im[x] = a * s + b * c


@inner
def _add_and_subtract(a, b, plus, minus):  # type: ignore[no-untyped-def]
    for x in along(a):
        u, v = a[x], b[x]
        plus[x] = u + v
        minus[x] = u - v


@inner
def _add_weighed(total, a, b, share, share_b):  # type: ignore[no-untyped-def]
    for x in along(total):
        total[x] += a[x] * share + b[x] * share_b


@inner
def _odd(z, k, q, work):  # type: ignore[no-untyped-def]
    """Transform p rows, where p is an odd prime, and write the result to the first p rows of `work`."""
    p, side, first, even, odd = z.shape[0], work.shape[1] // 2, z[0, k, q], work[8], work[9]
    for r in range(p // 2 + 1):
        for x in along(first):
            even[x], odd[x] = first[x], 0.0
        for j in range(1, p // 2 + 1):
            near, far, (s, c) = z[j, k, q], z[p - j, k, q], single_sine_cosine(j * r / p)
            _add_weighed(even, near, far, c, c)
            if r:
                _add_weighed(odd[:side], near[side:], far[side:], -s, s)
                _add_weighed(odd[side:], near[:side], far[:side], s, -s)
        # For r = 0 there is only one result. The second one is written to row p, which is not used.
        _add_and_subtract(even, odd, work[r], work[p - r])


@inner
def _down(z, out, work):  # type: ignore[no-untyped-def]
    """Perform a step of Stockham's transform on the first axis, from (p, m, stride, row) to (m, p, stride, row)."""
    p, m, strides, wide = z.shape
    side = wide // 2
    for k in range(m):
        for q in range(strides):
            if p == 4:
                _add_and_subtract(z[0, k, q], z[2, k, q], work[4], work[5])
                _add_and_subtract(z[1, k, q], z[3, k, q], work[6], work[7])
                _add_and_subtract(work[4], work[6], work[0], work[2])
                _add_and_subtract(work[5, :side], work[7, side:], work[3, :side], work[1, :side])
                _add_and_subtract(work[5, side:], work[7, :side], work[1, side:], work[3, side:])
            elif p == 2:
                _add_and_subtract(z[0, k, q], z[1, k, q], work[0], work[1])
            else:
                _odd(z, k, q, work)
            for r in range(p):
                _turn(work[r], single_sine_cosine(k * r / (p * m)), out[k, r, q])


@kernel
def transform(z, spare, factors):  # type: ignore[no-untyped-def]
    """Transform a square field along both axes and transpose it, with exp(+2 pi i k x / n) and without normalisation.

    The result is returned in one of the arrays `z` and `spare`. The other array is overwritten.
    """
    side = z.shape[0]
    work = np.empty((10, 2 * side), np.float32)
    for axis in range(2):
        stride = 1
        for p in factors:
            m = side // (stride * p)
            _down(z.reshape(p, m, stride, 2 * side), spare.reshape(m, p, stride, 2 * side), work)
            z, spare = spare, z
            stride *= p
        if axis == 0:
            for top in range(0, side, 16):
                for part in range(2):
                    for y in range(top, min(top + 16, side)):
                        for x in range(side):
                            spare[x, part, y] = z[y, part, x]
            z, spare = spare, z
    return z
