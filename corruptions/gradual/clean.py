"""What starts from the clean image at every level: posterize with ever fewer bins, JPEG at ever lower quality."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..digital.jpeg import through_jpeg
from ..keys import Keys
from ..references import SWINGLER_2022
from ..registry import Gradual, Images, Parameter, Shape, corruption
from .lookup import look_up


def _bins(level: int, shape: Shape, parameters: Mapping[str, Any]) -> str:
    return f"{parameters['start'] - level} levels a channel"


def _quality(level: int, shape: Shape, parameters: Mapping[str, Any]) -> str:
    return f"quality {parameters['start'] - level}"


def bin_values(bins: int, values: str) -> NDArray[np.uint8]:
    """Return the table from 0..255 to the value of the bin: (256,) ndarray of uint8.

    The bins divide 0..255 evenly, and 255 is in the last one.

    Parameters
    ----------
    bins : int
        2..256.
    values : {"even", "upper"}
        ``even``: bin i becomes floor(255 i / (bins - 1)), from black to white. ``upper``: floor(255 (i + 1) / bins),
        its upper end.
    """
    number = np.minimum(np.arange(256) * bins // 255, bins - 1)
    found = number * 255 // (bins - 1) if values == "even" else (number + 1) * 255 // bins
    return found.astype(np.uint8)


@corruption(
    revision=1,
    reference=f"{SWINGLER_2022}, posterize",
    parameters=(
        Parameter("start", int, low=32, high=256, about="bins at level 0, if there were one; each level has one less"),
        Parameter("values", str, choices=("even", "upper"), about="even from 0 to 255, or upper: the upper end of each bin"),
    ),
    deterministic=True,
    gradual=Gradual(_bins, accumulates=False, most=30),
    compile_after="fade_black",
)
def posterize(images: Images, keys: Keys, *, level: int, start: int, values: str) -> Images:
    """Leave a few values in each channel: start - level of them.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
        Clean: levels do not accumulate.
    keys : Keys
        Not used: nothing is drawn.
    level : int
        1..30.
    start : int
        32..256. Published: 32, so that level 30 has two values.
    values : {"even", "upper"}
        What bin i of b becomes: ``even`` 255 i / (b - 1), as the released notebook does; ``upper`` 255 (i + 1) / b, as
        the paper's text says. Both are floored.

    Returns
    -------
    (N, H, W, C) ndarray of uint8

    Notes
    -----
    The notebook's own loop posterized what it had posterized before; the paper starts from the clean image.

    References
    ----------
    The incremental degradation operators (30 levels); released notebook.
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
    gradual=Gradual(_quality, accumulates=False, most=31),
    compile_after="jpeg_compression",
)
def jpeg(images: Images, keys: Keys, *, level: int, start: int, channel_order: str) -> Images:
    """Encode as JPEG at quality start - level (4:2:0, libjpeg's standard tables) and decode again.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
        Clean: levels do not accumulate.
    keys : Keys
        Not used: nothing is drawn.
    level : int
        1..31.
    start : int
        32..101, on libjpeg's scale of quality. Published: 32, so that level 30 has quality 2.
    channel_order : {"rgb", "bgr"}
        ``bgr``: the encoder takes red for blue and blue for red, and so weighs them wrongly. The released notebook does:
        it hands its RGB image to OpenCV, which expects BGR. It costs about 0.1 dB. Grey images know no order.

    Returns
    -------
    (N, H, W, C) ndarray of uint8

    Raises
    ------
    ImageError
        A side above 65500 pixels, which JPEG cannot hold.

    Notes
    -----
    The notebook's own loop compressed what it had compressed before; the paper starts from the clean image.

    References
    ----------
    The incremental degradation operators (30 levels); released notebook.
    """
    return through_jpeg(images, start - level, swapped=channel_order == "bgr")
