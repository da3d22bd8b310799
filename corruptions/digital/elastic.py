"""Elastic transform: a random affine map, then a smooth random displacement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import over_255
from ..kernels import inlined, kernel
from ..keys import Keys
from ..lanes import blend
from ..random.philox import fill_words_from
from ..registry import Draw, Images, Parameter, Shape, corruption, given_array
from ..rounding import ROUNDING, half
from .fields import Smoother, margin, room, smooth, smoother

_POINTS, _FIELD_X, _FIELD_Y = 0, 1, 2
_FAR = 1e12  # coordinates beyond it mean nothing, and must not overflow an integer
_FAR_PIXELS = 1e9
_STEPS = 1024.0
_1 = np.uint64(1)
_2 = np.uint64(2)
_3 = np.uint64(3)
_HALF_STEP = 16
# What `_fold` reflects about; not True and False, each of which numba would compile `_corners` for
_EDGES, _CENTRES = np.int32(0), np.int32(1)
_WORDS = 2048  # at a time: they stay in the nearest cache
_PIXELS = 1 << 14
"""About how many pixels are worked on at a time."""
_AT_ONCE = 512
"""About how many of them by one loop."""


@inlined
def _offset(corner, drawn, affine):  # type: ignore[no-untyped-def]
    return np.float64(np.float32(np.float32(corner) + np.float32(drawn * affine)))


@inlined
def _affine_inverse(points, affine, height, width):  # type: ignore[no-untyped-def]
    """Return the six coefficients that map an output pixel (x, y) to where it is read, as float64.

    Three corners of a square move; x' = A p + t goes through the moved ones, and its inverse is what is sampled.
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
def _near(x):  # type: ignore[no-untyped-def]
    """Return a coordinate that fits an integer."""
    return min(max(x, -_FAR), _FAR)


@inlined
def _fold(i, n, mirror):  # type: ignore[no-untyped-def]
    """Reflect an int32 index at either end, once: about the centres of the outermost pixels (dcb|abcd|cba) with
    `mirror` 1, about the outer edges (cba|abcd|dcb) with 0. What lies further out stays outside."""
    once = np.int32(mirror - np.int32(1) - i) if i < 0 else i
    return once if once < n else np.int32(np.int32(2) * n - np.int32(1) - mirror - once)


@kernel
def _corners(ix, iy, mirror, height, width, lanes, near, at):  # type: ignore[no-untyped-def]
    """Turn upper left pixels, int32, into where all four start in a flat picture: rows of `at`, uint32.

    Return whether all lie inside. What does not is reflected, see `_fold`. `near` is int32 (2, n), for coordinates that
    were reflected already.
    """
    # Slices and 32 bits throughout: so LLVM vectorises. Nearly every band has pixels at an edge, so all are folded.
    a, b, c, d = at[0], at[1], at[2], at[3]
    wide, high = np.int32(width), np.int32(height)
    step = np.uint32(lanes)
    line = np.uint32(np.uint32(wide) * step)
    right, bottom = np.int32(wide - np.int32(1)), np.int32(high - np.int32(1))
    touched, far = np.int32(0), np.int32(1)
    columns, rows = ix, iy
    while far != 0:
        far = np.int32(0)
        for x in range(np.uint64(ix.size)):
            left, top = columns[x], rows[x]
            touched |= np.int32((left < 0) | (top < 0) | (left >= right) | (top >= bottom))
            x0, y0 = _fold(left, wide, mirror), _fold(top, high, mirror)
            x1, y1 = _fold(np.int32(left + np.int32(1)), wide, mirror), _fold(np.int32(top + np.int32(1)), high, mirror)
            far |= np.int32((x0 < 0) | (x1 < 0) | (y0 < 0) | (y1 < 0))
            upper, lower = np.uint32(np.uint32(y0) * line), np.uint32(np.uint32(y1) * line)
            before, behind = np.uint32(np.uint32(x0) * step), np.uint32(np.uint32(x1) * step)
            a[x] = np.uint32(upper + before)
            b[x] = np.uint32(upper + behind)
            c[x] = np.uint32(lower + before)
            d[x] = np.uint32(lower + behind)
        if far != 0:
            # So far out that it takes more than one reflection: bring it near first.
            columns, rows = near[0], near[1]
            half_x, half_y = width - np.int64(mirror), height - np.int64(mirror)
            for x in range(ix.size):
                columns[x] = (ix[x] + half_x) % (2 * half_x) - half_x
                rows[x] = (iy[x] + half_y) % (2 * half_y) - half_y
    return touched == 0


