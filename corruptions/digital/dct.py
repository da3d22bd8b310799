"""JPEG's lossy steps without its coding.

Samples of 8x8 blocks go through libjpeg's integer cosine transforms and quantisation. What is entropy-coded comes back
as it was, so only this changes pixels. The arithmetic is libjpeg's slow integer one, 13 fractional bits, in the order
of jfdctint.c and jidctint.c (Loeffler, Ligtenberg and Moschytz 1989); every library computes it to the last bit. Blocks
lie side by side in memory, coefficient by coefficient, so that one step serves many of them.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from ..kernels import inlined, kernel

_LANES = 64
"""Blocks at a time: their 64 coefficients stay in the processor's nearest cache."""
_ACROSS = np.uint64(_LANES)
_DOWN = np.uint64(8 * _LANES)
_N = np.uint64(_LANES)
_BITS = 13
# Fractional bits kept between the two directions
_KEPT = 2
# Not True and False, each of which numba would compile `_forward` for
_FIRST, _SECOND = np.uint8(1), np.uint8(0)
_0_298, _0_390, _0_541, _0_765 = np.int32(2446), np.int32(3196), np.int32(4433), np.int32(6270)
_0_899, _1_175, _1_501, _1_847 = np.int32(7373), np.int32(9633), np.int32(12299), np.int32(15137)
_1_961, _2_053, _2_562, _3_072 = np.int32(16069), np.int32(16819), np.int32(20995), np.int32(25172)

# Annex K of the JPEG standard, row by row
_LUMA = """
    16 11 10 16 24 40 51 61 12 12 14 19 26 58 60 55 14 13 16 24 40 57 69 56 14 17 22 29 51 87 80 62
    18 22 37 56 68 109 103 77 24 35 55 64 81 104 113 92 49 64 78 87 103 121 120 101 72 92 95 98 112 100 103 99
"""
_CHROMA = """
    17 18 24 47 99 99 99 99 18 21 26 66 99 99 99 99 24 26 56 99 99 99 99 99 47 66 99 99 99 99 99 99
    99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99
"""


