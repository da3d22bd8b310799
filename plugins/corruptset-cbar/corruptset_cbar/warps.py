"""Warp images smoothly with bilinear sampling: ripples, pinched and twirled discs, and the surface of water."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.border import SYMMETRIC, border_index
from corruptset.corruptions.correlate import correlate
from corruptset.corruptions.gaussian_filter import half_gaussian
from corruptset.corruptions.kernels import inlined, kernel
from corruptset.corruptions.keys import Keys
from corruptset.corruptions.registry import Shape

from .declare import array, cbar, fixed, number, side, uniform, whole
from .elementary import TURNS, along, nearest, power, rough_sine_cosine, sine, sine_cosine, single_sine_cosine
from .rows import frame, level, mixed, sample_row

_DISCS_LARGE, _DISCS_SMALL, _MIN_LARGE_SIDE = (
    5,
    3,
    224,
)  # These are the numbers of discs per side for large and for small images, and the minimum side of large images.
_FINE = np.float32(0.005)  # This is the initial value of the sum of light. The inverse of five times this value is 40.
_TURNS = np.float32(TURNS)
_BEGIN, _ROUND = -250.0, 6.28318530718
_ETA = 4.0
_SOFTENING = half_gaussian(1.0)
_FLAT = 1.0 - 1e-3


@cbar(
    "Ripple",
    {"amplitude": (0.0, 10.0, "amplitude of both waves, as a fraction of the side")},
    array(
        "wave_lengths",
        "wavelengths in pixels, (across, down)",
        fixed(2),
        1e-3,
        1e6,
        uniform(0, 0.1, 0.3, side, side),
    ),
    array(
        "phases",
        "phases in radians, (across, down)",
        fixed(2),
        -1e4,
        1e4,
        uniform(2, 0.0, 2.0 * math.pi, whole, whole),
    ),
    preserves_geometry=False,
)
@kernel
def ripple(images, lengths, phases, amplitude, out):  # type: ignore[no-untyped-def]
    """Displace pixels along both axes by sine waves, so that x is sampled at ``x + a sin(2 pi x / length + phase)``.

    Notes
    -----
    The two wavelengths are drawn uniformly from 0.1 to 0.3 of the side, and the two phases uniformly from [0, 2 pi).
    Images are sampled bilinearly. The area outside the image is treated as black.
    """
    count, height, width, channels = images.shape
    reach = amplitude * min(height, width)
    framed = np.zeros((height + 4, width + 4, channels), np.uint8)
    moves, places = np.zeros((3, width)), np.empty(width, np.int32)
    for n in range(count):
        frame(images[n], framed)
        for x in range(width):
            moves[1, x] = reach * sine(x / lengths[n, 0] + phases[n, 0] * TURNS)
        for y in range(height):
            moves[0] = reach * sine(y / lengths[n, 1] + phases[n, 1] * TURNS)
            sample_row(framed, y, moves, places, out[n, y])


def _discs(shape: Shape, parameters: object) -> tuple[int, int]:
    discs = _DISCS_LARGE if side(shape) >= _MIN_LARGE_SIDE else _DISCS_SMALL
    return discs, discs


def _signs(keys: Keys, shape: Shape, parameters: object) -> NDArray[np.int64]:
    discs = _discs(shape, parameters)
    return keys.integers(*[2] * math.prod(discs)).reshape(-1, *discs) * 2 - 1


@cbar(
    "PinchAndTwirl",
    {
        "amount": (0.0, 10.0, "strength of the pinch, an exponent"),
        "angle_deg": (0.0, 3600.0, "angle by which the centre of a disc is twirled"),
    },
    array("signs", "directions of the twirls, -1 or 1, (3, 3) or (5, 5) as [column, row]", _discs, -1, 1, _signs),
    preserves_geometry=False,
)
@kernel
def pinch_and_twirl(images, signs, amount, angle_deg, out):  # type: ignore[no-untyped-def]
    """Pinch and twirl images in a grid of 3 x 3 discs, or 5 x 5 discs if the side has at least 224 pixels.

    A pixel that is d radii away from the centre of its disc is sampled at a different distance and angle. The distance
    is ``d * sin(pi d / 2)**-amount`` radii, and the rotation is ``angle * (1 - d)**2``.

    Notes
    -----
    The direction of each twirl is drawn at random. As in the released generator, the discs are processed column by
    column. The pixels at the edge of a disc may have been changed by earlier discs. Images are sampled bilinearly. The
    area outside the image is treated as black.
    """
    count, height, width, channels = images.shape
    discs = signs.shape[1]
    high, wide, line = height // discs, width // discs, width + 4
    radius, beside = min(high, wide) / 2.0, np.uint64(channels)
    padded, block = np.zeros((height + 4, line, channels)), np.empty((high, wide, channels))
    flat = padded.reshape(-1)
    for n in range(count):
        frame(images[n], padded)
        for disc in range(discs * discs):
            top, left = disc % discs * high, disc // discs * wide
            middle_y, middle_x = top + high / 2.0, left + wide / 2.0
            turns = signs[n, disc // discs, disc % discs] * (angle_deg / 360.0)
            for y in range(high):
                for x in range(wide):
                    from_y, from_x = top + y, left + x
                    dx, dy = from_x - middle_x, from_y - middle_y
                    distance = math.sqrt(dx * dx + dy * dy)
                    if 0.0005 < distance < radius:
                        d = distance / radius
                        grown = power(sine(d * 0.25), -amount)
                        angle = turns * ((1.0 - d) * (1.0 - d))
                        b, a = sine_cosine(angle)
                        # In the released generator, the first coordinate is the row.
                        from_y = middle_y + (dy * a - dx * b) * grown
                        from_x = middle_x + (dy * b + dx * a) * grown
                    whole_y, whole_x = np.floor(from_y), np.floor(from_x)
                    # Positions far outside are clipped to the border, which is black.
                    row = min(max(np.int64(whole_y) + 2, 0), height + 2)
                    column = min(max(np.int64(whole_x) + 2, 0), width + 2)
                    at, down, right = np.uint64((row * line + column) * channels), from_y - whole_y, from_x - whole_x
                    for c in range(channels):
                        block[y, x, c] = mixed(flat, at + np.uint64(c), beside, np.uint64(line) * beside, down, right)
            for y in range(high):
                for x in range(wide):
                    for c in range(channels):
                        padded[top + y + 2, left + x + 2, c] = block[y, x, c]
        for y in range(height):
            for x in range(width):
                for c in range(channels):
                    out[n, y, x, c] = level(padded[y + 2, x + 2, c])


@inlined
def _wave(time, n):  # type: ignore[no-untyped-def]
    """Return the sine and the cosine of the time at step n. Steps are counted from 1."""
    return single_sine_cosine(time * (1.0 - 3.5 / n) * TURNS)


@inlined
def _step(place, wave, state):  # type: ignore[no-untyped-def]
    """Compute the sines and cosines of a pixel's two angles after one more step, and add to the sum of its light.

    `place` contains the two coordinates of the pixel. It also contains both coordinates in turns, without their
    integer parts, so that single precision suffices.
    """
    (down, across, u, v), (st, ct), (s0, c0, s1, c1, total) = place, wave, state
    # By the angle sum identities, these are cos(t - i0) + sin(t + i1) and sin(t - i1) + cos(t + i0).
    s2, c2 = rough_sine_cosine(u + ((ct * c0 + st * s0) + (st * c1 + ct * s1)) * _TURNS)
    s3, c3 = rough_sine_cosine(v + ((st * c1 - ct * s1) + (ct * c0 - st * s0)) * _TURNS)
    # These are sin(i0 + t) and cos(i1 + t).
    e, f = s2 * ct + c2 * st, c3 * ct - s3 * st
    g, h = down * f, across * e
    return s2, c2, s3, c3, total + abs(e * f) / np.sqrt(g * g + h * h)


@inlined
def _coordinate(x, size):  # type: ignore[no-untyped-def]
    """Return a coordinate of the pattern, the same coordinate in turns, its sine and its cosine.

    Whole turns are subtracted from the coordinate in turns.
    """
    p = (x / size - np.floor(x / size)) * _ROUND + _BEGIN
    turns = p * TURNS
    return np.float32(p), np.float32(turns - nearest(turns)), *single_sine_cosine(turns)


@kernel
def _light(time, size, out):  # type: ignore[no-untyped-def]
    """Write the intensity of the light on the bottom of the water, from 0 to 1."""
    height, width = out.shape
    columns, lights = np.empty((4, width), np.float32), np.empty(width, np.float32)
    across, turns, sines, cosines = columns[0], columns[1], columns[2], columns[3]
    for x in range(width):
        across[x], turns[x], sines[x], cosines[x] = _coordinate(x, size)
    waves = _wave(time, 1.0), _wave(time, 2.0), _wave(time, 3.0), _wave(time, 4.0), _wave(time, 5.0)
    for y in range(height):
        down, u, s, c = _coordinate(y, size)
        for x in along(lights):
            state = s, c, sines[x], cosines[x], _FINE
            for wave in waves:
                state = _step((down, across[x], u, turns[x]), wave, state)
            lights[x] = state[4]
        line = out[y]
        for x in along(line):
            c = 1.17 - power(lights[x] * 40.0, 1.4)
            c *= c
            c *= c
            line[x] = min(c * c, 1.0)


@cbar(
    "CausticRefraction",
    {
        "lens": (0.0, 100.0, "strength of the refraction, as a fraction of the side"),
        "light": (0.0, 1000.0, "brightness of the slopes"),
    },
    number("time", "time at which the waves are shown", -1e3, 1e3, uniform(0, 0.5, 2.0)),
    number("wave_size", "period of the waves in pixels", 1.0, 1e6, uniform(1, 0.75, 1.25, side)),
    preserves_geometry=False,
)
@kernel
def caustic_refraction(images, times, sizes, lens, light, out):  # type: ignore[no-untyped-def]
    """Show images through a water surface, which refracts the view and whose slopes are lit.

    The height of the surface is the pattern of light on the bottom of a pool, smoothed with a gaussian of one pixel.
    The normal at a pixel is computed from the differences between its neighbours. The view is refracted with a ratio
    of refractive indices of 4. The image is sampled bilinearly at the displaced position, and the displacement is
    proportional to `lens`. The differences, multiplied by `light`, are added to the result.

    Notes
    -----
    The time is drawn uniformly from [0.5, 2), and the size of the pattern is drawn uniformly from 0.75 to 1.25 of the
    side. The area outside the image is treated as black. As in the released generator, the height of the surface is 0
    outside the image, so the refraction is strongest at the edges.
    """
    count, height, width, channels = images.shape
    margin = _SOFTENING.size - 1
    wide, reach = width + 2 * margin, lens * min(height, width)
    pool, rough, smooth = np.empty((height, width)), np.empty((height + 2 * margin, wide)), np.empty(height * wide)
    field = np.zeros((height + 2, wide))
    within = field.reshape(-1)[wide + 1 : (height + 1) * wide + 1 - 2 * margin]
    framed = np.zeros((height + 4, width + 4, channels), np.uint8)
    moves, places = np.empty((3, width)), np.empty(width, np.int32)
    downs, rights, lights = moves[0], moves[1], moves[2]
    for n in range(count):
        frame(images[n], framed)
        _light(times[n], sizes[n], pool)
        for y in range(rough.shape[0]):
            for x in range(wide):
                rough[y, x] = pool[
                    border_index(y - margin, height, SYMMETRIC), border_index(x - margin, width, SYMMETRIC)
                ]
        correlate(rough.reshape(-1), margin * wide, wide, _SOFTENING, False, smooth)
        correlate(smooth, margin, 1, _SOFTENING, False, within)
        for y in range(height):
            field[y + 1, 0] = field[y + 1, width + 1] = 0.0
        for y in range(height):
            for x in along(lights):
                a = field[y + 2, x + np.uint64(1)] - field[y, x + np.uint64(1)]
                b = field[y + 1, x + np.uint64(2)] - field[y + 1, x]
                steep = a * a + b * b
                upright = 1.0 / math.sqrt(1.0 + steep)
                bend = math.sqrt(1.0 - steep * upright * upright / (_ETA * _ETA)) - upright / _ETA
                bend = 0.0 if upright >= _FLAT else bend * reach * upright
                # The released generator rounds displacements to a thousandth of a pixel.
                downs[x], rights[x] = nearest(a * bend * 1e3) * 1e-3, nearest(b * bend * 1e3) * 1e-3
                lights[x] = 255.0 * light * (a - b)
            sample_row(framed, y, moves, places, out[n, y])
