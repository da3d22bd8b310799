"""Gaussian filters of images."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .arithmetic import double_over_255, gaussian_weights
from .border import EDGE, border_index, pad_row
from .correlate import band_rows, correlate
from .kernels import kernel
from .registry import Images, choice

TRUNCATE = 4.0
"""The distance from the centre at which the filter is truncated, in sigmas."""
AXES = choice("axes", ("both", "rows"), "filtered axes: both, or only across rows (rows), as in MNIST-C's generator")


def half_gaussian(sigma: float, truncate: float = TRUNCATE) -> NDArray[np.float64]:
    """Return the weights of a gaussian at the distances 0, 1, and so on, up to `truncate` sigmas.

    For sigma 0, the result is the single weight 1.
    """
    radius = int(truncate * sigma + 0.5)
    return gaussian_weights(float(sigma), radius)[radius:].copy() if radius > 0 else np.ones(1)


@kernel
def _blur(images, weights, across, half):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    out = np.empty_like(images)
    radius = weights.size - 1
    n, pad = width * channels, radius * channels
    band = band_rows(height, radius)
    tall = np.empty((band + 2 * radius) * n, np.float64)
    line = np.empty(n + 2 * pad, np.float64)
    both = np.empty(n, np.float64)
    down = line[pad : pad + n]
    blurred = both if across else down
    for i in range(count):
        for top in range(0, height, band):
            rows = min(band, height - top)
            for k in range(rows + 2 * radius):
                source = images[i, border_index(top + k - radius, height, EDGE)].reshape(n)
                row = tall[k * n : (k + 1) * n]
                for x in range(n):
                    row[x] = double_over_255(source[x])
            for y in range(rows):
                correlate(tall, (radius + y) * n, n, weights, True, down)
                if across:
                    pad_row(line, radius, channels, EDGE)
                    correlate(line, pad, channels, weights, True, both)
                target = out[i, top + y].reshape(n)
                for x in range(n):
                    target[x] = np.uint8(np.int32(min(blurred[x], 1.0) * 255.0 + half))
    return out


def gaussian_filter(images: Images, sigma: float, axes: str = "both", half: float = 0.0) -> Images:
    """Blur images with edge padding, add `half` to the grey values, and floor the result to uint8.

    The value 255 can become 254 in a flat area, as published.
    """
    return np.asarray(_blur(images, half_gaussian(sigma), axes == "both", float(half)))
