"""Generate noise with a given spectrum: blue noise that selects which pixels to keep, and additive brownish noise."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.kernels import kernel
from corruptset.corruptions.keys import Keys
from corruptset.corruptions.registry import Draw, Given, Shape

from .declare import cbar, chances, fixed
from .elementary import TURNS, along, sine_cosine
from .fourier import smooth_side, steps, transform
from .rows import lay

Floats = NDArray[np.float64]


@functools.lru_cache(maxsize=8)
def _spectrum(side: int, blue: bool) -> tuple[Floats, NDArray[np.int64]]:
    """Return the amplitudes of all waves in a square, (S, S), and the steps of its transform. Frequency 0 is first."""
    waves = np.fft.ifftshift(np.arange(-side / 2, side / 2))
    squares = waves[:, None] ** 2 + waves**2
    return np.sqrt(squares) if blue else 1.0 / (squares + 1.0), steps(side)


@kernel
def _waves(turns, amplitudes, z):  # type: ignore[no-untyped-def]
    """Write a spectrum, indexed [across, down], from its amplitudes and the phases of its left half.

    The phases of the right half are the phases of the left half, rotated by 180 degrees about the middle.
    """
    half, side = turns.shape
    twice = np.empty((2, 2 * side))
    for x in range(half):
        for y in along(turns[x]):
            again = y + np.uint64(side)
            s, c = sine_cosine(turns[x, y])
            twice[0, y] = twice[0, again] = c
            twice[1, y] = twice[1, again] = s
        # Frequency 0 comes first, so the plane is shifted by half its side along both axes.
        for mirrored in range(2):
            row = half - 1 - x if mirrored else half + x
            for part in range(2):
                source, target, size = twice[part, half : half + side], z[row, part], amplitudes[row]
                for y in along(target):
                    at = np.uint64(side - 1) - y if mirrored else y
                    target[y] = source[at] * size[y]


@kernel
def _pack(z, other):  # type: ignore[no-untyped-def]
    """Combine two spectra, so that a single transform gives both fields. The result replaces the first spectrum.

    The real part of the transform is twice the real part of the first field. Its imaginary part is twice the real part
    of the second field.
    """
    half = z.shape[0] // 2
    for y in range(half + 1):
        for x in range(2 * half if y % half else half + 1):
            a, b = z[y, 0, x] + z[-y, 0, -x], z[y, 1, x] - z[-y, 1, -x]
            c, d = other[y, 0, x] + other[-y, 0, -x], other[y, 1, x] - other[-y, 1, -x]
            z[-y, 0, -x], z[-y, 1, -x] = a + d, c - b
            z[y, 0, x], z[y, 1, x] = a - d, c + b


@kernel
def _lay_out(z, plane, fields):  # type: ignore[no-untyped-def]
    """Divide a square field by its standard deviation, and write its upper left part to `fields` (H, planes, W)."""
    side = z.shape[0]
    sums, squares = np.zeros(side), np.zeros(side)
    for y in range(side):
        row = z[y, plane % 2]
        for x in along(row):
            value = np.float64(row[x])
            sums[x] += value
            squares[x] += value * value
    mean = sums.sum() / (side * side)
    scale = 1.0 / math.sqrt(squares.sum() / (side * side) - mean * mean)
    for y in range(fields.shape[0]):
        source, target = z[y, plane % 2], fields[y, plane]
        for x in along(target):
            target[x] = source[x] * scale


@kernel
def _noisy(images, turns, amplitudes, factors, value, blue, out):  # type: ignore[no-untyped-def]
    """Keep the pixels at which blue noise is above `value`, or add brownish noise multiplied by `value`."""
    count, height, width, channels = images.shape
    planes, side = turns.shape[1], amplitudes.shape[0]
    fields, grids = np.empty((height, planes, width), np.float32), np.empty((2, side, 2, side), np.float32)
    for n in range(count):
        for first in range(0, planes, 2):
            last = min(first + 1, planes - 1)
            for plane in range(first, last + 1):
                _waves(turns[n, plane], amplitudes, grids[plane - first])
            if last > first:
                _pack(grids[0], grids[1])
            z = transform(grids[0], grids[1], factors)
            for plane in range(first, last + 1):
                _lay_out(z, plane, fields)
        if not blue:
            lay(images[n], fields, 1.0, value, out[n])
        for y in range(height if blue else 0):
            for x in range(width):
                for c in range(channels):
                    out[n, y, x, c] = images[n, y, x, c] if fields[y, 0, x] > value else np.uint8(0)


def _phases(planes: int) -> Draw:
    """Declare the random phases for a number of planes. The number 0 means one plane per channel."""

    def size(shape: Shape, parameters: object) -> tuple[int, ...]:
        side = smooth_side(max(shape[:2]))
        return planes or shape[2], side // 2, side

    def draw(keys: Keys, shape: Shape, parameters: Given) -> Floats:
        count, *left = size(shape, parameters)
        return np.stack([chances(plane, fixed(*left))(keys, shape, parameters) for plane in range(count)], axis=1)

    about = (
        f"({planes or 'C'}, S / 2, S): phases of the left half of the spectrum in radians, indexed [across, down] (S "
        "is the smallest even number that is not below the longer side and has no prime factor above 7)"
    )
    return Draw("phases", about, draw, size, float, -1e4, 1e4, lambda phases, *_: phases * TURNS)


@cbar(
    "BlueNoiseSample",
    {"threshold": (-10.0, 10.0, "threshold in standard deviations of the noise, above which pixels are kept")},
    _phases(1),
)
def blue_noise_sample(images, turns, threshold, out):  # type: ignore[no-untyped-def]
    """Blacken pixels at which blue noise is not above a threshold.

    The amplitude of the noise is proportional to the frequency.

    Notes
    -----
    The phase of every wave is drawn uniformly from [0, 2 pi). As in the released generator, the phases in the right
    half of the spectrum are those in the left half, rotated by 180 degrees. The noise is the real part of the
    transform, divided by its standard deviation. It is generated for a square with a side of S pixels, and its upper
    left part is used for the image. For images of 224 or 32 pixels, this is the published noise.
    """
    _noisy(images, turns, *_spectrum(turns.shape[3], True), threshold, True, out)


@cbar("BrownishNoise", {"intensity": (0.0, 1000.0, "standard deviation of the noise, in grey levels")}, _phases(0))
def brownish_noise(images, turns, intensity, out):  # type: ignore[no-untyped-def]
    """Add noise whose amplitude falls with the square of the frequency, independently to each channel.

    Notes
    -----
    The phase of every wave is drawn as in `blue_noise_sample`. The amplitude at a frequency of k waves per side is
    1 / (k**2 + 1). As in the released generator, frequency 0 is included, so the noise also brightens or darkens the
    whole image.
    """
    _noisy(images, turns, *_spectrum(turns.shape[3], False), intensity, False, out)
