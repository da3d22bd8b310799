"""How a drawn layer gets the figures of a photograph: contrast at each scale, levels, colour. + - * / and sqrt only."""

from __future__ import annotations

import math

import numpy as np

from ..kernels import inner, kernel

_BINS = 8192
_LIMIT = 8.0


@inner
def _moments(layer):  # type: ignore[no-untyped-def]
    """Return mean and standard deviation, summed in one fixed order."""
    total = 0.0
    for y in range(layer.shape[0]):
        for x in range(layer.shape[1]):
            total += layer[y, x]
    mean = total / layer.size
    square = 0.0
    for y in range(layer.shape[0]):
        for x in range(layer.shape[1]):
            d = layer[y, x] - mean
            square += d * d
    return mean, math.sqrt(square / layer.size)


@kernel
def standardise(layer):  # type: ignore[no-untyped-def]
    """Shift and scale a layer to mean 0 and standard deviation 1."""
    mean, deviation = _moments(layer)
    scale = 1.0 / deviation if deviation > 0.0 else 0.0
    for y in range(layer.shape[0]):
        for x in range(layer.shape[1]):
            layer[y, x] = np.float32((layer[y, x] - mean) * scale)


@kernel
def add(layer, other, weight):  # type: ignore[no-untyped-def]
    """Add `weight` times another layer."""
    for y in range(layer.shape[0]):
        for x in range(layer.shape[1]):
            layer[y, x] += np.float32(weight * other[y, x])


@kernel
def swell(layer, other, strength):  # type: ignore[no-untyped-def]
    """Make a layer's contrast greater where another is high and less where that is low."""
    for y in range(layer.shape[0]):
        for x in range(layer.shape[1]):
            layer[y, x] *= np.float32(max(1.0 + strength * other[y, x], 0.15))


@inner
def _smoothed(layer, step, aside, out):  # type: ignore[no-untyped-def]
    """Smooth by the weights 1 4 6 4 1, `step` pixels apart, along rows and columns; edges are repeated."""
    rows, columns = layer.shape
    for y in range(rows):
        for x in range(columns):
            far = layer[y, max(x - 2 * step, 0)] + layer[y, min(x + 2 * step, columns - 1)]
            near = layer[y, max(x - step, 0)] + layer[y, min(x + step, columns - 1)]
            aside[y, x] = np.float32((far + 4.0 * near + 6.0 * layer[y, x]) / 16.0)
    for y in range(rows):
        above, below = max(y - step, 0), min(y + step, rows - 1)
        higher, lower = max(y - 2 * step, 0), min(y + 2 * step, rows - 1)
        for x in range(columns):
            far = aside[higher, x] + aside[lower, x]
            near = aside[above, x] + aside[below, x]
            out[y, x] = np.float32((far + 4.0 * near + 6.0 * aside[y, x]) / 16.0)


@kernel
def balance(layer, deviations):  # type: ignore[no-untyped-def]
    """Give each octave of a layer its standard deviation: the first is the finest, the last what is left of all.

    An octave is the difference of two smoothings (Starck's a trous wavelets).
    """
    rest = layer.copy()
    coarse = np.empty_like(layer)
    aside = np.empty_like(layer)
    for y in range(layer.shape[0]):
        for x in range(layer.shape[1]):
            layer[y, x] = np.float32(0.0)
    last = deviations.size - 1
    for k in range(deviations.size):
        if k < last:
            _smoothed(rest, np.int64(1) << k, aside, coarse)
        for y in range(layer.shape[0]):
            for x in range(layer.shape[1]):
                aside[y, x] = rest[y, x] - coarse[y, x] if k < last else rest[y, x]
        mean, deviation = _moments(aside)
        scale = deviations[k] / deviation if deviation > 0.0 else 0.0
        for y in range(layer.shape[0]):
            for x in range(layer.shape[1]):
                layer[y, x] += np.float32((aside[y, x] - mean) * scale)
                rest[y, x] = coarse[y, x]


@kernel
def level(layer, shares, levels):  # type: ignore[no-untyped-def]
    """Change a standardised layer's values, their order kept, so that `shares` of them lie below `levels` (both ascend)."""
    scale = _BINS / (2.0 * _LIMIT)
    below = np.zeros(_BINS + 1, np.int64)
    for y in range(layer.shape[0]):
        for x in range(layer.shape[1]):
            place = min(max((layer[y, x] + _LIMIT) * scale, 0.0), _BINS - 1.0)
            below[np.int64(place) + 1] += 1
    for k in range(_BINS):
        below[k + 1] += below[k]
    for y in range(layer.shape[0]):
        for x in range(layer.shape[1]):
            place = min(max((layer[y, x] + _LIMIT) * scale, 0.0), _BINS - 1.0)
            b = np.int64(place)
            share = (below[b] + (below[b + 1] - below[b]) * (place - b)) / layer.size
            j = np.int64(1)
            while j < shares.size - 1 and share > shares[j]:
                j += 1
            part = (share - shares[j - 1]) / (shares[j] - shares[j - 1])
            layer[y, x] = np.float32(levels[j - 1] + (levels[j] - levels[j - 1]) * part)


@kernel
def coloured(light, tint, middle, channels):  # type: ignore[no-untyped-def]
    """Return uint8 (H, W, 3): the light's levels, to which `channels` (offset, by light less `middle`, by tint) are added."""
    rows, columns = light.shape
    out = np.empty((rows, columns, 3), np.uint8)
    for y in range(rows):
        for x in range(columns):
            for c in range(3):
                more = channels[c, 0] + channels[c, 1] * (light[y, x] - middle) + channels[c, 2] * tint[y, x]
                out[y, x, c] = np.uint8(min(max(light[y, x] + more, 0.0), 255.0) + 0.5)
    return out
