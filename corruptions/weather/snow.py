"""The corruption `snow`, which adds streaked flakes to a whitened image of any size."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from ...references import HENDRYCKS_2019
from ..arithmetic import double_over_255, over_255
from ..blur.motion import motion_filter
from ..kernels import inlined, kernel
from ..levels import ROUNDING, rounding_offset
from ..random.normal import normal_layers, normal_table
from ..registry import Draw, Floats, Given, Images, Int64Array, Keys, Parameter, Shape, corruption

NORMALS_STREAM = 0
ANGLE_STREAM = 1
_CHUNK_PIXELS = 512  # This number of pixels is processed together.


class Magnified(NamedTuple):
    """The sampling positions for one side of the magnified layer."""

    crop: int
    """The length of the middle part that is magnified, in pixels."""
    start: int
    """The first pixel of the middle part."""
    before: Int64Array
    """For each output pixel, the nearest pixel of the crop that is not after it."""
    fraction: Floats
    """For each output pixel, its distance from the pixel in `before`, in [0, 1]."""


@functools.lru_cache(maxsize=64)
def magnified(side: int, zoom: float) -> Magnified:
    """Return the sampling positions that magnify the middle of a side.

    The middle ``ceil(side / zoom)`` pixels are the crop. They are stretched over ``round(crop * zoom)`` pixels, and the
    middle `side` pixels of the result are kept.
    """
    crop = math.ceil(side / zoom)
    length = max(round(crop * zoom), side)
    step = (crop - 1) / (length - 1)
    place = (np.arange(side) + (length - side) // 2) * step
    index = np.minimum(np.floor(place), max(crop - 2, 0))
    # Rounding errors can put the last position beyond the last pixel.
    fraction = np.minimum(place - index, 1.0)
    return Magnified(crop, (side - crop) // 2, index.astype(np.int64), fraction)


@kernel
def _magnify(crops, threshold, rows, row_shares, columns, column_shares):  # type: ignore[no-untyped-def]
    """Magnify crops (N, h, w) of normal numbers to layers (N, H, W, 1) of uint8.

    Values below the threshold become 0, and the others are floored.
    """
    count, depth, breadth = crops.shape
    height, width = rows.size, columns.size
    out = np.empty((count, height, width, 1), np.uint8)
    wide = np.empty((depth, width), np.float64)
    for i in range(count):
        for y in range(depth):
            line = crops[i, y]
            target = wide[y]
            for x in range(width):
                left = columns[x]
                share = column_shares[x]
                after = left + 1 if left + 1 < breadth else breadth - 1
                target[x] = line[left] * (1.0 - share) + line[after] * share
        for y in range(height):
            at = rows[y]
            upper, lower = wide[at], wide[at + 1 if at + 1 < depth else depth - 1]
            share = row_shares[y]
            rest = 1.0 - share
            flakes = out[i, y].reshape(width)
            for x in range(width):
                value = upper[x] * rest + lower[x] * share
                value = min(max(value, 0.0), 1.0) if value >= threshold else 0.0
                flakes[x] = np.uint8(np.int32(value * 255.0))
    return out


@inlined
def _snowed(value, pale, keep, rest, once, turned, half):  # type: ignore[no-untyped-def]
    """Whiten a value and add the values of the layer and of the rotated layer."""
    whitened = keep * value + rest * max(value, pale)
    total = np.float64(whitened) + once + turned  # All terms are at least 0, so only the upper end is clipped.
    return np.uint8(np.int32(min(total, 1.0) * 255.0 + half))


@kernel
def _add_flakes(images, layers, mix, half, out):  # type: ignore[no-untyped-def]
    """Whiten images, and add their layer and the same layer rotated by 180 degrees."""
    count, height, width, channels = images.shape
    pixels = height * width
    once = np.empty(_CHUNK_PIXELS, np.float64)
    turned = np.empty(_CHUNK_PIXELS, np.float64)
    keep = np.float32(mix)
    rest = np.float32(1.0 - mix)
    red, green, blue = np.float32(0.299), np.float32(0.587), np.float32(0.114)
    boost, lift = np.float32(1.5), np.float32(0.5)
    for i in range(count):
        layer = layers[i].reshape(pixels)
        whole, snowy = images[i].reshape(-1), out[i].reshape(-1)
        for start in range(0, pixels, _CHUNK_PIXELS):
            size = min(_CHUNK_PIXELS, pixels - start)
            upright = layer[start : start + size]
            # Reading the layer backwards rotates it by 180 degrees.
            inverted = layer[pixels - start - size : pixels - start]
            for x in range(np.uint64(size)):
                once[x] = double_over_255(upright[x])
                turned[x] = double_over_255(inverted[np.uint64(size - 1) - x])
            source = whole[start * channels : (start + size) * channels]
            target = snowy[start * channels : (start + size) * channels]
            if channels == 3:
                for x in range(np.uint64(size)):
                    p = np.uint64(3) * x
                    r, g, b = (
                        over_255(source[p]),
                        over_255(source[p + np.uint64(1)]),
                        over_255(source[p + np.uint64(2)]),
                    )
                    pale = (r * red + g * green + b * blue) * boost + lift
                    target[p] = _snowed(r, pale, keep, rest, once[x], turned[x], half)
                    target[p + np.uint64(1)] = _snowed(g, pale, keep, rest, once[x], turned[x], half)
                    target[p + np.uint64(2)] = _snowed(b, pale, keep, rest, once[x], turned[x], half)
            else:
                for x in range(np.uint64(size)):
                    value = over_255(source[x])
                    target[x] = _snowed(value, value * boost + lift, keep, rest, once[x], turned[x], half)


def _grid(shape: Shape, parameters: Given) -> tuple[Magnified, Magnified]:
    return magnified(shape[0], float(parameters["zoom"])), magnified(shape[1], float(parameters["zoom"]))


def _draw_layers(keys: Keys, shape: Shape, parameters: Given) -> Floats:
    """Draw the middle part of each image's layer from a normal distribution."""
    rows, columns = _grid(shape, parameters)
    normal = float(parameters["mean"]), float(parameters["std"])
    return np.asarray(normal_layers(rows.crop, columns.crop, *normal, *keys, NORMALS_STREAM, normal_table()))


