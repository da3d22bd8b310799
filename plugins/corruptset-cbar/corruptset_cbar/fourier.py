"""Fourier transforms in single precision, the same on every machine: every row of a butterfly is one vector of a plane's columns.

A field of complex numbers is (2, S, S) of float32: real parts, then imaginary parts.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.kernels import inner, kernel

from .elementary import along, cosine, sine


@functools.cache
def smooth_side(least: int) -> int:
    """Return the least even number that is at least this and has no prime factor above 7.

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
    """Return the factors of a side up to 7, in the order in which `transform` takes them."""
    factors = []
    for factor in (4, 7, 5, 3, 2):
        while side % factor == 0:
            factors.append(factor)
            side //= factor
    return np.array(factors, np.int64)


# Loops over few rows each: with more, LLVM gives up proving that none of them overlap, and does not vectorise.
@inner
def _turn(re, im, c, s, out_re, out_im):  # type: ignore[no-untyped-def]
    """Write rows times the complex number c + s i."""
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
def _four(z, rows, work):  # type: ignore[no-untyped-def]
    """Transform four rows into the first four of `work`."""
    for part in range(2):
        a, w = z[part], work[part]
        _add_and_subtract(a[rows[0]], a[rows[2]], w[4], w[5])
        _add_and_subtract(a[rows[1]], a[rows[3]], w[6], w[7])
        _add_and_subtract(w[4], w[6], w[0], w[2])
    _add_and_subtract(work[0, 5], work[1, 7], work[0, 3], work[0, 1])
    _add_and_subtract(work[1, 5], work[0, 7], work[1, 1], work[1, 3])


@inner
def _odd(z, rows, p, roots, work):  # type: ignore[no-untyped-def]
    """Transform p rows, p an odd prime, into the first p of `work`; `roots` has the cosines and sines of p-th turns."""
    for part in range(2):
        a, b, w = z[part], z[1 - part], work[part]
        first, even, odd = a[rows[0]], w[p], w[p + 1]
        for r in range(p // 2 + 1):
            for x in along(first):
                even[x], odd[x] = first[x], np.float32(0.0)
            for j in range(1, p // 2 + 1):
                near, far = rows[j], rows[p - j]
                c, s = roots[0, j * r % p], roots[1, j * r % p]
                _add_weighed(even, a[near], a[far], c, c)
                if r:
                    s = s if part else -s
                    _add_weighed(odd, b[near], b[far], s, -s)
            # For r = 0 there is no other row: what is subtracted goes to one that nobody reads.
            _add_and_subtract(even, odd, w[r], w[p - r if r else p + 2])


@inner
def _down(z, to, n, stride, p, roots, work, rows):  # type: ignore[no-untyped-def]
    """One step of Stockham's transform along the first axis: `stride` transforms of length n lose the factor p."""
    m = n // p
    for k in range(m):
        for q in range(stride):
            for j in range(p):
                rows[j] = q + stride * (k + m * j)
            if p == 4:
                _four(z, rows, work)
            elif p == 2:
                for part in range(2):
                    _add_and_subtract(z[part, rows[0]], z[part, rows[1]], work[part, 0], work[part, 1])
            else:
                _odd(z, rows, p, roots, work)
            for r in range(p):
                turns, row = np.float64(k * r) / n, q + stride * (p * k + r)
                c, s = np.float32(cosine(turns)), np.float32(sine(turns))
                _turn(work[0, r], work[1, r], c, s, to[0, row], to[1, row])


@kernel
def transform(z, spare, factors):  # type: ignore[no-untyped-def]
    """Transform a square field along both axes, with exp(+2 pi i k x / n) and no factor, and transpose it.

    Return the field, which is one of the two given; what is in the other is lost.
    """
    side = z.shape[1]
    work, rows, roots = np.empty((2, 10, side), np.float32), np.empty(7, np.int64), np.empty((2, 7), np.float32)
    for axis in range(2):
        n, stride = np.int64(side), np.int64(1)
        for p in factors:
            for j in range(p):
                roots[0, j], roots[1, j] = np.float32(cosine(np.float64(j) / p)), np.float32(sine(np.float64(j) / p))
            _down(z, spare, n, stride, p, roots, work, rows)
            z, spare = spare, z
            n //= p
            stride *= p
        if axis == 0:
            for part in range(2):
                for top in range(0, side, 16):
                    for y in range(top, min(top + 16, side)):
                        for x in range(side):
                            spare[part, x, y] = z[part, y, x]
            z, spare = spare, z
    return z
