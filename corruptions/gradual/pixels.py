"""Single pixels at random places: a random colour, or a little brighter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...references import SWINGLER_2022
from ..kernels import kernel
from ..keys import Keys, level_stream
from ..random.philox import fill_words
from ..registry import Gradual, Images, Parameter, Shape, corruption
from .counts import counted, plural

PLACES = 0
"""The draw of the places: word e is of pixel e of a level."""
COLOURS = 1
"""The draw of the colours: the top three bytes of word e are red, green and blue (grey: the top one)."""
_SHARE = Parameter("share", low=0.0, high=1.0, about="of the pixels that are drawn at each level; one can be drawn twice")


def _drawn(level: int, shape: Shape, parameters: Mapping[str, Any]) -> int:
    return level * counted(parameters["share"], shape[0] * shape[1])


def _coloured(level: int, shape: Shape, parameters: Mapping[str, Any]) -> str:
    return f"{plural(_drawn(level, shape, parameters), 'pixel')} coloured"


def _raised(level: int, shape: Shape, parameters: Mapping[str, Any]) -> str:
    return f"{plural(_drawn(level, shape, parameters), 'pixel')} + {parameters['added']}"


@kernel
def _colour(images, places, stage_key, sample_keys, first_stream, second_stream):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    where = np.empty(places, np.uint32)
    colours = np.empty(places, np.uint32)
    size = np.uint64(height * width)
    for n in range(count):
        pixels = images[n].reshape((height * width, channels))
        fill_words(where, np.int64(0), stage_key, sample_keys[n], first_stream)
        fill_words(colours, np.int64(0), stage_key, sample_keys[n], second_stream)
        for e in range(places):
            place = (np.uint64(where[e]) * size) >> np.uint64(32)
            for c in range(channels):
                pixels[place, c] = np.uint8(colours[e] >> np.uint32(24 - 8 * c))


@kernel
def _raise(images, places, added, stage_key, sample_keys, stream):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    where = np.empty(places, np.uint32)
    size = np.uint64(height * width)
    for n in range(count):
        pixels = images[n].reshape((height * width, channels))
        fill_words(where, np.int64(0), stage_key, sample_keys[n], stream)
        for e in range(places):
            place = (np.uint64(where[e]) * size) >> np.uint64(32)
            for c in range(channels):
                pixels[place, c] = np.uint8(min(np.int64(pixels[place, c]) + added, 255))


@corruption(
    revision=1,
    reference=f"{SWINGLER_2022}, random noise",
    parameters=(_SHARE,),
    gradual=Gradual(_coloured),
)
def random_noise(images: Images, keys: Keys, *, level: int, share: float) -> Images:
    """Give random colours to pixels at random places, ``floor(share * H * W)`` draws a level. Published: 0.02.

    Each channel of a drawn pixel is uniform on 0..255. A pixel can be drawn more than once, so that a level changes a little less.
    """
    height, width = images.shape[1:3]
    out = images.copy()
    streams = level_stream(level, PLACES), level_stream(level, COLOURS)
    _colour(out, counted(share, height * width), keys.stage, keys.samples, *streams)
    return out


@corruption(
    revision=1,
    reference=f"{SWINGLER_2022}, white fog",
    parameters=(_SHARE, Parameter("added", int, low=0, high=255, about="to every channel of a drawn pixel, up to 255")),
    gradual=Gradual(_raised),
)
def white_fog(images: Images, keys: Keys, *, level: int, share: float, added: int) -> Images:
    """Brighten pixels at random places, ``floor(share * H * W)`` draws a level. Published: a share of 0.2, 20 added.

    A pixel that is drawn twice at one level is brightened twice.
    """
    height, width = images.shape[1:3]
    out = images.copy()
    _raise(out, counted(share, height * width), int(added), keys.stage, keys.samples, level_stream(level, PLACES))
    return out
