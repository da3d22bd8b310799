"""Blur images with a gaussian whose kernel has a given size."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.arithmetic import gaussian_weights
from corruptset.corruptions.keys import Keys
from corruptset.corruptions.registry import Images, Parameter, corruption

from .rgb import REFERENCE

_BITS = 20


@functools.lru_cache(maxsize=32)
def _weights(radius: int) -> NDArray[np.int64]:
    """Return the weights of a kernel of 2 * radius + 1 pixels, in units of 2**-20. The sum of the weights is 2**20."""
    weights = np.rint(gaussian_weights(0.15 * (2 * radius + 1) + 0.35, radius) * (1 << _BITS)).astype(np.int64)
    weights[radius] += (1 << _BITS) - weights.sum()
    return weights


@corruption(
    reference=f"{REFERENCE}, GaussianBlur (torchvision's gaussian_blur)",
    parameters=(Parameter("radius", int, 0, 100, "the kernel is 2 * radius + 1 pixels wide"),),
    deterministic=True,
)
def windowed_gaussian_blur(images: Images, keys: Keys, *, radius: int) -> Images:
    """Blur with a gaussian that is cut off at the edges of a square kernel, using reflect padding.

    Notes
    -----
    The standard deviation is ``0.15 * (2 * radius + 1) + 0.35`` pixels, as by default in torchvision. The sums are
    integers, so they are equal on all machines. The result is rounded to the nearest grey value.
    """
    out = np.empty_like(images)
    for image, target in zip(images, out, strict=True):
        sums = image.astype(np.int64)
        for axis in (0, 1):
            padding = [(radius, radius) if axis == other else (0, 0) for other in range(3)]
            padded = np.moveaxis(np.pad(sums, padding, mode="reflect"), axis, 0)
            parts = (padded[at : at + image.shape[axis]] * weight for at, weight in enumerate(_weights(radius)))
            sums = np.moveaxis(sum(parts, np.zeros((), np.int64)), 0, axis)
        target[:] = (sums + (1 << 2 * _BITS - 1)) >> 2 * _BITS
    return out
