"""Noise of a given spectrum: blue, which decides what pixels are kept, and brownish, which is added."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.kernels import inlined, kernel
from corruptset.corruptions.keys import Keys
from corruptset.corruptions.random.philox import fill_words
from corruptset.corruptions.registry import Draw, Images, Parameter, Shape, corruption
from corruptset.references import MINTUN_2021

from .blend import blend
from .elementary import TURNS, cosine, sine
from .fourier import smooth_side, steps, transform

_BLUE, _BROWNISH = 0, 1


@inlined
def _size(dx, y, half, kind):  # type: ignore[no-untyped-def]
    dy = np.float64(np.int32(np.int32(y) - half))
    square = dx * dx + dy * dy
    return math.sqrt(square) if kind == _BLUE else 1.0 / (square + 1.0)


@kernel
def _waves(turns, kind, re, im):  # type: ignore[no-untyped-def]
    """Write a spectrum, [across, down]: `turns` (S / 2, S) has the left half's phases, which the right half has turned about the middle."""
    side = re.shape[0]
    half = side // 2
    middle = np.int32(half)
    last = np.uint64(side - 1)
    real, imaginary = np.empty(side, np.float64), np.empty(side, np.float64)
    for x in range(half):
        for y in range(np.uint64(side)):
            real[y], imaginary[y] = cosine(turns[x, y]), sine(turns[x, y])
        for right in range(2):
            # Frequency 0 comes first: the plane is moved by half its side along both axes.
            column = side - 1 - x if right else x
            dx = np.float64(column - half)
            to = column - half if right else column + half
            for lower in range(2):
                row = re[to, :half] if lower else re[to, half:]
                row_i = im[to, :half] if lower else im[to, half:]
                begin = np.uint64(half if lower else 0)
                for i in range(np.uint64(half)):
                    down = begin + i
                    size = _size(dx, down, middle, kind)
                    at = last - down if right else down
                    row[i], row_i[i] = np.float32(real[at] * size), np.float32(imaginary[at] * size)


@inlined
def _packed(re, im, other_re, other_im, y, x, v, u):  # type: ignore[no-untyped-def]
    half = np.float32(0.5)
    a, b = (re[y, x] + re[v, u]) * half, (im[y, x] - im[v, u]) * half
    c, d = (other_re[y, x] + other_re[v, u]) * half, (other_im[y, x] - other_im[v, u]) * half
    re[v, u], im[v, u] = a + d, c - b
    re[y, x], im[y, x] = a - d, b + c


@kernel
def _pack(re, im, other_re, other_im):  # type: ignore[no-untyped-def]
    """Make of two spectra one, in place of the first: it transforms to their real parts, the second's as the imaginary part."""
    side = np.uint64(re.shape[0])
    zero, one, half = np.uint64(0), np.uint64(1), side // np.uint64(2)
    for y in range(half + one):
        v = side - y if y > zero else y
        _packed(re, im, other_re, other_im, y, zero, v, zero)
        for x in range(one, side if y != v else half + one):
            _packed(re, im, other_re, other_im, y, x, v, side - x)


@kernel
def _deviation(field):  # type: ignore[no-untyped-def]
    """Return the standard deviation of a plane of float32."""
    side = field.shape[0]
    sums, squares = np.zeros(side), np.zeros(side)
    for y in range(side):
        row = field[y]
        for x in range(np.uint64(side)):
            value = np.float64(row[x])
            sums[x] += value
            squares[x] += value * value
    total, power = 0.0, 0.0
    for x in range(side):
        total += sums[x]
        power += squares[x]
    mean = total / (side * side)
    return math.sqrt(power / (side * side) - mean * mean)


@kernel
def _lay_out(field, out):  # type: ignore[no-untyped-def]
    """Write a plane's upper left part, over its standard deviation."""
    scale = 1.0 / _deviation(field)
    for y in range(out.shape[0]):
        source, target = field[y], out[y]
        for x in range(np.uint64(target.size)):
            target[x] = np.float32(source[x] * scale)


