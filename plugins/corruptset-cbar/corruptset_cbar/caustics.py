"""Caustic refraction: the image seen through the surface of moving water, with its light on it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.kernels import inlined, kernel
from corruptset.corruptions.keys import Keys
from corruptset.corruptions.random.philox import uniforms
from corruptset.corruptions.registry import Draw, Images, Parameter, corruption, given_scalar
from corruptset.corruptions.separable import half_gaussian
from corruptset.references import MINTUN_2021

from .bilinear import sample_row
from .elementary import TURNS, cosine, nearest, power, rough_sine_cosine, sine

_STEPS = 5
_FINE = np.float32(0.005)  # of the light: 1 over it and the steps is 40
_TURNS = np.float32(TURNS)
_BEGIN, _ROUND = -250.0, 6.28318530718
_ETA = 4.0
_SOFTENING = 1.0  # pixels
_FLAT = 1.0 - 1e-3
_LIMIT = 1e6


@inlined
def _step(down, across, u, v, s0, c0, s1, c1, st, ct, total):  # type: ignore[no-untyped-def]
    """Take one step: from the sines and cosines of a pixel's two angles, and of the time, to those of the next, and to the light so far.

    `u` and `v` are `down` and `across` in turns, less whole ones: so single precision is enough.
    """
    # cos(t - i0) + sin(t + i1) and sin(t - i1) + cos(t + i0), by the sums of angles
    s2, c2 = rough_sine_cosine(u + ((ct * c0 + st * s0) + (st * c1 + ct * s1)) * _TURNS)
    s3, c3 = rough_sine_cosine(v + ((st * c1 - ct * s1) + (ct * c0 - st * s0)) * _TURNS)
    # sin(i0 + t) and cos(i1 + t)
    e, f = s2 * ct + c2 * st, c3 * ct - s3 * st
    g, h = down * f, across * e
    return s2, c2, s3, c3, total + abs(e * f) / np.sqrt(g * g + h * h)


@inlined
def _place(x, size):  # type: ignore[no-untyped-def]
    """Return a coordinate of the pattern, its turns less whole ones, its sine and its cosine."""
    p = (x / size - np.floor(x / size)) * _ROUND + _BEGIN
    turns = p * TURNS
    return np.float32(p), np.float32(turns - nearest(turns)), np.float32(sine(turns)), np.float32(cosine(turns))


@kernel
def _light(time, size, height, width):  # type: ignore[no-untyped-def]
    """Return the light at the bottom of the water, (H, W) in [0, 1]."""
    out = np.empty((height, width), np.float64)
    lights = np.empty(width, np.float32)
    across, turns, sines, cosines = (
        np.empty(width, np.float32),
        np.empty(width, np.float32),
        np.empty(width, np.float32),
        np.empty(width, np.float32),
    )
    for x in range(width):
        across[x], turns[x], sines[x], cosines[x] = _place(x, size)
    st, ct = np.empty(_STEPS, np.float32), np.empty(_STEPS, np.float32)
    for n in range(_STEPS):
        t = time * (1.0 - 3.5 / (n + 1.0)) * TURNS
        st[n], ct[n] = np.float32(sine(t)), np.float32(cosine(t))
    sa, ca, sb, cb, sc, cc, sd, cd, se, ce = st[0], ct[0], st[1], ct[1], st[2], ct[2], st[3], ct[3], st[4], ct[4]
    for y in range(height):
        down, u, sine_down, cosine_down = _place(y, size)
        # Written out, without a loop over steps, so that LLVM vectorises
        for x in range(np.uint64(width)):
            p, v, s1, c1 = across[x], turns[x], sines[x], cosines[x]
            s0, c0, s1, c1, total = _step(down, p, u, v, sine_down, cosine_down, s1, c1, sa, ca, _FINE)
            s0, c0, s1, c1, total = _step(down, p, u, v, s0, c0, s1, c1, sb, cb, total)
            s0, c0, s1, c1, total = _step(down, p, u, v, s0, c0, s1, c1, sc, cc, total)
            s0, c0, s1, c1, total = _step(down, p, u, v, s0, c0, s1, c1, sd, cd, total)
            s0, c0, s1, c1, total = _step(down, p, u, v, s0, c0, s1, c1, se, ce, total)
            lights[x] = total
        line = out[y]
        for x in range(np.uint64(width)):
            c = 1.17 - power(np.float64(lights[x]) * 40.0, 1.4)
            c *= c
            c *= c
            line[x] = min(c * c, 1.0)
    return out


@kernel
def _soften(field, weight):  # type: ignore[no-untyped-def]
    """Smooth a field along both axes, reflected about its edges; one more pixel of 0 is put around it."""
    height, width = field.shape
    radius = weight.size - 1
    out = np.zeros((height + 2, width + 2), np.float64)
    line = np.empty(width + 2 * radius, np.float64)
    for y in range(height):
        middle = line[radius : radius + width]
        for x in range(np.uint64(width)):
            middle[x] = field[y, x] * weight[0]
        for k in range(1, radius + 1):
            up, low = (y - k) % (2 * height), (y + k) % (2 * height)
            above = field[up if up < height else 2 * height - 1 - up]
            below = field[low if low < height else 2 * height - 1 - low]
            for x in range(np.uint64(width)):
                middle[x] += (above[x] + below[x]) * weight[k]
        for x in range(radius):
            back, far = (x - radius) % (2 * width), (width + x) % (2 * width)
            line[x] = middle[back if back < width else 2 * width - 1 - back]
            line[radius + width + x] = middle[far if far < width else 2 * width - 1 - far]
        target = out[y + 1, 1 : width + 1]
        for x in range(np.uint64(width)):
            target[x] = middle[x] * weight[0]
        for k in range(1, radius + 1):
            before, after = line[radius - k : radius - k + width], line[radius + k : radius + k + width]
            for x in range(np.uint64(width)):
                target[x] += (before[x] + after[x]) * weight[k]
    return out


@kernel
def _refract(images, times, sizes, lens, light, gaussian, out):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    rows, columns = np.empty(width, np.int32), np.empty(width, np.int32)
    downs, rights, lights = np.empty(width), np.empty(width), np.empty(width)
    field = np.empty((1, 1), np.float64)
    for n in range(count):
        if n == 0 or times[n] != times[n - 1] or sizes[n] != sizes[n - 1]:
            field = _soften(_light(times[n], sizes[n], height, width), gaussian)
        flat = images[n].reshape(-1)
        for y in range(height):
            for x in range(np.uint64(width)):
                a = field[y + 2, x + np.uint64(1)] - field[y, x + np.uint64(1)]
                b = field[y + 1, x + np.uint64(2)] - field[y + 1, x]
                steep = a * a + b * b
                upright = 1.0 / math.sqrt(1.0 + steep)
                bend = math.sqrt(1.0 - steep * upright * upright / (_ETA * _ETA)) - upright / _ETA
                bend = 0.0 if upright >= _FLAT else bend * lens * upright
                # The released generator rounds where it looks to a thousandth of a pixel.
                v, u = nearest(a * bend * 1e3) * 1e-3, nearest(b * bend * 1e3) * 1e-3
                whole_v, whole_u = np.floor(v), np.floor(u)
                rows[x], columns[x] = np.int32(whole_v), np.int32(whole_u)
                downs[x], rights[x], lights[x] = v - whole_v, u - whole_u, 255.0 * light * (a - b)
            sample_row(flat, y, rows, columns, downs, rights, lights, height, channels, out[n, y].reshape(-1))


@corruption(
    revision=1,
    reference=f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, CausticRefraction",
    parameters=(
        Parameter("lens", low=0.0, high=100.0, about="how far the water bends the view, as a share of the side"),
        Parameter("light", low=0.0, high=1000.0, about="how bright the slopes are"),
    ),
    preserves_geometry=False,
    draws=(
        Draw("time", "of the waves", given_scalar(-1e3, 1e3)),
        Draw("wave_size", "after how many pixels they repeat", given_scalar(1.0, _LIMIT)),
    ),
)
def caustic_refraction(
    images: Images, keys: Keys, *, lens: float, light: float, time: float | None = None, wave_size: float | None = None
) -> Images:
    """Show images through water: pixels are taken from where its surface bends the view to, and its slopes are lit.

    The surface is the pattern of light at the bottom of a pool, smoothed by a gaussian of one pixel. A pixel's normal follows from the
    differences of its neighbours, its view is bent at a ratio of refractive indices of 4 and taken `lens` far, bilinearly,
    black outside of the image; `light` times the differences is added.

    Notes
    -----
    Drawn at random: the time, uniform on [0.5, 2), and the size of the pattern, uniform on 0.75 to 1.25 of the side.
    The surface counts as 0 beyond the image, so its edges are bent most, as published.
    """
    height, width = images.shape[1:3]
    side = min(height, width)
    count = len(images)
    times = uniforms(keys.stage, keys.samples, 0, 0.5, 2.0) if time is None else np.full(count, time)
    sizes = uniforms(keys.stage, keys.samples, 1, 0.75 * side, 1.25 * side) if wave_size is None else np.full(count, wave_size)
    out = np.empty_like(images)
    weight: NDArray[np.float64] = half_gaussian(_SOFTENING)
    _refract(images, times, sizes, float(lens * side), float(light), weight, out)
    return out
