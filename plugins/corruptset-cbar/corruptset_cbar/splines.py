"""Cubic splines: channels magnified by different amounts, and blur along circles about the centre."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.arithmetic import exact_exp, exact_sine_cosine
from corruptset.corruptions.kernels import inlined, kernel
from corruptset.corruptions.keys import Keys
from corruptset.corruptions.random.philox import whole_numbers
from corruptset.corruptions.registry import Draw, Images, Parameter, corruption, given_array
from corruptset.references import MINTUN_2021

from .blend import level

_TURNS = 21
_POLE = math.sqrt(3.0) - 2.0


@inlined
def _taps(place, size, at, weight):  # type: ignore[no-untyped-def]
    """Write the four places and weights of a cubic B-spline at a coordinate in 0 .. size - 1, mirrored about the outermost pixels."""
    start = np.int64(np.floor(place))
    t = place - start
    u = 1.0 - t
    weight[0], weight[3] = u * u * u / 6.0, t * t * t / 6.0
    weight[1] = (4.0 + t * t * (3.0 * t - 6.0)) / 6.0
    weight[2] = (4.0 + u * u * (3.0 * u - 6.0)) / 6.0
    for k in range(4):
        i = abs(start - 1 + k) % (2 * size - 2)
        at[k] = i if i < size else 2 * size - 2 - i


@kernel
def _magnify(images, scales, out):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    rows, down = np.empty((height, 4), np.int64), np.empty((height, 4), np.float64)
    columns, across = np.empty((width, 4), np.int64), np.empty((width, 4), np.float64)
    tall = np.empty(width, np.float64)
    for c in range(channels):
        for n in range(count):
            # numpy's and Python's round: halves to even
            high, wide = np.int64(np.rint(height * scales[n, c])), np.int64(np.rint(width * scales[n, c]))
            top, left = (high - height) // 2, (wide - width) // 2
            for y in range(height):
                _taps((y + top) * ((height - 1.0) / (high - 1.0)), height, rows[y], down[y])
            for x in range(width):
                _taps((x + left) * ((width - 1.0) / (wide - 1.0)), width, columns[x], across[x])
            for y in range(height):
                for x in range(width):
                    tall[x] = 0.0
                    for k in range(4):
                        tall[x] += images[n, rows[y, k], x, c] * down[y, k]
                for x in range(width):
                    value = 0.5
                    for k in range(4):
                        value += tall[columns[x, k]] * across[x, k]
                    out[n, y, x, c] = level(value)


@corruption(
    revision=1,
    reference=f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, TransverseChromaticAbberation",
    parameters=(Parameter("magnification", low=0.0, high=10.0, about="by how much one channel grows; another grows by half of it"),),
    preserves_geometry=False,
    draws=(
        Draw(
            "order",
            "which channel grows by none (0), half (1) and all (2) of it, (C,) whole numbers",
            given_array(lambda shape, p: (shape[2],), np.int64, 0, 2),
        ),
    ),
)
def transverse_chromatic_abberation(images: Images, keys: Keys, *, magnification: float, order: NDArray[np.int64] | None = None) -> Images:
    """Magnify the channels about the centre by different amounts: 1, 1 + m / 2 and 1 + m.

    Notes
    -----
    Drawn at random: which channel is magnified how much; a grey image's only one gets any of the three. scipy's ``zoom`` of order 3 without
    its prefilter, so all channels are blurred a little, rounded to whole levels; sizes are rounded, then the middle is cut out.
    """
    count, channels = len(images), images.shape[3]
    if order is None:
        drawn = np.asarray(whole_numbers(keys.stage, keys.samples, 0, np.array([3, 2])))
        # the first channel's share, and which of the other two the second one gets
        second = (drawn[:, 0] + 1 + drawn[:, 1]) % 3
        orders = np.stack([drawn[:, 0], second, 3 - drawn[:, 0] - second], axis=1)[:, :channels]
    else:
        orders = np.tile(order, (count, 1))
    out = np.empty_like(images)
    _magnify(images, 1.0 + orders * (magnification / 2.0), out)
    return out


@inlined
def _filter_line(line, size):  # type: ignore[no-untyped-def]
    """Turn samples into the coefficients of the cubic B-spline through them, mirrored about the outermost ones."""
    total, factor = line[0], _POLE
    for k in range(1, min(size, 64)):
        total += factor * line[k]
        factor *= _POLE
    if size < 64:
        # The mirrored samples in full: they repeat after 2 size - 2.
        for k in range(size, 2 * size - 2):
            total += factor * line[2 * size - 2 - k]
            factor *= _POLE
        total /= 1.0 - factor
    line[0] = total
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
    picture = np.empty((height, width, channels), np.float64)
    line = np.empty(max(height, width), np.float64)
    rows, down = np.empty(4, np.int64), np.empty(4, np.float64)
    columns, across = np.empty(4, np.int64), np.empty(4, np.float64)
    middle_y, middle_x = (height - 1) / 2.0, (width - 1) / 2.0
    for n in range(count):
        for c in range(channels):
            for x in range(width):
                for y in range(height):
                    line[y] = images[n, y, x, c] / 255.0
                _filter_line(line, height)
                for y in range(height):
                    picture[y, x, c] = line[y]
            for y in range(height):
                for x in range(width):
                    line[x] = picture[y, x, c]
                _filter_line(line, width)
                for x in range(width):
                    picture[y, x, c] = line[x]
        for y in range(height):
            for x in range(width):
                red, green, blue = 0.0, 0.0, 0.0
                for k in range(angles.shape[0]):
                    s, cosine = angles[k, 0], angles[k, 1]
                    from_y = cosine * y + s * x + (middle_y - (cosine * middle_y + s * middle_x))
                    from_x = -s * y + cosine * x + (middle_x - (cosine * middle_x - s * middle_y))
                    if not (0.0 <= from_y <= height - 1 and 0.0 <= from_x <= width - 1):
                        continue
                    _taps(from_y, height, rows, down)
                    _taps(from_x, width, columns, across)
                    for i in range(4):
                        for j in range(4):
                            share = shares[k] * down[i] * across[j]
                            pixel = picture[rows[i], columns[j]]
                            red += share * pixel[0]
                            if channels == 3:
                                green += share * pixel[1]
                                blue += share * pixel[2]
                out[n, y, x, 0] = level(red * 255.0)
                if channels == 3:
                    out[n, y, x, 1], out[n, y, x, 2] = level(green * 255.0), level(blue * 255.0)


@corruption(
    revision=1,
    reference=f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, CircularMotionBlur",
    parameters=(Parameter("angle_deg", low=0.0, high=180.0, about="how far the image turns to either side"),),
    deterministic=True,
)
def circular_motion_blur(images: Images, keys: Keys, *, angle_deg: float) -> Images:
    """Blur images along circles about the centre: the mean of 21 rotations from -angle to angle, with weights exp(-2 t**2), t = -1..1.

    Notes
    -----
    scipy's ``rotate`` of order 3 with its prefilter, black outside of the image, so the corners darken. Its cost is that
    of 21 rotations: it was published for 32x32 only.
    """
    shares = np.array([exact_exp(-2.0 * (2.0 * i / (_TURNS - 1) - 1.0) ** 2) for i in range(_TURNS)])
    angles = np.array([exact_sine_cosine((2.0 * i / (_TURNS - 1) - 1.0) * angle_deg) for i in range(_TURNS)])
    out = np.empty_like(images)
    _whirl(images, angles, shares / math.fsum(shares), out)
    return out
