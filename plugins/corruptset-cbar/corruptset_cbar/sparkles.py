"""Sparkles: rays of light about points of the image, and the light around a single dark star."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.kernels import inner, kernel
from corruptset.corruptions.keys import Keys
from corruptset.corruptions.random.normal import normal_layers, normal_table
from corruptset.corruptions.random.philox import uniforms, whole_numbers
from corruptset.corruptions.registry import Draw, Images, Parameter, corruption, given_array
from corruptset.references import MINTUN_2021

from .blend import level
from .elementary import arctangent, power

_CENTRES = 5
_LEAST_RAYS, _MOST_RAYS = 50, 199
_UNEVEN = 0.25  # the rays' standard deviation, as a share of the radius
_RAYS, _NORMALS, _PLACES = 0, 1, 2  # streams; from the last one on, two for each centre


@inner
def _glow(x0, dy, number, around, exponent, turns, share):  # type: ignore[no-untyped-def]
    """Write the share of light, not yet at most 1, of one sparkle in each pixel of a row."""
    for x in range(np.uint64(share.size)):
        turns[x] = (arctangent(np.float64(np.int32(x)) - x0, dy) + 0.5) * number
    for x in range(np.uint64(share.size)):
        ray = np.uint32(np.int32(turns[x]))
        place = turns[x] - np.float64(np.int32(turns[x]))
        turns[x] = place
        share[x] = around[ray] + place * (around[ray + np.uint32(1)] - around[ray])
    for x in range(np.uint64(share.size)):
        dx = np.float64(np.int32(x)) - x0
        share[x] = share[x] * share[x] / (dx * dx + dy * dy + 1e-4)
    if exponent != 1.0:
        for x in range(np.uint64(share.size)):
            share[x] = power(share[x], exponent)
    for x in range(np.uint64(share.size)):
        share[x] *= 1.0 - (turns[x] - 0.5) * (turns[x] - 0.5)


@inner
def _whiten(values, share, inverse):  # type: ignore[no-untyped-def]
    if inverse:
        for x in range(np.uint64(share.size)):
            values[x] = 255.0 + min(share[x], 1.0) * (values[x] - 255.0)
    else:
        for x in range(np.uint64(share.size)):
            values[x] += min(share[x], 1.0) * (255.0 - values[x])


@kernel
def _shine(images, centres, rays, lengths, exponent, inverse, out):  # type: ignore[no-untyped-def]
    """Draw images towards white near each centre in turn, or away from the only one; (N or 1, K) of everything that is drawn."""
    count, height, width, channels = images.shape
    turns, share = np.empty(width, np.float64), np.empty(width, np.float64)
    values = np.empty((channels, width), np.float64)
    for n in range(count):
        m = n if centres.shape[0] > 1 else 0
        for y in range(height):
            for c in range(channels):
                for x in range(width):
                    values[c, x] = images[n, y, x, c]
            for k in range(centres.shape[1]):
                _glow(centres[m, k, 0], y - centres[m, k, 1], np.float64(rays[m, k]), lengths[m, k], exponent, turns, share)
                for c in range(channels):
                    _whiten(values[c], share, inverse)
            for c in range(channels):
                for x in range(width):
                    out[n, y, x, c] = level(values[c, x])


def _rays(
    keys: Keys, centres: int, given: NDArray[np.int64] | None, normals: NDArray[np.float64] | None, radius: float, least: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return how many rays each centre has, (N or 1, K), and how long they are, (N or 1, K, rays and the first two again)."""
    span = _MOST_RAYS - _LEAST_RAYS + 1
    rays = whole_numbers(keys.stage, keys.samples, _RAYS, np.full(centres, span)) + _LEAST_RAYS if given is None else given.reshape(1, -1)
    if normals is None:
        drawn = normal_layers(centres, _MOST_RAYS, 0.0, 1.0, keys.stage, keys.samples, _NORMALS, normal_table())
    else:
        drawn = normals.reshape(1, centres, _MOST_RAYS)
    number = max(len(rays), len(drawn))
    rays = np.broadcast_to(rays, (number, centres))
    around = np.concatenate([drawn, drawn[:, :, :2]], axis=2)
    around = np.array(np.broadcast_to(around, (number, *around.shape[1:])))
    n, k = np.ogrid[:number, :centres]
    for again in range(2):
        around[n, k, rays + again] = around[n, k, again]
    return rays, np.maximum(radius + _UNEVEN * radius * around, least)