def _given_layer(normals: Floats, shape: Shape, parameters: Given) -> Floats:
    middle = tuple(slice(side.start, side.start + side.crop) for side in _grid(shape, parameters))
    return np.asarray(parameters["mean"] + parameters["std"] * normals[middle])


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, snow and clipped_zoom",
    parameters=(
        Parameter("mean", float, -10.0, 10.0, "mean of the random layer"),
        Parameter("std", float, 0.0, 10.0, "standard deviation of the random layer"),
        Parameter(
            "zoom",
            low=1.0,
            high=200.0,
            length=True,
            at_least=1.0,
            about="magnification of the layer, and so the size of flakes",
        ),
        Parameter("threshold", float, 0.0, 10.0, "minimum value of a flake in the random layer"),
        Parameter("radius", low=0.01, high=1000.0, length=True, at_least=0.01, about="length of the streaks in pixels"),
        Parameter(
            "sigma", low=0.01, high=1000.0, length=True, at_least=0.01, about="width of the streaks' gaussian in pixels"
        ),
        Parameter("mix", float, 0.0, 1.0, "weight of the image, against the whitened image"),
        ROUNDING,
    ),
    draws=(
        Draw(
            "normals",
            "layer of standard normal numbers (H, W), before mean and std; its middle is magnified",
            _draw_layers,
            lambda shape, _: shape[:2],
            low=-1e6,
            high=1e6,
            check=_given_layer,
        ),
        Draw(
            "angle_deg",
            "angle of the streaks in degrees",
            lambda keys, *_: keys.uniforms(stream=ANGLE_STREAM, low=-135.0, high=-45.0),
            low=-36000.0,
            high=36000.0,
        ),
    ),
    scratch_per_pixel=4,
)
def snow(
    images: Images,
    keys: Keys,
    *,
    mean: float,
    std: float,
    zoom: float,
    threshold: float,
    radius: float,
    sigma: float,
    mix: float,
    rounding: str = "floor",
    normals: Floats,
    angle_deg: Floats,
) -> Images:
    """Add streaked flakes of snow to the whitened image.

    The flakes are magnified random noise. Their layer is added twice, the second time rotated by 180 degrees.

    Notes
    -----
    A standard normal number is drawn at random for each pixel in the middle part of the layer. One angle per image is
    drawn uniformly on [-135, -45) degrees.

    The image is whitened by ``max(x, 1.5 * luma + 0.5)``, where the luma of a grey image is its grey value. As
    published, the layer is magnified linearly and floored to bytes before motion blur streaks it (see `motion_blur`).
    For images that are not square, the layer is magnified separately along its height and its width.
    """
    rows, columns = _grid(images.shape[1:], {"zoom": zoom})
    layers = _magnify(normals, float(threshold), rows.before, rows.fraction, columns.before, columns.fraction)
    out = np.empty_like(images)
    _add_flakes(images, motion_filter(layers, radius, sigma, angle_deg), float(mix), rounding_offset(rounding), out)
    return out
