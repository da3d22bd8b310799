"""Estimate the weight of the clean image in frost, to distinguish severities without the frost photographs."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from ..corruptions.registry import Images

_LEAST_PIXELS = 50
_CLIPPED = 2, 250
"""Values that may have been clipped, so that they contain no information about the weight."""
_LARGE = 128
"""The side from which images are halved, because JPEG loses their finest details."""


@dataclass(frozen=True)
class Weight:
    """An estimated weight of the clean image."""

    value: float
    error: float
    """The standard error of the weight."""


def image_weight(found: Images, clean: Images) -> Weight | None:
    """Estimate the weight of clean images in found ones, or return None if hardly any pixel can be used.

    Frost is a weighted sum of the clean image and a photograph. Differences between neighbouring pixels of the clean
    image and of an unrelated photograph are not correlated, so a regression of the found differences on the clean ones
    gives the weight of the clean image.
    """
    fitted = [pair for image, own in zip(found, clean, strict=True) if (pair := _slope(image, own)) is not None]
    if len(fitted) < 2:
        return None
    slopes, certainties = np.array(fitted).T
    value = float((certainties * slopes).sum() / certainties.sum())
    error = float(np.sqrt((certainties**2 * (slopes - value) ** 2).sum()) / certainties.sum())
    return Weight(value, error)


def _slope(found: NDArray[np.uint8], clean: NDArray[np.uint8]) -> tuple[float, float] | None:
    """Return the slope of differences in one image, and the inverse of its variance."""
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
