"""Pixels at random places: coloured, a little brighter, or overwritten by another."""

from __future__ import annotations

import numpy as np

from ...quantities import plural
from ...references import SWINGLER_2022
from ..kernels import inlined, kernel
from ..keys import level_stream
from ..random.philox import fill_words
from ..registry import Given, Gradual, Images, Keys, Parameter, Shape, corruption
from . import counted

PLACES = 0
"""The draw of the places: word e is of pixel e of a level."""
COLOURS = 1
"""The draw of the colours: the top three bytes of word e are red, green and blue (grey: the top one)."""
PAIRS = 0
"""The draw of the pairs: words 2 e and 2 e + 1 are of pair e, the pixel that is overwritten first."""
_PAIRS_AT_A_TIME = 4096
_SHARE = Parameter("share", float, 0.0, 1.0, "of the pixels that are drawn at each level; one can be drawn twice")
_EXCHANGE = Parameter(
    "exchange", bool, about="true: the two pixels change places; false: the first becomes like the second"
)


def _drawn(level: int, shape: Shape, parameters: Given) -> str:
    return plural(level * counted(parameters["share"], shape[0] * shape[1]), "pixel")


def _coloured(level: int, shape: Shape, parameters: Given) -> str:
    return f"{_drawn(level, shape, parameters)} coloured"


def _raised(level: int, shape: Shape, parameters: Given) -> str:
    return f"{_drawn(level, shape, parameters)} + {parameters['added']}"


def _swapped(level: int, shape: Shape, parameters: Given) -> str:
    margin = parameters.get("margin", 0)
    pairs = level * counted(parameters["share"], (shape[0] - margin) * (shape[1] - margin))
    return f"{plural(pairs, 'pair')} exchanged" if parameters["exchange"] else f"{plural(pairs, 'pixel')} overwritten"


@kernel
def _touch(images, places, added, stage_key, sample_keys, stream, colour_stream):  # type: ignore[no-untyped-def]
    """Brighten pixels at random places, or give them random colours where nothing is `added`."""
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
    _touch(out, counted(share, images[0, ..., 0].size), added, *keys, *streams)
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
    """Return a neighbour of a pixel at the edge, by a word.

    It has three or five.
    """
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


def _swap_pixels(
    images: Images, keys: Keys, level: int, share: float, exchange: bool, margin: int = 0, adjacent: bool = False
) -> Images:
    out = images.copy()
    pairs = counted(share, (images.shape[1] - margin) * (images.shape[2] - margin))
    _swap(out, pairs, adjacent, exchange, *keys, level_stream(level, PAIRS))
    return out


@corruption(
    reference=f"{SWINGLER_2022}, random noise",
    parameters=(_SHARE,),
    gradual=Gradual(_coloured),
)
def random_noise(images: Images, keys: Keys, *, level: int, share: float) -> Images:
    """Give random colours to pixels at random places.

    A level has ``floor(share * H * W)`` draws. Published: 0.02.

    Each channel of a drawn pixel is uniform on 0..255. A pixel can be drawn more than once, so that a level changes a
    little less.
    """
    return _touched(images, keys, level, share, 0)


@corruption(
    reference=f"{SWINGLER_2022}, white fog",
    parameters=(_SHARE, Parameter("added", int, 0, 255, "to every channel of a drawn pixel, up to 255")),
    gradual=Gradual(_raised),
)
def white_fog(images: Images, keys: Keys, *, level: int, share: float, added: int) -> Images:
    """Brighten pixels at random places.

    A level has ``floor(share * H * W)`` draws. Published: a share of 0.2, 20 added. A pixel that is drawn twice at one
    level is brightened twice.
    """
    return _touched(images, keys, level, share, int(added)) if added else images.copy()


@corruption(
    reference=f"{SWINGLER_2022}, pixel swaps",
    parameters=(Parameter("share", float, 0.0, 10.0, "pairs that are drawn at each level, over all pixels"), _EXCHANGE),
    preserves_geometry=False,
    gradual=Gradual(_swapped),
)
def pixel_swap(images: Images, keys: Keys, *, level: int, share: float, exchange: bool) -> Images:
    """Overwrite pixels by others from anywhere, one after the other.

    A level has ``floor(share * H * W)`` pairs.

    Both pixels of a pair are uniform over the image. Published: 0.05 (the paper's text: 0.025 exchanged, for wh/20
    pixels are wh/40 pairs). The released notebook overwrites the first by the second; the text exchanges them.

    Notes
    -----
    The paper's shares of changed pixels, 9, 13 and 22 % at levels 2, 3 and 5, are those of a copy, as an exchange
    between two views of one array comes out.
    """
    return _swap_pixels(images, keys, level, share, exchange)


@corruption(
    reference=f"{SWINGLER_2022}, swaps of adjacent pixels",
    parameters=(
        Parameter("share", float, 0.0, 10.0, "pairs that are drawn at each level, over all pixels less the margin"),
        Parameter("margin", int, 0, 1, "rows and columns that the number of pairs leaves out"),
        _EXCHANGE,
    ),
    gradual=Gradual(_swapped),
)
def adjacent_pixel_swap(images: Images, keys: Keys, *, level: int, share: float, margin: int, exchange: bool) -> Images:
    """Overwrite pixels by one of their eight neighbours.

    A level has ``floor(share * (H - margin) * (W - margin))`` pairs.

    The first pixel of a pair is uniform over the image, margin or not, the second over the first one's neighbours
    within it. Published: share 0.5, margin 1 (the paper's text: 0.025 exchanged, margin 0, as of `pixel_swap`).

    Notes
    -----
    The paper's shares of changed pixels, 56 and 78 % at levels 2 and 4, are those of eight neighbours. On the
    photographs that were measured the released notebook changes 53 and 73 %, as if one draw in nine hit the pixel
    itself.
    """
    return _swap_pixels(images, keys, level, share, exchange, margin, adjacent=True)
