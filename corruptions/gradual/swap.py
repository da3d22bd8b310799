"""Swaps: pixels overwritten by others, from anywhere in the image or from next to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...references import SWINGLER_2022
from ..kernels import inlined, kernel
from ..keys import Keys, level_stream
from ..random.philox import fill_words
from ..registry import Gradual, Images, Parameter, Shape, corruption
from .counts import counted, plural

PAIRS = 0
"""The draw of the pairs: words 2 e and 2 e + 1 are of pair e, the pixel that is overwritten first."""
_PAIRS_AT_A_TIME = 4096
_EXCHANGE = Parameter("exchange", bool, about="true: the two pixels change places; false: the first becomes like the second")


def _pairs(level: int, pairs: int, parameters: Mapping[str, Any]) -> str:
    what = "pair" if parameters["exchange"] else "pixel"
    return f"{plural(level * pairs, what)} {'exchanged' if parameters['exchange'] else 'overwritten'}"


def _anywhere(level: int, shape: Shape, parameters: Mapping[str, Any]) -> str:
    return _pairs(level, counted(parameters["share"], shape[0] * shape[1]), parameters)


def _adjacent(level: int, shape: Shape, parameters: Mapping[str, Any]) -> str:
    return _pairs(level, _adjacent_pairs(shape[0], shape[1], parameters["share"], parameters["margin"]), parameters)


def _adjacent_pairs(height: int, width: int, share: float, margin: int) -> int:
    return counted(share, (height - margin) * (width - margin))


@inlined
def _put(pixels, channels, to, source, exchange):  # type: ignore[no-untyped-def]
    for c in range(channels):
        before = pixels[to * channels + c]
        pixels[to * channels + c] = pixels[source * channels + c]
        if exchange:
            pixels[source * channels + c] = before


@inlined
def _at_the_edge(y, x, height, width, word):  # type: ignore[no-untyped-def]
    """Return one of the three or five neighbours of a pixel at the edge, by a word."""
    top = max(y - 1, 0)
    left = max(x - 1, 0)
    columns = min(x + 1, width - 1) - left + 1
    rows = min(y + 1, height - 1) - top + 1
    pick = (np.int64(word) * (rows * columns - 1)) >> 32
    if pick >= (y - top) * columns + x - left:  # itself is left out
        pick += 1
    return (top + pick // columns) * width + left + pick % columns


@kernel
def _swap(images, pairs, adjacent, exchange, stage_key, sample_keys, stream):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    words = np.empty(2 * min(pairs, _PAIRS_AT_A_TIME), np.uint32)
    size = height * width
    around = np.empty(8, np.int64)  # the eight neighbours in scan order
    for k in range(8):
        i = k + k // 4
        around[k] = (i // 3 - 1) * width + i % 3 - 1
    for n in range(count):
        pixels = images[n].reshape(-1)
        for start in range(0, pairs, _PAIRS_AT_A_TIME):
            drawn = min(_PAIRS_AT_A_TIME, pairs - start)
            fill_words(words[: 2 * drawn], start // 2, stage_key, sample_keys[n], stream)
            for e in range(drawn):
                to = (np.int64(words[2 * e]) * size) >> 32
                word = words[2 * e + 1]
                if adjacent:
                    # its row and column, without a division
                    scaled = np.int64(words[2 * e]) * height
                    y = scaled >> 32
                    x = to - y * width
                    if 0 < y < height - 1 and 0 < x < width - 1:
                        source = to + around[word >> np.uint32(29)]
                    else:
                        source = _at_the_edge(y, x, height, width, word)
                else:
                    source = (np.int64(word) * size) >> 32
                if channels == 3:
                    _put(pixels, 3, to, source, exchange)
                else:
                    _put(pixels, 1, to, source, exchange)


@corruption(
    revision=1,
    reference=f"{SWINGLER_2022}, pixel swaps",
    parameters=(Parameter("share", low=0.0, high=10.0, about="pairs that are drawn at each level, over all pixels"), _EXCHANGE),
    preserves_geometry=False,
    gradual=Gradual(_anywhere),
)
def pixel_swap(images: Images, keys: Keys, *, level: int, share: float, exchange: bool) -> Images:
    """Overwrite pixels by others from anywhere, ``floor(share * H * W)`` pairs a level, one after the other.

    Both pixels of a pair are uniform over the image. Published: 0.05 (the paper's text: 0.025 exchanged, for wh/20 pixels are
    wh/40 pairs). The released notebook overwrites the first by the second; the text exchanges them.

    Notes
    -----
    The paper's shares of changed pixels, 9, 13 and 22 % at levels 2, 3 and 5, are those of a copy, as an exchange between
    two views of one array comes out.
    """
    height, width = images.shape[1:3]
    out = images.copy()
    pairs = counted(share, height * width)
    _swap(out, pairs, False, bool(exchange), keys.stage, keys.samples, level_stream(level, PAIRS))
    return out


@corruption(
    revision=1,
    reference=f"{SWINGLER_2022}, swaps of adjacent pixels",
    parameters=(
        Parameter("share", low=0.0, high=10.0, about="pairs that are drawn at each level, over all pixels less the margin"),
        Parameter("margin", int, low=0, high=1, about="rows and columns that the number of pairs leaves out"),
        _EXCHANGE,
    ),
    gradual=Gradual(_adjacent),
)
def adjacent_pixel_swap(images: Images, keys: Keys, *, level: int, share: float, margin: int, exchange: bool) -> Images:
    """Overwrite pixels by one of their eight neighbours, ``floor(share * (H - margin) * (W - margin))`` pairs a level.

    The first pixel of a pair is uniform over the image, margin or not, the second over the first one's neighbours within it.
    Published: share 0.5, margin 1 (the paper's text: 0.025 exchanged, margin 0, as of `pixel_swap`).

    Notes
    -----
    The paper's shares of changed pixels, 56 and 78 % at levels 2 and 4, are those of eight neighbours. On the photographs
    that were measured the released notebook changes 53 and 73 %, as if one draw in nine hit the pixel itself.
    """
    height, width = images.shape[1:3]
    out = images.copy()
    pairs = _adjacent_pairs(height, width, share, margin)
    _swap(out, pairs, True, bool(exchange), keys.stage, keys.samples, level_stream(level, PAIRS))
    return out
