"""Blend images with fields of plane waves, concentric rings, swirls or Perlin noise."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.kernels import inlined, kernel
from corruptset.corruptions.keys import Keys
from corruptset.corruptions.registry import Shape

from .declare import TALL, WIDE, array, cbar, chances, fixed, number, side, uniform
from .elementary import TURNS, along, arctangent, cosine, real, sine, sine_cosine
from .rows import lay

_INTENSITY = {"intensity": (0.0, 1000.0, "scale of the field, in grey levels")}
_POINTS = 256  # This is the number of lattice points after which Perlin noise repeats.
_OCTAVES = 5
_CELLS = 7.0  # This is the number of cells per side in the first octave. At 224 pixels, each cell is 32 pixels wide.


def _tenth(shape: Shape) -> float:
    return side(shape) / 10


def _frequencies(keys: Keys, shape: Shape, parameters: object) -> NDArray[np.float64]:
    first, share = uniform(0, -math.pi, math.pi)(keys, shape, {}), uniform(1, -1.0, 1.0)(keys, shape, {})
    pair = np.stack([first, share * np.abs(first)], axis=1)
    swapped = keys.integers(2, stream=2) == 1
    return np.where(swapped, pair[:, ::-1], pair)


@cbar(
    "SingleFrequencyGreyscale",
    _INTENSITY,
    array("frequency", "frequency along (x, y), in radians per pixel", fixed(2), -1e4, 1e4, _frequencies),
    number("phase", "phase in radians", -1e4, 1e4, uniform(3, 0.0, 2.0 * math.pi)),
)
@kernel
def single_frequency_greyscale(images, frequencies, phases, intensity, out):  # type: ignore[no-untyped-def]
    """Add the plane sine wave ``intensity * sin(fx * x + fy * y + phase)`` to all channels.

    Notes
    -----
    One frequency f is drawn uniformly from [-pi, pi), and the other uniformly from -abs(f) to abs(f). The two are
    assigned to x and y at random. The phase is drawn uniformly from [0, 2 pi).
    """
    count, height, width, _ = images.shape
    sines, cosines, field = np.empty(width), np.empty(width), np.empty((height, 1, width), np.float32)
    for n in range(count):
        across, down = frequencies[n, 0] * TURNS, frequencies[n, 1] * TURNS
        for x in range(width):
            turns = across * x + phases[n] * TURNS
            sines[x], cosines[x] = sine_cosine(turns)
        for y in range(height):
            (s, c), line = sine_cosine(down * y), field[y, 0]
            for x in along(line):
                line[x] = sines[x] * c + cosines[x] * s
        lay(images[n], field, 1.0, intensity, out[n])


@cbar(
    "CocentricSineWaves",
    _INTENSITY,
    array("centre", "centre of the rings, as (x, y)", fixed(2), -1e6, 1e6, uniform(0, 0.0, 1.0, WIDE, TALL)),
    number("petals", "number of waves around each ring", 0.0, 1e3, uniform(2, 0.0, 10.0)),
    number("amplitude", "amplitude of these waves, in pixels", 0.0, 1e6, uniform(3, 0.0, 1.0, _tenth)),
    number("ring_width", "width of a ring in pixels", 1e-9, 1e6, uniform(4, 0.0, 1.0, _tenth)),
)
@kernel
def cocentric_sine_waves(images, centres, petals, amplitudes, widths, intensity, out):  # type: ignore[no-untyped-def]
    """Add concentric rings around a point to all channels. Each ring becomes brighter outwards.

    The added value is ``intensity * (((r + amplitude * sin(petals * angle)) mod ring_width) / ring_width - 1/2)``.

    Notes
    -----
    The centre is drawn uniformly from the image, and `petals` uniformly from [0, 10). `amplitude` and `ring_width` are
    drawn uniformly from 0 to a tenth of the side. The name is spelt as it was published. The released code computes a
    sawtooth wave, not a sine wave.
    """
    count, height, width, _ = images.shape
    field = np.empty((height, 1, width), np.float32)
    for n in range(count):
        x0, y0, frequency, amplitude, step = (
            centres[n, 0],
            centres[n, 1],
            petals[n],
            amplitudes[n],
            max(widths[n], 1e-9),
        )
        for y in range(height):
            dy, line = y - y0, field[y, 0]
            for x in along(line):
                dx = real(x) - x0
                wave = sine(arctangent(dx, dy) * frequency)
                rings = (math.sqrt(dx * dx + dy * dy) + wave * amplitude) / step
                line[x] = rings - np.floor(rings) - 0.5
        lay(images[n], field, 1.0, intensity, out[n])


@cbar(
    "PlasmaNoise",
    {"intensity": (0.0, 255.0, "weight of the swirls in grey levels (the weight of the image is 1 - intensity / 255)")},
    number("time", "phase of the swirls, in radians", 0.0, 1e3, uniform(0, 0.0, 6.0 * math.pi)),
    number("iterations", "number of folds of the plane, an integer", 1, 64, uniform(1, 4.0, 7.0)),
    number("sharpness", "strength of later folds", 0.0, 1.25, uniform(2, 0.5, 1.0)),
    number("wave_size", "size of the waves, in pixels per radian", 1e-3, 1e6, uniform(3, 0.075, 0.2, side)),
)
@kernel
def plasma_noise(images, times, iterations, sharpness, sizes, intensity, out):  # type: ignore[no-untyped-def]
    """Blend images with coloured swirls.

    The swirls are sines of the coordinates of a plane, after the plane has been folded several times by other sines.
    Red, green and blue have different phases.

    Notes
    -----
    The time is drawn uniformly from [0, 6 pi), and the number of iterations from 4, 5 and 6. The sharpness is drawn
    uniformly from [0.5, 1), and the size of the waves uniformly from 0.075 to 0.2 of the side. Grey images get the
    swirls of the green channel.
    """
    count, height, width, channels = images.shape
    fields, xs, ys = np.empty((height, channels, width), np.float32), np.empty(width), np.empty(width)
    for n in range(count):
        time = times[n] * TURNS
        lift = sine(time) * TURNS
        for y in range(height):
            start = y / sizes[n] * TURNS
            for x in along(xs):
                xs[x] = real(x) / sizes[n] * TURNS
                ys[x] = start
            fold, delay, fade = 1.0, 1.0, 1.0
            for _ in range(int(iterations[n])):
                late, share = time / delay, TURNS / fade
                for x in along(xs):
                    r0, r1 = cosine(ys[x] * fold + late) * share, sine(xs[x] * fold + late) * share
                    xs[x] += r0 - 0.3 * r1
                    ys[x] += r1 + 0.3 * r0
                fold, delay, fade = fold * 1.93, delay * 1.15, fade * (2.25 - sharpness[n])
            for c in range(channels):
                line = fields[y, c]
                a, b, shift = ((1.0, 0.0, -time), (0.5, 0.5, lift * 0.5), (0.0, 1.0, time))[c if channels > 1 else 1]
                for x in along(line):
                    line[x] = sine((xs[x] * a + ys[x] * b) + shift)
        lay(images[n], fields, 1.0 - intensity / 255.0, intensity, out[n])


@kernel
def _swapped(places):  # type: ignore[no-untyped-def]
    """Return permutations (N, K). Each entry, from last to first, is swapped with the entry at a given place."""
    count, size = places.shape
    out = np.empty((count, size), np.int64)
    for n in range(count):
        permutation = out[n]
        for i in range(size):
            permutation[i] = i
        for i in range(size - 1, -1, -1):
            j = int(places[n, i])
            permutation[i], permutation[j] = permutation[j], permutation[i]
    return out


def _directions(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round points (N, K, 2) down to a grid, and scale them to length 1. Points at the origin remain 0."""
    points = np.floor(points)
    return points / np.maximum(np.sqrt(points[..., :1] ** 2 + points[..., 1:] ** 2), 1.0)


