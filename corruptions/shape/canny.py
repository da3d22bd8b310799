"""The corruption `canny_edges`, which reduces the image to its edges."""

from __future__ import annotations

import math

import numpy as np

from ...errors import ParameterError
from ...references import MU_2019
from ..border import CONSTANT, pad_row
from ..correlate import correlate
from ..gaussian_filter import half_gaussian
from ..kernels import inlined, kernel
from ..registry import Images, Keys, Parameter, corruption

_EPSILON = 2.0**-52


@inlined
def _luma(image, out):  # type: ignore[no-untyped-def]
    """Write the luma of an image in [0, 1]."""
    height, width, channels = image.shape
    for y in range(height):
        for x in range(width):
            if channels == 3:
                # The luma is computed in integers, so that the luma of three equal channels is exactly their value.
                level = (
                    19595 * np.int64(image[y, x, 0])
                    + 38470 * np.int64(image[y, x, 1])
                    + 7471 * np.int64(image[y, x, 2])
                    + 32768
                ) >> 16
            else:
                level = np.int64(image[y, x, 0])
            out[y, x] = level / 255.0


@inlined
def _smooth(image, weights, tall, line):  # type: ignore[no-untyped-def]
    """Filter an image in place, with zero padding.

    The first and last rows in the flat array `tall` are the padding, and must be zeros. The order of additions matters.
    On a linear ramp, all gradients are equal except for rounding errors, and these decide which pixels are ridges.
    """
    height, width = image.shape
    radius = weights.size - 1
    for y in range(height):
        for x in range(width):
            tall[(y + radius) * width + x] = image[y, x]
    for y in range(height):
        correlate(tall, (y + radius) * width, width, weights, True, line[radius : radius + width])
        pad_row(line, radius, 1, CONSTANT)
        correlate(line, radius, 1, weights, True, image[y])


@inlined
def _gradient(smooth, down, right, magnitude):  # type: ignore[no-untyped-def]
    """Write Sobel's derivatives with edge padding, and their length.

    As in SciPy, the terms of the middle row or column are added first.
    """
    height, width = smooth.shape
    for y in range(height):
        above, row, below = smooth[max(y - 1, 0)], smooth[y], smooth[min(y + 1, height - 1)]
        for x in range(width):
            a, b = max(x - 1, 0), min(x + 1, width - 1)
            dy = 2.0 * (below[x] - above[x]) + ((below[a] - above[a]) + (below[b] - above[b]))
            dx = 2.0 * (row[b] - row[a]) + ((above[b] - above[a]) + (below[b] - below[a]))
            down[y, x], right[y, x] = dy, dx
            magnitude[y, x] = math.sqrt(dy * dy + dx * dx)


@inlined
def _spread(marks, stride, queue, waiting):  # type: ignore[no-untyped-def]
    """Turn weak marks (1) into strong ones (2) if they touch a strong mark, directly or through other weak marks.

    Diagonal neighbours touch as well. The first `waiting` elements of `queue` are the positions of all strong marks.
    There are no marks in the outermost rows and columns.
    """
    while waiting > 0:
        waiting -= 1
        corner = queue[waiting] - stride - 1
        for row in range(3):
            for column in range(3):
                p = corner + row * stride + column
                if marks[p] == 1:
                    marks[p] = 2
                    queue[waiting] = p
                    waiting += 1


@kernel
def _outline(images, weights, low, high):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    out = np.empty_like(images)
    radius = weights.size - 1
    tall = np.zeros((height + 2 * radius) * width, np.float64)
    line = np.empty(width + 2 * radius, np.float64)
    smooth = np.empty((height, width), np.float64)
    inside = np.ones((height, width), np.float64)
    _smooth(inside, weights, tall, line)
    down = np.empty((height, width), np.float64)
    right = np.empty((height, width), np.float64)
    magnitude = np.empty((height, width), np.float64)
    # The value of a pixel is 0 if it is not on a ridge, 1 if it is on a ridge, and 2 if the ridge is kept.
    ridge = np.empty((height, width), np.uint8)
    queue = np.empty(height * width, np.int64)
    for n in range(count):
        _luma(images[n], smooth)
        _smooth(smooth, weights, tall, line)
        # This division removes the weight of pixels outside of the image.
        for y in range(height):
            for x in range(width):
                smooth[y, x] /= inside[y, x] + _EPSILON
        _gradient(smooth, down, right, magnitude)
        ridge[:] = 0
        waiting = np.int64(0)
        for y in range(1, height - 1):
            for x in range(1, width - 1):
                length = magnitude[y, x]
                if length < low or length == 0.0:
                    continue
                dy, dx = down[y, x], right[y, x]
                steep, flat = abs(dy), abs(dx)
                # The value along the gradient is interpolated between a vertical or horizontal neighbour and a
                # diagonal one.
                diagonal = 1 if dy * dx >= 0.0 else -1
                if steep > flat:
                    share = flat / steep
                    before, after = magnitude[y - 1, x], magnitude[y + 1, x]
                else:
                    share = steep / flat
                    before, after = magnitude[y, x - 1], magnitude[y, x + 1]
                if steep > flat:
                    far_before, far_after = magnitude[y - 1, x - diagonal], magnitude[y + 1, x + diagonal]
                else:
                    far_before, far_after = magnitude[y - diagonal, x - 1], magnitude[y + diagonal, x + 1]
                if (
                    far_after * share + after * (1.0 - share) <= length
                    and far_before * share + before * (1.0 - share) <= length
                ):
                    ridge[y, x] = 1
                    if length >= high:
                        ridge[y, x] = 2
                        queue[waiting] = y * width + x
                        waiting += 1
        _spread(ridge.reshape(-1), width, queue, waiting)
        for y in range(height):
            for x in range(width):
                for c in range(channels):
                    out[n, y, x, c] = np.uint8(255) if ridge[y, x] == 2 else np.uint8(0)
    return out


@corruption(
    revision=2,
    reference=f"{MU_2019}; released corruptions.py, canny_edges (skimage.feature.canny)",
    parameters=(
        Parameter(
            "sigma",
            low=0.1,
            high=100.0,
            length=True,
            at_least=0.1,
            about="standard deviation of the smoothing in pixels",
        ),
        Parameter("low", float, 0.0, 10.0, "minimum gradient of a pixel on an edge"),
        Parameter("high", float, 0.0, 10.0, "minimum gradient at one pixel of each edge"),
    ),
    deterministic=True,
)
def canny_edges(images: Images, keys: Keys, *, sigma: float, low: float, high: float) -> Images:
    """Replace the image by its edges, white on black (Canny).

    The edges of a colour image are those of its luma, and are drawn in every channel. The gaussian averages only over
    pixels inside the image. The thresholds apply to the length of Sobel's gradient (weights 1 2 1, not normalised) of
    an image in [0, 1]. Ridges with a gradient of at least `low` are edges if they are connected to a ridge with a
    gradient of at least `high`.

    Raises
    ------
    ParameterError
        If `low` is above `high`.

    References
    ----------
    Canny 1986, A Computational Approach to Edge Detection.
    """
    if low > high:
        raise ParameterError(f"canny_edges: low is {low:g} and high is {high:g}; expected a low of at most high.")
    return np.asarray(_outline(images, half_gaussian(sigma), float(low), float(high)))
