"""Posterize: the values of each channel fall into fewer bins at every level."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...references import SWINGLER_2022
from ..levels import look_up
from ..registry import Gradual, Images, Keys, Parameter, corruption


def bin_values(bins: int, values: str) -> NDArray[np.uint8]:
    """Return the table from a level to the value of its bin.

    Bins divide 0..255 evenly, and 255 is in the last one. Bin i becomes floor(255 i / (bins - 1)) for ``even``, from
    black to white, and its upper end, floor(255 (i + 1) / bins), for ``upper``.
    """
    number = np.minimum(np.arange(256) * bins // 255, bins - 1)
    value = number * 255 // (bins - 1) if values == "even" else (number + 1) * 255 // bins
    return value.astype(np.uint8)


@corruption(
    reference=f"{SWINGLER_2022}, posterize",
    parameters=(
        Parameter("start", int, 32, 256, "bins at level 0, if there were one; each level has one less"),
        Parameter(
            "values", str, choices=("even", "upper"), about="even from 0 to 255, or upper: the upper end of each bin"
        ),
    ),
    deterministic=True,
    gradual=Gradual(
        lambda level, shape, parameters: f"{parameters['start'] - level} levels a channel", accumulates=False, most=30
    ),
)
def posterize(images: Images, keys: Keys, *, level: int, start: int, values: str) -> Images:
    """Leave start - level values in each channel, from the clean image.

    Published: 32, so that level 30 has two values. Bin i of b becomes 255 i / (b - 1), as in the released notebook, or
    255 (i + 1) / b, as the paper's text says. Both are floored.

    Notes
    -----
    The notebook's own loop posterized what it had posterized before; the paper starts from the clean image.
    """
    return look_up(images, bin_values(start - level, values))
