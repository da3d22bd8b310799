"""Spatter: drops of water or splashes of mud on the lens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import over_255
from ..kernels import inlined, kernel, portions
from ..keys import Keys
from ..pairs import LANES, filter_rows
from ..random.normal import normal_layers, normal_table
from ..registry import Draw, Images, Parameter, corruption, given_array
from ..rounding import ROUNDING, half
from .edges import canny
from .smooth import half_weights
from .water import deepen

NORMALS_STREAM = 0
# Pixels from its edge at which water stops deepening
_REACH = 20.0
# What a layer of liquid is smoothed for, see `_smooth`
_WATERY, _MUDDY, _SPLASH = 0, 1, 2
# Splashes of mud weaker than this, once softened, are not seen
_FAINTEST = 0.8
# Beyond this the nine fixed-point distances of a 3x3 mean would not fit in 32 bits.
_LARGEST_SCALE = 180.0
# What a pixel passes through on its way, in doubles
_BUFFERS = 8
# About how many values are smoothed at a time
_VALUES = 1 << 13
_ZERO, _ONE, _FULL = np.float32(0.0), np.float32(1.0), np.float32(255.0)
# Pale turquoise and mud brown; in grey images the luma of each (BT.601)
_WATER = {3: (175 / 255.0, 238 / 255.0, 238 / 255.0), 1: (219.163 / 255.0,)}
_MUD = {3: (63 / 255.0, 42 / 255.0, 20 / 255.0)}


@kernel
def _smooth(layers, weights, threshold, kind, liquids, strengths):  # type: ignore[no-untyped-def]
    """Smooth layers (N, H, W); what is below the threshold is 0.

    By `kind`: water's liquid is 255 times the layer, floored; mud's is 1 above the threshold; both go to `liquids`. A
    splash's strength is the layer itself, in single precision, and goes to `strengths`.
    """
    count, height, width = layers.shape
    radius = weights.size - 1
    # The pixel itself, then pairs from the outermost inwards, as in the published filter
    taps = np.empty(radius + 1, np.float64)
    down, up = np.empty(radius, np.int64), np.empty(radius, np.int64)
    ahead, back = np.empty(radius, np.int64), np.empty(radius, np.int64)
    taps[0] = weights[0]
    for k in range(radius):
        taps[k + 1] = weights[radius - k]
        down[k], up[k] = (radius - k) * width, (k - radius) * width
        ahead[k], back[k] = radius - k, k - radius
    # Bands of rows, with those above and below that are in reach; edges are repeated
    band = min(max(_VALUES // width - 2 * radius, 2 * radius), height)
    wide = width + 2 * radius
    tall = np.zeros((band + 2 * radius) * width + LANES, np.float64)
    padded = np.zeros(band * wide + LANES, np.float64)
    smooth = np.empty(band * width + LANES, np.float64)
    faintest = np.float32(threshold)
    for i in range(count):
        for top in range(0, height, band):
            rows = min(band, height - top)
            for k in range(rows + 2 * radius):
                source = layers[i, min(max(top + k - radius, 0), height - 1)]
                line = tall[k * width : (k + 1) * width]
                for x in range(np.uint64(width)):
                    line[x] = source[x]
            filter_rows(tall, radius * width, width, up, down, taps, padded, radius, wide, rows, width)
            if kind == _SPLASH:
                # The published filter keeps its result between the two directions in single precision.
                for p in range(np.uint64(rows * wide)):
                    padded[p] = np.float64(np.float32(padded[p]))
            for y in range(rows):
                line = padded[y * wide : (y + 1) * wide]
                for x in range(np.uint64(radius)):
                    line[x] = line[np.uint64(radius)]
                    line[np.uint64(radius + width) + x] = line[np.uint64(radius + width - 1)]
            filter_rows(padded, radius, wide, back, ahead, taps, smooth, np.int64(0), width, rows, width)
            if kind == _SPLASH:
                strength = strengths[i, top : top + rows].reshape(-1)
                for p in range(np.uint64(strength.size)):
                    value = np.float32(smooth[p])
                    strength[p] = value if value >= faintest else np.float32(0.0)
            elif kind == _MUDDY:
                target = liquids[i, top : top + rows].reshape(-1)
                for p in range(np.uint64(target.size)):
                    target[p] = np.uint8(1) if smooth[p] > threshold else np.uint8(0)
            else:
                target = liquids[i, top : top + rows].reshape(-1)
                for p in range(np.uint64(target.size)):
                    # The published cast keeps the low eight bits of what exceeds 255.
                    level = np.uint8(np.int32(smooth[p] * 255.0) & np.int32(255))
                    target[p] = level if smooth[p] >= threshold else np.uint8(0)


@inlined
def _mixed(level, strength, color, keep, half):  # type: ignore[no-untyped-def]
    value = over_255(level) * (_ONE - keep * strength) + color * strength
    return np.uint8(np.int32(min(max(value, _ZERO), _ONE) * _FULL + half))


@kernel
def _add_liquid(images, strengths, color, keep, half, out):  # type: ignore[no-untyped-def]
    """x (1 - keep * strength) + color * strength, in single precision as published, floored; keep is 0 or 1.

    One layer of strengths serves all images, or each has its own.
    """
    count, height, width, channels = images.shape
    first = color[0]
    for i in range(count):
        line = strengths[i if strengths.shape[0] > 1 else 0].reshape(-1)
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


@corruption(
    family="weather",
    revision=1,
    reference="Hendrycks & Dietterich 2019, ImageNet-C; released make_imagenet_c.py, spatter",
    parameters=(
        Parameter("mean", low=-10.0, high=10.0, about="mean of the liquid layer's normals"),
        Parameter("std", low=0.0, high=10.0, about="their standard deviation"),
        Parameter("sigma", low=0.0, high=200.0, length=True, about="by which the layer is smoothed, pixels"),
        Parameter("threshold", low=0.0, high=10.0, about="below which there is no liquid"),
        Parameter("intensity", low=0.0, high=20.0, about="water: its opacity; mud: by which it is smoothed, pixels"),
        Parameter("mud", kind=int, low=0, high=1, about="0 water, 1 mud"),
        Parameter(
            "liquid_scale",
            low=0.02,
            high=_LARGEST_SCALE,
            length=True,
            default=1.0,
            option=True,
            about="magnification of the liquid's fixed distances; 1 as published",
        ),
        Parameter("grey_mud", low=0.0, high=255.0, default=45.771, option=True, about="level of mud in grey images; by default its luma"),
        ROUNDING,
    ),
    draws=(
        Draw(
            "normals",
            "the liquid layer as standard normals (H, W), before mean and std",
            given_array(lambda shape, _: shape[:2], np.float64, -1e6, 1e6),
        ),
    ),
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
    normals: NDArray[np.float64] | None = None,
) -> Images:
    """Spatter water or mud over images.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8, RGB or grey
    keys : Keys
    mean, std : float
        Of the liquid layer's normals.
    sigma : float
        Pixels; the layer is smoothed by a gaussian (cut off after 4 sigma, edges repeated).
    threshold : float
        At least 0; below it there is no liquid.
    intensity : float
        Water: opacity of the deepest point. Mud: pixels, the gaussian that softens the splashes.
    mud : {0, 1}
        0 water, 1 mud.
    liquid_scale : float
        Magnifies what else is counted in pixels: the 20 from its edge at which water stops deepening (depth is always
        counted in twentieths of them), mud's softening, and the grain of the normals, whose standard deviation is
        multiplied: so a layer that is smoothed by as much more has the same contrast as before. With it
        ``scale="side"`` magnifies the drops without thinning them out.
    grey_mud : float
        0..255, the level of mud in grey images: the luma of its brown by default, and the brown's red, 63, in MNIST-C.
    rounding : {"floor", "round"}
        How the result becomes whole: floored, as ImageNet-C's generator does, or rounded, as MNIST-C's.
    normals : (H, W) ndarray of float64, optional
        Standard normals, drawn if not given.

    Returns
    -------
    (N, H, W, C) ndarray of uint8
        Water is added in pale turquoise, mud covers in brown; floored.

    Notes
    -----
    Drawn at random: one standard normal a pixel.

    Departures: where no drop at all is above the threshold the published code divides by zero and stores black; here
    the image stays. Grey images get the luma of the liquid's colour. Distances are the 5x5 chamfer (1, 1.4, 2.1969) in
    fixed point, as the published code's library computes them without its vendor's primitives.

    References
    ----------
    Hendrycks & Dietterich 2019, ImageNet-C; released make_imagenet_c.py, ``spatter``. Borgefors 1986 for the chamfer.
    """
    count, height, width, channels = images.shape
    magnified = min(float(liquid_scale), _LARGEST_SCALE)
    grain = float(std) * magnified
    weights = half_weights(float(sigma))
    softness = half_weights(float(intensity) * magnified) if mud else weights
    color = np.array((_MUD | {1: (grey_mud / 255.0,)} if mud else _WATER)[channels], np.float32)
    more = np.float32(half(rounding))
    out = np.empty_like(images)
    for some in portions(count, _BUFFERS * height * width) if normals is None else (slice(0, count),):
        if normals is None:
            layers = normal_layers(height, width, float(mean), grain, keys.stage, keys.samples[some], NORMALS_STREAM, normal_table())
        else:
            layers = np.ascontiguousarray(mean + grain * normals)[None]
        liquids = np.empty(layers.shape, np.uint8)
        strengths = np.empty(layers.shape, np.float32)
        _smooth(layers, weights, float(threshold), _MUDDY if mud else _WATERY, liquids, strengths)
        if mud:
            _smooth(liquids.astype(np.float64), softness, _FAINTEST, _SPLASH, liquids, strengths)
        else:
            edges = np.empty_like(liquids)
            canny(liquids, 50, 150, edges)
            strengths = deepen(liquids, edges, _REACH * magnified, float(intensity))
        _add_liquid(images[some], strengths, color, np.float32(mud), more, out[some])
    return out
