"""Fades: every step takes an image a tenth further towards black, or towards white."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...references import SWINGLER_2022
from ..keys import Keys
from ..lookup import look_up
from ..registry import Gradual, Images, Parameter, corruption

_TIMES = Gradual(lambda level, shape, parameters: f"x {parameters['factor']:g}, {level} times")


def multiplied(factor: float) -> NDArray[np.uint8]:
    """Return the table of round(x * factor), clipped to 255.

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
    gradual=_TIMES,
)
def fade_black(images: Images, keys: Keys, *, level: int, factor: float) -> Images:
    """Multiply every value by a factor below 1, once a level: round(x * factor), ties to even. Published: 0.9.

    Notes
    -----
    Values become whole after every level, so that with 0.9 they stop at 4 or less (0.9 x 4 rounds to 4): an image gets
    as dark as that and no darker. Kept.
    """
    return look_up(images, multiplied(factor))


@corruption(
    revision=1,
    reference=f"{SWINGLER_2022}, fade to white",
    parameters=(Parameter("factor", low=1.0, high=256.0, about="what every value is multiplied by at each level"),),
    deterministic=True,
    gradual=_TIMES,
)
def fade_white(images: Images, keys: Keys, *, level: int, factor: float) -> Images:
    """Multiply every value by a factor above 1, once a level: round(x * factor), ties to even, at most 255. Published: 1.1.

    Notes
    -----
    Values become whole after every level, so that with 1.1 those up to 4 never move (1.1 x 4 rounds to 4): black parts
    stay black while everything else turns white. Kept.
    """
    return look_up(images, multiplied(factor))