@kernel
def _blacken(ix, iy, whole, height, width, weights):  # type: ignore[no-untyped-def]
    """Take the weight from pixels outside: what is there is black. With `whole`, a sum that has some of it is black too."""
    for x in range(ix.size):
        lost = False
        for k in range(4):
            column, row = ix[x] + (k & 1), iy[x] + (k >> 1)
            if (column < 0 or row < 0 or column >= width or row >= height) and weights[k, x] != 0.0:
                weights[k, x] = 0.0
                lost = True
        if whole and lost:
            weights[:, x] = 0.0


@inlined
def _interpolate(flat, at, size, weights, out, first, step):  # type: ignore[no-untyped-def]
    """Write weighted sums of four pixels to `out`, from `first` on, a pixel every `step`.

    A pixel has four lanes or one, see `_lanes`. Four are read and written in any case: what is too much is written over
    by the next pixel.
    """
    p = np.uint64(first)
    a, b, c, d = at[0], at[1], at[2], at[3]
    w0, w1, w2, w3 = weights[0], weights[1], weights[2], weights[3]
    for x in range(np.uint64(size)):
        blend(flat, np.uint64(a[x]), np.uint64(b[x]), np.uint64(c[x]), np.uint64(d[x]), w0[x], w1[x], w2[x], w3[x], out, p)
        p += np.uint64(step)


@inlined
def _lanes(channels):  # type: ignore[no-untyped-def]
    """Return how many values a pixel takes up in a flat picture: colour has a fourth that means nothing."""
    return 4 if channels == 3 else 1


