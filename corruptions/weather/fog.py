"""Fog: plasma laid over the image, at any size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...references import HENDRYCKS_2019
from ..kernels import inlined, kernel, portions
from ..keys import Keys
from ..registry import Draw, Images, Parameter, Shape, corruption
from ..rounding import ROUNDING, half
from .plasma import grow_plasmas, plasma_side

PLASMA_STREAM = 0
_AT_ONCE = 1024  # about so many pixels at a time


def _given_plasma(value: Any, shape: Shape, parameters: Mapping[str, Any]) -> NDArray[np.float32]:
    array = np.asarray(value)
    least = max(shape[:2])
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] < least:
        raise ValueError(f"got shape {array.shape}, expected (M, M) with M at least {least}")
    if array.dtype.kind not in "iuf":
        raise ValueError(f"got dtype {array.dtype}, expected float32")
    if not (array.min() >= 0 and array.max() <= 1):
        raise ValueError(f"got values from {array.min()} to {array.max()}, expected 0 to 1")
    return np.array(array[: shape[0], : shape[1]], np.float32, order="C")


@inlined
def _hazed(level, image_factor, haze, half):  # type: ignore[no-untyped-def]
    return np.uint8(np.int32(np.float32(level) * image_factor + haze + half))


@kernel
def _lay(images, maps, ranges, weight, half, out):  # type: ignore[no-untyped-def]
    """Lay maps over images; `ranges` holds each map's least value and span. One map serves all images, or each has its own."""
    count, height, width, channels = images.shape
    band = min(max(_AT_ONCE // width, 1), height)
    haze = np.empty(band * width, np.float32)
    for i in range(count):
        most = np.uint8(0)
        for value in images[i].reshape(-1):
            most = value if value > most else most
        # The result never exceeds the image's own maximum.
        top = np.float64(most) / 255.0
        factor = top / (top + weight) if most > 0 else 0.0
        image_factor, haze_factor = np.float32(factor), np.float32(factor * weight * 255.0)
        m = i if maps.shape[0] > 1 else 0
        least, span = ranges[m, 0], ranges[m, 1]
        for first in range(0, height, band):
            last = min(first + band, height)
            for y in range(first, last):
                row, line = maps[m, y, :width], haze[(y - first) * width : (y - first + 1) * width]
                for x in range(np.uint64(width)):
                    line[x] = (row[x] - least) / span * haze_factor
            source = images[i, first:last].reshape(-1)
            target = out[i, first:last].reshape(-1)
            if channels == 3:
                # Unsigned indices spare numba the check for negative ones.
                for x in range(np.uint64((last - first) * width)):
                    p = np.uint64(3) * x
                    target[p] = _hazed(source[p], image_factor, haze[x], half)
                    target[p + np.uint64(1)] = _hazed(source[p + np.uint64(1)], image_factor, haze[x], half)
                    target[p + np.uint64(2)] = _hazed(source[p + np.uint64(2)], image_factor, haze[x], half)
            else:
                for x in range(np.uint64((last - first) * width)):
                    target[x] = _hazed(source[x], image_factor, haze[x], half)


@corruption(
    revision=1,
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, fog and plasma_fractal",
    parameters=(
        Parameter("weight", low=0.0, high=100.0, about="weight of the fog beside the image's"),
        Parameter("wibble_decay", low=1.0, high=16.0, about="by which the roughness is divided from octave to octave"),
        Parameter(
            "map_side",
            kind=int,
            low=1,
            high=65536,
            option=True,
            shapes_draws=True,
            about="least side of the drawn map, of which the image gets the upper left part; by default the longer side",
        ),
        ROUNDING,
    ),
    draws=(Draw("plasma", "a square map (M, M) in [0, 1], M at least the longer side; its upper left part is used", _given_plasma),),
)
def fog(
    images: Images,
    keys: Keys,
    *,
    weight: float,
    wibble_decay: float,
    map_side: int | None = None,
    rounding: str = "floor",
    plasma: NDArray[np.float32] | None = None,
) -> Images:
    """Lay fog over images: plasma added in proportion, then scaled back to the image's own maximum.

    ``floor((x + weight * plasma) * m / (m + weight))`` with x in [0, 1] and m the image's maximum, times 255. A black image stays black.

    Notes
    -----
    Drawn at random: one plasma map an image, by diamond-square on a torus, uniform offsets, normalised to [0, 1] over
    the whole map; an octave's offsets are ``wibble_decay**2`` times weaker than those of the one before. The map's side is the
    next power of two that is at least `map_side` and the longer side, and the image gets its
    upper left part; so its statistics jump where the longer side passes a power of two, and ``scale="side"`` changes
    nothing. At 224 and 32 the map is the published 256 and 32. MNIST-C's is 256, so its images get a nearly flat corner.

    References
    ----------
    Fournier, Fussell & Carpenter 1982, Computer Rendering of Stochastic Models.
    """
    out = np.empty_like(images)
    more = np.float32(half(rounding))
    if plasma is not None:
        _lay(images, plasma[None], np.array([[0.0, 1.0]], np.float32), float(weight), more, out)
        return out
    side = plasma_side(max(images.shape[1:3]), map_side or 1)
    for batch in portions(len(images), side * side):
        maps, ranges = grow_plasmas(side, float(wibble_decay), keys.stage, keys.samples[batch], PLASMA_STREAM)
        _lay(images[batch], maps, ranges, float(weight), more, out[batch])
    return out
