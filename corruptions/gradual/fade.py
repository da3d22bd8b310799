"""Fades: every step takes an image a tenth further towards black, or towards white."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..keys import Keys
from ..references import SWINGLER_2022
from ..registry import Gradual, Images, Parameter, Shape, corruption
from .lookup import look_up


def _times(level: int, shape: Shape, parameters: Mapping[str, Any]) -> str:
    return f"x {parameters['factor']:g}, {level} times"


def multiplied(factor: float) -> NDArray[np.uint8]:
    """Return the table of round(x * factor), clipped to 255: (256,) ndarray of uint8.

    The product is taken in float32 and its ties go to the even number, as OpenCV's ``multiply`` and ``convertScaleAbs``
    do for 8-bit images: 55 x 1.1 is 60.
    """
    product = np.arange(256, dtype=np.float32) * np.float32(factor)
    return np.asarray(np.minimum(np.rint(product), 255), np.uint8)


@corruption(
    revision=1,
    reference=f"{SWINGLER_2022}, fade to black",
    parameters=(Parameter("factor", low=0.0, high=1.0, about="what every value is multiplied by at each level"),),
    deterministic=True,
    gradual=Gradual(_times),
)
def fade_black(images: Images, keys: Keys, *, level: int, factor: float) -> Images:
    """Multiply every value by a factor below 1, once a level.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
        At the level before.
    keys : Keys
        Not used: nothing is drawn.
    level : int
        Not used: every step is the same.
    factor : float
        0..1. Published: 0.9.

    Returns
    -------
    (N, H, W, C) ndarray of uint8
        round(x * factor), ties to even.

    Notes
    -----
    Values become whole after every level, so that with 0.9 they stop at 4 or less (0.9 x 4 rounds to 4): an image gets
    as dark as that and no darker. Kept.

    References
    ----------
    The incremental degradation operators (30 levels); released notebook.
    """
    return look_up(images, multiplied(factor))


@corruption(
    revision=1,
    reference=f"{SWINGLER_2022}, fade to white",
    parameters=(Parameter("factor", low=1.0, high=256.0, about="what every value is multiplied by at each level"),),
    deterministic=True,
    gradual=Gradual(_times),
    compile_after="fade_black",
)
def fade_white(images: Images, keys: Keys, *, level: int, factor: float) -> Images:
    """Multiply every value by a factor above 1, once a level.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
        At the level before.
    keys : Keys
        Not used: nothing is drawn.
    level : int
        Not used: every step is the same.
    factor : float
        1..256. Published: 1.1.

    Returns
    -------
    (N, H, W, C) ndarray of uint8
        round(x * factor), ties to even, at most 255.

    Notes
    -----
    Values become whole after every level, so that with 1.1 those up to 4 never move (1.1 x 4 rounds to 4): black parts
    stay black while everything else turns white. Kept.

    References
    ----------
    The incremental degradation operators (30 levels); released notebook.
    """
    return look_up(images, multiplied(factor))
