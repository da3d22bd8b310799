"""Elastic transform: a random affine map, then a smooth random displacement."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...references import HENDRYCKS_2019
from ..arithmetic import over_255
from ..kernels import inlined, kernel
from ..lanes import mix
from ..levels import ROUNDING, half
from ..registry import Draw, Given, Images, Keys, Parameter, Shape, choice, corruption
from .displacement import displace
from .fields import smooth, smoother

_POINTS, _FIELD_X, _FIELD_Y = 0, 1, 2
_FAR = 1e12  # coordinates beyond it mean nothing, and must not overflow an integer
_STEPS = 1024.0
_HALF_STEP = 16
_AT_ONCE = 512
"""About how many pixels one loop works on: short rows together, so that a loop is worth its beginning."""


@inlined
def _offset(corner, drawn, affine):  # type: ignore[no-untyped-def]
    return np.float64(np.float32(np.float32(corner) + np.float32(drawn * affine)))


@inlined
def _affine_inverse(points, affine, height, width):  # type: ignore[no-untyped-def]
    """Return the six coefficients of an affine map, as float64.

    It leads from an output pixel (x, y) to where it is read.

    Three corners of a square move; x' = A p + t goes through the moved ones, and its inverse is sampled.
    float32 where the published code has float32.
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
def _fold(i, n):  # type: ignore[no-untyped-def]
    """Reflect an int32 index once about the centres of the outermost pixels.

    That is dcb|abcd|cba. An index further out stays outside.
    """
    once = np.int32(-i) if i < 0 else i
    return once if once < n else np.int32(np.int32(2) * n - np.int32(2) - once)


@kernel
def _corners(ix, iy, height, width, channels, near, at):  # type: ignore[no-untyped-def]
    """Turn upper left pixels into where all four begin in a flat image.

    Both are rows of `at`; the first int32, then uint32.

    Return whether all lie inside. Those outside are reflected, see `_fold`. `near` is int32 (2, n), for coordinates
    that were reflected already.
    """
    # Slices and 32 bits throughout: so LLVM vectorises. Nearly every band has pixels at an edge, so all are folded.
    a, b, c, d = at[0], at[1], at[2], at[3]
    wide, high = np.int32(width), np.int32(height)
    step = np.uint32(channels)
    line = np.uint32(np.uint32(wide) * step)
    right, bottom = np.int32(wide - np.int32(1)), np.int32(high - np.int32(1))
    touched, far = np.int32(0), np.int32(1)
    columns, rows = ix, iy
    while far != 0:
        far = np.int32(0)
        for x in range(np.uint64(ix.size)):
            left, top = columns[x], rows[x]
            touched |= np.int32((left < 0) | (top < 0) | (left >= right) | (top >= bottom))
            x0, y0 = _fold(left, wide), _fold(top, high)
            x1, y1 = _fold(np.int32(left + np.int32(1)), wide), _fold(np.int32(top + np.int32(1)), high)
            far |= np.int32((x0 < 0) | (x1 < 0) | (y0 < 0) | (y1 < 0))
            upper, lower = np.uint32(np.uint32(y0) * line), np.uint32(np.uint32(y1) * line)
            before, behind = np.uint32(np.uint32(x0) * step), np.uint32(np.uint32(x1) * step)
            a[x] = np.uint32(upper + before)
            b[x] = np.uint32(upper + behind)
            c[x] = np.uint32(lower + before)
            d[x] = np.uint32(lower + behind)
        if far != 0:
            # So far out that one reflection does not do: bring the coordinates near first.
            columns, rows = near[0], near[1]
            for x in range(ix.size):
                columns[x] = (ix[x] + width - 1) % (2 * width - 2) - width + 1
                rows[x] = (iy[x] + height - 1) % (2 * height - 2) - height + 1
    return touched == 0


@inlined
def _near(x):  # type: ignore[no-untyped-def]
    """Return a coordinate that fits an integer."""
    return min(max(x, -_FAR), _FAR)


