"""The gradual degradations `fade_black`, `fade_white` and `fade_grey`."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from ...references import SWINGLER_2022
from ..kernels import kernel
from ..levels import look_up
from ..registry import Floats, Gradual, Images, Int64Array, Keys, Parameter, corruption

_TIMES = Gradual(lambda level, shape, parameters: f"x {parameters['factor']:g}, {level} times")
_BITS = 12  # The fixed-point quotients have this number of fractional bits.
_HUES = 180
_SCALE = np.float32(1.0 / 255.0)
_ONE = np.float32(1.0)
_FULL = np.float32(255.0)
# Each row contains the indices of the largest, middle and smallest channel in one sixth of the hue circle.
_CHANNELS = np.array([(0, 1, 2), (1, 0, 2), (1, 2, 0), (2, 1, 0), (2, 0, 1), (0, 2, 1)], np.uint8)


def multiplied(factor: float) -> NDArray[np.uint8]:
    """Return the table of round(x * factor), clipped to 255.

    As in OpenCV's ``multiply`` and ``convertScaleAbs`` for 8-bit images, the product is a float32 and ties are rounded
    to even. For example, 55 x 1.1 is 60.
    """
    product = np.arange(256, dtype=np.float32) * np.float32(factor)
    return np.asarray(np.minimum(np.rint(product), 255), np.uint8)


@functools.cache
def _quotients() -> tuple[Int64Array, Int64Array]:
    """Return fixed-point tables of 255 / v and 180 / (6 d), each an int64 array of shape (256,).

    Quotients are rounded with ties to even. Entry 0 is 0.
    """
    divisor = range(1, 256)
    saturation = [round((255 << _BITS) / v) for v in divisor]
    hue = [round((_HUES << _BITS) / (6.0 * d)) for d in divisor]
    return np.array([0, *saturation], np.int64), np.array([0, *hue], np.int64)


@functools.cache
def _hues() -> tuple[NDArray[np.uint8], Floats]:
    """Return the channels of each hue in order of size, and the distance of the middle channel from the largest one.

    The channels are indices, and the largest channel is first. The distance is a fraction in [0, 1]. It is a float32
    that is converted to float64, so that the product of two such values is exact.
    """
    turn = np.arange(_HUES, dtype=np.float32) * np.float32(6.0 / _HUES)
    sixth = turn.astype(np.int64)
    part = turn - sixth.astype(np.float32)
    return np.ascontiguousarray(_CHANNELS[sixth]), np.where(sixth % 2 == 1, part, _ONE - part).astype(np.float64)


@functools.lru_cache(maxsize=8)
def _least(factor: float) -> tuple[Floats, NDArray[np.uint8]]:
    """Return the faded saturation for each saturation, and the smallest channel for each value and saturation.

    The faded saturation is a fraction in [0, 1], which is a float32 that is converted to float64.
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
        # The product is exact in float64 and the difference is rounded once to float32, like a fused multiply-add.
        middle = v * np.float32(1.0 - faded[saturation] * parts[hue]) * _FULL
        target[p + order[hue, 0]] = np.uint8(v * _FULL)  # This can differ from the value. For example, 125 becomes 124.
        target[p + order[hue, 1]] = np.uint8(middle)
        target[p + order[hue, 2]] = least[np.uint8(value), saturation]


@corruption(
    reference=f"{SWINGLER_2022}, fade to black",
    parameters=(Parameter("factor", float, 0.0, 1.0, "factor on every value at each level"),),
    deterministic=True,
    gradual=_TIMES,
)
def fade_black(images: Images, keys: Keys, *, level: int, factor: float) -> Images:
    """Multiply every value by a factor below 1, once per level.

    A value x becomes round(x * factor), with ties to even. The published factor is 0.9.

    Notes
    -----
    Values are rounded after every level. With the factor 0.9, values up to 4 never change, because 0.9 x 4 rounds to 4.
    The image therefore does not become completely black. The published behaviour is kept.
    """
    return look_up(images, multiplied(factor))


@corruption(
    reference=f"{SWINGLER_2022}, fade to white",
    parameters=(Parameter("factor", float, 1.0, 256.0, "factor on every value at each level"),),
    deterministic=True,
    gradual=_TIMES,
)
def fade_white(images: Images, keys: Keys, *, level: int, factor: float) -> Images:
    """Multiply every value by a factor above 1, once per level.

    A value x becomes round(x * factor), with ties to even, and at most 255. The published factor is 1.1.

    Notes
    -----
    Values are rounded after every level. With the factor 1.1, values up to 4 never change, because 1.1 x 4 rounds to 4.
    Black areas therefore stay black while all others become white. The published behaviour is kept.
    """
    return look_up(images, multiplied(factor))


@corruption(
    reference=f"{SWINGLER_2022}, fade to grey",
    parameters=(Parameter("factor", float, 0.0, 1.0, "factor on the HSV saturation at each level"),),
    deterministic=True,
    gradual=Gradual(lambda level, shape, parameters: f"saturation x {parameters['factor']:g}, {level} times"),
)
def fade_grey(images: Images, keys: Keys, *, level: int, factor: float) -> Images:
    """Multiply the HSV saturation by a factor below 1, once per level.

    The published factor is 0.9. Grey images do not change.

    Notes
    -----
    Hue (in steps of two degrees), saturation and value are stored as bytes at every level. The faded saturation and the
    resulting channels are floored. Some saturation therefore remains. With the factor 0.9, it is about 20 of 255 in
    bright pixels, and more in dark pixels. The published behaviour is kept. The bytes are those of OpenCV's
    ``cvtColor`` to 8-bit HSV and back on a processor with AVX2. OpenCV itself gives different bytes on other
    processors, and at the right end of rows.
    """
    if images.shape[3] == 1:
        return images.copy()
    out = np.empty_like(images)
    _fade(images, out, *_quotients(), *_hues(), *_least(float(factor)))
    return out
