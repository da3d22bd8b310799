"""Estimate the weight of the clean image in frost, which reveals the severity without the frost photographs."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from ..corruptions.registry import Images

_LEAST_PIXELS = 50
_CLIPPED = 2, 250
"""Grey levels up to the first number, and from the second number on, may have been clipped. They are not used."""
_LARGE = 128
"""The minimum side of images that are halved in size, because JPEG loses their finest details."""


@dataclass(frozen=True)
class Weight:
    """An estimated weight of the clean image."""

    value: float
    error: float
    """The standard error of the estimate."""


def image_weight(found: Images, clean: Images) -> Weight | None:
    """Estimate the weight of the clean images in frosted images, or return None if hardly any pixel can be used.

    Frost is a weighted sum of the clean image and a photograph. The clean image and the photograph are unrelated, so
    differences between neighbouring pixels are not correlated between the two. A regression of the differences in the
    found image on those in the clean image therefore gives the weight of the clean image.
    """
    fitted = [pair for image, own in zip(found, clean, strict=True) if (pair := _slope(image, own)) is not None]
    if len(fitted) < 2:
        return None
    slopes, certainties = np.array(fitted).T
    value = float((certainties * slopes).sum() / certainties.sum())
    error = float(np.sqrt((certainties**2 * (slopes - value) ** 2).sum()) / certainties.sum())
    return Weight(value, error)


def _slope(found: NDArray[np.uint8], clean: NDArray[np.uint8]) -> tuple[float, float] | None:
    """Return the slope of the regression in one image and the inverse of its variance, or None for too few pixels."""
    low, high = _CLIPPED
    unclipped = np.asarray(((found > low) & (found < high)).all(axis=2), np.uint8)
    usable = cv2.erode(unclipped, np.ones((3, 3)))
    grey, own = (np.asarray(image.mean(axis=2), np.float32) for image in (found, clean))
    if found.shape[0] >= _LARGE:
        grey, own = (np.asarray(cv2.pyrDown(image), np.float32) for image in (grey, own))
        usable = cv2.erode(usable, np.ones((5, 5)))[::2, ::2]
    x, y = list[NDArray[np.float32]](), list[NDArray[np.float32]]()
    for axis in (0, 1):
        pairs = np.minimum(np.roll(usable, -1, axis), usable).astype(bool).take(range(usable.shape[axis] - 1), axis)
        x.append(np.diff(own, axis=axis)[pairs])
        y.append(np.diff(grey, axis=axis)[pairs])
    changes, effects = np.concatenate(x).astype(np.float64), np.concatenate(y).astype(np.float64)
    if len(changes) < _LEAST_PIXELS:
        return None
    energy = float(changes @ changes) + 1e-6
    slope = float(changes @ effects) / energy
    variance = float(np.square(effects - slope * changes).mean()) + 0.01
    return slope, energy / variance
