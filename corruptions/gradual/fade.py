"""Fades: every step takes an image a tenth further towards black."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..keys import Keys
from ..registry import Gradual, Images, Parameter, Shape, corruption

_PAPER = "the incremental degradation paper (thirty levels; released notebook), "


def _times(level: int, shape: Shape, parameters: Mapping[str, Any]) -> str:
    return f"x {parameters['factor']:g}, {level} times"


@corruption(
    family="gradual",
    revision=1,
    reference=_PAPER + "fade to black",
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
        floor(x * factor).

    Notes
    -----
    Values become whole after every level, so that with 0.9 an image never gets darker than level 4 of black. Kept.

    References
    ----------
    The incremental degradation operators (30 levels); released notebook.
    """
    table = np.array([int(v * factor) for v in range(256)], np.uint8)
    return table[images]
