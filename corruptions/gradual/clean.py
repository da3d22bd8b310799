"""Degradations from the clean image at every level: posterize with ever fewer bins, JPEG at ever lower quality."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...references import SWINGLER_2022
from ..digital.jpeg import through_jpeg
from ..keys import Keys
from ..lookup import look_up
from ..registry import Gradual, Images, Parameter, corruption


def bin_values(bins: int, values: str) -> NDArray[np.uint8]:
    """Return the table from a level to the value of its bin; bins divide 0..255 evenly, and 255 is in the last one.

    Bin i becomes floor(255 i / (bins - 1)) for ``even``, from black to white, and its upper end, floor(255 (i + 1) / bins), for
    ``upper``.
    """
    number = np.minimum(np.arange(256) * bins // 255, bins - 1)
    value = number * 255 // (bins - 1) if values == "even" else (number + 1) * 255 // bins
    return value.astype(np.uint8)


@corruption(
    revision=1,
    reference=f"{SWINGLER_2022}, posterize",
    parameters=(
        Parameter("start", int, low=32, high=256, about="bins at level 0, if there were one; each level has one less"),
        Parameter("values", str, choices=("even", "upper"), about="even from 0 to 255, or upper: the upper end of each bin"),
    ),
    deterministic=True,
    gradual=Gradual(lambda level, shape, parameters: f"{parameters['start'] - level} levels a channel", accumulates=False, most=30),
)
def posterize(images: Images, keys: Keys, *, level: int, start: int, values: str) -> Images:
    """Leave start - level values in each channel, from the clean image. Published: 32, so that level 30 has two values.

    Bin i of b becomes 255 i / (b - 1), as in the released notebook, or 255 (i + 1) / b, as the paper's text says. Both are floored.

    Notes
    -----
    The notebook's own loop posterized what it had posterized before; the paper starts from the clean image.
    """
    return look_up(images, bin_values(start - level, values))


@corruption(
    revision=1,
    reference=f"{SWINGLER_2022}, JPEG compression",
    parameters=(
        Parameter("start", int, low=32, high=101, about="quality at level 0, if there were one; each level has one less"),
        Parameter("channel_order", str, choices=("rgb", "bgr"), about="as which three channels the encoder takes R, G and B"),
    ),
    deterministic=True,
    gradual=Gradual(lambda level, shape, parameters: f"quality {parameters['start'] - level}", accumulates=False, most=31),
)
def jpeg(images: Images, keys: Keys, *, level: int, start: int, channel_order: str) -> Images:
    """Encode as JPEG at quality start - level (4:2:0, libjpeg's standard tables) and decode again, from the clean image.

    Published: 32, so that level 30 has quality 2.

    Raises
    ------
    ImageError
        A side above 65500 pixels, which JPEG cannot hold.

    Notes
    -----
    The notebook's own loop compressed what it had compressed before; the paper starts from the clean image. It hands its RGB image to
    OpenCV, which expects BGR: so red and blue are weighed wrongly, which costs about 0.1 dB.
    """
    return through_jpeg(images, start - level, swapped=channel_order == "bgr")
