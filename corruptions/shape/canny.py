"""Canny edges: the image reduced to its outlines."""

from __future__ import annotations

import math

import numpy as np

from ...errors import ParameterError
from ..arithmetic import gaussian_weights
from ..kernels import inlined, inner, kernel
from ..keys import Keys
from ..references import MU_2019
from ..registry import Images, Parameter, corruption

_TRUNCATE = 4.0
_EPSILON = 2.0**-52


@inlined
def _luma(image, out):  # type: ignore[no-untyped-def]
    """Write the image's luma in 0..1."""
    height, width, channels = image.shape
    for y in range(height):
        for x in range(width):
            if channels == 3:
                # integers, so that three equal channels have exactly their own level
                level = (
                    19595 * np.int64(image[y, x, 0]) + 38470 * np.int64(image[y, x, 1]) + 7471 * np.int64(image[y, x, 2]) + 32768
                ) >> 16
            else:
                level = np.int64(image[y, x, 0])
            out[y, x] = level / 255.0


@inner
def _weigh(image, weights, scratch):  # type: ignore[no-untyped-def]
    """Filter in place along columns, then along rows; outside are zeros.

    Sums go from the middle to the outermost pair and then inwards, as scipy's correlate1d adds them: on a linear ramp all gradients are
    equal but for rounding, and which of them count as ridges follows from its last bit.
    """
    height, width = image.shape
    radius = weights.size // 2
    for y in range(height):
        row, source = scratch[y], image[y]
        for x in range(width):
            row[x] = weights[radius] * source[x]
        for k in range(radius, 0, -1):
            w = weights[radius - k]
            if y >= k and y + k < height:
                above, below = image[y - k], image[y + k]
                for x in range(width):
                    row[x] += (above[x] + below[x]) * w
            elif y >= k or y + k < height:
                source = image[y - k] if y >= k else image[y + k]
                for x in range(width):
                    row[x] += source[x] * w
    for y in range(height):
        row = scratch[y]
        for x in range(width):
            total = weights[radius] * row[x]
            for k in range(radius, 0, -1):
                left = row[x - k] if x >= k else 0.0
                right = row[x + k] if x + k < width else 0.0
                total += (left + right) * weights[radius - k]
            image[y, x] = total


@inlined
def _gradient(smooth, down, right, magnitude):  # type: ignore[no-untyped-def]
    """Write Sobel's derivatives, edges repeated, and their length; the middle first, as scipy adds them."""
    height, width = smooth.shape
    for y in range(height):
        above, here, below = smooth[max(y - 1, 0)], smooth[y], smooth[min(y + 1, height - 1)]
        for x in range(width):
            a, b = max(x - 1, 0), min(x + 1, width - 1)
            dy = 2.0 * (below[x] - above[x]) + ((below[a] - above[a]) + (below[b] - above[b]))
            dx = 2.0 * (here[b] - here[a]) + ((above[b] - above[a]) + (below[b] - below[a]))
            down[y, x], right[y, x] = dy, dx
            magnitude[y, x] = math.sqrt(dy * dy + dx * dx)


@kernel
def _outline(images, weights, low, high):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    out = np.empty_like(images)
    scratch = np.empty((height, width), np.float64)
    smooth = np.empty((height, width), np.float64)
    inside = np.ones((height, width), np.float64)
    _weigh(inside, weights, scratch)
    down = np.empty((height, width), np.float64)
    right = np.empty((height, width), np.float64)
    magnitude = np.empty((height, width), np.float64)
    # 0 no ridge, 1 a ridge, 2 one that is kept
    ridge = np.empty((height, width), np.uint8)
    queue = np.empty(height * width, np.int64)
    for n in range(count):
        _luma(images[n], smooth)
        _weigh(smooth, weights, scratch)
        # what lies outside does not count
        for y in range(height):
            for x in range(width):
                smooth[y, x] /= inside[y, x] + _EPSILON
        _gradient(smooth, down, right, magnitude)
        ridge[:] = 0
        waiting = 0
        for y in range(1, height - 1):
            for x in range(1, width - 1):
                here = magnitude[y, x]
                if here < low or here == 0.0:
                    continue
                dy, dx = down[y, x], right[y, x]
                steep, flat = abs(dy), abs(dx)
                # The neighbours along the gradient lie between an upright or level one and a diagonal one.
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
                if far_after * share + after * (1.0 - share) <= here and far_before * share + before * (1.0 - share) <= here:
                    ridge[y, x] = 1
                    if here >= high:
                        ridge[y, x] = 2
                        queue[waiting] = y * width + x
                        waiting += 1
        # What touches a kept ridge, also across a corner, is kept; ridges never lie on the outermost pixels.
        while waiting > 0:
            waiting -= 1
            y, x = queue[waiting] // width, queue[waiting] % width
            for j in range(y - 1, y + 2):
                for i in range(x - 1, x + 2):
                    if ridge[j, i] == 1:
                        ridge[j, i] = 2
                        queue[waiting] = j * width + i
                        waiting += 1
        for y in range(height):
            for x in range(width):
                for c in range(channels):
                    out[n, y, x, c] = np.uint8(255) if ridge[y, x] == 2 else np.uint8(0)
    return out


@corruption(
    revision=2,
    reference=f"{MU_2019}; released corruptions.py, canny_edges (skimage.feature.canny)",
    parameters=(
        Parameter("sigma", low=0.1, high=100.0, length=True, at_least=0.1, about="pixels, of the gaussian before"),
        Parameter("low", low=0.0, high=10.0, about="gradient above which an edge goes on"),
        Parameter("high", low=0.0, high=10.0, about="gradient above which an edge begins"),
    ),
    deterministic=True,
    compile_seconds=2,
)
def canny_edges(images: Images, keys: Keys, *, sigma: float, low: float, high: float) -> Images:
    """Replace the image by its edges, white on black (Canny).

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
        Of colour images the luma counts, and the edges appear in every channel.
    keys : Keys
        Not used: nothing is drawn.
    sigma : float
        Pixels, 0.1..100, of the gaussian that smooths first (cut off after 4 sigma; only pixels inside count).
    low, high : float
        0..10, `low` at most `high`: thresholds for the length of Sobel's gradient (weights 1 2 1, not normalised) of an
        image in 0..1. Ridges of at least `low` that touch, directly or not, one of at least `high` are edges.

    Returns
    -------
    (N, H, W, C) ndarray of uint8
        0 or 255.

    Raises
    ------
    ParameterError
        If `low` is above `high`.

    References
    ----------
    Mu and Gilmer 2019, MNIST-C, section 3; released code, canny_edges. Canny 1986
    """
    if low > high:
        raise ParameterError(f"canny_edges: low is {low:g} and high is {high:g}; expected low to be at most high.")
    radius = int(_TRUNCATE * sigma + 0.5)
    return np.asarray(_outline(images, gaussian_weights(float(sigma), radius), float(low), float(high)))
