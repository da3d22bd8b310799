"""Convert grey images to RGB and back, in the same way as Pillow."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.keys import Keys
from corruptset.corruptions.registry import Images

REFERENCE = "Di Salvo, Doerrich & Ledig 2024, MedMNIST-C; released medmnistc 0.1.0"
_LUMA = np.array([19595, 38470, 7471], np.uint32)  # These are the BT.601 weights in units of 2**-16.


def luma(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the grey values of RGB images (..., 3), computed as in Pillow's ``convert("L")``, without the last axis.

    Examples
    --------
    >>> luma(np.array([[255, 255, 255], [255, 0, 0], [7, 7, 7]], np.uint8)).tolist()
    [255, 76, 7]
    """
    red, green, blue = (images[..., channel] * factor for channel, factor in enumerate(_LUMA))
    return np.asarray((red + green + blue + np.uint32(1 << 15)) >> np.uint32(16), np.uint8)


def as_rgb(function: Callable[..., Images]) -> Callable[..., Images]:
    """Make a function for RGB images accept grey images too. Grey images are converted to RGB and back."""

    @functools.wraps(function)
    def corrupt(images: Images, keys: Keys, **given: Any) -> Images:
        if images.shape[3] == 3:
            return function(images, keys, **given)
        return luma(function(np.repeat(images, 3, axis=3), keys, **given))[..., None]

    return corrupt
