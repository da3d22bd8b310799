"""The corruption `spatter`, which adds drops of water or splashes of mud to the lens."""

from __future__ import annotations

import numpy as np

from ...references import HENDRYCKS_2019
from ..arithmetic import over_255
from ..border import EDGE, border_index, pad_row
from ..correlate import band_rows, correlate
from ..gaussian_filter import half_gaussian
from ..kernels import inlined, kernel
from ..levels import ROUNDING, rounding_offset
from ..random.normal import normal_layers, normal_table
from ..registry import Draw, Floats, Given, Images, Keys, Parameter, Shape, corruption
from .water import water_opacity

NORMALS_STREAM = 0
# Beyond this distance from its edge, in pixels, water has a constant depth.
_REACH = 20.0
# The kinds of results of `_smooth`.
_WATERY, _MUDDY, _SPLASH = 0, 1, 2
# Softened splashes of mud are set to 0 below this value.
_MIN_SPLASH = 0.8
# At larger scales the sum of the nine fixed-point distances for a 3x3 mean would not fit in 32 bits.
_MAX_SCALE = 180.0
_ZERO, _ONE, _FULL = np.float32(0.0), np.float32(1.0), np.float32(255.0)
# The colours are pale turquoise and brown. Grey images get their luma (BT.601).
_WATER = {3: (175 / 255.0, 238 / 255.0, 238 / 255.0), 1: (219.163 / 255.0,)}
_MUD = {3: (63 / 255.0, 42 / 255.0, 20 / 255.0)}


@kernel
def _smooth(layers, weights, threshold, kind, liquids, strengths):  # type: ignore[no-untyped-def]
    """Smooth layers (N, H, W) with edge padding, and apply the threshold.

    The output depends on `kind`. For water, it is 255 times the layer, floored, or 0 below the threshold. For mud, it
    is 1 above the threshold, and otherwise 0. Both results are written to `liquids`. For a splash, the output is the
    layer in single precision, or 0 below the threshold, and is written to `strengths`.
    """
    count, height, width = layers.shape
    radius = weights.size - 1
    band = band_rows(height, radius)
    tall = np.empty((band + 2 * radius) * width, np.float64)
    line = np.empty(width + 2 * radius, np.float64)
    down = line[radius : radius + width]
    smooth = np.empty(width, np.float64)
    faintest = np.float32(threshold)
    for i in range(count):
        for top in range(0, height, band):
            rows = min(band, height - top)
            for k in range(rows + 2 * radius):
                source = layers[i, border_index(top + k - radius, height, EDGE)]
                row = tall[k * width : (k + 1) * width]
                for x in range(width):
                    row[x] = source[x]
            for y in range(rows):
                correlate(tall, (radius + y) * width, width, weights, True, down)
                if kind == _SPLASH:
                    # The published filter stores its result between the two directions in single precision.
                    for x in range(width):
                        down[x] = np.float64(np.float32(down[x]))
                pad_row(line, radius, 1, EDGE)
                correlate(line, radius, 1, weights, True, smooth)
                liquid, strength = liquids[i, top + y], strengths[i, top + y]
                for x in range(width):
                    value = smooth[x]
                    if kind == _SPLASH:
                        strength[x] = np.float32(value) if np.float32(value) >= faintest else np.float32(0.0)
                    elif kind == _MUDDY:
                        liquid[x] = np.uint8(value > threshold)
                    else:
                        # The published cast keeps the low eight bits of values above 255.
                        liquid[x] = (
                            np.uint8(np.int32(value * 255.0) & np.int32(255)) if value >= threshold else np.uint8(0)
                        )


@inlined
def _mixed(level, strength, color, keep, half):  # type: ignore[no-untyped-def]
    value = over_255(level) * (_ONE - keep * strength) + color * strength
    return np.uint8(np.int32(min(max(value, _ZERO), _ONE) * _FULL + half))


@kernel
def _add_liquid(images, strengths, color, keep, half, out):  # type: ignore[no-untyped-def]
    """Mix a liquid into images, in single precision as published.

    A value x becomes x (1 - keep * strength) + color * strength, where keep is 0 or 1.
    """
    count, height, width, channels = images.shape
    first = color[0]
    for i in range(count):
        line = strengths[i].reshape(-1)
        source = images[i].reshape(-1)
        target = out[i].reshape(-1)
        if channels == 3:
            second, third = color[1], color[2]
            for x in range(np.uint64(height * width)):
                p = np.uint64(3) * x
                q, r = p + np.uint64(1), p + np.uint64(2)
                target[p] = _mixed(source[p], line[x], first, keep, half)
                target[q] = _mixed(source[q], line[x], second, keep, half)
                target[r] = _mixed(source[r], line[x], third, keep, half)
        else:
            for x in range(np.uint64(height * width)):
                target[x] = _mixed(source[x], line[x], first, keep, half)


