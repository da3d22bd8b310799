"""Shear, scale, rotate and translate: MNIST-C's four affine corruptions; rotate also as MATLAB does it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...references import MU_2019
from ..arithmetic import exact_sine_cosine
from ..registry import Draw, Floats, Given, Images, Keys, Parameter, Shape, choice, corruption
from .warp import INTERPOLATIONS, RESIZES, loose_size, resize_into, warp

SIGN = 0
"""The stream of the sign, or of the two signs."""


def _signs(count: int) -> Callable[[Keys, Shape, Given], Floats]:
    def drawn(keys: Keys, shape: Shape, parameters: Given) -> Floats:
        if (direction := parameters.get("direction", "random")) != "random":
            return np.full(len(keys.samples), -1.0 if direction == "clockwise" else 1.0)
        signs = np.asarray(2 * keys.whole_numbers(*[2] * count, stream=SIGN) - 1, np.float64)
        return signs if count > 1 else signs[:, 0]

    return drawn


def _given(signs: Floats, shape: Shape, parameters: Given) -> Floats:
    if parameters.get("direction", "random") != "random":
        raise ValueError("no sign is drawn unless direction is 'random'")
    if not np.isin(signs, (-1, 1)).all():
        raise ValueError(f"got {signs.tolist()}, expected -1 or 1")
    return signs


@corruption(
    reference=f"{MU_2019}; released corruptions.py, shear",
    parameters=(Parameter("angle_deg", float, -89.0, 89.0, "degrees by which upright lines lean"),),
    draws=(Draw("sign", "-1 or 1, the direction of the shear", _signs(1), check=_given),),
    preserves_geometry=False,
)
def shear(images: Images, keys: Keys, *, angle_deg: float, sign: Floats) -> Images:
    """Shear the image about its centre, to the left or to the right.

    Bilinear, black outside, rounded.

    Notes
    -----
    The pixel at (x, y) from the centre is read at (x - y sin a, y cos a), so the image also grows by 1 / cos a from top
    to bottom: the published generator's library meant that by a shear at the time (later releases of it read at
    (x + y tan a, y)). Kept.
    """
    sine, cosine = exact_sine_cosine(float(angle_deg))
    matrices = np.zeros((len(images), 2, 2))
    matrices[:, 0, 0], matrices[:, 1, 1] = 1.0, cosine
    matrices[:, 0, 1] = -sine * sign
    return warp(images, matrices)


@corruption(
    reference=f"{MU_2019}; released corruptions.py, scale",
    parameters=(Parameter("factor", float, 0.01, 100.0, "what a length becomes"),),
    preserves_geometry=False,
    deterministic=True,
)
def scale(images: Images, keys: Keys, *, factor: float) -> Images:
    """Shrink the image about its centre, onto black: bilinear, without averaging, rounded.

    Factors above 1 enlarge its middle.
    """
    matrices = np.zeros((len(images), 2, 2))
    matrices[:, 0, 0] = matrices[:, 1, 1] = 1.0 / factor
    return warp(images, matrices)


@corruption(
    reference=f"{MU_2019}; released corruptions.py, rotate; the whole canvas: MATLAB, Image Processing Toolbox, "
    "imrotate",
    parameters=(
        Parameter("angle_deg", float, -360.0, 360.0, "degrees, counter-clockwise where the sign is 1"),
        choice(
            "direction",
            ("random", "clockwise", "counterclockwise"),
            "which way a positive angle turns: drawn for each image, or fixed",
            shapes_draws=True,
        ),
        choice(
            "interpolation",
            INTERPOLATIONS,
            "how the turned image is read: between four pixels, rounded, or from the nearest one",
        ),
        choice(
            "canvas",
            ("crop", "loose"),
            "crop: corners that leave the image are lost; loose: the whole image, brought back to its size",
        ),
        Parameter("fill", kind=int, low=0, high=255, default=0, option=True, about="the level outside of the image"),
        choice(
            "resize",
            RESIZES,
            "how a loose canvas is brought back to the image's size: the mean over the rectangle that a pixel covers, "
            "between the four pixels nearest to its centre, or the one under its centre",
        ),
    ),
    draws=(Draw("sign", "-1 or 1, the direction of the rotation", _signs(1), check=_given),),
    held=6,
    preserves_geometry=False,
)
def rotate(
    images: Images,
    keys: Keys,
    *,
    angle_deg: float,
    direction: str = "random",
    interpolation: str = "bilinear",
    canvas: str = "crop",
    fill: int = 0,
    resize: str = "area",
    sign: Floats,
) -> Images:
    """Rotate the image about its centre: either way, corners that leave it lost.

    Or, as an option, whole.

    Notes
    -----
    The defaults are MNIST-C's: bilinear, black outside, rounded. With a fixed direction a positive angle turns this
    way, a negative one the other. A loose canvas is the least rectangle that holds the whole rotated image
    (`loose_size`); one of other proportions is squeezed.

    The two-factor sets show whole rotated images in black corners at the size that they had before, clockwise where the
    angle is positive: MATLAB's ``imrotate`` with its defaults, nearest and loose, and then a resize. Which one is not
    published. ``direction="clockwise", interpolation="nearest", canvas="loose"`` makes them, resized by area: like
    MATLAB's ``imresize``, which widens its filter as it shrinks, it lets no pixel of the canvas go unseen, as the other
    two do; unlike a cubic filter it does not overshoot at the black corners' edges, and it is exact in whole numbers.
    """
    count, height, width, _ = images.shape
    sine, cosine = exact_sine_cosine(float(angle_deg))
    matrices = np.empty((count, 2, 2))
    matrices[:, 0, 0] = matrices[:, 1, 1] = cosine
    matrices[:, 0, 1], matrices[:, 1, 0] = -sine * sign, sine * sign
    if canvas == "crop":
        return warp(images, matrices, interpolation=interpolation, fill=fill)
    size = loose_size(height, width, angle_deg)
    out = np.empty_like(images)
    resize_into(warp(images, matrices, size=size, interpolation=interpolation, fill=fill), out, resize)
    return out


@corruption(
    reference=f"{MU_2019}; released corruptions.py, translate",
    parameters=(Parameter("distance", low=0.0, high=10000.0, length=True, about="pixels, along both axes"),),
    draws=(
        Draw(
            "signs", "two numbers, each -1 or 1: the directions along x and y", _signs(2), lambda *_: (2,), check=_given
        ),
    ),
    preserves_geometry=False,
)
def translate(images: Images, keys: Keys, *, distance: float, signs: Floats) -> Images:
    """Move the image diagonally, in one of four directions, onto black.

    A distance that is not whole is interpolated and rounded.

    Notes
    -----
    The pixel at (x, y) is read at (x + signs[0] * distance, y + signs[1] * distance), so the content moves the other
    way.
    """
    return warp(images, np.broadcast_to(np.eye(2), (len(images), 2, 2)), signs * float(distance))
