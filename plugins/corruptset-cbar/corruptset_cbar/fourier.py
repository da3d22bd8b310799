"""Fourier transforms in single precision, the same on every machine: every row of a butterfly is one vector of a plane's columns."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.kernels import inner, kernel

from .elementary import cosine, sine

_PRIMES = (7, 5, 3, 2)


@functools.cache
def smooth_side(least: int) -> int:
    """Return the least even number that is at least this and has no prime factor above 7.

    Examples
    --------
    >>> smooth_side(224), smooth_side(32), smooth_side(37), smooth_side(299)
    (224, 32, 40, 300)
    """
    side = least + least % 2
    while _factors(side)[1] > 1:
        side += 2
    return side


def _factors(number: int) -> tuple[list[int], int]:
    """Return the steps of a transform of this length, and what is left of it."""
    factors = []
    for factor in (4, *_PRIMES):
        while number % factor == 0:
            factors.append(factor)
            number //= factor
    return factors, number


@functools.cache
def steps(side: int) -> NDArray[np.int64]:
    """Return the factors of a side, in the order in which `transform` takes them."""
    return np.array(_factors(side)[0], np.int64)


# Loops over few rows each: with more, LLVM gives up proving that none of them overlap, and does not vectorise.
@inner
def _turn(re, im, c, s, out_re, out_im):  # type: ignore[no-untyped-def]
    """Write rows times the complex number c + s i."""
    for x in range(np.uint64(re.size)):
        a, b = re[x], im[x]
        out_re[x] = a * c - b * s
        out_im[x] = a * s + b * c


@inner
def _add_and_subtract(a, b, plus, minus):  # type: ignore[no-untyped-def]
    for x in range(np.uint64(a.size)):
        u, v = a[x], b[x]
        plus[x] = u + v
        minus[x] = u - v


@inner
def _add_weighed(total, a, b, share, share_b):  # type: ignore[no-untyped-def]
    for x in range(np.uint64(total.size)):
        total[x] += a[x] * share + b[x] * share_b


@inner
def _four(re, im, rows, work):  # type: ignore[no-untyped-def]
    """Transform four rows into the first eight of `work`: real parts, then imaginary parts."""
    _add_and_subtract(re[rows[0]], re[rows[2]], work[8], work[9])
    _add_and_subtract(re[rows[1]], re[rows[3]], work[10], work[11])
    _add_and_subtract(im[rows[0]], im[rows[2]], work[12], work[13])
    _add_and_subtract(im[rows[1]], im[rows[3]], work[14], work[15])
    _add_and_subtract(work[8], work[10], work[0], work[2])
    _add_and_subtract(work[12], work[14], work[4], work[6])
    _add_and_subtract(work[9], work[15], work[3], work[1])
    _add_and_subtract(work[13], work[11], work[5], work[7])


@inner
def _odd(re, im, rows, p, table, work):  # type: ignore[no-untyped-def]
    """Transform p rows, p an odd prime, into the first 2 p of `work`; `table` has the cosines and sines of p-th turns."""
    even, even_i, odd, odd_i = work[2 * p], work[2 * p + 1], work[2 * p + 2], work[2 * p + 3]
    first, first_i = re[rows[0]], im[rows[0]]
    for r in range(p // 2 + 1):
        for x in range(np.uint64(first.size)):
            even[x], even_i[x] = first[x], first_i[x]
        for x in range(np.uint64(first.size)):
            odd[x], odd_i[x] = np.float32(0.0), np.float32(0.0)
        for j in range(1, p // 2 + 1):
            c, s = table[0, j * r % p], table[1, j * r % p]
            near, far, near_i, far_i = re[rows[j]], re[rows[p - j]], im[rows[j]], im[rows[p - j]]
            _add_weighed(even, near, far, c, c)
            _add_weighed(even_i, near_i, far_i, c, c)
            if r:
                _add_weighed(odd, far_i, near_i, s, -s)
                _add_weighed(odd_i, near, far, s, -s)
        # For r = 0 there is no other row: what is subtracted goes to one that nobody reads.
        _add_and_subtract(even, odd, work[r], work[p - r if r else 2 * p + 4])
        _add_and_subtract(even_i, odd_i, work[p + r], work[2 * p - r if r else 2 * p + 4])


@inner
def _down(re, im, to_re, to_im, n, stride, p, table, work, rows):  # type: ignore[no-untyped-def]
    """One step of Stockham's transform along the first axis: `stride` transforms of length n lose the factor p."""
    m = n // p
    for k in range(m):
        for q in range(stride):
            for j in range(p):
                rows[j] = q + stride * (k + m * j)
            if p == 4:
                _four(re, im, rows, work)
            elif p == 2:
                _add_and_subtract(re[rows[0]], re[rows[1]], work[0], work[1])
                _add_and_subtract(im[rows[0]], im[rows[1]], work[2], work[3])
            else:
                _odd(re, im, rows, p, table, work)
            for r in range(p):
                turns = np.float64(k * r) / n
                _turn(
                    work[r], work[p + r], np.float32(cosine(turns)), np.float32(sine(turns)), to_re[q + stride * (p * k + r)],
                    to_im[q + stride * (p * k + r)],
                )  # fmt: skip


@kernel
def transform(re, im, spare_re, spare_im, factors):  # type: ignore[no-untyped-def]
    """Transform square planes of float32 along both axes, with exp(+2 pi i k x / n) and no factor, and transpose them.

    Return the real and the imaginary plane, which are two of the four given; what is in the others is lost.
    """
    side = re.shape[0]
    work = np.empty((19, side), np.float32)
    rows = np.empty(7, np.int64)
    table = np.empty((2, 7), np.float32)
    for axis in range(2):
        n, stride = np.int64(side), np.int64(1)
        for p in factors:
            for j in range(p):
                table[0, j], table[1, j] = np.float32(cosine(np.float64(j) / p)), np.float32(sine(np.float64(j) / p))
            _down(re, im, spare_re, spare_im, n, stride, p, table, work, rows)
            re, im, spare_re, spare_im = spare_re, spare_im, re, im
            n //= p
            stride *= p
        if axis == 0:
            for top in range(0, side, 16):
                for y in range(top, min(top + 16, side)):
                    for x in range(side):
                        spare_re[x, y] = re[y, x]
                        spare_im[x, y] = im[y, x]
            re, im, spare_re, spare_im = spare_re, spare_im, re, im
    return re, im
