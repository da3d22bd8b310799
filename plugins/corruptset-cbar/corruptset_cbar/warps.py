"""Smooth warps, sampled bilinearly: ripples along both axes, and a grid of pinched and twirled discs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.kernels import inner, kernel
from corruptset.corruptions.keys import Keys
from corruptset.corruptions.random.philox import uniforms, whole_numbers
from corruptset.corruptions.registry import Draw, Images, Parameter, Shape, corruption, given_array
from corruptset.references import MINTUN_2021

from .bilinear import mixed, sample_row
from .blend import level
from .elementary import TURNS, cosine, power, sine

_MANY, _FEW, _LARGE = 5, 3, 224  # discs along the side: of images from the large side on, and of smaller ones


@kernel
def _ripple(images, amplitude, lengths, phases, out):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    rows, columns = np.empty(width, np.int32), np.empty(width, np.int32)
    downs, rights, nothing = np.empty(width), np.empty(width), np.zeros(width)
    for n in range(count):
        for x in range(width):
            shift = amplitude * sine(x / lengths[n, 0] + phases[n, 0] * TURNS)
            columns[x] = np.int32(np.floor(shift))
            rights[x] = shift - np.floor(shift)
        for y in range(height):
            shift = amplitude * sine(y / lengths[n, 1] + phases[n, 1] * TURNS)
            for x in range(width):
                rows[x], downs[x] = np.int32(np.floor(shift)), shift - np.floor(shift)
            sample_row(images[n].reshape(-1), y, rows, columns, downs, rights, nothing, height, channels, out[n, y].reshape(-1))


_TWO = given_array(lambda shape, parameters: (2,), np.float64, -1e4, 1e4)


@corruption(
    revision=1,
    reference=f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, Ripple",
    parameters=(Parameter("amplitude", low=0.0, high=10.0, about="of both waves, as a share of the side"),),
    preserves_geometry=False,
    draws=(
        Draw("wave_lengths", "in pixels, (across, down)", given_array(lambda shape, parameters: (2,), np.float64, 1e-3, 1e6)),
        Draw("phases", "in radians, (across, down)", _TWO),
    ),
)
def ripple(
    images: Images,
    keys: Keys,
    *,
    amplitude: float,
    wave_lengths: NDArray[np.float64] | None = None,
    phases: NDArray[np.float64] | None = None,
) -> Images:
    """Shift every column and every row along itself by a sine of its place: x is taken from ``x + a sin(2 pi x / length + phase)``.

    Notes
    -----
    Drawn at random: the two wave lengths, uniform on 0.1 to 0.3 of the side, and the two phases, uniform on [0, 2 pi). Sampled
    bilinearly, black outside of the image.
    """
    side = min(images.shape[1:3])

    def drawn(stream: int, low: float, high: float, given: NDArray[np.float64] | None) -> NDArray[np.float64]:
        if given is not None:
            return np.tile(given, (len(images), 1))
        return np.stack([np.asarray(uniforms(keys.stage, keys.samples, stream + i, low, high)) for i in range(2)], axis=1)

    lengths, angles = drawn(0, 0.1 * side, 0.3 * side, wave_lengths), drawn(2, 0.0, 2.0 * math.pi, phases)
    out = np.empty_like(images)
    _ripple(images, float(amplitude * side), lengths, angles, out)
    return out


@inner
def _twirl_block(picture, top, left, high, wide, turns, amount, height, width, channels, block):  # type: ignore[no-untyped-def]
    """Write the pixels of one disc's block of a flat picture of float64."""
    middle_y, middle_x, radius = top + high / 2.0, left + wide / 2.0, min(high, wide) / 2.0
    for k in range(high * wide):
        y, x = top + k // wide, left + k % wide
        dx, dy = x - middle_x, y - middle_y
        distance = math.sqrt(dx * dx + dy * dy)
        from_y, from_x = np.float64(y), np.float64(x)
        if 0.0005 < distance < radius:
            d = distance / radius
            grown = power(sine(d * 0.25), -amount)
            angle = turns * ((1.0 - d) * (1.0 - d))
            a, b = cosine(angle), sine(angle)
            # The released generator's first coordinate is the row.
            from_y = middle_y + (dy * a - dx * b) * grown
            from_x = middle_x + (dy * b + dx * a) * grown
        row, column = np.int64(np.floor(from_y)), np.int64(np.floor(from_x))
        for c in range(channels):
            block[k * channels + c] = mixed(picture, row, column, from_y - row, from_x - column, height, width, channels, c)


@kernel
def _twirl(images, signs, amount, turns, discs, out):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    high, wide = height // discs, width // discs
    picture = np.empty(height * width * channels, np.float64)
    block = np.empty(high * wide * channels, np.float64)
    for n in range(count):
        flat, target = images[n].reshape(-1), out[n].reshape(-1)
        for p in range(flat.size):
            picture[p] = flat[p]
        # One disc after the other: a later one reads an earlier one's pixels at its edge.
        for i in range(discs):
            for j in range(discs):
                top, left, turn = j * high, i * wide, signs[n, i * discs + j] * turns
                _twirl_block(picture, top, left, high, wide, turn, amount, height, width, channels, block)
                for y in range(high):
                    begin = ((top + y) * width + left) * channels
                    for k in range(wide * channels):
                        picture[begin + k] = block[y * wide * channels + k]
        for p in range(flat.size):
            target[p] = level(picture[p])


def _discs(shape: tuple[int, ...]) -> int:
    return _MANY if min(shape[:2]) >= _LARGE else _FEW


def _given_signs(value: Any, shape: Shape, parameters: Mapping[str, Any]) -> NDArray[np.int64]:
    number = _discs(shape)
    signs = given_array(lambda shape, parameters: (number, number), np.int64, -1, 1)(value, shape, parameters)
    return np.asarray(signs, np.int64)


@corruption(
    revision=1,
    reference=f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, PinchAndTwirl",
    parameters=(
        Parameter("amount", low=0.0, high=10.0, about="of the pinch, an exponent"),
        Parameter("angle_deg", low=0.0, high=3600.0, about="by which a disc's centre is twirled"),
    ),
    preserves_geometry=False,
    draws=(Draw("signs", "of the twirls, -1 or 1, (3, 3) or (5, 5) as [column, row]", _given_signs),),
)
def pinch_and_twirl(images: Images, keys: Keys, *, amount: float, angle_deg: float, signs: NDArray[np.int64] | None = None) -> Images:
    """Pinch and twirl the image in a grid of discs, of three along a side, or five from a side of 224 on.

    Within a disc, at a distance of d radii from its centre, a pixel is taken from ``d * sin(pi d / 2)**-amount`` radii away, turned by
    ``angle * (1 - d)**2``.

    Notes
    -----
    Drawn at random: each disc's direction. Discs are taken column by column, and a later one reads the pixels of earlier ones at its edge,
    as published. Sampled bilinearly, black outside of the image.
    """
    discs = _discs(images.shape[1:])
    if signs is None:
        chosen = np.asarray(whole_numbers(keys.stage, keys.samples, 0, np.full(discs * discs, 2))) * 2 - 1
    else:
        chosen = np.tile(signs.reshape(1, -1), (len(images), 1))
    out = np.empty_like(images)
    _twirl(images, chosen, float(amount), angle_deg / 360.0, np.int64(discs), out)
    return out