@inlined
def _band(height, width):  # type: ignore[no-untyped-def]
    """Return how many rows are worked on at a time: short ones together, so that a loop is worth its beginning."""
    return min(max(_AT_ONCE // width, 1), height)


@inlined
def _fill(source, channels, flat):  # type: ignore[no-untyped-def]
    """Write an image's values / 255, in single precision."""
    if channels == 3:
        for p in range(np.uint64(source.size // 3)):
            q, r = np.uint64(4) * p, np.uint64(3) * p
            flat[q] = over_255(source[r])
            flat[q + _1] = over_255(source[r + _1])
            flat[q + _2] = over_255(source[r + _2])
            flat[q + _3] = np.float32(0.0)
    else:
        for p in range(np.uint64(source.size)):
            flat[p] = over_255(source[p])


@kernel
def _warp(images, offsets, affine, black, warped):  # type: ignore[no-untyped-def]
    """Sample each image at its affine map of the grid, bilinearly; reflected about the outermost centres, or black outside.

    Coordinates are 1/1024 pixel, cut to 1/32 when they are read. `images` is uint8 (N, H, W, C), `offsets` (N, 3, 2) or
    (1, 3, 2), `warped` float32 (N, H * W * lanes + 3), 0..1.
    """
    count, height, width, channels = images.shape
    lanes = _lanes(channels)
    plain = np.zeros(height * width * lanes + 3, np.float32)
    across_x = np.empty(width, np.int64)
    across_y = np.empty(width, np.int64)
    band = _band(height, width)
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
        _fill(images[i].reshape(-1), channels, plain)
        points = offsets[min(i, offsets.shape[0] - 1)]
        m = _affine_inverse(points, affine, height, width)
        for x in range(width):
            across_x[x] = np.int64(np.rint(_near(m[0] * x * _STEPS)))
            across_y[x] = np.int64(np.rint(_near(m[3] * x * _STEPS)))
        for top in range(0, height, band):
            size = (min(top + band, height) - top) * width
            for y in range(top, min(top + band, height)):
                start_x = np.int64(np.rint(_near((m[1] * y + m[2]) * _STEPS))) + _HALF_STEP
                start_y = np.int64(np.rint(_near((m[4] * y + m[5]) * _STEPS))) + _HALF_STEP
                line_x, line_y = sx[(y - top) * width : (y - top + 1) * width], sy[(y - top) * width : (y - top + 1) * width]
                for x in range(np.uint64(width)):
                    line_x[x] = (start_x + across_x[x]) >> 5
                    line_y[x] = (start_y + across_y[x]) >> 5
            for p in range(np.uint64(size)):
                ix[p] = sx[p] >> 5
                iy[p] = sy[p] >> 5
                u = np.float32(np.int32(sx[p] & 31)) * np.float32(0.03125)
                v = np.float32(np.int32(sy[p] & 31)) * np.float32(0.03125)
                w0[p], w1[p], w2[p], w3[p] = (unit - u) * (unit - v), u * (unit - v), (unit - u) * v, u * v
            inside = _corners(ix[:size], iy[:size], _CENTRES, height, width, lanes, near, at)
            if black and not inside:
                _blacken(ix[:size], iy[:size], False, height, width, weights)
            _interpolate(plain, at, size, weights, warped[i], top * width * lanes, lanes)


@inlined
def _copy(line, lanes, out):  # type: ignore[no-untyped-def]
    """Copy a row of a flat picture without the lane that means nothing."""
    if lanes == 4:
        for x in range(np.uint64(line.size // 4)):
            p, q = np.uint64(4) * x, _3 * x
            out[q] = line[p]
            out[q + _1] = line[p + _1]
            out[q + _2] = line[p + _2]
    else:
        for x in range(np.uint64(line.size)):
            out[x] = line[x]


@inlined
def _floored(values, half, out):  # type: ignore[no-untyped-def]
    """Write samples (0..1, but for rounding) as the published code stores them: floored; or, with one half, rounded."""
    for p in range(np.uint64(out.size)):
        out[p] = np.uint8(np.int32(min(values[p], np.float32(1.0)) * np.float32(255.0) + half))


@kernel
def _displace(warped, fields_x, fields_y, alpha, black, half, out):  # type: ignore[no-untyped-def]
    """Sample images at the grid plus alpha times the fields, bilinearly; reflected about the edges, or black beyond the outermost centres.

    `warped` is float32 (N, H * W * lanes + 3), the fields are (N, H * W + ...) or (1, H * W + ...), `out` is uint8 (N, H, W, C).
    """
    count, height, width, channels = out.shape
    lanes = _lanes(channels)
    band = _band(height, width)
    across = np.empty(band * width, np.float64)
    down = np.empty(band * width, np.float64)
    for p in range(band * width):
        across[p], down[p] = p % width, p // width
    ix = np.empty(band * width, np.int32)
    iy = np.empty(band * width, np.int32)
    weights = np.empty((4, band * width), np.float64)
    w0, w1, w2, w3 = weights[0], weights[1], weights[2], weights[3]
    near = np.empty((2, band * width), np.int32)
    at = np.empty((4, band * width), np.uint32)
    row = np.empty(band * width * channels + 3, np.float32)
    for i in range(count):
        flat = warped[i]
        for top in range(0, height, band):
            bottom = min(top + band, height)
            size = (bottom - top) * width
            if alpha == 0.0:
                _copy(flat[top * width * lanes : bottom * width * lanes], lanes, row)
            else:
                move_x = fields_x[min(i, fields_x.shape[0] - 1), top * width : bottom * width]
                move_y = fields_y[min(i, fields_y.shape[0] - 1), top * width : bottom * width]
                first = np.float64(top)
                for p in range(np.uint64(size)):
                    sx = across[p] + np.float64(np.float32(move_x[p] * alpha))
                    sy = (first + down[p]) + np.float64(np.float32(move_y[p] * alpha))
                    fx = np.floor(min(max(sx, -_FAR_PIXELS), _FAR_PIXELS))
                    fy = np.floor(min(max(sy, -_FAR_PIXELS), _FAR_PIXELS))
                    ix[p] = np.int32(fx)
                    iy[p] = np.int32(fy)
                    u, v = sx - fx, sy - fy
                    w0[p], w1[p], w2[p], w3[p] = (1.0 - u) * (1.0 - v), u * (1.0 - v), (1.0 - u) * v, u * v
                inside = _corners(ix[:size], iy[:size], _EDGES, height, width, lanes, near, at)
                if black and not inside:
                    _blacken(ix[:size], iy[:size], True, height, width, weights)
                _interpolate(flat, at, size, weights, row, 0, channels)
            _floored(row, half, out[i, top:bottom].reshape(-1))


@kernel
def _draw(out, first, size, stage_key, sample_keys, stream):  # type: ignore[no-untyped-def]
    """Fill `size` values of each row of `out`, from `first` on, with a sample's uniforms on [-1, 1), as `philox.fill_uniforms` does."""
    words = np.empty(min(size, _WORDS), np.uint32)
    for i in range(sample_keys.size):
        for start in range(0, size, _WORDS):
            some = min(_WORDS, size - start)
            fill_words_from(words[:some], start >> 2, stage_key, sample_keys[i], stream)
            target = out[i, first + start : first + start + some]
            for k in range(np.uint64(some)):
                target[k] = -1.0 + 2.0 * (np.float64(words[k]) * 2.0**-32)


def _three(shape: Shape, parameters: Mapping[str, Any]) -> tuple[int, ...]:
    return 3, 2


def _field(shape: Shape, parameters: Mapping[str, Any]) -> tuple[int, ...]:
    return shape[:2]


@corruption(
    family="digital",
    revision=1,
    reference="Hendrycks & Dietterich 2019, ImageNet-C; released make_imagenet_c.py, elastic_transform",
    parameters=(
        Parameter("alpha", low=0.0, high=1e6, length=True, about="factor on the smoothed displacement, pixels"),
        Parameter("sigma", low=0.0, high=1e4, length=True, about="standard deviation of the smoothing, pixels"),
        Parameter("affine", low=0.0, high=1e6, length=True, about="greatest move of the affine map's points, pixels"),
        Parameter(
            "border",
            kind=str,
            choices=("reflect", "black"),
            default="reflect",
            option=True,
            about="what lies outside: the image reflected, or black as in MNIST-C",
        ),
        ROUNDING,
    ),
    draws=(
        Draw(
            "points",
            "(3, 2) offsets (x, y) of the affine map's points, in units of affine",
            given_array(_three, np.float64, -1.0, 1.0),
        ),
        Draw("field_x", "(H, W) noise before smoothing, horizontal", given_array(_field, np.float64, -1.0, 1.0)),
        Draw("field_y", "(H, W) noise before smoothing, vertical", given_array(_field, np.float64, -1.0, 1.0)),
    ),
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
    points: NDArray[np.float64] | None = None,
    field_x: NDArray[np.float64] | None = None,
    field_y: NDArray[np.float64] | None = None,
) -> Images:
    """Move the image by a random affine map, then every pixel by a smooth random displacement.

    Drawn at random: ``points`` (3, 2), ``field_x`` and ``field_y`` (H, W), all uniform on [-1, 1).

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8, RGB or grey
    keys : Keys
    alpha : float
        Factor on the smoothed fields, pixels.
    sigma : float
        Standard deviation of the gaussian that smooths the fields, pixels (cut at 3 sigma, edges reflected); 0
        leaves them as they are.
    affine : float
        Greatest move of the three points that fix the affine map, pixels.
    border : {"reflect", "black"}
        What lies outside the image, for both steps: its reflection, or black, as in MNIST-C.
    rounding : {"floor", "round"}
        How the result becomes whole: floored, as ImageNet-C's generator does, or rounded, as MNIST-C's.
    points : (3, 2) ndarray of float64, optional
        (x, y) offsets of the lower right, upper right and upper left corner of a centred square with sides of two
        thirds of the short side, in units of `affine`.
    field_x, field_y : (H, W) ndarray of float64, optional
        Noise before smoothing, -1..1.

    Returns
    -------
    (N, H, W, C) ndarray of uint8
        Floored.

    Notes
    -----
    Both interpolations are bilinear; the affine one reflects about the outermost pixels' centres, the second about
    their edges, as OpenCV and SciPy do in the released code. The affine one reads at multiples of 1/32 pixel, as every
    OpenCV did when the published sets were made (OpenCV 5 has exact coordinates: up to 3 levels apart).

    On images that are not square the released code mixes up x and y of the square's centre; here it is the image's.

    References
    ----------
    Hendrycks and Dietterich, ICLR 2019, section 3; ``elastic_transform`` of the released ``make_imagenet_c.py``.
    Simard, Steinkraus and Platt, ICDAR 2003.
    """
    alpha = float(alpha)
    more = np.float32(half(rounding))
    count, height, width, channels = images.shape
    kit: Smoother = smoother(height, width, float(sigma))
    group = max(min(_PIXELS // (height * width), count), 1)
    out = np.empty_like(images)
    warped = np.empty((group, height * width * (4 if channels == 3 else 1) + 3), np.float32)
    offsets = np.empty((group, 3, 2)) if points is None else points[None]
    size, shape = height * width, (height, width)
    noise, field = room(group, height, width, kit)
    middle = slice(margin(width, kit), margin(width, kit) + size)
    fields = []
    for value in (field_x, field_y):
        fields.append(np.empty_like(field[: group if alpha != 0.0 and value is None else 1]))
        if alpha != 0.0 and value is not None:
            noise[0, middle] = value.reshape(-1)
            smooth(noise[:1], fields[-1], shape, kit)
    for start in range(0, count, group):
        chosen = keys.samples[start : start + group]
        moved = warped[: len(chosen)]
        if points is None:
            _draw(offsets.reshape(group, -1), 0, 6, keys.stage, chosen, _POINTS)
        _warp(images[start : start + group], offsets, float(affine), border == "black", moved)
        for field, value, stream in zip(fields, (field_x, field_y), (_FIELD_X, _FIELD_Y), strict=True):
            if alpha != 0.0 and value is None:
                _draw(noise, middle.start, size, keys.stage, chosen, stream)
                smooth(noise[: len(chosen)], field[: len(chosen)], shape, kit)
        dx, dy = fields
        _displace(moved, dx, dy, alpha, border == "black", more, out[start : start + group])
    return out