@kernel
def _fields(planes, height, width, side, kind, factors, given, stage_key, sample_keys):  # type: ignore[no-untyped-def]
    """Return fields of unit deviation, (N, planes, H, W) of float32: the upper left parts of square ones."""
    count = sample_keys.size if given.shape[0] == 0 else 1
    out = np.empty((count, planes, height, width), np.float32)
    grids = np.empty((4, side, side), np.float32)
    turns = np.empty((side // 2, side), np.float64)
    words = np.empty(side * (side // 2), np.uint32)
    for n in range(count):
        for plane in range(planes):
            flat = turns.reshape(-1)
            if given.shape[0] == 0:
                fill_words(words, np.int64(0), stage_key, sample_keys[n], np.int64(plane))
                for i in range(np.uint64(flat.size)):
                    flat[i] = words[i] * 2.0**-32
            else:
                phases = given[plane].reshape(-1)
                for i in range(flat.size):
                    flat[i] = phases[i] * TURNS
            pair = plane % 2 if plane < planes - 1 or plane % 2 else 0
            _waves(turns, kind, grids[2 * pair], grids[2 * pair + 1])
            if pair:
                _pack(grids[0], grids[1], grids[2], grids[3])
                re, im = transform(grids[0], grids[1], grids[2], grids[3], factors)
                _lay_out(re, out[n, plane - 1])
                _lay_out(im, out[n, plane])
            elif plane == planes - 1:
                re, im = transform(grids[0], grids[1], grids[2], grids[3], factors)
                _lay_out(re, out[n, plane])
    return out


def _noise(images: Images, keys: Keys, kind: int, planes: int, phases: NDArray[np.float64] | None) -> NDArray[np.float32]:
    height, width = images.shape[1:3]
    side = smooth_side(max(height, width))
    given = np.empty((0, side // 2, side)) if phases is None else phases
    return np.asarray(_fields(np.int64(planes), height, width, side, np.int64(kind), steps(side), given, keys.stage, keys.samples))


def _given_phases(planes: int) -> Any:
    def check(value: Any, shape: Shape, parameters: Mapping[str, Any]) -> NDArray[np.float64]:
        array = np.asarray(value)
        side = smooth_side(max(shape[:2]))
        want = (planes or shape[2], side // 2, side)
        if array.shape != want:
            raise ValueError(f"got shape {array.shape}, expected {want}")
        if array.dtype.kind != "f" or not np.isfinite(array).all() or np.abs(array).max() > 1e4:
            raise ValueError("expected finite floats from -10,000 to 10,000")
        return np.array(array, np.float64, order="C")

    return check


_ABOUT = (
    "of the left half of the spectrum, [across, down], in radians; S is the next even number at or above the longer side that has no "
    "prime factor above 7"
)


@kernel
def _keep_above(images, fields, threshold, out):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    for n in range(count):
        for y in range(height):
            line = fields[n if fields.shape[0] > 1 else 0, 0, y]
            for x in range(width):
                for c in range(channels):
                    out[n, y, x, c] = images[n, y, x, c] if line[x] > threshold else np.uint8(0)


@corruption(
    revision=1,
    reference=f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, BlueNoiseSample",
    parameters=(Parameter("threshold", low=-10.0, high=10.0, about="in standard deviations of the noise: pixels above it are kept"),),
    draws=(Draw("phases", f"(1, S / 2, S), {_ABOUT}", _given_phases(1)),),
)
def blue_noise_sample(images: Images, keys: Keys, *, threshold: float, phases: NDArray[np.float64] | None = None) -> Images:
    """Blacken pixels where blue noise, whose amplitude grows with the frequency, is not above a threshold.

    Notes
    -----
    Drawn at random: the phase of every wave, uniform on [0, 2 pi). As published, the right half of the spectrum has the phases of the
    left half, turned about the middle, and the noise is the real part of what it transforms to, over its standard deviation. The noise
    is made for a square of the side S, and the image gets its upper left part: at 224 and 32 it is the published one.
    """
    out = np.empty_like(images)
    for batch in (slice(n, n + 64) for n in range(0, len(images), 64)):
        some = Keys(keys.stage, keys.samples[batch])
        _keep_above(images[batch], _noise(images[batch], some, _BLUE, 1, phases), float(threshold), out[batch])
    return out


@corruption(
    revision=1,
    reference=f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, BrownishNoise",
    parameters=(Parameter("intensity", low=0.0, high=1000.0, about="standard deviation of the noise, in grey levels"),),
    draws=(Draw("phases", f"(C, S / 2, S), {_ABOUT}", _given_phases(0)),),
)
def brownish_noise(images: Images, keys: Keys, *, intensity: float, phases: NDArray[np.float64] | None = None) -> Images:
    """Add noise whose amplitude falls with the square of the frequency, each channel its own.

    Notes
    -----
    Drawn at random: the phase of every wave, as in `blue_noise_sample`; the amplitude at a frequency of k waves a side is 1 / (k**2 + 1).
    The wave of frequency 0 is one of them, so the noise brightens or darkens an image on the whole, too, as published.
    """
    out = np.empty_like(images)
    for batch in (slice(n, n + 64) for n in range(0, len(images), 64)):
        some = Keys(keys.stage, keys.samples[batch])
        blend(images[batch], _noise(images[batch], some, _BROWNISH, images.shape[3], phases), 1.0, float(intensity), out[batch])
    return out
