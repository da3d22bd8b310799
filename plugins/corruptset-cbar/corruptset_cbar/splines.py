"""Resample images with cubic splines: magnify channels by different amounts, and blur along circles."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.arithmetic import exact_exp, exact_sine_cosine
from corruptset.corruptions.kernels import inlined, inner, kernel
from corruptset.corruptions.keys import Keys
from corruptset.corruptions.registry import Shape

from .declare import array, cbar
from .rows import level

_TURNS = 21
_POLE = math.sqrt(3.0) - 2.0


@inlined
def _taps(place, size, at, weight):  # type: ignore[no-untyped-def]
    """Write the four indices and weights of a cubic B-spline at a coordinate from 0 to size - 1. Ends are mirrored."""
    start = math.floor(place)
    t = place - start
    u = 1.0 - t
    weight[0], weight[3] = u * u * u / 6.0, t * t * t / 6.0
    weight[1] = (4.0 + t * t * (3.0 * t - 6.0)) / 6.0
    weight[2] = (4.0 + u * u * (3.0 * u - 6.0)) / 6.0
    for k in range(4):
        i = abs(start - 1 + k) % (2 * size - 2)
        at[k] = min(i, 2 * size - 2 - i)


@kernel
def _middle(scale, size):  # type: ignore[no-untyped-def]
    """Return indices and weights, both (size, 4), that scale a line to a rounded length and keep its central part.

    The central part has the original length, `size`.
    """
    at, weight = np.empty((size, 4), np.int64), np.empty((size, 4))
    long = round(size * scale)
    for x in range(size):
        _taps((x + (long - size) // 2) * ((size - 1.0) / (long - 1.0)), size, at[x], weight[x])
    return at, weight


def _orders(keys: Keys, shape: Shape, parameters: object) -> NDArray[np.int64]:
    # Draw the value for the first channel, and which of the two remaining values the second channel gets.
    first, step = keys.integers(3, 2).T
    second = (first + 1 + step) % 3
    return np.stack([first, second, 3 - first - second], axis=1)[:, : shape[2]]


@cbar(
    "TransverseChromaticAbberation",
    {"magnification": (0.0, 10.0, "relative growth of one channel (another channel grows by half of it)")},
    array(
        "order",
        "(C,) integers: growth of each channel by none (0), half (1) or all (2) of the magnification",
        lambda shape, p: shape[2:],
        0,
        2,
        _orders,
    ),
    preserves_geometry=False,
)
@kernel
def transverse_chromatic_abberation(images, orders, magnification, out):  # type: ignore[no-untyped-def]
    """Magnify the channels about the centre by different amounts: 1, 1 + m / 2 and 1 + m.

    Notes
    -----
    The magnification of each channel is assigned at random. A grey image gets one of the three magnifications. The
    result equals scipy's ``zoom`` of order 3 without its prefilter, so all channels are slightly blurred. Magnified
    sizes are rounded to whole pixels, and the middle is cut out. Values are rounded to integers.
    """
    count, height, width, channels = images.shape
    tall = np.empty(width)
    for order in range(3):
        scale = 1.0 + order * (magnification / 2.0)
        (rows, down), (columns, across) = _middle(scale, height), _middle(scale, width)
        for n in range(count):
            for c in range(channels):
                for y in range(height if orders[n, c] == order else 0):
                    for x in range(width):
                        tall[x] = 0.0
                        for k in range(4):
                            tall[x] += images[n, rows[y, k], x, c] * down[y, k]
                    for x in range(width):
                        value = 0.5
                        for k in range(4):
                            value += tall[columns[x, k]] * across[x, k]
                        out[n, y, x, c] = level(value)


@inner
def _filter(line):  # type: ignore[no-untyped-def]
    """Replace samples by the coefficients of the interpolating cubic B-spline, mirrored at the outermost samples."""
    size = line.size
    total, factor = line[0], _POLE
    # The mirrored samples repeat after 2 size - 2 samples. From the 64th sample on, their weights are negligible.
    for k in range(1, min(2 * size - 2, 64)):
        total += factor * line[min(k, 2 * size - 2 - k)]
        factor *= _POLE
    line[0] = total / (1.0 - factor)
    for k in range(1, size):
        line[k] += _POLE * line[k - 1]
    line[size - 1] = _POLE / (_POLE * _POLE - 1.0) * (line[size - 1] + _POLE * line[size - 2])
    for k in range(size - 2, -1, -1):
        line[k] = _POLE * (line[k + 1] - line[k])
    for k in range(size):
        line[k] *= 6.0


@kernel
def _whirl(images, angles, shares, out):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    coefficients = np.zeros((height, width, 3))
    rows, down = np.empty(4, np.int64), np.empty(4)
    columns, across = np.empty(4, np.int64), np.empty(4)
    middle_y, middle_x = (height - 1) / 2.0, (width - 1) / 2.0
    for n in range(count):
        for c in range(channels):
            for x in range(width):
                for y in range(height):
                    coefficients[y, x, c] = images[n, y, x, c] / 255.0
                _filter(coefficients[:, x, c])
            for y in range(height):
                _filter(coefficients[y, :, c])
        for y in range(height):
            for x in range(width):
                red, green, blue = 0.0, 0.0, 0.0
                for k in range(angles.shape[0]):
                    s, cosine = angles[k, 0], angles[k, 1]
                    from_y = cosine * y + s * x + (middle_y - (cosine * middle_y + s * middle_x))
                    from_x = -s * y + cosine * x + (middle_x - (cosine * middle_x - s * middle_y))
                    if 0.0 <= from_y <= height - 1 and 0.0 <= from_x <= width - 1:
                        _taps(from_y, height, rows, down)
                        _taps(from_x, width, columns, across)
                        for i in range(4):
                            for j in range(4):
                                share, pixel = shares[k] * down[i] * across[j], coefficients[rows[i], columns[j]]
                                red += share * pixel[0]
                                green += share * pixel[1]
                                blue += share * pixel[2]
                for c in range(channels):
                    out[n, y, x, c] = level((red, green, blue)[c] * 255.0)


@cbar("CircularMotionBlur", {"angle_deg": (0.0, 180.0, "largest rotation in either direction")})
def circular_motion_blur(images, angle_deg, out):  # type: ignore[no-untyped-def]
    """Blur images along circles around the centre, by averaging 21 rotations from -angle to angle.

    The weight of the rotation by ``t * angle`` is proportional to exp(-2 t**2), for t from -1 to 1.

    Notes
    -----
    The rotations equal scipy's ``rotate`` of order 3 with its prefilter. The area outside the image is treated as
    black, so corners become darker. The corruption takes as long as 21 rotations. It was published only for 32x32
    images.
    """
    times = [2.0 * i / (_TURNS - 1) - 1.0 for i in range(_TURNS)]
    shares = np.array([exact_exp(-2.0 * t**2) for t in times])
    angles = np.array([exact_sine_cosine(t * angle_deg) for t in times])
    _whirl(images, angles, shares / math.fsum(shares), out)
