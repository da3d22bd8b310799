"""Fades to black, white and grey."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from ...references import SWINGLER_2022
from ..kernels import kernel
from ..levels import look_up
from ..registry import Floats, Gradual, Images, Keys, Parameter, Wholes, corruption

_TIMES = Gradual(lambda level, shape, parameters: f"x {parameters['factor']:g}, {level} times")
_BITS = 12  # of the fixed-point quotients
_HUES = 180
_SCALE = np.float32(1.0 / 255.0)
_ONE = np.float32(1.0)
_FULL = np.float32(255.0)
# Which channel is greatest, in the middle and least in each sixth of the circle of hues
_CHANNELS = np.array([(0, 1, 2), (1, 0, 2), (1, 2, 0), (2, 1, 0), (2, 0, 1), (0, 2, 1)], np.uint8)


def multiplied(factor: float) -> NDArray[np.uint8]:
    """Return the table of round(x * factor), clipped to 255.

    The product is taken in float32 and its ties go to the even number, as OpenCV's ``multiply`` and ``convertScaleAbs``
    do for 8-bit images: 55 x 1.1 is 60.
    """
    product = np.arange(256, dtype=np.float32) * np.float32(factor)
    return np.asarray(np.minimum(np.rint(product), 255), np.uint8)


@functools.cache
def _quotients() -> tuple[Wholes, Wholes]:
    """Return 255 / v and 180 / (6 d) in fixed point, rounded.

    Ties go to even. They are (256,) ndarrays of int64, and 0 at 0.
    """
    divisor = range(1, 256)
    saturation = [round((255 << _BITS) / v) for v in divisor]
    hue = [round((_HUES << _BITS) / (6.0 * d)) for d in divisor]
    return np.array([0, *saturation], np.int64), np.array([0, *hue], np.int64)


@functools.cache
def _hues() -> tuple[NDArray[np.uint8], Floats]:
    """Return for each hue its greatest, middle and least channel, and a share.

    It is how far the middle channel is from the greatest, 0..1.

    The latter is a float32, widened: its product with another one is then exact.
    """
    turn = np.arange(_HUES, dtype=np.float32) * np.float32(6.0 / _HUES)
    sixth = turn.astype(np.int64)
    part = turn - sixth.astype(np.float32)
    return np.ascontiguousarray(_CHANNELS[sixth]), np.where(sixth % 2 == 1, part, _ONE - part).astype(np.float64)


@functools.lru_cache(maxsize=8)
def _least(factor: float) -> tuple[Floats, NDArray[np.uint8]]:
    """Return the new share of 255 of each saturation, and the least channel.

    The share is a float32, widened; the least channel is that of each value and saturation.
    """
    faded = np.array([int(s * factor) for s in range(256)], np.float32) * _SCALE
    value = np.arange(256, dtype=np.float32)[:, None] * _SCALE
    return faded.astype(np.float64), (value * (_ONE - faded) * _FULL).astype(np.uint8)


@kernel
def _fade(images, out, by_value, by_difference, order, parts, faded, least):  # type: ignore[no-untyped-def]
    source = images.reshape(-1)
    target = out.reshape(-1)
    half = np.int64(1) << (_BITS - 1)
    for p in range(np.uint64(0), np.uint64(source.size), np.uint64(3)):
        r = np.int64(source[p])
        g = np.int64(source[p + np.uint64(1)])
        b = np.int64(source[p + np.uint64(2)])
        value = max(r, g, b)
        difference = value - min(r, g, b)
        turn = r - g + 4 * difference
        turn = b - r + 2 * difference if value == g else turn
        turn = g - b if value == r else turn
        hue = (turn * by_difference[np.uint8(difference)] + half) >> _BITS
        hue = np.uint64(hue + _HUES if hue < 0 else hue)
        saturation = np.uint8((difference * by_value[np.uint8(value)] + half) >> _BITS)
        v = np.float32(value) * _SCALE
        # the product is exact in float64, and the difference rounded once to float32: a fused multiply-add
        middle = v * np.float32(1.0 - faded[saturation] * parts[hue]) * _FULL
        target[p + order[hue, 0]] = np.uint8(v * _FULL)  # not always the value: 125 becomes 124
        target[p + order[hue, 1]] = np.uint8(middle)
        target[p + order[hue, 2]] = least[np.uint8(value), saturation]


@corruption(
    reference=f"{SWINGLER_2022}, fade to black",
    parameters=(Parameter("factor", float, 0.0, 1.0, "what every value is multiplied by at each level"),),
    deterministic=True,
    gradual=_TIMES,
)
def fade_black(images: Images, keys: Keys, *, level: int, factor: float) -> Images:
    """Multiply every value by a factor below 1, once a level.

    It becomes round(x * factor), ties to even. Published: 0.9.

    Notes
    -----
    Values become whole after every level, so that with 0.9 they stop at 4 or less (0.9 x 4 rounds to 4): an image gets
    as dark as that and no darker. Kept.
    """
    return look_up(images, multiplied(factor))


@corruption(
    reference=f"{SWINGLER_2022}, fade to white",
    parameters=(Parameter("factor", float, 1.0, 256.0, "what every value is multiplied by at each level"),),
    deterministic=True,
    gradual=_TIMES,
)
def fade_white(images: Images, keys: Keys, *, level: int, factor: float) -> Images:
    """Multiply every value by a factor above 1, once a level.

    It becomes round(x * factor), ties to even, at most 255. Published: 1.1.

    Notes
    -----
    Values become whole after every level, so that with 1.1 those up to 4 never move (1.1 x 4 rounds to 4): black parts
    stay black while everything else turns white. Kept.
    """
    return look_up(images, multiplied(factor))


@corruption(
    reference=f"{SWINGLER_2022}, fade to grey",
    parameters=(Parameter("factor", float, 0.0, 1.0, "what HSV saturation is multiplied by at each level"),),
    deterministic=True,
    gradual=Gradual(lambda level, shape, parameters: f"saturation x {parameters['factor']:g}, {level} times"),
)
def fade_grey(images: Images, keys: Keys, *, level: int, factor: float) -> Images:
    """Multiply HSV saturation by a factor below 1, once a level.

    Published: 0.9. Grey images are returned unchanged.

    Notes
    -----
    Hue in steps of two degrees, saturation and value are bytes, and every later step is floored after every level. So
    some saturation stays for good: with 0.9 about 20 of 255 in bright pixels, more in dark ones. Kept. The bytes are
    those of OpenCV's ``cvtColor`` to 8-bit HSV and back on a processor with AVX2; OpenCV's own differ on others, and at
    the right end of rows.
    """
    if images.shape[3] == 1:
        return images.copy()
    out = np.empty_like(images)
    _fade(images, out, *_quotients(), *_hues(), *_least(float(factor)))
    return out
