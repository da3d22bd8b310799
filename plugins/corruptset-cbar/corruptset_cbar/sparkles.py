"""Draw sparkles: rays of light around several points, or light around a single star-shaped region."""

from __future__ import annotations

import math

import numpy as np

from corruptset.corruptions.kernels import inner, kernel
from corruptset.corruptions.random.normal import normal_layers, normal_table
from corruptset.corruptions.registry import Draw

from .declare import TALL, WIDE, Drawing, array, cbar, fixed, uniform
from .elementary import along, arctangent, power, real
from .rows import level

_MIN_RAYS, _MAX_RAYS = 50, 199
_UNEVEN = 0.25  # This is the standard deviation of the lengths of rays, relative to the radius.


@inner
def _glow(x0, dy, number, around, exponent, inverse, turns, share, values):  # type: ignore[no-untyped-def]
    """Blend a row of an image, of shape (C, W), with white. The blended part is near a sparkle, or away from it."""
    for x in along(share):
        turns[x] = (arctangent(real(x) - x0, dy) + 0.5) * number
    for x in along(share):
        ray = np.uint32(np.int32(turns[x]))
        turns[x] -= real(turns[x])
        share[x] = around[ray] + turns[x] * (around[ray + np.uint32(1)] - around[ray])
    for x in along(share):
        dx = real(x) - x0
        share[x] = share[x] * share[x] / (dx * dx + dy * dy + 1e-4)
    for x in along(share if exponent != 1.0 else share[:0]):
        share[x] = power(share[x], exponent)
    for x in along(share):
        place = turns[x] - 0.5
        share[x] = min(share[x] * (1.0 - place * place), 1.0)
    for c in range(values.shape[0]):
        line = values[c]
        for x in along(share):
            dark, light = (255.0, line[x]) if inverse else (line[x], 255.0)
            line[x] = dark + share[x] * (light - dark)


@kernel
def _shine(images, centres, rays, normals, share, least, exponent, out):  # type: ignore[no-untyped-def]
    """Blend images with white near several centres, or away from a single centre."""
    count, height, width, channels = images.shape
    sparkles, radius = rays.shape[1], share * min(height, width)
    points, lengths = centres.reshape(count, sparkles, 2), np.empty((sparkles, _MAX_RAYS + 2))
    turns, shares, values = np.empty(width), np.empty(width), np.empty((channels, width))
    for n in range(count):
        for k in range(sparkles):
            for ray in range(rays[n, k] + 2):
                lengths[k, ray] = max(radius + _UNEVEN * radius * normals[n, k, ray % rays[n, k]], least)
        for y in range(height):
            for c in range(channels):
                for x in range(width):
                    values[c, x] = images[n, y, x, c]
            for k in range(sparkles):
                x0, dy, number = points[n, k, 0], y - points[n, k, 1], rays[n, k]
                _glow(x0, dy, number, lengths[k], exponent, sparkles == 1, turns, shares, values)
            for c in range(channels):
                for x in range(width):
                    out[n, y, x, c] = level(values[c, x])


def _stars(size: int, about: str, places: Drawing, *shape: int) -> list[Draw]:
    """Declare the positions of some sparkles, the number of rays of each sparkle, and the lengths of the rays."""
    rays = f"number of rays of each sparkle, ({size},) integers"
    normals = (
        "standard normals, which are multiplied by a quarter of the radius and added to the length of a ray (each row "
        "uses its first values, one for each ray)"
    )
    spans, most = [_MAX_RAYS - _MIN_RAYS + 1] * size, (size, _MAX_RAYS)
    return [
        array("centres" if shape[1:] else "centre", about, fixed(*shape), -1e6, 1e6, places),
        array(
            "rays", rays, fixed(size), 1, _MAX_RAYS,
            lambda keys, *_: keys.integers(*spans) + _MIN_RAYS,
        ),
        array(
            "normals", f"{normals}, {most}", fixed(*most), -100.0, 100.0,
            lambda keys, *_: normal_layers(*most, 0.0, 1.0, *keys, 1, normal_table()),
        ),
    ]  # fmt: skip


@cbar(
    "Sparkles",
    {"radius": (1e-6, 10.0, "mean length of a ray, as a fraction of the side")},
    *_stars(5, "centres of the five sparkles, (5, 2) as (x, y)", uniform(2, 0.0, 1.0, *[WIDE, TALL] * 5), 5, 2),
)
def sparkles(images, centres, rays, normals, radius, out):  # type: ignore[no-untyped-def]
    """Blend images with five white sparkles, one after the other, as ``x + f * (255 - x)`` with f at most 1.

    The factor f is (length of the ray / distance)**2. It is multiplied by 1 midway between two rays, and by 3/4 on the
    rays.

    Notes
    -----
    The centres are drawn uniformly from the image. The number of rays of each sparkle is drawn uniformly from 50 to
    199. The length of each ray is normally distributed around the radius. Its standard deviation is a quarter of the
    radius, and its minimum is one pixel.
    """
    _shine(images, centres, rays, normals, radius, 1.0, 1.0, out)


@cbar(
    "InverseSparkles",
    {"amount": (0.0, 99.9, "sharpness of the edge of the star, which would vanish at 100")},
    *_stars(1, "centre of the star, as (x, y)", uniform(2, 0.25, 0.75, WIDE, TALL), 2),
)
def inverse_sparkles(images, centres, rays, normals, amount, out):  # type: ignore[no-untyped-def]
    """Whiten images outside a star-shaped region, as ``255 + f * (x - 255)`` with f at most 1.

    The factor f is (length of the ray / distance)**(2 e), with e = (100 - amount) / 50. It is multiplied by 1 midway
    between two rays, and by 3/4 on the rays.

    Notes
    -----
    The centre is drawn uniformly from the middle half of each side. The number of rays is drawn uniformly from 50 to
    199. The length of each ray is normally distributed around a quarter of the side, with a standard deviation of a
    sixteenth of the side.
    """
    _shine(images, centres, rays, normals, 0.25, -math.inf, (100.0 - amount) / 50.0, out)