def _shone(images: Images, centres: NDArray[np.float64], rays: tuple[NDArray[np.int64], NDArray[np.float64]], exponent: float) -> Images:
    out = np.empty_like(images)
    count = max(len(centres), len(rays[0]))
    places, number, lengths = (np.ascontiguousarray(np.broadcast_to(a, (count, *a.shape[1:]))) for a in (centres, *rays))
    _shine(images, places, number, lengths, float(exponent), centres.shape[1] == 1, out)
    return out


def _places(keys: Keys, count: int, height: int, width: int, margin: float) -> NDArray[np.float64]:
    """Return points (N, count, 2) as (x, y), uniform on the image without a margin, a share of each side."""
    return np.stack(
        [
            np.asarray(uniforms(keys.stage, keys.samples, _PLACES + i, margin * size, (1.0 - margin) * size))
            for i, size in enumerate((width, height) * count)
        ],
        axis=1,
    ).reshape(-1, count, 2)


_NORMAL_DRAW = "standard normals, by how many quarters of the radius a ray is longer; the first ones of a row are used, one a ray"


@corruption(
    revision=1,
    reference=f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, Sparkles",
    parameters=(Parameter("radius", low=1e-6, high=10.0, about="mean length of a ray, as a share of the side"),),
    draws=(
        Draw("centres", "of the five sparkles, (5, 2) as (x, y)", given_array(lambda shape, p: (_CENTRES, 2), np.float64, -1e6, 1e6)),
        Draw("rays", "how many each one has, (5,) whole numbers", given_array(lambda shape, p: (_CENTRES,), np.int64, 1, _MOST_RAYS)),
        Draw("normals", f"{_NORMAL_DRAW}, (5, 199)", given_array(lambda shape, p: (_CENTRES, _MOST_RAYS), np.float64, -100, 100)),
    ),
)
def sparkles(
    images: Images,
    keys: Keys,
    *,
    radius: float,
    centres: NDArray[np.float64] | None = None,
    rays: NDArray[np.int64] | None = None,
    normals: NDArray[np.float64] | None = None,
) -> Images:
    """Lay five white sparkles over images, one after the other: ``x + f * (255 - x)``, f at most 1.

    f is (length of the ray / distance)**2, times 1 in the middle between two rays and 3/4 on them.

    Notes
    -----
    Drawn at random: the centres, uniform on the image; how many rays each has, 50 to 199; the length of every ray, normal with a
    standard deviation of a quarter of the radius, and at least one pixel.
    """
    height, width = images.shape[1:3]
    length = radius * min(height, width)
    around = _rays(keys, _CENTRES, rays, normals, length, 1.0)
    places = _places(keys, _CENTRES, height, width, 0.0) if centres is None else centres[None]
    return _shone(images, places, around, 1.0)


@corruption(
    revision=1,
    reference=f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, InverseSparkles",
    parameters=(Parameter("amount", low=0.0, high=99.9, about="how sharply the visible star ends: 100 would be nowhere"),),
    draws=(
        Draw("centre", "of the star, as (x, y)", given_array(lambda shape, p: (2,), np.float64, -1e6, 1e6)),
        Draw("rays", "how many it has, (1,) whole number", given_array(lambda shape, p: (1,), np.int64, 1, _MOST_RAYS)),
        Draw("normals", f"{_NORMAL_DRAW}, (1, 199)", given_array(lambda shape, p: (1, _MOST_RAYS), np.float64, -100, 100)),
    ),
)
def inverse_sparkles(
    images: Images,
    keys: Keys,
    *,
    amount: float,
    centre: NDArray[np.float64] | None = None,
    rays: NDArray[np.int64] | None = None,
    normals: NDArray[np.float64] | None = None,
) -> Images:
    """Whiten images away from a star-shaped region: ``255 + f * (x - 255)``, f at most 1.

    f is (length of the ray / distance)**(2 e), e = (100 - amount) / 50, times 1 in the middle between two rays and 3/4 on them.

    Notes
    -----
    Drawn at random: the centre, uniform on the middle half of each side; how many rays, 50 to 199; the length of every ray, normal
    about a quarter of the side with a standard deviation of a sixteenth of it.
    """
    height, width = images.shape[1:3]
    length = 0.25 * min(height, width)
    around = _rays(keys, 1, rays, normals, length, -math.inf)
    places = _places(keys, 1, height, width, 0.25) if centre is None else centre[None, None]
    return _shone(images, places, around, (100.0 - amount) / 50.0)
