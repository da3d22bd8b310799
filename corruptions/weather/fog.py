"""Fog: plasma laid over the image, at any size.

Plasma is diamond-square on a torus, every cell's offset addressed directly in a Philox stream.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...references import HENDRYCKS_2019
from ..kernels import inlined, inner, kernel
from ..levels import ROUNDING, half
from ..random.philox import high_word, low_word, philox4x32
from ..registry import Draw, Given, Images, Keys, Parameter, Shape, corruption

PLASMA_STREAM = 0
_BAND = 256
_QUARTER = np.float32(0.25)
_AT_ONCE = 1024  # about so many pixels at a time


def plasma_side(height: int, width: int) -> int:
    """Return the side of the map for an image.

    It is the next power of two that is at least the longer side.

    Examples
    --------
    >>> plasma_side(224, 224), plasma_side(32, 32), plasma_side(9, 300)
    (256, 32, 512)
    """
    return 1 << (max(height, width) - 1).bit_length()


@inner
def _draw_offsets(offsets, first, count, amplitude, stage_key, sample_key, stream):  # type: ignore[no-untyped-def]
    """Fill offsets[0..2, :count] with those of cells first, first + 1, ...

    They are the offsets of the centre, the upper edge and the left edge.
    """
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
    """One octave: the n x n map `source` becomes the 2n x 2n map `target`.

    Cell (i, j) draws block first + i * n + j.
    """
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
def grow_plasmas(side, height, width, wibble_decay, stage_key, sample_keys, stream):  # type: ignore[no-untyped-def]
    """Draw maps, (N, side, side) float32, in [0, 1] in their corner (height, width)."""
    count = sample_keys.size
    half = max(side // 2, 1)
    maps = np.empty((count, side * side), np.float32)
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
            # The offsets are uniform on +-wibble, times wibble once more: an octave is wibble_decay**2 weaker than the
            # one before.
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
        # A flat map, which no draw makes, counts as 0.
        span = most - least if most > least else np.float32(1.0)
        for i in range(height):
            row = grid[i, :width]
            for j in range(np.uint64(width)):
                row[j] = (row[j] - least) / span
    return maps.reshape(count, side, side)


def _draw_plasma(keys: Keys, shape: Shape, parameters: Given) -> NDArray[np.float32]:
    side = plasma_side(max(shape[:2]), parameters.get("map_side") or 1)
    return np.asarray(grow_plasmas(side, *shape[:2], float(parameters["wibble_decay"]), *keys, PLASMA_STREAM))


def _given_plasma(plasma: NDArray[np.float32], shape: Shape, parameters: Given) -> NDArray[np.float32]:
    least = max(shape[:2])
    if plasma.ndim != 2 or plasma.shape[0] != plasma.shape[1] or plasma.shape[0] < least:
        raise ValueError(f"got shape {plasma.shape}, expected (M, M) with M at least {least}")
    return np.ascontiguousarray(plasma[: shape[0], : shape[1]])


@inlined
def _hazed(level, image_factor, haze, half):  # type: ignore[no-untyped-def]
    return np.uint8(np.int32(np.float32(level) * image_factor + haze + half))


@kernel
def _lay(images, maps, weight, half, out):  # type: ignore[no-untyped-def]
    """Lay the upper left part of its map over each image."""
    count, height, width, channels = images.shape
    band = min(max(_AT_ONCE // width, 1), height)
    haze = np.empty(band * width, np.float32)
    for i in range(count):
        most = np.uint8(0)
        for value in images[i].reshape(-1):
            most = value if value > most else most
        # The result never exceeds the image's own maximum.
        top = np.float64(most) / 255.0
        factor = top / (top + weight) if most > 0 else 0.0
        image_factor, haze_factor = np.float32(factor), np.float32(factor * weight * 255.0)
        for first in range(0, height, band):
            last = min(first + band, height)
            for y in range(first, last):
                row, line = maps[i, y, :width], haze[(y - first) * width : (y - first + 1) * width]
                for x in range(np.uint64(width)):
                    line[x] = row[x] * haze_factor
            source = images[i, first:last].reshape(-1)
            target = out[i, first:last].reshape(-1)
            if channels == 3:
                # Unsigned indices spare numba the check for negative ones.
                for x in range(np.uint64((last - first) * width)):
                    p = np.uint64(3) * x
                    target[p] = _hazed(source[p], image_factor, haze[x], half)
                    target[p + np.uint64(1)] = _hazed(source[p + np.uint64(1)], image_factor, haze[x], half)
                    target[p + np.uint64(2)] = _hazed(source[p + np.uint64(2)], image_factor, haze[x], half)
            else:
                for x in range(np.uint64((last - first) * width)):
                    target[x] = _hazed(source[x], image_factor, haze[x], half)


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, fog and plasma_fractal",
    parameters=(
        Parameter("weight", float, 0.0, 100.0, "weight of the fog beside the image's"),
        Parameter("wibble_decay", float, 1.0, 16.0, "by which the roughness is divided from octave to octave"),
        Parameter(
            "map_side",
            kind=int,
            low=1,
            high=65536,
            option=True,
            shapes_draws=True,
            about="least side of the drawn map, of which the image gets the upper left part; by default the longer "
            "side",
        ),
        ROUNDING,
    ),
    draws=(
        Draw(
            "plasma",
            "a square map (M, M) in [0, 1], M at least the longer side; its upper left part is used",
            _draw_plasma,
            None,
            np.float32,
            0.0,
            1.0,
            _given_plasma,
        ),
    ),
    held=1,
)
def fog(
    images: Images,
    keys: Keys,
    *,
    weight: float,
    wibble_decay: float,
    map_side: int | None = None,
    rounding: str = "floor",
    plasma: NDArray[np.float32],
) -> Images:
    """Lay fog over images.

    Plasma added in proportion, then scaled back to the image's own maximum. ``floor((x + weight * plasma) * m / (m +
    weight))`` with x in [0, 1] and m the image's maximum, times 255. A black image stays black.

    Notes
    -----
    Drawn at random: one plasma map an image, by diamond-square on a torus, uniform offsets, normalised to [0, 1] over
    the whole map; an octave's offsets are ``wibble_decay**2`` times weaker than those of the one before. The map's side
    is the next power of two that is at least `map_side` and the longer side, and the image gets its upper left part; so
    its statistics jump where the longer side passes a power of two, and ``scale="side"`` changes nothing. At 224 and 32
    the map is the published 256 and 32. MNIST-C's is 256, so its images get a nearly flat corner.

    References
    ----------
    Fournier, Fussell & Carpenter 1982, Computer Rendering of Stochastic Models.
    """
    out = np.empty_like(images)
    _lay(images, plasma, float(weight), np.float32(half(rounding)), out)
    return out
