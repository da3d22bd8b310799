"""Counter-based random bits of Philox4x32-10 (Salmon et al., SC'11).

A draw is a pure function of (stage key, sample key, stream, element). The output therefore does not depend on the order
of images, the workers, the batches or interruptions. The counter is (draw block, stream, low and high word of the
sample key). The key is the low and high word of the stage key. A block has four 32-bit words, and element e is
word e % 4 of block e // 4.
"""

from __future__ import annotations

import numpy as np

from ..kernels import inlined, kernel

_M0 = np.uint64(0xD2511F53)
_M1 = np.uint64(0xCD9E8D57)
# These numbers are added to the key in each round.
_W0 = tuple(np.uint32(0x9E3779B9 * i & 0xFFFFFFFF) for i in range(10))
_W1 = tuple(np.uint32(0xBB67AE85 * i & 0xFFFFFFFF) for i in range(10))
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_CHUNK = 4096  # This number of words stays in the first-level cache.


@inlined
def _round(c0, c1, c2, c3, k0, k1):  # type: ignore[no-untyped-def]
    p0 = _M0 * np.uint64(c0)
    p1 = _M1 * np.uint64(c2)
    return (
        np.uint32(np.uint32(p1 >> _32) ^ c1 ^ k0),
        np.uint32(p1),
        np.uint32(np.uint32(p0 >> _32) ^ c3 ^ k1),
        np.uint32(p0),
    )


@inlined
def philox4x32(c0, c1, c2, c3, k0, k1):  # type: ignore[no-untyped-def]
    """Return the four uint32 words of one Philox4x32-10 block, for counter and key words of uint32."""
    # LLVM unrolls the rounds, and then vectorises the caller's loop over blocks, which is eight times as fast.
    for i in range(10):
        c0, c1, c2, c3 = _round(c0, c1, c2, c3, np.uint32(k0 + _W0[i]), np.uint32(k1 + _W1[i]))
    return c0, c1, c2, c3


@inlined
def low_word(key):  # type: ignore[no-untyped-def]
    """Return the low 32 bits of a uint64."""
    return np.uint32(key & _LOW)


@inlined
def high_word(key):  # type: ignore[no-untyped-def]
    """Return the high 32 bits of a uint64."""
    return np.uint32(key >> _32)


@inlined
def draw_block(block, stage_key, sample_key, stream):  # type: ignore[no-untyped-def]
    """Return the words 4*block .. 4*block+3 of a stream as four uint32."""
    return philox4x32(
        np.uint32(block),
        np.uint32(stream),
        low_word(sample_key),
        high_word(sample_key),
        low_word(stage_key),
        high_word(stage_key),
    )


@kernel
def draw_word(element, stage_key, sample_key, stream):  # type: ignore[no-untyped-def]
    """Return word `element` of a stream as uint32."""
    a, b, c, d = draw_block(element >> 2, stage_key, sample_key, stream)
    lane = element & 3
    return a if lane == 0 else b if lane == 1 else c if lane == 2 else d


@kernel
def fill_words(out, first_block, stage_key, sample_key, stream):  # type: ignore[no-untyped-def]
    """Fill `out`, (n,) uint32, with the words of a stream, beginning at a block.

    The first word is number 4 * first_block. `stream` is a number from 0 to 2**32 - 1. Each named draw of a stage has
    its own stream. In a gradual degradation, each level has its own streams too.
    """
    k0 = low_word(stage_key)
    k1 = high_word(stage_key)
    c2 = low_word(sample_key)
    c3 = high_word(sample_key)
    c1 = np.uint32(stream)
    first = np.uint32(first_block)
    whole = np.uint32(out.size // 4)
    # LLVM does not vectorise the loop if the indices are signed, because they might be negative.
    for block in range(whole):
        a, b, c, d = philox4x32(np.uint32(first + np.uint32(block)), c1, c2, c3, k0, k1)
        at = np.uint64(block) * np.uint64(4)
        out[at] = a
        out[at + np.uint64(1)] = b
        out[at + np.uint64(2)] = c
        out[at + np.uint64(3)] = d
    for i in range(4 * np.int64(whole), out.size):
        out[i] = draw_word(4 * np.int64(first_block) + i, stage_key, sample_key, stream)


@kernel
def fill_uniforms(out, stage_key, sample_key, stream, low, high):  # type: ignore[no-untyped-def]
    """Fill `out` with numbers uniform on [low, high).

    Element e is word e of the stream, scaled by 2**-32. In a float32 array, numbers are rounded, so `high` itself can
    occur.
    """
    words = np.empty(min(out.size, _CHUNK), np.uint32)
    for start in range(0, out.size, _CHUNK):
        part = out[start : start + _CHUNK]
        fill_words(words[: part.size], start // 4, stage_key, sample_key, stream)
        for i in range(np.uint32(part.size)):
            part[i] = low + (high - low) * (np.float64(words[i]) * 2.0**-32)


@kernel
def uniform_rows(stage_key, sample_keys, stream, low, high, count):  # type: ignore[no-untyped-def]
    """Return `count` numbers for each sample, (N, count) float64, uniform on [low, high) as in `fill_uniforms`."""
    out = np.empty((sample_keys.size, count), np.float64)
    for i in range(sample_keys.size):
        fill_uniforms(out[i], stage_key, sample_keys[i], stream, low, high)
    return out


@kernel
def draw_integers(stage_key, sample_keys, stream, counts):  # type: ignore[no-untyped-def]
    """Return whole numbers, (N, K) int64, where column k is uniform on 0 .. counts[k] - 1.

    Column k is computed from word k of the stream.
    """
    out = np.empty((sample_keys.size, counts.size), np.int64)
    for i in range(sample_keys.size):
        for k in range(counts.size):
            out[i, k] = (np.int64(draw_word(k, stage_key, sample_keys[i], stream)) * counts[k]) >> 32
    return out
