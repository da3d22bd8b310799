"""Compute statistics of corrupted images and their clean images that distinguish corruptions and severities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from ..corruptions.registry import Images

Plane = NDArray[np.float32]
"""One channel of an image, or its grey levels."""
Features = NDArray[np.float64]
"""A row of statistics for each image, (N, len(FEATURES))."""

_BANDS = 4
FEATURES: dict[str, float] = {
    "mean_1": 0.25,
    "mean_2": 0.25,
    "mean_3": 0.25,
    "deviation": 0.01,
    "black": 0.002,
    "white": 0.002,
    "colour": 0.15,
    "colour_change": 0.02,
    "tail": 0.01,
    "neighbours_across": 0.01,
    "neighbours_down": 0.01,
    "direction": 0.02,
    "dark": 0.015,
    "middle": 0.015,
    "bright": 0.015,
    "blocks": 0.02,
    **{f"slope_{band}": 0.01 for band in range(_BANDS + 1)},
    **{f"rest_{band}": 0.015 for band in range(_BANDS + 1)},
}
"""The statistics, each with the largest difference that is still insignificant.

Such differences can be caused by library versions, or by values that are within one grey level of the published ones.
Means are in grey levels. Standard deviations are compared by their logarithms.
"""
_TINY = 0.25
"""A constant added to standard deviations in grey levels. It keeps their logarithms finite and hides rounding."""


@dataclass(frozen=True)
class Base:
    """Quantities of a clean image that all statistics use. They are computed once."""

    planes: tuple[Plane, ...]
    bands: tuple[Plane, ...]
    energies: tuple[float, ...]
    """The mean square of each band."""
    thirds: tuple[NDArray[np.uint8] | None, ...]
    """Masks of the darkest, the middle and the brightest third of the pixels. A mask is None if it has few pixels."""


def base_of(clean: NDArray[np.uint8]) -> Base:
    """Return the quantities of a clean image (H, W, C) that the statistics use."""
    planes = _planes(clean)
    grey = _grey(planes)
    bands = _bands(grey)
    low, high = np.quantile(grey, (1 / 3, 2 / 3))
    masks = (grey < low, (grey >= low) & (grey < high), grey >= high)
    # A flat image, or one that is mostly black, has pixels in only some of the thirds.
    thirds = tuple(mask.view(np.uint8) if mask.sum() > 8 else None for mask in masks)
    return Base(planes, bands, tuple(_square(band) for band in bands), thirds)


def features(images: Images, bases: Sequence[Base]) -> Features:
    """Return the statistics of corrupted images (N, H, W, C), compared with their clean images."""
    return np.stack([_features(image, base) for image, base in zip(images, bases, strict=True)])


def _features(image: NDArray[np.uint8], base: Base) -> NDArray[np.float64]:
    # For images of this size, OpenCV's functions take a tenth of the time of NumPy's reductions.
    planes = _planes(image)
    grey = _grey(planes)
    shifts = [cv2.mean(x)[0] - cv2.mean(c)[0] for x, c in zip(planes, base.planes, strict=True)]
    out = [*(shifts if len(shifts) == 3 else shifts * 3), _log(_deviation(grey))]
    out += [1 - cv2.countNonZero(image.reshape(-1)) / image.size, float(np.count_nonzero(image == 255)) / image.size]
    out += _colour(planes, base.planes)
    bands = _bands(grey)
    slopes = [
        cv2.mean(cv2.multiply(x, c))[0] / (energy + _TINY)
        for x, c, energy in zip(bands, base.bands, base.energies, strict=True)
    ]
    rests = [cv2.scaleAdd(c, -slope, x) for x, c, slope in zip(bands, base.bands, slopes, strict=True)]
    fine = rests[0]
    deviation = _deviation(fine) + 1e-3
    out.append(cv2.norm(fine, cv2.NORM_L1) / fine.size / deviation)
    for first, second in ((fine[:, :-1], fine[:, 1:]), (fine[:-1], fine[1:])):
        out.append(cv2.mean(cv2.multiply(first, second))[0] / deviation**2)
    second_band = bands[1]
    across = cv2.norm(second_band[:, 1:], second_band[:, :-1], cv2.NORM_L1) / second_band.size
    down = cv2.norm(second_band[1:], second_band[:-1], cv2.NORM_L1) / second_band.size
    out.append(_log(across) - _log(down))
    out += [0.0 if mask is None else _log(_deviation(fine, mask)) for mask in base.thirds]
    steps = cv2.reduce(cv2.absdiff(grey[:, 1:], grey[:, :-1]), 0, cv2.REDUCE_AVG)[0]
    at_edges = steps[7::8].mean() if steps.size > 8 else steps.mean()
    out.append(_log(float(at_edges)) - _log(float(steps.mean())))
    return np.array([*out, *slopes, *(_log(_deviation(rest)) for rest in rests)])


def _planes(image: NDArray[np.uint8]) -> tuple[Plane, ...]:
    return tuple(np.asarray(plane, np.float32) for plane in cv2.split(image))


def _grey(planes: Sequence[Plane]) -> Plane:
    if len(planes) == 1:
        return planes[0]
    return np.asarray(cv2.add(cv2.add(planes[0], planes[1]), planes[2]), np.float32) / np.float32(3)


def _colour(planes: Sequence[Plane], clean: Sequence[Plane]) -> list[float]:
    if len(planes) == 1:
        return [0.0, 0.0]
    r, g, b = planes
    spread = cv2.subtract(cv2.max(cv2.max(r, g), b), cv2.min(cv2.min(r, g), b))
    change = cv2.subtract(cv2.subtract(r, g), cv2.subtract(clean[0], clean[1]))
    return [cv2.mean(spread)[0], _log(_deviation(cv2.subtract(change[:, 1:], change[:, :-1])))]


def _bands(grey: Plane) -> tuple[Plane, ...]:
    """Return the frequency bands of an image, from fine to coarse. The last band contains all coarser structure."""
    out = []
    for _ in range(_BANDS):
        small = cv2.pyrDown(grey)
        out.append(cv2.subtract(grey, cv2.pyrUp(small, dstsize=(grey.shape[1], grey.shape[0]))))
        grey = np.asarray(small, np.float32)
    return tuple(np.asarray(band, np.float32) for band in (*out, grey - np.float32(cv2.mean(grey)[0])))


def _square(values: Plane) -> float:
    return float(cv2.norm(values, cv2.NORM_L2SQR)) / values.size


def _deviation(values: cv2.typing.MatLike, mask: NDArray[np.uint8] | None = None) -> float:
    return float(cv2.meanStdDev(values, mask=mask)[1][0, 0])


def _log(deviation: float) -> float:
    return float(np.log(deviation + _TINY))
