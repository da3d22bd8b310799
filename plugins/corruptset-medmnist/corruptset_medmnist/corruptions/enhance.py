"""Change brightness, contrast, gamma and saturation."""

from __future__ import annotations

import functools
from decimal import Context, Decimal

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.keys import Keys
from corruptset.corruptions.levels import look_up
from corruptset.corruptions.registry import Images, Parameter, corruption

from .rgb import REFERENCE, as_rgb, luma

_UP = (Parameter("factor", low=1.0, high=1000.0, about="factor on the distance of each value to the reference value"),)
_DOWN = (Parameter("factor", low=0.0, high=1.0, about="factor on the distance of each value to the reference value"),)
_BRIGHTNESS = f"{REFERENCE}, Brightness (Pillow's ImageEnhance.Brightness)"
_CONTRAST = f"{REFERENCE}, Contrast (Pillow's ImageEnhance.Contrast)"
_GAMMA = f"{REFERENCE}, GammaCorrection (torchvision's adjust_gamma)"


def _blend(reference: int, factor: float) -> NDArray[np.uint8]:
    """Return a table of the results of Pillow's ``Image.blend`` for a reference value and every grey value."""
    # Pillow computes in single precision.
    distance = np.arange(256, dtype=np.float32) - np.float32(reference)
    mixed = np.float32(reference) + np.float32(factor) * distance
    return np.asarray(np.clip(mixed, 0, 255), np.uint8)


def _contrasted(images: Images, factor: float) -> Images:
    out = np.empty_like(images)
    for image, target in zip(images, out, strict=True):
        grey = luma(image) if image.shape[2] == 3 else image
        mean = (2 * int(grey.sum(dtype=np.int64)) + grey.size) // (2 * grey.size)
        target[:] = look_up(image[None], _blend(mean, factor))[0]
    return out


@corruption(reference=_BRIGHTNESS, parameters=_UP, deterministic=True)
def brightness_up(images: Images, keys: Keys, *, factor: float) -> Images:
    """Multiply every value by a factor of at least 1, and round down."""
    return look_up(images, _blend(0, factor))


@corruption(reference=_BRIGHTNESS, parameters=_DOWN, deterministic=True)
def brightness_down(images: Images, keys: Keys, *, factor: float) -> Images:
    """Multiply every value by a factor of at most 1, and round down."""
    return look_up(images, _blend(0, factor))


@corruption(reference=_CONTRAST, parameters=_UP, deterministic=True)
def contrast_up(images: Images, keys: Keys, *, factor: float) -> Images:
    """Increase the distance of every value from the image's mean grey value, which is rounded to a whole number."""
    return _contrasted(images, factor)


@corruption(reference=_CONTRAST, parameters=_DOWN, deterministic=True)
def contrast_down(images: Images, keys: Keys, *, factor: float) -> Images:
    """Decrease the distance of every value from the image's mean grey value, which is rounded to a whole number."""
    return _contrasted(images, factor)


@functools.lru_cache(maxsize=32)
def _gamma_table(exponent: float) -> NDArray[np.uint8]:
    """Return floor(255.999 * (value / 255) ** exponent) for each value from 0 to 255."""
    # decimal.Decimal gives the same digits on every machine. The ** operator on floats may give different results.
    exact = Context(prec=40)
    powers = [exact.power(exact.divide(value, 255), Decimal(exponent)) for value in range(256)]
    return np.array([int(Decimal("255.999") * power) for power in powers], np.uint8)


@corruption(
    reference=_GAMMA,
    parameters=(Parameter("exponent", low=1.0, high=100.0, about="power of the value as a fraction of 255"),),
    deterministic=True,
)
def gamma_corr_up(images: Images, keys: Keys, *, exponent: float) -> Images:
    """Darken the mid-tones by raising values to a power of at least 1."""
    return look_up(images, _gamma_table(exponent))


@corruption(
    reference=_GAMMA,
    parameters=(Parameter("exponent", low=0.01, high=1.0, about="power of the value as a fraction of 255"),),
    deterministic=True,
)
def gamma_corr_down(images: Images, keys: Keys, *, exponent: float) -> Images:
    """Brighten the mid-tones by raising values to a power of at most 1."""
    return look_up(images, _gamma_table(exponent))


@corruption(
    reference=f"{REFERENCE}, Saturate",
    parameters=(Parameter("shift", low=-1.0, high=1.0, about="constant added to the HSV saturation"),),
    deterministic=True,
)
@as_rgb
def added_saturation(images: Images, keys: Keys, *, shift: float) -> Images:
    """Add a constant to the HSV saturation and clip it to [0, 1].

    Notes
    -----
    The published name is ``saturate``. In ImageNet-C, this name stands for a corruption that multiplies the saturation
    before the addition. Grey pixels have the hue 0, so a positive constant makes them red. The result is rounded down
    from the same doubles as in the published code.
    """
    from skimage.color import (
        hsv2rgb,
        rgb2hsv,
    )  # Imported here, because declaring the corruption does not need scikit-image.

    out = np.empty_like(images)
    for image, target in zip(images, out, strict=True):
        hsv = rgb2hsv(image / 255.0)
        hsv[..., 1] = np.clip(hsv[..., 1] + shift, 0.0, 1.0)
        target[:] = np.clip(hsv2rgb(hsv), 0.0, 1.0) * 255.0
    return out
