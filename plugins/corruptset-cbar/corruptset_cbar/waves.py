"""Waves laid over the image: straight ones, rings about a centre, and swirls."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.kernels import kernel, portions
from corruptset.corruptions.keys import Keys
from corruptset.corruptions.random.philox import uniforms, whole_numbers
from corruptset.corruptions.registry import Draw, Images, Parameter, corruption, given_array, given_scalar
from corruptset.references import MINTUN_2021

from .blend import blend
from .elementary import TURNS, arctangent, cosine, sine

_INTENSITY = Parameter("intensity", low=0.0, high=1000.0, about="in grey levels: what a field of 1 adds")
Field = NDArray[np.float64]


def _drawn(keys: Keys, stream: int, given: float | None, low: float, high: float) -> Field:
    """Return a number for each image, uniform on [low, high), or the given one."""
    if given is not None:
        return np.full(len(keys.samples), given)
    return np.asarray(uniforms(keys.stage, keys.samples, stream, float(low), float(high)))


@kernel
def _gratings(frequencies, phases, height, width):  # type: ignore[no-untyped-def]
    count = phases.size
    out = np.empty((count, 1, height, width), np.float32)
    sines, cosines = np.empty(width), np.empty(width)
    for n in range(count):
        across, down = frequencies[n, 0] * TURNS, frequencies[n, 1] * TURNS
        for x in range(width):
            turns = across * x + phases[n] * TURNS
            sines[x], cosines[x] = sine(turns), cosine(turns)
        for y in range(height):
            s, c = sine(down * y), cosine(down * y)
            line = out[n, 0, y]
            for x in range(np.uint64(width)):
                line[x] = np.float32(sines[x] * c + cosines[x] * s)
    return out


@corruption(
    revision=1,
    reference=f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, SingleFrequencyGreyscale",
    parameters=(_INTENSITY,),
    draws=(
        Draw("frequency", "of the wave along (x, y), in radians a pixel", given_array(lambda shape, p: (2,), np.float64, -1e4, 1e4)),
        Draw("phase", "in radians", given_scalar(-1e4, 1e4)),
    ),
)
def single_frequency_greyscale(
    images: Images, keys: Keys, *, intensity: float, frequency: Field | None = None, phase: float | None = None
) -> Images:
    """Add one plane sine wave to all channels: ``intensity * sin(fx * x + fy * y + phase)``.

    Notes
    -----
    Drawn at random: one frequency, uniform on [-pi, pi), another, uniform on plus or minus the first, which of them is along x, and
    the phase, uniform on [0, 2 pi).
    """
    if frequency is None:
        first = _drawn(keys, 0, None, -math.pi, math.pi)
        pair = np.stack([first, _drawn(keys, 1, None, -1.0, 1.0) * np.abs(first)], axis=1)
        swapped = whole_numbers(keys.stage, keys.samples, 2, np.array([2])) == 1
        frequencies = np.where(swapped, pair[:, ::-1], pair)
    else:
        frequencies = np.tile(frequency, (len(images), 1))
    phases = _drawn(keys, 3, phase, 0.0, 2.0 * math.pi)
    out = np.empty_like(images)
    for batch in portions(len(images), images[0, :, :, 0].size):
        blend(images[batch], _gratings(frequencies[batch], phases[batch], *images.shape[1:3]), 1.0, float(intensity), out[batch])
    return out


@kernel
def _rings(centres, frequencies, amplitudes, widths, height, width):  # type: ignore[no-untyped-def]
    count = widths.size
    out = np.empty((count, 1, height, width), np.float32)
    for n in range(count):
        x0, y0, frequency, amplitude, step = centres[n, 0], centres[n, 1], frequencies[n], amplitudes[n], widths[n]
        for y in range(height):
            dy = y - y0
            line = out[n, 0, y]
            for x in range(np.uint64(width)):
                dx = np.float64(np.int64(x)) - x0
                wave = sine(arctangent(dx, dy) * frequency)
                rings = (math.sqrt(dx * dx + dy * dy) + wave * amplitude) / step
                line[x] = np.float32(rings - np.floor(rings) - 0.5)
    return out


@corruption(
    revision=1,
    reference=f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, CocentricSineWaves",
    parameters=(_INTENSITY,),
    draws=(
        Draw("centre", "of the rings, as (x, y)", given_array(lambda shape, p: (2,), np.float64, -1e6, 1e6)),
        Draw("petals", "how often the rings waver in a round", given_scalar(0.0, 1e3)),
        Draw("amplitude", "of the wavering, in pixels", given_scalar(0.0, 1e6)),
        Draw("ring_width", "in pixels", given_scalar(1e-9, 1e6)),
    ),
)
def cocentric_sine_waves(
    images: Images,
    keys: Keys,
    *,
    intensity: float,
    centre: Field | None = None,
    petals: float | None = None,
    amplitude: float | None = None,
    ring_width: float | None = None,
) -> Images:
    """Add rings about a point to all channels, each growing from minus to plus half the intensity outwards.

    ``intensity * (((r + amplitude * sin(petals * angle)) mod ring_width) / ring_width - 1/2)``

    Notes
    -----
    Drawn at random: the centre, uniform on the image; `petals`, uniform on [0, 10); `amplitude` and `ring_width`, each uniform on
    [0, a tenth of the side). The name, and its spelling, are the published ones; what was released is a sawtooth, not a sine.
    """
    height, width = images.shape[1:3]
    side = min(height, width)
    if centre is None:
        centres = np.stack([_drawn(keys, 0, None, 0.0, width), _drawn(keys, 1, None, 0.0, height)], axis=1)
    else:
        centres = np.tile(centre, (len(images), 1))
    turns, reach = _drawn(keys, 2, petals, 0.0, 10.0), _drawn(keys, 3, amplitude, 0.0, side / 10)
    widths = np.maximum(_drawn(keys, 4, ring_width, 0.0, side / 10), 1e-9)
    out = np.empty_like(images)
    for batch in portions(len(images), height * width):
        fields = _rings(centres[batch], turns[batch], reach[batch], widths[batch], height, width)
        blend(images[batch], fields, 1.0, float(intensity), out[batch])
    return out


@kernel
def _swirls(times, iterations, sharpness, sizes, planes, height, width):  # type: ignore[no-untyped-def]
    count = times.size
    out = np.empty((count, planes, height, width), np.float32)
    xs, ys = np.empty(width), np.empty(width)
    for n in range(count):
        time = times[n] * TURNS
        lift = sine(time) * TURNS
        for y in range(height):
            start = y / sizes[n] * TURNS
            for x in range(np.uint64(width)):
                xs[x] = np.float64(np.int64(x)) / sizes[n] * TURNS
                ys[x] = start
            fold, delay, fade = 1.0, 1.0, 1.0
            for _ in range(iterations[n]):
                late, share = time / delay, TURNS / fade
                for x in range(np.uint64(width)):
                    r0, r1 = cosine(ys[x] * fold + late) * share, sine(xs[x] * fold + late) * share
                    xs[x] += r0 - 0.3 * r1
                    ys[x] += r1 + 0.3 * r0
                fold, delay, fade = fold * 1.93, delay * 1.15, fade * (2.25 - sharpness[n])
            for plane in range(planes):
                line = out[n, plane, y]
                for x in range(np.uint64(width)):
                    if planes == 1 or plane == 1:
                        turns = (xs[x] + ys[x] + lift) * 0.5
                    elif plane == 0:
                        turns = xs[x] - time
                    else:
                        turns = ys[x] + time
                    line[x] = np.float32(sine(turns))
    return out


@corruption(
    revision=1,
    reference=f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, PlasmaNoise",
    parameters=(Parameter("intensity", low=0.0, high=255.0, about="in grey levels; the image keeps 1 - intensity / 255"),),
    draws=(
        Draw("time", "the phase of the swirls, in radians", given_scalar(0.0, 1e3)),
        Draw("iterations", "how often the plane is folded, a whole number", given_scalar(1, 64)),
        Draw("sharpness", "how little a later fold is weakened", given_scalar(0.0, 1.25)),
        Draw("wave_size", "in pixels a radian", given_scalar(1e-3, 1e6)),
    ),
)
def plasma_noise(
    images: Images,
    keys: Keys,
    *,
    intensity: float,
    time: float | None = None,
    iterations: float | None = None,
    sharpness: float | None = None,
    wave_size: float | None = None,
) -> Images:
    """Mix images with coloured swirls: sines of a plane that was folded by sines, of other phases for red, green and blue.

    Notes
    -----
    Drawn at random: the time, uniform on [0, 6 pi); the iterations, 4, 5 or 6; the sharpness, uniform on [0.5, 1); the size of a
    wave, uniform on 0.075 to 0.2 of the side. A grey image gets green's swirls.
    """
    height, width, channels = images.shape[1:]
    side = min(height, width)
    times, edges = _drawn(keys, 0, time, 0.0, 6.0 * math.pi), _drawn(keys, 2, sharpness, 0.5, 1.0)
    sizes = _drawn(keys, 3, wave_size, 0.075 * side, 0.2 * side)
    folds = _drawn(keys, 1, iterations, 4.0, 7.0).astype(np.int64)
    out = np.empty_like(images)
    for batch in portions(len(images), images[0].size):
        fields = _swirls(times[batch], folds[batch], edges[batch], sizes[batch], np.int64(channels), height, width)
        blend(images[batch], fields, 1.0 - intensity / 255.0, float(intensity), out[batch])
    return out
