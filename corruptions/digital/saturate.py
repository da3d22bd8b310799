"""The corruption `saturate`, which scales and shifts the HSV saturation."""

from __future__ import annotations

import functools

import numpy as np

from ...references import HENDRYCKS_2019
from ..kernels import kernel
from ..levels import ROUNDING, rounding_offset
from ..registry import Floats, Images, Keys, Parameter, choice, corruption


@functools.lru_cache(maxsize=64)
def _slopes(gain: float, shift: float) -> Floats:
    """Return a table of slopes K[value, delta], where `delta` is the largest channel of a pixel minus the smallest.

    A channel c of a pixel with the largest channel `value` becomes ``value - K * (value - c)``. K is 0 for grey pixels,
    whose channels are all equal.
    """
    value = np.arange(256.0)[:, None]
    delta = np.arange(256.0)[None, :]
    safe = np.where(delta == 0, 1.0, delta)
    saturation = np.clip(delta / np.where(value == 0, 1.0, value) * gain + shift, 0.0, 1.0)
    return np.ascontiguousarray(np.where((delta == 0) | (delta > value), 0.0, value * saturation / safe))


# Rounding errors must not floor a whole number to the next lower number.
_TIE = 1e-9
_LUMA = (0.2125, 0.7154, 0.0721)


@kernel
def _saturate(images, out, slopes, shift, half):  # type: ignore[no-untyped-def]
    source = images.reshape(-1, 3)
    target = out.reshape(-1, 3)
    tint = min(max(shift, 0.0), 1.0)
    for p in range(source.shape[0]):
        r, g, b = np.int64(source[p, 0]), np.int64(source[p, 1]), np.int64(source[p, 2])
        value = max(r, max(g, b))
        delta = value - min(r, min(g, b))
        top = np.float64(value)
        if delta == 0:
            low = np.uint8(top * (1.0 - tint) + half)
            target[p, 0] = value
            target[p, 1] = low
            target[p, 2] = low
        else:
            slope = slopes[value, delta]
            target[p, 0] = np.uint8(top - slope * (value - r) + half)
            target[p, 1] = np.uint8(top - slope * (value - g) + half)
            target[p, 2] = np.uint8(top - slope * (value - b) + half)


@kernel
def _scale_hsv(pixels, out, gain, shift, half):  # type: ignore[no-untyped-def]
    """Scale and shift the hue, saturation and value of pixels (P, 3).

    `out` is (P, 3), or (P, 1) for the luma of the result.
    """
    rgb = np.empty(3, np.float64)
    for p in range(pixels.shape[0]):
        r, g, b = pixels[p, 0] / 255.0, pixels[p, 1] / 255.0, pixels[p, 2] / 255.0
        value = max(r, max(g, b))
        delta = value - min(r, min(g, b))
        hue, saturation = 0.0, 0.0
        if delta > 0.0:
            saturation = delta / value
            if b == value:
                hue = 4.0 + (r - g) / delta
            elif g == value:
                hue = 2.0 + (b - r) / delta
            else:
                hue = (g - b) / delta
            hue = hue / 6.0 if hue >= 0.0 else hue / 6.0 + 1.0
        hue = min(max(hue * gain + shift, 0.0), 1.0) * 6.0
        saturation = min(max(saturation * gain + shift, 0.0), 1.0)
        value = min(max(value * gain + shift, 0.0), 1.0)
        sextant = np.int64(np.floor(hue))
        part = hue - sextant
        low = value * (1.0 - saturation)
        falling = value * (1.0 - part * saturation)
        rising = value * (1.0 - (1.0 - part) * saturation)
        sextant %= 6
        rgb[0] = value if sextant == 0 or sextant == 5 else falling if sextant == 1 else rising if sextant == 4 else low
        rgb[1] = value if sextant == 1 or sextant == 2 else rising if sextant == 0 else falling if sextant == 3 else low
        rgb[2] = value if sextant == 3 or sextant == 4 else rising if sextant == 2 else falling if sextant == 5 else low
        if out.shape[1] == 1:
            rgb[0] = rgb[0] * _LUMA[0] + rgb[1] * _LUMA[1] + rgb[2] * _LUMA[2]
        for c in range(out.shape[1]):
            level = min(rgb[c], 1.0) * 255.0
            out[p, c] = np.uint8(np.rint(np.float32(level))) if half == 0.5 else np.uint8(level + half)


@corruption(
    role="validation",
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, saturate (extra)",
    parameters=(
        Parameter("gain", float, 0.0, 1000.0, "factor on the HSV saturation"),
        Parameter("shift", float, -1.0, 1.0, "constant added to the HSV saturation after the factor"),
        choice(
            "scaled",
            ("saturation", "hsv"),
            "scaled channels: saturation only, or hsv (also hue and value, clipped) as in MNIST-C",
        ),
        ROUNDING,
    ),
    deterministic=True,
)
def saturate(
    images: Images, keys: Keys, *, gain: float, shift: float, scaled: str = "saturation", rounding: str = "floor"
) -> Images:
    """Scale and shift the HSV saturation and clip it to [0, 1].

    Hue and value do not change by default. Grey images have no saturation and are copied, unless hue and value are
    scaled too. In that case, they are converted to colour, and the result is the luma of the colour image (BT.709).

    Notes
    -----
    If hue and value do not change, the distances of all channels from the largest channel are multiplied by the same
    factor. The hue is therefore not computed. The result is ``c' = V - (V - c) * V S' / (V - min)``. Here V and min are
    the largest and the smallest channel, and S' is the new saturation. A grey pixel of a colour image has a hue of 0,
    so a positive shift makes it red, as in the published sets. If the exact result is a whole number, it is returned.
    In some of these cases, the released code returns a value that is lower by one, because it computes the hue and
    converts back.
    """
    more = rounding_offset(rounding) or _TIE
    out = np.empty_like(images)
    if images.shape[3] == 1:
        if scaled == "saturation":
            return images.copy()
        table = np.empty((256, 1), np.uint8)
        _scale_hsv(
            np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, axis=1), table, float(gain), float(shift), more
        )
        return np.asarray(table[:, 0][images])
    if scaled == "hsv":
        _scale_hsv(images.reshape(-1, 3), out.reshape(-1, 3), float(gain), float(shift), more)
    else:
        _saturate(images, out, _slopes(float(gain), float(shift)), float(shift), more)
    return out
