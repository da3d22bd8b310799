"""Fields laid over the image: straight waves, rings about a centre, swirls, and Perlin's clouds."""

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

_INTENSITY = {"intensity": (0.0, 1000.0, "in grey levels: what a field of 1 adds")}
_POINTS = 256  # of the lattice that Perlin noise repeats
_OCTAVES = 5
_CELLS = 7.0  # of the first octave along the side: 32 pixels of 224


def _tenth(shape: Shape) -> float:
    return side(shape) / 10


def _frequencies(keys: Keys, shape: Shape, parameters: object) -> NDArray[np.float64]:
    first, share = uniform(0, -math.pi, math.pi)(keys, shape, {}), uniform(1, -1.0, 1.0)(keys, shape, {})
    pair = np.stack([first, share * np.abs(first)], axis=1)
    swapped = keys.whole_numbers(2, stream=2) == 1
    return np.where(swapped, pair[:, ::-1], pair)


@cbar(
    "SingleFrequencyGreyscale",
    _INTENSITY,
    array("frequency", "of the wave along (x, y), in radians a pixel", fixed(2), -1e4, 1e4, _frequencies),
    number("phase", "in radians", -1e4, 1e4, uniform(3, 0.0, 2.0 * math.pi)),
)
@kernel
def single_frequency_greyscale(images, frequencies, phases, intensity, out):  # type: ignore[no-untyped-def]
    """Add one plane sine wave to all channels: ``intensity * sin(fx * x + fy * y + phase)``.

    Notes
    -----
    Drawn at random: one frequency, uniform on [-pi, pi), another, uniform on plus or minus the first, which of them is
    along x, and the phase, uniform on [0, 2 pi).
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
    array("centre", "of the rings, as (x, y)", fixed(2), -1e6, 1e6, uniform(0, 0.0, 1.0, WIDE, TALL)),
    number("petals", "how often the rings waver in a round", 0.0, 1e3, uniform(2, 0.0, 10.0)),
    number("amplitude", "of the wavering, in pixels", 0.0, 1e6, uniform(3, 0.0, 1.0, _tenth)),
    number("ring_width", "in pixels", 1e-9, 1e6, uniform(4, 0.0, 1.0, _tenth)),
)
@kernel
def cocentric_sine_waves(images, centres, petals, amplitudes, widths, intensity, out):  # type: ignore[no-untyped-def]
    """Add rings about a point to all channels, each growing from minus to plus half the intensity outwards.

    ``intensity * (((r + amplitude * sin(petals * angle)) mod ring_width) / ring_width - 1/2)``

    Notes
    -----
    Drawn at random: the centre, uniform on the image; `petals`, uniform on [0, 10); `amplitude` and `ring_width`, each
    uniform on [0, a tenth of the side). The name, and its spelling, are the published ones; what was released is a
    sawtooth, not a sine.
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
    {"intensity": (0.0, 255.0, "in grey levels; the image keeps 1 - intensity / 255")},
    number("time", "the phase of the swirls, in radians", 0.0, 1e3, uniform(0, 0.0, 6.0 * math.pi)),
    number("iterations", "how often the plane is folded, a whole number", 1, 64, uniform(1, 4.0, 7.0)),
    number("sharpness", "how little a later fold is weakened", 0.0, 1.25, uniform(2, 0.5, 1.0)),
    number("wave_size", "in pixels a radian", 1e-3, 1e6, uniform(3, 0.075, 0.2, side)),
)
@kernel
def plasma_noise(images, times, iterations, sharpness, sizes, intensity, out):  # type: ignore[no-untyped-def]
    """Mix images with coloured swirls: sines of a plane folded by sines, of other phases for red, green and blue.

    Notes
    -----
    Drawn at random: the time, uniform on [0, 6 pi); the iterations, 4, 5 or 6; the sharpness, uniform on [0.5, 1); the
    size of a wave, uniform on 0.075 to 0.2 of the side. A grey image gets green's swirls.
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
    """Return permutations, (N, K): from the last entry on, each is swapped with the one at its place."""
    count, size = places.shape
    out = np.empty((count, size), np.int64)
    for n in range(count):
        own = out[n]
        for i in range(size):
            own[i] = i
        for i in range(size - 1, -1, -1):
            j = int(places[n, i])
            own[i], own[j] = own[j], own[i]
    return out


def _directions(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bring points of a grid, (N, K, 2), to length 1 or 0."""
    points = np.floor(points)
    return points / np.maximum(np.sqrt(points[..., :1] ** 2 + points[..., 1:] ** 2), 1.0)


@inlined
def _cell(t):  # type: ignore[no-untyped-def]
    """Return a cell of the lattice, the place in it, and how much the next one counts there."""
    r = t - np.floor(t)
    return np.int64(t), r, r * r * (3.0 - 2.0 * r)


@cbar(
    "PerlinNoise",
    {"alpha": (0.0, 1.0, "weight of the noise; the image's is 1 - alpha")},
    array(
        "permutation",
        "of 0..255, (256,)",
        fixed(_POINTS),
        0,
        _POINTS - 1,
        lambda *given: _swapped(chances(0, fixed(_POINTS), 0.0, 256.0)(*given)),
    ),
    array(
        "gradients",
        "at lattice points, (256, 2) as (down, across)",
        fixed(_POINTS, 2),
        -1.0,
        1.0,
        lambda *given: _directions(chances(1, fixed(_POINTS, 2), -256.0, 256.0)(*given)),
    ),
)
@kernel
def perlin_noise(images, permutations, gradients, alpha, out):  # type: ignore[no-untyped-def]
    """Mix images with light grey clouds, Perlin's turbulence of five octaves: ``(1 - alpha) x + alpha * 255 * noise``.

    Notes
    -----
    The noise is 1/2 plus half the sum of the octaves' magnitudes, so it is never dark. The first octave's cells are a
    seventh of the side. Drawn at random: the gradients at 256 lattice points, and the order in which the lattice uses
    them. As published, each gradient is a point of a grid in a square brought to length 1, and the order comes from 256
    swaps with any place. A gradient that is drawn as (0, 0), one in 262,144, is 0; the released generator makes it not
    a number, and what it reaches black.
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
                # Noise is linear between a lattice column's value and slope, and those of the next.
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