@kernel
def _warp(images, offsets, affine, black, warped):  # type: ignore[no-untyped-def]
    """Sample each image at its affine map of the grid, bilinearly.

    It is reflected about the outermost centres, or black outside.

    Coordinates are 1/1024 pixel, cut to 1/32 when they are read. `images` is uint8 (N, H, W, C), `offsets` (N, 3, 2),
    `warped` float32 (N, H * W * C and more), 0..1.
    """
    count, height, width, channels = images.shape
    plain = np.empty(height * width * channels + 1, np.float32)
    across_x = np.empty(width, np.int64)
    across_y = np.empty(width, np.int64)
    band = min(max(_AT_ONCE // width, 1), height)
    sx = np.empty(band * width, np.int64)
    sy = np.empty(band * width, np.int64)
    ix = np.empty(band * width, np.int32)
    iy = np.empty(band * width, np.int32)
    weights = np.empty((4, band * width), np.float32)
    w0, w1, w2, w3 = weights[0], weights[1], weights[2], weights[3]
    near = np.empty((2, band * width), np.int32)
    at = np.empty((4, band * width), np.uint32)
    unit = np.float32(1.0)
    for i in range(count):
        source = images[i].reshape(-1)
        for p in range(np.uint64(source.size)):
            plain[p] = over_255(source[p])
        points = offsets[i]
        m = _affine_inverse(points, affine, height, width)
        for x in range(width):
            across_x[x] = np.int64(np.rint(_near(m[0] * x * _STEPS)))
            across_y[x] = np.int64(np.rint(_near(m[3] * x * _STEPS)))
        for top in range(0, height, band):
            bottom = min(top + band, height)
            size = (bottom - top) * width
            for y in range(top, bottom):
                start_x = np.int64(np.rint(_near((m[1] * y + m[2]) * _STEPS))) + _HALF_STEP
                start_y = np.int64(np.rint(_near((m[4] * y + m[5]) * _STEPS))) + _HALF_STEP
                line_x, line_y = (
                    sx[(y - top) * width : (y - top + 1) * width],
                    sy[(y - top) * width : (y - top + 1) * width],
                )
                for x in range(np.uint64(width)):
                    line_x[x] = (start_x + across_x[x]) >> 5
                    line_y[x] = (start_y + across_y[x]) >> 5
            for p in range(np.uint64(size)):
                ix[p] = sx[p] >> 5
                iy[p] = sy[p] >> 5
                u = np.float32(np.int32(sx[p] & 31)) * np.float32(0.03125)
                v = np.float32(np.int32(sy[p] & 31)) * np.float32(0.03125)
                w0[p], w1[p], w2[p], w3[p] = (unit - u) * (unit - v), u * (unit - v), (unit - u) * v, u * v
            inside = _corners(ix[:size], iy[:size], height, width, channels, near, at)
            if black and not inside:
                for p in range(size):
                    for k in range(4):
                        column, row = ix[p] + (k & 1), iy[p] + (k >> 1)
                        if column < 0 or row < 0 or column >= width or row >= height:
                            weights[k, p] = 0.0
            a, b, c, d, target = at[0], at[1], at[2], at[3], warped[i, top * width * channels :]
            for p in range(np.uint64(size)):
                q, r, s, t = np.uint64(a[p]), np.uint64(b[p]), np.uint64(c[p]), np.uint64(d[p])
                if channels == 3:
                    mix(plain, q, r, s, t, w0[p], w1[p], w2[p], w3[p], target, np.uint64(3) * p)
                else:
                    target[p] = ((plain[q] * w0[p] + plain[r] * w1[p]) + plain[s] * w2[p]) + plain[t] * w3[p]


def _uniform(name: str, about: str, stream: int, size: Callable[[Shape, Given], tuple[int, ...]]) -> Draw:
    """Declare numbers on [-1, 1); none of them is drawn that moves nothing."""

    def drawn(keys: Keys, shape: Shape, parameters: Given) -> NDArray[np.float64]:
        if stream != _POINTS and parameters["alpha"] == 0.0:
            return np.zeros((len(keys.samples), *size(shape, parameters)))
        return keys.uniforms(*size(shape, parameters), stream=stream, low=-1.0, high=1.0)

    return Draw(name, about, drawn, size, low=-1.0, high=1.0)


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, elastic_transform",
    parameters=(
        Parameter("alpha", low=0.0, high=1e6, length=True, about="factor on the smoothed displacement, pixels"),
        Parameter("sigma", low=0.0, high=1e4, length=True, about="standard deviation of the smoothing, pixels"),
        Parameter("affine", low=0.0, high=1e6, length=True, about="greatest move of the affine map's points, pixels"),
        choice("border", ("reflect", "black"), "outside of the image: its reflection, or black as in MNIST-C"),
        ROUNDING,
    ),
    draws=(
        _uniform(
            "points", "(3, 2) offsets (x, y) of the affine map's points, in units of affine", _POINTS, lambda *_: (3, 2)
        ),
        _uniform("field_x", "(H, W) noise before smoothing, horizontal", _FIELD_X, lambda shape, _: shape[:2]),
        _uniform("field_y", "(H, W) noise before smoothing, vertical", _FIELD_Y, lambda shape, _: shape[:2]),
    ),
    held=16,
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
    """Move the image by a random affine map, then pixels by smooth displacements.

    Points and fields are uniform on [-1, 1). The points move the lower right, upper right and upper left corner of a
    centred square with sides of two thirds of the short side. Fields are smoothed by a gaussian that ends at 3 sigma,
    edges reflected; sigma 0 leaves them as they are. The border is that of both steps.

    Notes
    -----
    Both interpolations are bilinear; the affine one reflects about the outermost pixels' centres, the second about
    their edges, as OpenCV and SciPy do in the released code. The affine one reads at multiples of 1/32 pixel, as every
    OpenCV did when the published sets were made (OpenCV 5 has exact coordinates: up to 3 levels apart).

    On images that are not square the released code mixes up x and y of the square's centre; here it is the image's.

    References
    ----------
    Simard, Steinkraus & Platt 2003, Best Practices for Convolutional Neural Networks Applied to Visual Document
    Analysis.
    """
    kit = smoother(*images.shape[1:3], float(sigma if alpha else 0.0))
    black, out = border == "black", np.empty_like(images)
    warped = np.empty((len(images), images[0].size + 2), np.float32)
    _warp(images, points, float(affine), black, warped)
    moves = (smooth(field, kit, float(alpha)) for field in (field_x, field_y))
    displace(warped, *moves, black, np.float32(half(rounding)), out)
    return out
