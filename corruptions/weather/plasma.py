"""Plasma: diamond-square on a torus, every cell's offset addressed directly in a Philox stream."""

from __future__ import annotations

import numpy as np

from ..kernels import inner, kernel
from ..random.philox import high_word, low_word, philox4x32

_BAND = 256
_QUARTER = np.float32(0.25)


def plasma_side(height: int, width: int) -> int:
    """Return the side of the map for an image: the next power of two that is at least the longer side.

    Examples
    --------
    >>> plasma_side(224, 224), plasma_side(32, 32), plasma_side(9, 300)
    (256, 32, 512)
    """
    return 1 << (max(height, width) - 1).bit_length()


@inner
def _draw_offsets(offsets, first, count, amplitude, stage_key, sample_key, stream):  # type: ignore[no-untyped-def]
    """Fill offsets[0..2, :count] with the offsets of the centre, the upper edge and the left edge of cells first, first + 1, ..."""
    k0 = low_word(stage_key)
    k1 = high_word(stage_key)
    c1 = np.uint32(stream)
    c2 = low_word(sample_key)
    c3 = high_word(sample_key)
    scale = np.float32(amplitude * 2.0**-31)
    block = np.uint32(first)
    centre, upper, left = offsets[0], offsets[1], offsets[2]
    # Unsigned indices: signed ones might be negative, which keeps LLVM from vectorising the loop.
    for j in range(np.uint32(count)):
        a, b, c, _ = philox4x32(np.uint32(block + np.uint32(j)), c1, c2, c3, k0, k1)
        centre[j] = np.float32(np.int32(a)) * scale
        upper[j] = np.float32(np.int32(b)) * scale
        left[j] = np.float32(np.int32(c)) * scale


@inner
def _pair_sums(upper, lower, n, sums):  # type: ignore[no-untyped-def]
    """sums[j] = upper[j] + lower[j], closed to a ring by sums[n] = sums[0]."""
    for j in range(n):
        sums[j] = upper[j] + lower[j]
    sums[n] = sums[0]


@inner
def _centres(sums, offsets, n, centres):  # type: ignore[no-untyped-def]
    """centres[j + 1] of cell j, closed to a ring by centres[0] = centres[n]."""
    after, inner = sums[1 : n + 1], centres[1 : n + 1]
    for j in range(n):
        inner[j] = (sums[j] + after[j]) * _QUARTER + offsets[j]
    centres[0] = centres[n]


@inner
def _refine(source, target, n, first, amplitude, stage_key, sample_key, stream, offsets, rows):  # type: ignore[no-untyped-def]
    """One octave: the n x n map `source` becomes the 2n x 2n map `target`; cell (i, j) draws block first + i * n + j."""
    sums = rows[0]
    before = rows[1]
    after = rows[2]
    grid = source[: n * n].reshape(n, n)
    fine = target[: 4 * n * n].reshape(2 * n, 2 * n)
    band = max(1, min(n, _BAND // n))
    # On the torus the row of centres above the first is the last one: it comes first, by itself.
    for i in range(-1, n):
        at = i if i >= 0 else n - 1
        if i < 0 or i % band == 0:
            cells = band * n if i >= 0 else n
            _draw_offsets(offsets, first + at * n, cells, amplitude, stage_key, sample_key, stream)
        start = (i % band) * n if i >= 0 else 0
        this = grid[at]
        _pair_sums(this, grid[i + 1 if i + 1 < n else 0], n, sums)
        _centres(sums, offsets[0, start : start + n], n, after)
        if i < 0:
            before, after = after, before
            continue
        edge = offsets[1, start : start + n]
        upper = fine[2 * i].reshape(n, 2)
        over, under, left = before[1 : n + 1], after[1 : n + 1], after[:n]
        right = grid[i, 1:]
        for j in range(n - 1):
            upper[j, 0] = this[j]
            upper[j, 1] = (this[j] + right[j] + over[j] + under[j]) * _QUARTER + edge[j]
        upper[n - 1, 0] = this[n - 1]
        upper[n - 1, 1] = (this[n - 1] + this[0] + before[n] + after[n]) * _QUARTER + edge[n - 1]
        edge = offsets[2, start : start + n]
        lower = fine[2 * i + 1].reshape(n, 2)
        for j in range(n):
            lower[j, 0] = (sums[j] + left[j] + under[j]) * _QUARTER + edge[j]
            lower[j, 1] = under[j]
        before, after = after, before


@kernel
def grow_plasmas(side, wibble_decay, stage_key, sample_keys, stream):  # type: ignore[no-untyped-def]
    """Draw maps, not yet normalised: (N, side, side) float32, and (N, 2) float32 of each one's least value and span.

    They are in [0, 1] once the least value is subtracted and the rest divided by the span.
    """
    count = sample_keys.size
    half = max(side // 2, 1)
    maps = np.empty((count, side * side), np.float32)
    ranges = np.empty((count, 2), np.float32)
    small = np.empty(half * half, np.float32)
    offsets = np.empty((3, max(_BAND, half)), np.float32)
    rows = np.empty((3, side + 1), np.float32)
    octaves = np.int64(0)
    while (np.int64(1) << octaves) < side:
        octaves += 1
    for m in range(count):
        large = maps[m]
        # The coarse maps alternate between the two buffers so that the last one lands in the large one.
        source = large if octaves % 2 == 0 else small
        target = small if octaves % 2 == 0 else large
        source[0] = np.float32(0.0)
        wibble = 1.0
        first = np.int64(0)
        n = np.int64(1)
        while n < side:
            # The offsets are uniform on +-wibble, times wibble once more: an octave is wibble_decay**2 weaker than the one before.
            _refine(source, target, n, first, wibble * wibble, stage_key, sample_keys[m], stream, offsets, rows)
            source, target = target, source
            first += n * n
            n *= 2
            wibble /= wibble_decay
        low = rows[0]
        high = rows[1]
        grid = large.reshape(side, side)
        for j in range(side):
            low[j] = grid[0, j]
            high[j] = grid[0, j]
        for i in range(1, side):
            row = grid[i]
            for j in range(side):
                low[j] = row[j] if row[j] < low[j] else low[j]
                high[j] = row[j] if row[j] > high[j] else high[j]
        least = low[0]
        most = high[0]
        for j in range(1, side):
            least = low[j] if low[j] < least else least
            most = high[j] if high[j] > most else most
        ranges[m, 0] = least
        # A flat map, which no draw makes, counts as 0.
        ranges[m, 1] = most - least if most > least else np.float32(1.0)
    return maps.reshape(count, side, side), ranges