@inlined
def _cell(t):  # type: ignore[no-untyped-def]
    """Return the lattice cell at a coordinate, the position in the cell, and the weight of the next lattice point."""
    r = t - np.floor(t)
    return np.int64(t), r, r * r * (3.0 - 2.0 * r)


@cbar(
    "PerlinNoise",
    {"alpha": (0.0, 1.0, "weight of the noise (the weight of the image is 1 - alpha)")},
    array(
        "permutation",
        "permutation of 0..255, (256,)",
        fixed(_POINTS),
        0,
        _POINTS - 1,
        lambda *given: _swapped(chances(0, fixed(_POINTS), 0.0, 256.0)(*given)),
    ),
    array(
        "gradients",
        "gradients at lattice points, (256, 2) as (down, across)",
        fixed(_POINTS, 2),
        -1.0,
        1.0,
        lambda *given: _directions(chances(1, fixed(_POINTS, 2), -256.0, 256.0)(*given)),
    ),
)
@kernel
def perlin_noise(images, permutations, gradients, alpha, out):  # type: ignore[no-untyped-def]
    """Blend images with light grey clouds, as ``(1 - alpha) x + alpha * 255 * noise``.

    The noise is Perlin's turbulence with five octaves.

    Notes
    -----
    The noise is 1/2 plus half the sum of the absolute values of the octaves, so it is never dark. The cells of the
    first octave are a seventh of the side. The gradients at 256 lattice points are drawn at random, and so is the
    order in which the lattice uses them. As in the released generator, each gradient is a point on a grid in a square,
    scaled to length 1. The order results from 256 swaps with arbitrary positions. One in 262,144 gradients is drawn as
    (0, 0) and remains 0. In the released generator it becomes NaN, which blackens all pixels that use it.
    """
    count, height, width, _ = images.shape
    cell = min(height, width) / _CELLS
    field = np.empty((height, 1, width), np.float32)
    total, place, curve, index = np.empty(width), np.empty(width), np.empty(width), np.empty(width, np.uint64)
    most = int(width / cell * 2 ** (_OCTAVES - 1)) + 3
    value, slope = np.empty(most), np.empty(most)
    for n in range(count):
        p, g = permutations[n], gradients[n]
        field.fill(0.0)
        for octave in range(_OCTAVES):
            scale = 2.0**octave
            for x in range(width):
                index[x], place[x], curve[x] = _cell(x / cell * scale)
            for y in range(height):
                row, r, s = _cell(y / cell * scale)
                i, j = p[row & 255], p[(row + 1) & 255]
                # Along a row, the noise between two lattice columns depends only on the columns' values and slopes.
                for k in range(np.int64(index[width - 1]) + 2):
                    before, after = p[(i + k) & 255], p[(j + k) & 255]
                    u = r * g[before, 0]
                    value[k] = u + s * ((r - 1.0) * g[after, 0] - u)
                    slope[k] = g[before, 1] + s * (g[after, 1] - g[before, 1])
                line = field[y, 0]
                for x in along(line):
                    k = index[x]
                    left = value[k] + place[x] * slope[k]
                    right = value[k + np.uint64(1)] + (place[x] - 1.0) * slope[k + np.uint64(1)]
                    total[x] = abs(1.5 * (left + curve[x] * (right - left))) / scale
                for x in along(line):
                    line[x] += np.float32(total[x])
        grey = field.reshape(-1)
        for i in along(grey):
            grey[i] = min(0.5 + 0.5 * grey[i], 1.0)
        lay(images[n], field, 1.0 - alpha, 255.0 * alpha, out[n])
