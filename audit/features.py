"""Statistics of corrupted images beside their clean images, by which corruptions and severities are told apart."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from ..corruptions.registry import Images

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
"""The statistics, each with the difference that is never significant.

Such differences come from other versions of libraries and from values that are within one level of the published ones.
Means are in grey levels; standard deviations are compared by their logarithms.
"""
_TINY = 0.25
"""Added to standard deviations in grey levels, so that their logarithms are finite and ignore rounding."""


def features(images: Images, clean: Images) -> Features:
    """Return the statistics of corrupted images, (N, H, W, C), beside clean images of the same shape."""
    return np.stack([_features(image, base) for image, base in zip(images, clean, strict=True)])


def _features(image: NDArray[np.uint8], clean: NDArray[np.uint8]) -> NDArray[np.float64]:
    x, c = image.astype(np.float32), clean.astype(np.float32)
    grey_x, grey_c = x.mean(axis=2), c.mean(axis=2)
    means = (x - c).mean(axis=(0, 1))
    out = [*(means if len(means) == 3 else np.repeat(means, 3)), _log(grey_x.std())]
    out += [float(np.mean(image == 0)), float(np.mean(image == 255))]
    out += _colour(x, c)
    bands_x, bands_c = _bands(grey_x), _bands(grey_c)
    fine = bands_x[0] - _slope(bands_x[0], bands_c[0]) * bands_c[0]
    deviation = float(fine.std()) + 1e-3
    out += [float(np.abs(fine).mean()) / deviation]
    for axis in (1, 0):
        first, second = (fine[:, :-1], fine[:, 1:]) if axis else (fine[:-1], fine[1:])
        out.append(float((first * second).mean()) / deviation**2)
    across, down = np.abs(np.diff(bands_x[1], axis=1)).mean(), np.abs(np.diff(bands_x[1], axis=0)).mean()
    out.append(_log(across) - _log(down))
    edges = np.quantile(grey_c, (1 / 3, 2 / 3))
    thirds = np.digitize(grey_c, edges)
    # A flat image, or one that is mostly black, has values in only some of the thirds.
    out += [_log(fine[thirds == third].std()) if (thirds == third).sum() > 8 else 0.0 for third in range(3)]
    steps = np.abs(np.diff(grey_x, axis=1)).mean(axis=0)
    at_edges = steps[7::8].mean() if steps.size > 8 else steps.mean()
    out.append(_log(at_edges) - _log(steps.mean()))
    slopes = [_slope(a, b) for a, b in zip(bands_x, bands_c, strict=True)]
    rests = [_log((a - s * b).std()) for a, b, s in zip(bands_x, bands_c, slopes, strict=True)]
    return np.array([*out, *slopes, *rests])


def _colour(x: NDArray[np.float32], c: NDArray[np.float32]) -> list[float]:
    if x.shape[2] == 1:
        return [0.0, 0.0]
    change = (x[:, :, 0] - x[:, :, 1]) - (c[:, :, 0] - c[:, :, 1])
    return [float((x.max(axis=2) - x.min(axis=2)).mean()), _log(np.diff(change, axis=1).std())]


def _bands(grey: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """Return the bands of an image from fine to coarse; the last one has everything that is coarser."""
    out = []
    for _ in range(_BANDS):
        small = cv2.pyrDown(grey)
        out.append(grey - cv2.pyrUp(small, dstsize=(grey.shape[1], grey.shape[0])))
        grey = np.asarray(small)
    return [*out, grey - grey.mean()]


def _slope(x: NDArray[np.float32], c: NDArray[np.float32]) -> float:
    return float((x * c).mean() / ((c * c).mean() + _TINY))


def _log(deviation: float | np.floating) -> float:
    return float(np.log(float(deviation) + _TINY))
