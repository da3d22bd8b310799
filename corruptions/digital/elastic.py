"""The corruption `elastic_transform`, which applies a random affine map and a smooth random displacement."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...references import HENDRYCKS_2019
from ..arithmetic import over_255
from ..border import CONSTANT, REFLECT, SYMMETRIC
from ..kernels import inlined, kernel
from ..levels import ROUNDING, rounding_offset
from ..registry import Draw, Given, Images, Keys, Parameter, Shape, choice, corruption
from ..sample import rows_at_once, sample
from .fields import make_smoother, smooth

_POINTS, _FIELD_X, _FIELD_Y = 0, 1, 2
_FAR = 1e12  # Coordinates are clipped to this distance, so that they do not overflow an integer.
_STEPS = 1024.0
_HALF_STEP = 16
_OUTSIDE = -2.0
"""A coordinate whose neighbours are all outside of the image."""


@inlined
def _offset(corner, drawn, affine):  # type: ignore[no-untyped-def]
    return np.float64(np.float32(np.float32(corner) + np.float32(drawn * affine)))


@inlined
def _affine_inverse(points, affine, height, width):  # type: ignore[no-untyped-def]
    """Return the six coefficients (float64) of the map from an output pixel (x, y) to its input position.

    Three corners of a square move. The affine map x' = A p + t takes them to their new positions, and its inverse is
    returned. Values are float32 where the published code has float32.
    """
    side = np.float32(min(height, width) // 3)
    cx = np.float32(width // 2)
    cy = np.float32(height // 2)
    right, left = np.float64(cx + side), np.float64(cx - side)
    low, high = np.float64(cy + side), np.float64(cy - side)
    x0, y0 = _offset(right, points[0, 0], affine), _offset(low, points[0, 1], affine)
    x1, y1 = _offset(right, points[1, 0], affine), _offset(high, points[1, 1], affine)
    x2, y2 = _offset(left, points[2, 0], affine), _offset(high, points[2, 1], affine)
    a, d = (x1 - x2) / (right - left), (y1 - y2) / (right - left)
    b, e = (x0 - x1) / (low - high), (y0 - y1) / (low - high)
    c = x2 - a * left - b * high
    f = y2 - d * left - e * high
    determinant = a * e - b * d
    scale = 1.0 / determinant if determinant != 0.0 else 0.0
    m0, m1, m3, m4 = e * scale, -b * scale, -d * scale, a * scale
    return m0, m1, -m0 * c - m1 * f, m3, m4, -m3 * c - m4 * f


@inlined
def _near(x):  # type: ignore[no-untyped-def]
    """Clip a coordinate so that it fits in an integer."""
    return min(max(x, -_FAR), _FAR)


@inlined
def _affine_places(m, top, bottom, across_x, across_y, places):  # type: ignore[no-untyped-def]
    """Write the input positions for the rows from `top` up to `bottom`.

    As in OpenCV, the positions are computed in units of 1/1024 pixel and then rounded to 1/32 pixel.
    """
    width = across_x.size
    for y in range(top, bottom):
        start_x = np.int64(np.rint(_near((m[1] * y + m[2]) * _STEPS))) + _HALF_STEP
        start_y = np.int64(np.rint(_near((m[4] * y + m[5]) * _STEPS))) + _HALF_STEP
        first = (y - top) * width
        line_x, line_y = places[0, first : first + width], places[1, first : first + width]
        for x in range(np.uint64(width)):
            line_x[x] = np.float64((start_x + across_x[x]) >> 5) * 0.03125
            line_y[x] = np.float64((start_y + across_y[x]) >> 5) * 0.03125


@inlined
def _displaced_places(moves_x, moves_y, top, bottom, border, places):  # type: ignore[no-untyped-def]
    """Write the input positions, which are pixels plus their displacements, for the rows from `top` up to `bottom`."""
    height, width = moves_x.shape
    for y in range(top, bottom):
        first = (y - top) * width
        move_x, move_y = moves_x[y], moves_y[y]
        line_x, line_y = places[0, first : first + width], places[1, first : first + width]
        for x in range(np.uint64(width)):
            at_x, at_y = np.float64(np.int64(x)) + move_x[x], np.float64(y) + move_y[x]
            # In MNIST-C, the second step gives black beyond the centres of the outermost pixels, without a transition
            # of one pixel.
            beyond = (at_x < 0.0) | (at_x > width - 1) | (at_y < 0.0) | (at_y > height - 1)
            line_x[x] = _OUTSIDE if border == CONSTANT and beyond else at_x
            line_y[x] = at_y


@kernel
def _move(images, points, affine, moves_x, moves_y, black, half, out):  # type: ignore[no-untyped-def]
    """Sample each image at the positions of its affine map, and sample the result at the displaced positions.

    As published, the affine step uses single precision and values from 0 to 1, and the second step uses double
    precision. `images` and `out` are (N, H, W, C) arrays of uint8, `points` is an (N, 3, 2) array of float64, and the
    displacements are (N, H, W) arrays of float32.
    """
    count, height, width, channels = images.shape
    n = width * channels
    band = rows_at_once(height, width)
    units, warped = np.empty((height, width, channels), np.float32), np.empty((height, width, channels), np.float64)
    across_x, across_y = np.empty(width, np.int64), np.empty(width, np.int64)
    places = np.empty((3, band * width), np.float64)
    single, double = np.empty((4, band * width), np.float32), np.empty((4, band * width), np.float64)
    sums = np.empty(band * n, np.float64)
    flat_units, flat_warped = units.reshape(-1), warped.reshape(-1)
    reflected, displaced = (CONSTANT, CONSTANT) if black else (REFLECT, SYMMETRIC)
    for i in range(count):
        source = images[i].reshape(-1)
        for p in range(np.uint64(source.size)):
            flat_units[p] = over_255(source[p])
        m = _affine_inverse(points[i], affine, height, width)
        for x in range(width):
            across_x[x] = np.int64(np.rint(_near(m[0] * x * _STEPS)))
            across_y[x] = np.int64(np.rint(_near(m[3] * x * _STEPS)))
        for top in range(0, height, band):
            bottom = min(top + band, height)
            size = (bottom - top) * width
            _affine_places(m, top, bottom, across_x, across_y, places)
            target = flat_warped[top * n : bottom * n]
            sample(units, places, size, single, reflected, np.float32(0.0), target)
        for top in range(0, height, band):
            bottom = min(top + band, height)
            size = (bottom - top) * width
            _displaced_places(moves_x[i], moves_y[i], top, bottom, displaced, places)
            sample(warped, places, size, double, displaced, 0.0, sums)
            levels = out[i, top:bottom].reshape(size * channels)
            for p in range(np.uint64(levels.size)):
                level = min(np.float32(sums[p]), np.float32(1.0)) * np.float32(255.0) + half
                levels[p] = np.uint8(np.int32(level))


def _uniform(name: str, about: str, stream: int, size: Callable[[Shape, Given], tuple[int, ...]]) -> Draw:
    """Declare a draw of numbers uniform on [-1, 1), or of zeros for displacements if `alpha` is 0."""

    def drawn(keys: Keys, shape: Shape, parameters: Given) -> NDArray[np.float64]:
        if stream != _POINTS and parameters["alpha"] == 0.0:
            return np.zeros((len(keys.samples), *size(shape, parameters)))
        return keys.uniforms(*size(shape, parameters), stream=stream, low=-1.0, high=1.0)

    return Draw(name, about, drawn, size, low=-1.0, high=1.0)


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, elastic_transform",
    parameters=(
        Parameter("alpha", low=0.0, high=1e6, length=True, about="factor on the smoothed displacement in pixels"),
        Parameter("sigma", low=0.0, high=1e4, length=True, about="standard deviation of the smoothing in pixels"),
        Parameter("affine", low=0.0, high=1e6, length=True, about="maximum move of the affine map's points in pixels"),
        choice("border", ("reflect", "black"), "padding of the image: its reflection, or black as in MNIST-C"),
        ROUNDING,
    ),
    draws=(
        _uniform(
            "points",
            "offsets (3, 2) in x and y of the affine map's points, in units of affine",
            _POINTS,
            lambda *_: (3, 2),
        ),
        _uniform("field_x", "horizontal noise (H, W) before smoothing", _FIELD_X, lambda shape, _: shape[:2]),
        _uniform("field_y", "vertical noise (H, W) before smoothing", _FIELD_Y, lambda shape, _: shape[:2]),
    ),
    scratch_per_pixel=16,
    preserves_geometry=False,
)
def elastic_transform(
    images: Images,
    keys: Keys,
    *,
    alpha: float,
    sigma: float,
    affine: float,
    border: str = "reflect",
    rounding: str = "floor",
    points: NDArray[np.float64],
    field_x: NDArray[np.float64],
    field_y: NDArray[np.float64],
) -> Images:
    """Apply a random affine map, and then displace pixels by smooth random fields.

    The affine map moves three corners of a centred square (lower right, upper right and upper left). The side of the
    square is two thirds of the image's short side. The fields are smoothed by a gaussian that is cut off at 3 sigma,
    with symmetric padding. If sigma is 0, the fields are not smoothed. The border applies to both steps.

    Notes
    -----
    The offsets of three points and two displacement fields are drawn at random for each image, uniformly on [-1, 1).

    Both interpolations are bilinear. The affine step reflects about the centres of the outermost pixels, and the second
    step about their edges. OpenCV and SciPy do the same in the released code. The affine step reads at multiples of
    1/32 pixel, as all versions of OpenCV did when the published sets were made. OpenCV 5 uses exact coordinates, which
    changes values by up to 3.

    For images that are not square, the released code swaps the x and y coordinates of the square's centre. Here the
    square is centred.

    References
    ----------
    Simard, Steinkraus & Platt 2003, Best Practices for Convolutional Neural Networks Applied to Visual Document
    Analysis.
    """
    smoother = make_smoother(*images.shape[1:3], float(sigma if alpha else 0.0))
    moves_x, moves_y = (smooth(field, smoother, float(alpha)) for field in (field_x, field_y))
    out = np.empty_like(images)
    offset = np.float32(rounding_offset(rounding))
    _move(images, points, float(affine), moves_x, moves_y, border == "black", offset, out)
    return out
