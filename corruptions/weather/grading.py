"""Light on a drawn layer, and how the layer gets the figures of a photograph: contrast at each scale, levels, colour.

Elementwise + - * / of doubles, sqrt and running sums alone: the order of numpy's own sum depends on the machine. Layers are
(H, W) ndarrays of float32, changed in place.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Layer = NDArray[np.float32]
Texture = NDArray[np.uint8]

_BINS = 8192
_LIMIT = 8.0


def rim(size: tuple[int, int]) -> Layer:
    """Return a light that grows towards the edges, most to the upper right and lower left: day behind a frozen pane."""
    rows, columns = size
    u, v = 2.0 * np.arange(columns) / columns - 1.0, 1.0 - 2.0 * np.arange(rows)[:, None] / rows
    square = u * u + v * v
    return (square * square + 0.5 * np.maximum(u * v, 0.0) * (1.0 + u)).astype(np.float32)


def relief(heights: Layer) -> Layer:
    """Return a height map lit from the upper left."""
    right, below = np.pad(heights[:, 1:], ((0, 0), (0, 1)), "edge"), np.pad(heights[1:], ((0, 1), (0, 0)), "edge")
    return (2.0 * heights.astype(np.float64) - right - below).astype(np.float32)


def _moments(layer: Layer) -> tuple[float, float]:
    """Return mean and standard deviation, summed in one fixed order."""
    values = layer.reshape(-1).astype(np.float64)
    mean = float(np.cumsum(values)[-1]) / values.size
    distances = values - mean
    return mean, math.sqrt(float(np.cumsum(distances * distances)[-1]) / values.size)


def standardise(layer: Layer) -> None:
    """Shift and scale a layer to mean 0 and standard deviation 1."""
    mean, deviation = _moments(layer)
    scale = 1.0 / deviation if deviation > 0.0 else 0.0
    layer[:] = (layer.astype(np.float64) - mean) * scale


def add(layer: Layer, other: Layer, weight: float) -> None:
    """Add `weight` times another layer."""
    layer += (weight * other.astype(np.float64)).astype(np.float32)


def swell(layer: Layer, other: Layer, strength: float) -> None:
    """Make a layer's contrast greater where another is high and less where that is low."""
    layer *= np.maximum(1.0 + strength * other.astype(np.float64), 0.15).astype(np.float32)


def _smoothed(layer: Layer, step: int) -> Layer:
    """Smooth by the weights 1 4 6 4 1, `step` pixels apart, along rows and columns; edges are repeated."""
    for axis in (1, 0):
        places = np.arange(layer.shape[axis])

        def moved(distance: int, values: Layer = layer, axis: int = axis, places: NDArray[np.int64] = places) -> Layer:
            return np.take(values, np.clip(places + distance, 0, len(places) - 1), axis)

        far, near = moved(-2 * step) + moved(2 * step), moved(-step) + moved(step)
        layer = ((far + 4.0 * near.astype(np.float64) + 6.0 * layer.astype(np.float64)) / 16.0).astype(np.float32)
    return layer


def balance(layer: Layer, deviations: NDArray[np.float64]) -> None:
    """Give each octave of a layer its standard deviation: the first is the finest, the last the remainder.

    An octave is the difference of two smoothings (Starck's a trous wavelets).
    """
    rest = layer.copy()
    layer[:] = 0.0
    last = len(deviations) - 1
    for k in range(len(deviations)):
        coarse = _smoothed(rest, 1 << k) if k < last else np.zeros_like(rest)
        octave = rest - coarse
        mean, deviation = _moments(octave)
        scale = deviations[k] / deviation if deviation > 0.0 else 0.0
        layer += ((octave.astype(np.float64) - mean) * scale).astype(np.float32)
        rest = coarse


def level(layer: Layer, shares: NDArray[np.float64], levels: NDArray[np.float64]) -> None:
    """Change a standardised layer's values, their order kept, so that `shares` of them lie below `levels` (both ascend)."""
    place = np.clip((layer.astype(np.float64) + _LIMIT) * (_BINS / (2.0 * _LIMIT)), 0.0, _BINS - 1.0)
    which = place.astype(np.int64)
    count = np.bincount(which.reshape(-1), minlength=_BINS)
    below = np.cumsum(count) - count
    share = (below[which] + count[which] * (place - which)) / layer.size
    k = np.searchsorted(shares[1:-1], share)
    part = (share - shares[k]) / (shares[k + 1] - shares[k])
    layer[:] = levels[k] + (levels[k + 1] - levels[k]) * part


def coloured(light: Layer, tint: Layer, middle: float, channels: NDArray[np.float64]) -> Texture:
    """Return uint8 (H, W, 3): the light's levels, to which `channels` (offset, by light less `middle`, by tint) are added."""
    light64, tint64 = light.astype(np.float64)[..., None], tint.astype(np.float64)[..., None]
    more = channels[:, 0] + channels[:, 1] * (light64 - middle) + channels[:, 2] * tint64
    return (np.clip(light64 + more, 0.0, 255.0) + 0.5).astype(np.uint8)
