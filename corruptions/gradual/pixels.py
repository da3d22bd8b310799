"""Gradual degradations that colour or brighten random pixels, or overwrite them with other pixels."""

from __future__ import annotations

import numpy as np

from ...quantities import plural
from ...references import SWINGLER_2022
from ..kernels import inlined, kernel
from ..keys import level_stream
from ..random.philox import fill_words
from ..registry import Given, Gradual, Images, Keys, Parameter, Shape, corruption
from . import floored_share

PLACES = 0
"""The number of the draw for positions, where word e is for pixel e of a level."""
COLOURS = 1
"""The number of the draw for colours. Red, green and blue are the three top bytes of word e. Grey is the top byte."""
PAIRS = 0
"""The number of the draw for pairs. Words 2 e and 2 e + 1 select the overwritten and the other pixel of pair e."""
_CHUNK_PAIRS = 4096
_SHARE = Parameter(
    "share", float, 0.0, 1.0, "number of draws per level, as a fraction of the pixels; a pixel can be drawn twice"
)
_EXCHANGE = Parameter("exchange", bool, about="true to exchange the two pixels, false to copy the second to the first")


def _drawn(level: int, shape: Shape, parameters: Given) -> str:
    return plural(level * floored_share(parameters["share"], shape[0] * shape[1]), "pixel")


def _coloured(level: int, shape: Shape, parameters: Given) -> str:
    return f"{_drawn(level, shape, parameters)} coloured"


def _raised(level: int, shape: Shape, parameters: Given) -> str:
    return f"{_drawn(level, shape, parameters)} + {parameters['added']}"


def _swapped(level: int, shape: Shape, parameters: Given) -> str:
    margin = parameters.get("margin", 0)
    pairs = level * floored_share(parameters["share"], (shape[0] - margin) * (shape[1] - margin))
    return f"{plural(pairs, 'pair')} exchanged" if parameters["exchange"] else f"{plural(pairs, 'pixel')} overwritten"


@kernel
def _touch(images, places, added, stage_key, sample_keys, stream, colour_stream):  # type: ignore[no-untyped-def]
    """Brighten random pixels, or give them random colours if `added` is 0."""
    count, height, width, channels = images.shape
    where = np.empty(places, np.uint32)
    colours = np.empty(0 if added else places, np.uint32)
    size = np.uint64(height * width)
    for n in range(count):
        pixels = images[n].reshape((height * width, channels))
        fill_words(where, np.int64(0), stage_key, sample_keys[n], stream)
        fill_words(colours, np.int64(0), stage_key, sample_keys[n], colour_stream)
        for e in range(places):
            place = (np.uint64(where[e]) * size) >> np.uint64(32)
            for c in range(channels):
                if added:
                    pixels[place, c] = np.uint8(min(np.int64(pixels[place, c]) + added, 255))
                else:
                    pixels[place, c] = np.uint8(colours[e] >> np.uint32(24 - 8 * c))


def _touched(images: Images, keys: Keys, level: int, share: float, added: int) -> Images:
    out, streams = images.copy(), (level_stream(level, PLACES), level_stream(level, COLOURS))
    _touch(out, floored_share(share, images[0, ..., 0].size), added, *keys, *streams)
    return out


@inlined
def _put(pixels, channels, to, source, exchange):  # type: ignore[no-untyped-def]
    for c in range(channels):
        before = pixels[to * channels + c]
        pixels[to * channels + c] = pixels[source * channels + c]
        if exchange:
            pixels[source * channels + c] = before


