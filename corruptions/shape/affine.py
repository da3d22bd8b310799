"""Shear, scale, rotate and translate: MNIST-C's four affine corruptions; rotate also as MATLAB does it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...references import MU_2019
from ..arithmetic import exact_sine_cosine
from ..kernels import portions
from ..keys import Keys
from ..random.philox import whole_numbers
from ..registry import Draw, Images, Parameter, Shape, choice, corruption, given_array
from .canvas import RESIZES, loose_size, resize_into
from .warp import INTERPOLATIONS, warp

SIGN = 0
"""The stream of the sign, or of the two signs."""


def _given_sign(value: Any, shape: Shape, parameters: Mapping[str, Any]) -> int:
    if parameters.get("direction", "random") != "random":
        raise ValueError("no sign is drawn unless direction is 'random'")
    array = np.asarray(value)
    if array.shape != () or array.dtype.kind not in "iuf" or array not in (-1, 1):
        raise ValueError(f"got {value!r}, expected -1 or 1")
    return int(array)


def _given_signs(value: Any, shape: Shape, parameters: Mapping[str, Any]) -> NDArray[np.int64]:
    array: NDArray[np.int64] = given_array(lambda *_: (2,), np.int64, -1, 1)(value, shape, parameters)
    if not array.all():
        raise ValueError(f"got {array.tolist()}, expected -1 or 1")
    return array


def _signs(keys: Keys, sign: int | None) -> NDArray[np.float64]:
    return _drawn_signs(keys) if sign is None else np.full(len(keys.samples), float(sign))


def _drawn_signs(keys: Keys) -> NDArray[np.float64]:
    return np.asarray(2 * whole_numbers(keys.stage, keys.samples, SIGN, np.array([2]))[:, 0] - 1, np.float64)


@corruption(
    revision=1,
    reference=f"{MU_2019}; released corruptions.py, shear",
    parameters=(Parameter("angle_deg", low=-89.0, high=89.0, about="degrees by which upright lines lean"),),
    draws=(Draw("sign", "-1 or 1, the direction of the shear", _given_sign, _drawn_signs),),
    preserves_geometry=False,
)
def shear(images: Images, keys: Keys, *, angle_deg: float, sign: int | None = None) -> Images:
    """Shear the image about its centre, to the left or to the right: bilinear, black outside, rounded.

    Notes
    -----
    The pixel at (x, y) from the centre is read at (x - y sin a, y cos a), so the image also grows by 1 / cos a from top
    to bottom: the published generator's library meant that by a shear at the time (later releases of it read at
    (x + y tan a, y)). Kept.
    """
    sine, cosine = exact_sine_cosine(float(angle_deg))
    matrices = np.zeros((len(images), 2, 2))
    matrices[:, 0, 0], matrices[:, 1, 1] = 1.0, cosine
    matrices[:, 0, 1] = -sine * _signs(keys, sign)
    return warp(images, matrices)


@corruption(
    revision=1,
    reference=f"{MU_2019}; released corruptions.py, scale",
    parameters=(Parameter("factor", low=0.01, high=100.0, about="what a length becomes"),),
    preserves_geometry=False,
    deterministic=True,
)
def scale(images: Images, keys: Keys, *, factor: float) -> Images:
    """Shrink the image about its centre, onto black: bilinear, without averaging, rounded. Factors above 1 enlarge its middle."""
    matrices = np.zeros((len(images), 2, 2))
    matrices[:, 0, 0] = matrices[:, 1, 1] = 1.0 / factor
    return warp(images, matrices)


@corruption(
    revision=1,
    reference=f"{MU_2019}; released corruptions.py, rotate; the whole canvas: MATLAB, Image Processing Toolbox, imrotate",
    parameters=(
        Parameter("angle_deg", low=-360.0, high=360.0, about="degrees, counter-clockwise where the sign is 1"),
        choice(
            "direction",
            ("random", "clockwise", "counterclockwise"),
            "which way a positive angle turns: drawn for each image, or fixed",
            shapes_draws=True,
        ),
        choice("interpolation", INTERPOLATIONS, "how the turned image is read: between four pixels, rounded, or from the nearest one"),
        choice(
            "canvas", ("crop", "loose"), "crop: corners that leave the image are lost; loose: the whole image, brought back to its size"
        ),
        Parameter("fill", kind=int, low=0, high=255, default=0, option=True, about="the level outside of the image"),
        choice(
            "resize",
            RESIZES,
            "how a loose canvas is brought back to the image's size: the mean over the rectangle that a pixel covers, between the four "
            "pixels nearest to its centre, or the one under its centre",
        ),
    ),
    draws=(Draw("sign", "-1 or 1, the direction of the rotation", _given_sign, _drawn_signs),),
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
    sign: int | None = None,
) -> Images:
    """Rotate the image about its centre: either way, corners that leave it lost; or, as an option, whole.

    Notes
    -----
    The defaults are MNIST-C's: bilinear, black outside, rounded. With a fixed direction a positive angle turns this way, a negative one
    the other. A loose canvas is the least rectangle that holds the whole rotated image (`loose_size`); one of other proportions is
    squeezed.

    The two-factor sets show whole rotated images in black corners at the size that they had before, clockwise where the
    angle is positive: MATLAB's ``imrotate`` with its defaults, nearest and loose, and then a resize. Which one is not
    published. ``direction="clockwise", interpolation="nearest", canvas="loose"`` makes them, resized by area: like
    MATLAB's ``imresize``, which widens its filter as it shrinks, it lets no pixel of the canvas go unseen, as the other two
    do; unlike a cubic filter it does not overshoot at the black corners' edges, and it is exact in whole numbers.
    """
    count, height, width, _ = images.shape
    sine, cosine = exact_sine_cosine(float(angle_deg))
    signs = _signs(keys, sign) if direction == "random" else np.full(count, -1.0 if direction == "clockwise" else 1.0)
    matrices = np.empty((count, 2, 2))
    matrices[:, 0, 0] = matrices[:, 1, 1] = cosine
    matrices[:, 0, 1], matrices[:, 1, 0] = -sine * signs, sine * signs
    if canvas == "crop":
        return warp(images, matrices, interpolation=interpolation, fill=fill)
    size = loose_size(height, width, angle_deg)
    out = np.empty_like(images)
    for part in portions(count, size[0] * size[1] * images.shape[3]):
        resize_into(warp(images[part], matrices[part], size=size, interpolation=interpolation, fill=fill), out[part], resize)
    return out


@corruption(
    revision=1,
    reference=f"{MU_2019}; released corruptions.py, translate",
    parameters=(Parameter("distance", low=0.0, high=10000.0, length=True, about="pixels, along both axes"),),
    draws=(Draw("signs", "two numbers, each -1 or 1: the directions along x and y", _given_signs),),
    preserves_geometry=False,
)
def translate(images: Images, keys: Keys, *, distance: float, signs: NDArray[np.int64] | None = None) -> Images:
    """Move the image diagonally, in one of four directions, onto black; a distance that is not whole is interpolated and rounded.

    Notes
    -----
    The pixel at (x, y) is read at (x + signs[0] * distance, y + signs[1] * distance), so the content moves the other way.
    """
    count = len(images)
    drawn = whole_numbers(keys.stage, keys.samples, SIGN, np.array([2, 2])) * 2 - 1 if signs is None else np.broadcast_to(signs, (count, 2))
    return warp(images, np.broadcast_to(np.eye(2), (count, 2, 2)), np.asarray(drawn, np.float64) * float(distance))