def _magnification(liquid_scale: float) -> float:
    return min(float(liquid_scale), _MAX_SCALE)


def _grain(parameters: Given) -> float:
    """Return the standard deviation of the random layer."""
    return float(parameters["std"]) * _magnification(parameters.get("liquid_scale", 1.0))


def _draw_layers(keys: Keys, shape: Shape, parameters: Given) -> Floats:
    """Draw each image's layer from a normal distribution."""
    layers = normal_layers(
        *shape[:2], float(parameters["mean"]), _grain(parameters), *keys, NORMALS_STREAM, normal_table()
    )
    return np.asarray(layers)


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, spatter (extra)",
    parameters=(
        Parameter("mean", float, -10.0, 10.0, "mean of the random layer"),
        Parameter("std", float, 0.0, 10.0, "standard deviation of the random layer"),
        Parameter("sigma", low=0.0, high=200.0, length=True, about="standard deviation of the smoothing in pixels"),
        Parameter("threshold", float, 0.0, 10.0, "value of the random layer above which there is liquid"),
        Parameter("intensity", float, 0.0, 20.0, "opacity of water, or smoothing of mud in pixels"),
        Parameter("mud", int, 0, 1, "0 for water, 1 for mud"),
        Parameter(
            "liquid_scale",
            low=0.02,
            high=_MAX_SCALE,
            length=True,
            default=1.0,
            option=True,
            about="magnification of the fixed distances; 1 as published",
        ),
        Parameter(
            "grey_mud",
            low=0.0,
            high=255.0,
            default=45.771,
            option=True,
            about="grey value of mud in grey images; by default its luma",
        ),
        ROUNDING,
    ),
    draws=(
        Draw(
            "normals",
            "layer of standard normal numbers (H, W), before mean and std",
            _draw_layers,
            lambda shape, _: shape[:2],
            low=-1e6,
            high=1e6,
            check=lambda normals, _, parameters: np.asarray(parameters["mean"] + _grain(parameters) * normals),
        ),
    ),
    scratch_per_pixel=8,
    role="validation",
)
def spatter(
    images: Images,
    keys: Keys,
    *,
    mean: float,
    std: float,
    sigma: float,
    threshold: float,
    intensity: float,
    mud: int,
    liquid_scale: float = 1.0,
    grey_mud: float = 45.771,
    rounding: str = "floor",
    normals: Floats,
) -> Images:
    """Add spatters of water (pale turquoise) or mud (brown) to the image.

    Water is added to the image, and mud covers it. The random layer is smoothed by a gaussian that is cut off at 4
    sigma, with edge padding.

    Notes
    -----
    One standard normal number per pixel is drawn at random.

    `liquid_scale` magnifies the softening of mud, the standard deviation of the layer, and the distance from the edge
    at which water stops deepening. Without magnification, this distance is 20 pixels. Depth is always measured in
    twentieths of the distance. If the smoothing grows by the same factor, the layer therefore keeps its contrast.
    ``scale="side"`` thus magnifies the drops without thinning them out.

    If no value is above the threshold, the published code divides by zero and stores black. Here the image does not
    change. Grey images get the luma of the liquid's colour. Distances are 5x5 chamfer distances (1, 1.4, 2.1969) in
    fixed point, as OpenCV computes them without Intel's primitives (IPP).

    References
    ----------
    Borgefors 1986, Distance Transformations in Digital Images.
    """
    magnified = _magnification(liquid_scale)
    weights = half_gaussian(float(sigma))
    color = np.array((_MUD | {1: (grey_mud / 255.0,)} if mud else _WATER)[images.shape[3]], np.float32)
    liquids, strengths = np.empty(normals.shape, np.uint8), np.empty(normals.shape, np.float32)
    _smooth(normals, weights, float(threshold), _MUDDY if mud else _WATERY, liquids, strengths)
    if mud:
        softness = half_gaussian(float(intensity) * magnified)
        _smooth(liquids.astype(np.float64), softness, _MIN_SPLASH, _SPLASH, liquids, strengths)
    else:
        strengths = water_opacity(liquids, _REACH * magnified, float(intensity))
    out = np.empty_like(images)
    _add_liquid(images, strengths, color, np.float32(mud), np.float32(rounding_offset(rounding)), out)
    return out
