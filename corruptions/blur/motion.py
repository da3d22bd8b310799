"""The corruption `motion_blur`, which computes ImageMagick 6's motion blur for any angle."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from ...references import HENDRYCKS_2019
from ..arithmetic import exact_exp, hypotenuse, sine_cosine
from ..kernels import inlined, inner, kernel
from ..registry import Draw, Images, Keys, Parameter, corruption

ANGLE = 0
"""The stream of the angle."""
MAX_ANGLE = 45.0
"""The maximum angle to the horizontal in degrees."""

_SQRT_2PI = 2.5066282746310002
_DROPPED = 2e-6
"""The maximum sum of the weights of omitted taps. Only the exact computation (`_exact`) includes these taps."""

_GROUP = 64
"""The number of taps that are summed in one group.

Grouping reduces rounding errors for long streaks. The sums of a flat area are only 1/514 of a grey value above a step
between grey values. These sums should not need the exact computation.
"""


@functools.lru_cache(maxsize=256)
def motion_weights(radius: float, sigma: float) -> NDArray[np.float64]:
    """Return ImageMagick's one-sided kernel as a read-only array.

    The kernel is exp(-i*i / (2 sigma**2)) for i = 0..2*ceil(radius), divided by its sum.
    """
    width = 2 * math.ceil(radius) + 1
    out = np.array([exact_exp(-float(i * i) / (2.0 * sigma * sigma)) / (_SQRT_2PI * sigma) for i in range(width)])
    total = 0.0
    for weight in out:
        total += weight
    out /= total
    out.setflags(write=False)
    return out


@inner
def _exact(image, weights, offset_x, offset_y, y, x, c):  # type: ignore[no-untyped-def]
    """Return one value as ImageMagick computes it.

    ImageMagick uses 16 bits per channel, and adds doubles from the first tap to the last.
    """
    total = 0.0
    for i in range(weights.size):
        row = min(max(y + offset_y[i], 0), image.shape[0] - 1)
        column = min(max(x + offset_x[i], 0), image.shape[1] - 1)
        total += weights[i] * (257.0 * image[row, column, c])
    return np.uint8(math.floor(total + 0.5) // 257.0)


@inner
def _merge_taps(weights, offset_x, offset_y, tap_weight, tap_x, tap_y):  # type: ignore[no-untyped-def]
    """Merge taps that read the same pixel, and omit the smallest ones at the end.

    Return the number of remaining taps and the sum of the omitted weights.
    """
    last = weights.size
    dropped = 0.0
    while last > 1 and dropped + weights[last - 1] <= _DROPPED:
        last -= 1
        dropped += weights[last]
    taps = np.int64(0)
    joined = 0.0
    for i in range(last):
        if taps > 0 and tap_x[taps - 1] == offset_x[i] and tap_y[taps - 1] == offset_y[i]:
            joined += weights[i]
        else:
            joined = weights[i]
            tap_x[taps] = offset_x[i]
            tap_y[taps] = offset_y[i]
            taps += 1
        tap_weight[taps - 1] = joined
    return taps, dropped


@inlined
def _convert_row(image, y, pad, target):  # type: ignore[no-untyped-def]
    """Write a row as float32, with edge padding of `pad` pixels."""
    width, channels = image.shape[1], image.shape[2]
    for x in range(pad):
        for c in range(channels):
            target[x * channels + c] = image[y, 0, c]
            target[(pad + width + x) * channels + c] = image[y, width - 1, c]
    source = image[y].reshape(width * channels)
    inner = target[pad * channels : (pad + width) * channels]
    for j in range(width * channels):
        inner[j] = np.float32(source[j])


@inlined
def _tap(ring, height, y, o, n, dy):  # type: ignore[no-untyped-def]
    """Return the `n` values that a tap reads for row `y`.

    They begin at element `o` of row y + dy, where the image has edge padding.
    """
    return ring[min(max(y + dy, 0), height - 1) % ring.shape[0], o : o + n]


@inlined
def _add_taps(total, ring, height, y, pad, channels, first, taps, tap_weight, tap_x, tap_y):  # type: ignore[no-untyped-def]
    """Add the taps `first`..`taps` - 1 for row `y`, in groups of four."""
    n = total.size
    t = first
    while t + 4 <= taps:
        w0, w1, w2, w3 = tap_weight[t], tap_weight[t + 1], tap_weight[t + 2], tap_weight[t + 3]
        s0 = _tap(ring, height, y, (pad + tap_x[t]) * channels, n, tap_y[t])
        s1 = _tap(ring, height, y, (pad + tap_x[t + 1]) * channels, n, tap_y[t + 1])
        s2 = _tap(ring, height, y, (pad + tap_x[t + 2]) * channels, n, tap_y[t + 2])
        s3 = _tap(ring, height, y, (pad + tap_x[t + 3]) * channels, n, tap_y[t + 3])
        for j in range(n):
            total[j] = total[j] + (w0 * s0[j] + w1 * s1[j] + w2 * s2[j] + w3 * s3[j])
        t += 4
    while t < taps:
        w = tap_weight[t]
        s = _tap(ring, height, y, (pad + tap_x[t]) * channels, n, tap_y[t])
        for j in range(n):
            total[j] = total[j] + w * s[j]
        t += 1


@inlined
def _store(total, error_bound, out):  # type: ignore[no-untyped-def]
    """Floor a row, and return how many values are too close to a step between grey values for float32."""
    ambiguous = np.int32(0)
    for j in range(total.size):
        level = np.int32(total[j])
        part = total[j] - np.float32(level)
        out[j] = np.uint8(level)
        ambiguous += np.int32((part < error_bound) | (part > np.float32(1.0) - error_bound))
    return ambiguous


@kernel
def _filter(images, weights, radians):  # type: ignore[no-untyped-def]
    """Filter images with sums in float32, and recompute values in doubles if rounding errors could change them.

    The result equals that of sums in doubles.
    """
    count, height, width, channels = images.shape
    out = np.empty_like(images)
    size = weights.size
    length = float(size)
    offset_x = np.empty(size, np.int64)
    offset_y = np.empty(size, np.int64)
    tap_weight = np.empty(size, np.float32)
    tap_x = np.empty(size, np.int64)
    tap_y = np.empty(size, np.int64)
    total = np.empty(width * channels, np.float32)
    part = np.empty(width * channels, np.float32)
    depth = min(size, height)
    ring = np.empty((depth, (width + 2 * size) * channels), np.float32)
    pad = size
    for n in range(count):
        sine, cosine = sine_cosine(radians[n])
        across, along = length * sine, length * cosine
        h = hypotenuse(across, along)
        for i in range(size):
            offset_x[i] = int(math.ceil(float(i) * along / h - 0.5))
            offset_y[i] = int(math.ceil(float(i) * across / h - 0.5))
        taps, dropped = _merge_taps(weights, offset_x, offset_y, tap_weight, tap_x, tap_y)
        # A value is affected by these roundings: its weight, its product, three sums within four taps, one sum for each
        # four taps of its group, three single taps of its group, and one sum per group. Each error is at most 2**-24
        # times 256.
        roundings = min(taps, _GROUP) // 4 + 10 + taps // _GROUP
        error_bound = np.float32(1.01 * 256.0 * (dropped + roundings * 2.0**-24))
        lowest = np.int64(0)
        for t in range(taps):
            lowest = max(lowest, tap_y[t])
        image = images[n]
        ready = np.int64(0)
        for y in range(height):
            while ready < min(y + lowest + 1, height):
                _convert_row(image, ready, pad, ring[ready % depth])
                ready += 1
            total[:] = np.float32(0.5 / 257.0)
            for first in range(0, taps, _GROUP):
                sums = total if first == 0 else part
                if first > 0:
                    part[:] = np.float32(0.0)
                _add_taps(
                    sums, ring, height, y, pad, channels, first, min(taps, first + _GROUP), tap_weight, tap_x, tap_y
                )
                if first > 0:
                    for j in range(total.size):
                        total[j] += part[j]
            if _store(total, error_bound, out[n, y].reshape(width * channels)) > 0:
                for x in range(width):
                    for c in range(channels):
                        value = total[x * channels + c]
                        above = value - np.float32(np.int32(value))
                        if above < error_bound or above > np.float32(1.0) - error_bound:
                            out[n, y, x, c] = _exact(image, weights, offset_x, offset_y, y, x, c)
    return out


def motion_filter(images: Images, radius: float, sigma: float, angles_deg: NDArray[np.float64]) -> Images:
    """Blur each image along its angle, as ImageMagick 6 does.

    The kernel has 2 * ceil(radius) + 1 taps, all on one side of the pixel, and images have edge padding. The result
    equals ``floor(floor(sum + .5) / 257)`` of sums over 16-bit values, as in a build of ImageMagick with 16 bits per
    channel. For 8-bit images, all values equal those of ImageMagick.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
        The images, which are not modified.
    radius, sigma : float
        The radius of the kernel and the standard deviation of its weights, in pixels.
    angles_deg : (N,) ndarray of float64
        The angle for each image in degrees, clockwise as the image is displayed.

    Returns
    -------
    (N, H, W, C) ndarray of uint8
    """
    radians = math.pi * np.ascontiguousarray(angles_deg, np.float64) / 180.0
    return np.asarray(_filter(images, motion_weights(float(radius), float(sigma)), radians))


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, motion_blur; ImageMagick 6.9, MotionBlurImageChannel",
    parameters=(
        Parameter("radius", low=0.001, high=500.0, length=True, about="length of the streak: 2*ceil(radius)+1 pixels"),
        Parameter(
            "sigma",
            low=0.01,
            high=1000.0,
            length=True,
            at_least=0.01,
            about="standard deviation along the streak in pixels",
        ),
    ),
    draws=(
        Draw(
            "angle_deg",
            "angle of the streak in degrees",
            lambda keys, *_: keys.uniforms(stream=ANGLE, low=-MAX_ANGLE, high=MAX_ANGLE),
            low=-1e6,
            high=1e6,
        ),
    ),
)
def motion_blur(images: Images, keys: Keys, *, radius: float, sigma: float, angle_deg: NDArray[np.float64]) -> Images:
    """Blur the image along a random direction near the horizontal.

    Notes
    -----
    One angle per image is drawn at random, uniformly on [-45, 45) degrees.

    The kernel is one-sided, as published, so the image drifts by about half the length of the kernel.
    """
    return motion_filter(images, radius, sigma, angle_deg)
