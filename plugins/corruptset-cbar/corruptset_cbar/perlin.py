"""Perlin noise: five octaves of turbulence, mixed into the image."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.kernels import kernel, portions
from corruptset.corruptions.keys import Keys
from corruptset.corruptions.random.philox import fill_words
from corruptset.corruptions.registry import Draw, Images, Parameter, corruption, given_array
from corruptset.references import MINTUN_2021

from .blend import blend

_SIZE = 256  # of the table of gradients, after which the noise repeats
_OCTAVES = 5
_CELLS = 7.0  # of the first octave along the side: 32 pixels of 224
_SWAPS, _GRADIENTS = np.int64(0), np.int64(1)


@kernel
def _draw_tables(stage_key, sample_keys):  # type: ignore[no-untyped-def]
    """Return each image's permutation, by swapping every entry with any other, and its gradients, of length 1 or 0."""
    count = sample_keys.size
    permutations = np.empty((count, _SIZE), np.int64)
    gradients = np.empty((count, _SIZE, 2), np.float64)
    words = np.empty(2 * _SIZE, np.uint32)
    for n in range(count):
        own = permutations[n]
        for i in range(_SIZE):
            own[i] = i
        fill_words(words[:_SIZE], np.int64(0), stage_key, sample_keys[n], _SWAPS)
        for i in range(_SIZE - 1, -1, -1):
            j = np.int64(words[i] >> np.uint32(24))
            own[i], own[j] = own[j], own[i]
        fill_words(words, np.int64(0), stage_key, sample_keys[n], _GRADIENTS)
        for i in range(_SIZE):
            a, b = np.int64(words[2 * i] >> np.uint32(23)) - 256, np.int64(words[2 * i + 1] >> np.uint32(23)) - 256
            length = max(math.sqrt(np.float64(a * a + b * b)), 1.0)
            gradients[n, i, 0], gradients[n, i, 1] = a / length, b / length
    return permutations, gradients


@kernel
def _turbulence(permutations, gradients, cell, height, width):  # type: ignore[no-untyped-def]
    """Return (N, 1, H, W) of float32: 1/2 plus half the sum of the octaves' magnitudes, at most 1."""
    count = permutations.shape[0]
    out = np.empty((count, 1, height, width), np.float32)
    total = np.empty(width)
    index, place, curve = np.empty(width, np.uint64), np.empty(width), np.empty(width)
    most = np.int64(width / cell * 2 ** (_OCTAVES - 1)) + 3
    value, slope = np.empty(most), np.empty(most)
    for octave in range(_OCTAVES):
        scale = np.float64(1 << octave)
        for x in range(width):
            t = x / cell * scale
            index[x] = np.uint64(np.int64(t))
            place[x] = t - np.floor(t)
            curve[x] = place[x] * place[x] * (3.0 - 2.0 * place[x])
        columns = np.int64(index[width - 1]) + 2
        for n in range(count):
            p, g = permutations[n], gradients[n]
            for y in range(height):
                t = y / cell * scale
                row = np.int64(t)
                r = t - np.floor(t)
                s = r * r * (3.0 - 2.0 * r)
                i, j = p[row & 255], p[(row + 1) & 255]
                # Noise is linear between a lattice column's value and slope, and those of the next.
                for k in range(columns):
                    before, after = p[(i + (k & 255)) & 255], p[(j + (k & 255)) & 255]
                    u = r * g[before, 0]
                    value[k] = u + s * ((r - 1.0) * g[after, 0] - u)
                    slope[k] = g[before, 1] + s * (g[after, 1] - g[before, 1])
                line = out[n, 0, y]
                for x in range(np.uint64(width)):
                    k = index[x]
                    left = value[k] + place[x] * slope[k]
                    right = value[k + np.uint64(1)] + (place[x] - 1.0) * slope[k + np.uint64(1)]
                    total[x] = abs(1.5 * (left + curve[x] * (right - left))) / scale
                for x in range(np.uint64(width)):
                    so_far = np.float32(total[x]) if octave == 0 else np.float32(line[x] + np.float32(total[x]))
                    line[x] = so_far if octave < _OCTAVES - 1 else min(np.float32(0.5) + np.float32(0.5) * so_far, np.float32(1.0))
    return out


@corruption(
    revision=1,
    reference=f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, PerlinNoise",
    parameters=(Parameter("alpha", low=0.0, high=1.0, about="weight of the noise; the image's is 1 - alpha"),),
    draws=(
        Draw("permutation", "of 0..255, (256,)", given_array(lambda shape, p: (_SIZE,), np.int64, 0, _SIZE - 1)),
        Draw("gradients", "at lattice points, (256, 2) as (down, across)", given_array(lambda shape, p: (_SIZE, 2), np.float64, -1, 1)),
    ),
)
def perlin_noise(
    images: Images,
    keys: Keys,
    *,
    alpha: float,
    permutation: NDArray[np.int64] | None = None,
    gradients: NDArray[np.float64] | None = None,
) -> Images:
    """Mix images with light grey clouds, Perlin's turbulence of five octaves: ``(1 - alpha) x + alpha * 255 * noise``.

    Notes
    -----
    The noise is 1/2 plus half the sum of the octaves' magnitudes, so it is never dark. The first octave's cells are a seventh of the
    side. Drawn at random: the gradients at 256 lattice points, and the order in which the lattice uses them. As published,
    each gradient is a point of a grid in a square brought to length 1, and the order comes from 256 swaps with any place.
    A gradient that is drawn as (0, 0), one in 262,144, is 0; the released generator makes it not a number, and what it reaches black.
    """
    height, width = images.shape[1:3]
    order, slopes = _draw_tables(keys.stage, keys.samples)
    if permutation is not None:
        order[:] = permutation
    if gradients is not None:
        slopes[:] = gradients
    out = np.empty_like(images)
    for batch in portions(len(images), height * width):
        fields = _turbulence(order[batch], slopes[batch], min(height, width) / _CELLS, height, width)
        blend(images[batch], fields, 1.0 - alpha, 255.0 * alpha, out[batch])
    return out