@inlined
def _at_the_edge(y, x, height, width, word):  # type: ignore[no-untyped-def]
    """Return one of the three or five neighbours of a pixel at the edge of the image, selected by a random word."""
    top = max(y - 1, 0)
    left = max(x - 1, 0)
    columns = min(x + 1, width - 1) - left + 1
    rows = min(y + 1, height - 1) - top + 1
    pick = (np.int64(word) * (rows * columns - 1)) >> 32
    if pick >= (y - top) * columns + x - left:  # The pixel itself is skipped.
        pick += 1
    return (top + pick // columns) * width + left + pick % columns


@kernel
def _swap(images, pairs, adjacent, exchange, stage_key, sample_keys, stream):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    words = np.empty(2 * min(pairs, _CHUNK_PAIRS), np.uint32)
    size = height * width
    around = np.empty(8, np.int64)  # These are the offsets of the eight neighbours in scan order.
    for k in range(8):
        i = k + k // 4
        around[k] = (i // 3 - 1) * width + i % 3 - 1
    for n in range(count):
        pixels = images[n].reshape(-1)
        for start in range(0, pairs, _CHUNK_PAIRS):
            drawn = min(_CHUNK_PAIRS, pairs - start)
            fill_words(words[: 2 * drawn], start // 2, stage_key, sample_keys[n], stream)
            for e in range(drawn):
                to = (np.int64(words[2 * e]) * size) >> 32
                word = words[2 * e + 1]
                if adjacent:
                    # This computes the row and column without a division.
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


def _swap_pixels(
    images: Images, keys: Keys, level: int, share: float, exchange: bool, margin: int = 0, adjacent: bool = False
) -> Images:
    out = images.copy()
    pairs = floored_share(share, (images.shape[1] - margin) * (images.shape[2] - margin))
    _swap(out, pairs, adjacent, exchange, *keys, level_stream(level, PAIRS))
    return out


@corruption(
    reference=f"{SWINGLER_2022}, random noise",
    parameters=(_SHARE,),
    gradual=Gradual(_coloured),
)
def random_noise(images: Images, keys: Keys, *, level: int, share: float) -> Images:
    """Set ``floor(share * H * W)`` random pixels to random colours at each level.

    Each channel of a pixel is uniform on 0..255. The published share is 0.02.

    Notes
    -----
    The pixels and their colours are drawn at random. A pixel can be drawn more than once, so slightly fewer pixels
    change.
    """
    return _touched(images, keys, level, share, 0)


@corruption(
    reference=f"{SWINGLER_2022}, white fog",
    parameters=(_SHARE, Parameter("added", int, 0, 255, "constant added to every channel of a drawn pixel, up to 255")),
    gradual=Gradual(_raised),
)
def white_fog(images: Images, keys: Keys, *, level: int, share: float, added: int) -> Images:
    """Brighten ``floor(share * H * W)`` random pixels at each level.

    The published share is 0.2, and 20 is added to each channel.

    Notes
    -----
    The pixels are drawn at random. A pixel that is drawn twice at one level is brightened twice.
    """
    return _touched(images, keys, level, share, int(added)) if added else images.copy()


@corruption(
    reference=f"{SWINGLER_2022}, pixel swaps",
    parameters=(
        Parameter("share", float, 0.0, 10.0, "number of pairs per level, as a fraction of the pixels"),
        _EXCHANGE,
    ),
    preserves_geometry=False,
    gradual=Gradual(_swapped),
)
def pixel_swap(images: Images, keys: Keys, *, level: int, share: float, exchange: bool) -> Images:
    """Draw ``floor(share * H * W)`` pairs of pixels at each level, and overwrite one pixel of each pair with the other.

    The pairs are processed one after the other. The released notebook overwrites the first pixel of a pair with the
    second, and its share is 0.05. The paper's text exchanges the two pixels, and its share is 0.025, because it swaps
    one pixel in 20, which is one pair per 40 pixels.

    Notes
    -----
    Both pixels of each pair are drawn at random, uniformly over the image.

    The paper reports 9, 13 and 22 % of changed pixels at levels 2, 3 and 5. These percentages fit overwriting, not
    exchanging. Code that swaps two pixels through views of the same NumPy array merely copies one pixel onto the other.
    """
    return _swap_pixels(images, keys, level, share, exchange)


@corruption(
    reference=f"{SWINGLER_2022}, swaps of adjacent pixels",
    parameters=(
        Parameter(
            "share", float, 0.0, 10.0, "number of pairs per level, as a fraction of the pixels without the margin"
        ),
        Parameter("margin", int, 0, 1, "number of rows and columns that are excluded from the number of pairs"),
        _EXCHANGE,
    ),
    gradual=Gradual(_swapped),
)
def adjacent_pixel_swap(images: Images, keys: Keys, *, level: int, share: float, margin: int, exchange: bool) -> Images:
    """Draw ``floor(share * (H - margin) * (W - margin))`` pixels at each level, and overwrite each with a neighbour.

    The published share is 0.5, with a margin of 1. In the paper's text, the share is 0.025, the margin is 0, and the
    two pixels are exchanged, as in `pixel_swap`.

    Notes
    -----
    The pixels are drawn at random, uniformly over the whole image. Each neighbour is drawn uniformly from the eight
    neighbours of the pixel, or, at the edge, from those neighbours that are inside the image.

    The paper reports 56 and 78 % of changed pixels at levels 2 and 4, which fits eight neighbours. On the photographs
    that were measured, the released notebook changes 53 and 73 %, as if one draw in nine selected the pixel itself.
    """
    return _swap_pixels(images, keys, level, share, exchange, margin, adjacent=True)