@functools.lru_cache(maxsize=128)
def quantisers(quality: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the 64 steps of luma and of chroma at one of libjpeg's qualities, 1..100."""
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    luma, chroma = (
        np.clip((np.array(table.split(), np.int64) * scale + 50) // 100, 1, 255) for table in (_LUMA, _CHROMA)
    )
    return luma.astype(np.int32), chroma.astype(np.int32)


@inlined
def _scaled_down(x, bits):  # type: ignore[no-untyped-def]
    return np.int32(np.int32(x + np.int32(1 << (bits - 1))) >> np.int32(bits))


@inlined
def _odd(a, b, c, d):  # type: ignore[no-untyped-def]
    """Rotate the odd half of a transform; the same forwards and backwards."""
    z1, z2, z3, z4 = np.int32(a + d), np.int32(b + c), np.int32(a + c), np.int32(b + d)
    z5 = np.int32(np.int32(z3 + z4) * _1_175)
    z3 = np.int32(z5 - np.int32(z3 * _1_961))
    z4 = np.int32(z5 - np.int32(z4 * _0_390))
    z1, z2 = np.int32(z1 * _0_899), np.int32(z2 * _2_562)
    return (
        np.int32(np.int32(np.int32(a * _0_298) - z1) + z3),
        np.int32(np.int32(np.int32(b * _2_053) - z2) + z4),
        np.int32(np.int32(np.int32(c * _3_072) - z2) + z3),
        np.int32(np.int32(np.int32(d * _1_501) - z1) + z4),
    )


@inlined
def _forward(work, p, step, first):  # type: ignore[no-untyped-def]
    """Transform eight values, `step` apart, in the first or the second direction."""
    p1, p2, p3, p4 = p + step, p + np.uint64(2) * step, p + np.uint64(3) * step, p + np.uint64(4) * step
    p5, p6, p7 = p + np.uint64(5) * step, p + np.uint64(6) * step, p + np.uint64(7) * step
    t0, t7 = np.int32(work[p] + work[p7]), np.int32(work[p] - work[p7])
    t1, t6 = np.int32(work[p1] + work[p6]), np.int32(work[p1] - work[p6])
    t2, t5 = np.int32(work[p2] + work[p5]), np.int32(work[p2] - work[p5])
    t3, t4 = np.int32(work[p3] + work[p4]), np.int32(work[p3] - work[p4])
    t10, t13, t11, t12 = np.int32(t0 + t3), np.int32(t0 - t3), np.int32(t1 + t2), np.int32(t1 - t2)
    bits = _BITS - _KEPT if first == _FIRST else _BITS + _KEPT
    if first == _FIRST:
        work[p], work[p4] = np.int32(np.int32(t10 + t11) << _KEPT), np.int32(np.int32(t10 - t11) << _KEPT)
    else:
        work[p], work[p4] = _scaled_down(np.int32(t10 + t11), _KEPT), _scaled_down(np.int32(t10 - t11), _KEPT)
    z = np.int32(np.int32(t12 + t13) * _0_541)
    work[p2] = _scaled_down(np.int32(z + np.int32(t13 * _0_765)), bits)
    work[p6] = _scaled_down(np.int32(z - np.int32(t12 * _1_847)), bits)
    t4, t5, t6, t7 = _odd(t4, t5, t6, t7)
    work[p7], work[p5] = _scaled_down(t4, bits), _scaled_down(t5, bits)
    work[p3], work[p1] = _scaled_down(t6, bits), _scaled_down(t7, bits)


@inlined
def _backward(work, p, step, bits):  # type: ignore[no-untyped-def]
    """Transform eight values, `step` apart, back, and drop `bits` fractional bits."""
    p1, p2, p3, p4 = p + step, p + np.uint64(2) * step, p + np.uint64(3) * step, p + np.uint64(4) * step
    p5, p6, p7 = p + np.uint64(5) * step, p + np.uint64(6) * step, p + np.uint64(7) * step
    z = np.int32(np.int32(work[p2] + work[p6]) * _0_541)
    t2, t3 = np.int32(z - np.int32(work[p6] * _1_847)), np.int32(z + np.int32(work[p2] * _0_765))
    t0, t1 = np.int32(np.int32(work[p] + work[p4]) << _BITS), np.int32(np.int32(work[p] - work[p4]) << _BITS)
    t10, t13, t11, t12 = np.int32(t0 + t3), np.int32(t0 - t3), np.int32(t1 + t2), np.int32(t1 - t2)
    t0, t1, t2, t3 = _odd(work[p7], work[p5], work[p3], work[p1])
    work[p], work[p7] = _scaled_down(np.int32(t10 + t3), bits), _scaled_down(np.int32(t10 - t3), bits)
    work[p1], work[p6] = _scaled_down(np.int32(t11 + t2), bits), _scaled_down(np.int32(t11 - t2), bits)
    work[p2], work[p5] = _scaled_down(np.int32(t12 + t1), bits), _scaled_down(np.int32(t12 - t1), bits)
    work[p3], work[p4] = _scaled_down(np.int32(t13 + t0), bits), _scaled_down(np.int32(t13 - t0), bits)


@kernel
def quantise(plane, steps):  # type: ignore[no-untyped-def]
    """Transform the 8x8 blocks of a plane, quantise them, and transform them back.

    In place; the plane is (H, W) uint8, the steps are 64.
    """
    rows, columns = plane.shape
    flat = plane.reshape(-1)
    across = columns // 8
    total = rows // 8 * across
    corners = np.zeros(_LANES, np.uint64)
    work = np.zeros(64 * _LANES, np.int32)
    unit = np.float32(1.0)
    for start in range(0, total, _LANES):
        blocks = min(_LANES, total - start)
        for b in range(blocks):
            block = start + b
            corner = np.uint64(block // across * 8 * columns + block % across * 8)
            corners[b] = corner
            for y in range(np.uint64(8)):
                p = corner + y * np.uint64(columns)
                q = y * _DOWN + np.uint64(b)
                for x in range(np.uint64(8)):
                    work[q + x * _ACROSS] = np.int32(flat[p + x]) - np.int32(128)
        for y in range(np.uint64(8)):
            for j in range(_N):
                _forward(work, y * _DOWN + j, _ACROSS, _FIRST)
        for x in range(np.uint64(8)):
            for j in range(_N):
                _forward(work, x * _ACROSS + j, _DOWN, _SECOND)
        for k in range(np.uint64(64)):
            step = steps[k]
            # The transform is eight times too large. Half a unit more: so the product lies on the quotient's side of
            # it.
            more = np.float32(4 * step) + np.float32(0.5)
            inverse = unit / np.float32(8 * step)
            for j in range(_N):
                value = work[k * _N + j]
                size = np.int32(np.int32((np.float32(abs(value)) + more) * inverse) * step)
                work[k * _N + j] = -size if value < 0 else size
        for x in range(np.uint64(8)):
            for j in range(_N):
                _backward(work, x * _ACROSS + j, _DOWN, _BITS - _KEPT)
        for y in range(np.uint64(8)):
            for j in range(_N):
                _backward(work, y * _DOWN + j, _ACROSS, _BITS + _KEPT + 3)
        for b in range(blocks):
            for y in range(np.uint64(8)):
                p = corners[b] + y * np.uint64(columns)
                q = y * _DOWN + np.uint64(b)
                for x in range(np.uint64(8)):
                    flat[p + x] = np.uint8(min(max(work[q + x * _ACROSS] + np.int32(128), np.int32(0)), np.int32(255)))
