"""MNIST-C's affine corruptions (shear, scale, rotate and translate), and rotation as in MATLAB."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...references import MU_2019
from ..arithmetic import exact_sine_cosine
from ..registry import Draw, Floats, Given, Images, Keys, Parameter, Shape, choice, corruption
from .warp import INTERPOLATIONS, RESIZES, loose_size, resize_into, warp

SIGN = 0
"""The stream of the sign or of both signs."""


def _signs(count: int) -> Callable[[Keys, Shape, Given], Floats]:
    def drawn(keys: Keys, shape: Shape, parameters: Given) -> Floats:
        if (direction := parameters.get("direction", "random")) != "random":
            return np.full(len(keys.samples), -1.0 if direction == "clockwise" else 1.0)
        signs = np.asarray(2 * keys.integers(*[2] * count, stream=SIGN) - 1, np.float64)
        return signs if count > 1 else signs[:, 0]

    return drawn


def _given(signs: Floats, shape: Shape, parameters: Given) -> Floats:
    if parameters.get("direction", "random") != "random":
        raise ValueError("it is used only if direction is 'random'")
    if not np.isin(signs, (-1, 1)).all():
        raise ValueError(f"got {signs.tolist()}, expected -1 or 1")
    return signs


@corruption(
    reference=f"{MU_2019}; released corruptions.py, shear",
    parameters=(Parameter("angle_deg", float, -89.0, 89.0, "angle in degrees by which vertical lines lean"),),
    draws=(Draw("sign", "direction of the shear, -1 or 1", _signs(1), check=_given),),
    preserves_geometry=False,
)
def shear(images: Images, keys: Keys, *, angle_deg: float, sign: Floats) -> Images:
    """Shear the image about its centre, to the left or to the right.

    Interpolation is bilinear, the outside is black, and the result is rounded.

    Notes
    -----
    The direction, left or right, is drawn at random for each image.

    The pixel at (x, y) from the centre is read at (x - y sin a, y cos a). The image therefore also grows vertically by
    1 / cos a. This is how the library used by the published generator defined a shear at the time. Later releases of
    the library read at (x + y tan a, y). The published behaviour is kept.
    """
    sine, cosine = exact_sine_cosine(float(angle_deg))
    matrices = np.zeros((len(images), 2, 2))
    matrices[:, 0, 0], matrices[:, 1, 1] = 1.0, cosine
    matrices[:, 0, 1] = -sine * sign
    return warp(images, matrices)


@corruption(
    reference=f"{MU_2019}; released corruptions.py, scale",
    parameters=(Parameter("factor", float, 0.01, 100.0, "scale factor of lengths"),),
    preserves_geometry=False,
    deterministic=True,
)
def scale(images: Images, keys: Keys, *, factor: float) -> Images:
    """Scale the image about its centre, on a black background.

    Interpolation is bilinear without averaging, and the result is rounded. Factors below 1 shrink the image. Factors
    above 1 enlarge its centre.
    """
    matrices = np.zeros((len(images), 2, 2))
    matrices[:, 0, 0] = matrices[:, 1, 1] = 1.0 / factor
    return warp(images, matrices)


@corruption(
    reference=f"{MU_2019}; released corruptions.py, rotate; the whole canvas: MATLAB, Image Processing Toolbox, "
    "imrotate",
    parameters=(
        Parameter("angle_deg", float, -360.0, 360.0, "angle in degrees, counterclockwise if the sign is 1"),
        choice(
            "direction",
            ("random", "clockwise", "counterclockwise"),
            "direction of positive angles: drawn for each image, or fixed",
            shapes_draws=True,
        ),
        choice(
            "interpolation",
            INTERPOLATIONS,
            "interpolation of the rotated image: between four pixels, rounded, or the nearest pixel",
        ),
        choice(
            "canvas",
            ("crop", "loose"),
            "canvas of the rotated image: crop cuts corners off; loose keeps the whole image and resizes it",
        ),
        Parameter("fill", kind=int, low=0, high=255, default=0, option=True, about="grey value outside of the image"),
        choice(
            "resize",
            RESIZES,
            "method to resize a loose canvas: the mean over the rectangle that a pixel covers, interpolation of the "
            "four pixels nearest to its centre, or the pixel under its centre",
        ),
    ),
    draws=(Draw("sign", "direction of the rotation, -1 or 1", _signs(1), check=_given),),
    scratch_per_pixel=6,
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
    """Rotate the image about its centre.

    Corners that leave the image are cut off by default. With ``canvas="loose"``, the whole rotated image is resized to
    the size of the image instead.

    Notes
    -----
    The direction is drawn at random for each image, unless `direction` is fixed.

    The defaults are those of MNIST-C: bilinear interpolation, black outside, and rounding. With a fixed direction,
    negative angles rotate in the opposite direction. A loose canvas is the smallest one that contains the whole rotated
    image (`loose_size`). If its aspect ratio differs from that of the image, the result is squeezed.

    The published two-factor sets show whole rotated images with black corners, at their original size and clockwise for
    positive angles. This corresponds to MATLAB's ``imrotate`` with its defaults (nearest and loose), followed by a
    resize whose method was not published. ``direction="clockwise", interpolation="nearest", canvas="loose"`` creates
    such images, resized by area. Resizing by area uses every pixel of the canvas, like MATLAB's ``imresize``, which
    widens its filter when it shrinks. The two other methods do not use every pixel. Unlike a cubic filter, resizing by
    area does not overshoot at the edges of the black corners. It can also be computed exactly in whole numbers.
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
    parameters=(Parameter("distance", low=0.0, high=10000.0, length=True, about="distance in pixels along both axes"),),
    draws=(
        Draw(
            "signs", "directions along x and y, two numbers that are -1 or 1", _signs(2), lambda *_: (2,), check=_given
        ),
    ),
    preserves_geometry=False,
)
def translate(images: Images, keys: Keys, *, distance: float, signs: Floats) -> Images:
    """Move the image diagonally, in one of four directions, on a black background.

    For fractional distances, pixels are interpolated bilinearly and rounded.

    Notes
    -----
    One of the four directions is drawn at random for each image.

    The pixel at (x, y) is read at (x + signs[0] * distance, y + signs[1] * distance). The content therefore moves in
    the opposite direction.
    """
    return warp(images, np.broadcast_to(np.eye(2), (len(images), 2, 2)), signs * float(distance))
