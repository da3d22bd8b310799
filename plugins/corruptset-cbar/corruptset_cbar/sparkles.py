"""Sparkles: rays of light about points of the image, and the light around a single dark star."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.kernels import inner, kernel
from corruptset.corruptions.random.normal import normal_layers, normal_table
from corruptset.corruptions.random.philox import whole_numbers
from corruptset.corruptions.registry import Draw, Images, Parameter, given_array

from .declare import TALL, WIDE, Drawing, cbar, side, uniform
from .elementary import arctangent, power
from .rows import level

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]
_LEAST_RAYS, _MOST_RAYS = 50, 199
_UNEVEN = 0.25  # the rays' standard deviation, as a share of the radius


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
    for x in range(np.uint64(share.size)):
        dark, light = (255.0, values[x]) if inverse else (values[x], 255.0)
        values[x] = dark + min(share[x], 1.0) * (light - dark)


@kernel
def _shine(images, centres, rays, normals, radius, least, exponent, out):  # type: ignore[no-untyped-def]
    """Draw images towards white near each centre in turn, or away from the only one."""
    count, height, width, channels = images.shape
    sparkles = rays.shape[1]
    turns, share, values = np.empty(width), np.empty(width), np.empty((channels, width))
    lengths = np.empty((sparkles, _MOST_RAYS + 2))
    for n in range(count):
        for k in range(sparkles):
            for ray in range(rays[n, k] + 2):
                lengths[k, ray] = max(radius + _UNEVEN * radius * normals[n, k, ray % rays[n, k]], least)
        for y in range(height):
            for c in range(channels):
                for x in range(width):
                    values[c, x] = images[n, y, x, c]
            for k in range(sparkles):
                number, dy = np.float64(rays[n, k]), y - centres[n, k, 1]
                _glow(centres[n, k, 0], dy, number, lengths[k], exponent, turns, share)
                for c in range(channels):
                    _whiten(values[c], share, sparkles == 1)
            for c in range(channels):
                for x in range(width):
                    out[n, y, x, c] = level(values[c, x])


def _stars(number: int) -> dict[Draw, Drawing]:
    """Return how many rays each of some sparkles has, and how long they are."""
    rays = f"how many each one has, ({number},) whole numbers"
    normals = "standard normals, by how many quarters of the radius a ray is longer; the first ones of a row are used, one a ray"
    spans, most = np.full(number, _MOST_RAYS - _LEAST_RAYS + 1), (number, _MOST_RAYS)
    return {
        Draw("rays", rays, given_array(lambda shape, p: (number,), np.int64, 1, _MOST_RAYS)): lambda keys, shape, p: (
            whole_numbers(keys.stage, keys.samples, 0, spans) + _LEAST_RAYS
        ),
        Draw("normals", f"{normals}, {most}", given_array(lambda shape, p: most, np.float64, -100, 100)): lambda keys, shape, p: (
            normal_layers(*most, 0.0, 1.0, keys.stage, keys.samples, 1, normal_table())
        ),
    }


@cbar(
    "Sparkles",
    (Parameter("radius", low=1e-6, high=10.0, about="mean length of a ray, as a share of the side"),),
    {
        Draw("centres", "of the five sparkles, (5, 2) as (x, y)", given_array(lambda shape, p: (5, 2), np.float64, -1e6, 1e6)): uniform(
            2, 0.0, 1.0, *[WIDE, TALL] * 5
        )
    }
    | _stars(5),
)
def sparkles(images: Images, centres: Floats, rays: Wholes, normals: Floats, radius: float, out: Images) -> None:
    """Lay five white sparkles over images, one after the other: ``x + f * (255 - x)``, f at most 1.

    f is (length of the ray / distance)**2, times 1 in the middle between two rays and 3/4 on them.

    Notes
    -----
    Drawn at random: the centres, uniform on the image; how many rays each has, 50 to 199; the length of every ray, normal
    with a standard deviation of a quarter of the radius, and at least one pixel.
    """
    _shine(images, centres.reshape(-1, 5, 2), rays, normals, radius * side(images.shape[1:]), 1.0, 1.0, out)


@cbar(
    "InverseSparkles",
    (Parameter("amount", low=0.0, high=99.9, about="how sharply the visible star ends: 100 would be nowhere"),),
    {
        Draw("centre", "of the star, as (x, y)", given_array(lambda shape, p: (2,), np.float64, -1e6, 1e6)): uniform(
            2, 0.25, 0.75, WIDE, TALL
        )
    }
    | _stars(1),
)
def inverse_sparkles(images: Images, centres: Floats, rays: Wholes, normals: Floats, amount: float, out: Images) -> None:
    """Whiten images away from a star-shaped region: ``255 + f * (x - 255)``, f at most 1.

    f is (length of the ray / distance)**(2 e), e = (100 - amount) / 50, times 1 in the middle between two rays and 3/4 on
    them.

    Notes
    -----
    Drawn at random: the centre, uniform on the middle half of each side; how many rays, 50 to 199; the length of every
    ray, normal about a quarter of the side with a standard deviation of a sixteenth of it.
    """
    radius, exponent = 0.25 * side(images.shape[1:]), (100.0 - amount) / 50.0
    _shine(images, centres.reshape(-1, 1, 2), rays, normals, radius, -math.inf, exponent, out)
