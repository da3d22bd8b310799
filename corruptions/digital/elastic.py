"""Elastic transform: a random affine map, then a smooth random displacement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import inlined, kernel
from ..keys import Keys
from ..philox import fill_words_from
from ..registry import Draw, Images, Parameter, Shape, corruption, given_array
from ..rounding import ROUNDING, half
from .fields import Smoother, smooth, smoother

_POINTS, _FIELD_X, _FIELD_Y = 0, 1, 2
_FAR = 1e12  # coordinates beyond it mean nothing, and must not overflow an integer
_FAR_PIXELS = 1e9
_STEPS = 1024.0
_1 = np.uint64(1)
_2 = np.uint64(2)
_HALF_STEP = 16
_PIXELS = 1 << 16
"""About how many pixels are worked on at a time."""


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
def _mirrored(i, n):  # type: ignore[no-untyped-def]
    """Reflect an index about the centres of the outermost pixels (dcb|abcd|cba)."""
    period = 2 * n - 2
    once = -i if i < 0 else i
    once = once if once < n else period - once
    if once >= 0:  # nearly always, and cheaper than a division
        return once
    i = i % period
    return i if i < n else period - i


@inlined
def _folded(i, n):  # type: ignore[no-untyped-def]
    """Reflect an index about the outer edges (cba|abcd|dcb)."""
    once = -1 - i if i < 0 else i
    once = once if once < n else 2 * n - 1 - once
    if once >= 0:
        return once
    i = i % (2 * n)
    return i if i < n else 2 * n - 1 - i


@inlined
def _near(x):  # type: ignore[no-untyped-def]
    """Return a coordinate that fits an integer."""
    return min(max(x, -_FAR), _FAR)


@kernel
def _corners(ix, iy, mirror, height, width, channels, at, right, down):  # type: ignore[no-untyped-def]
    """Turn a row's upper left pixels into the offsets of all four in a flat image: `at`, `at + right`, and both
    `+ down`. Return whether all lie inside, where `right` is a pixel, `down` a row, and neither is written.

    `mirror` reflects about the outermost centres (dcb|abcd|cba), otherwise about the outer edges (cba|abcd|dcb).
    """
    inside = True
    for x in range(np.uint64(width)):
        at[x] = (np.int64(iy[x]) * width + np.int64(ix[x])) * channels
        inside &= (ix[x] >= 0) & (iy[x] >= 0) & (ix[x] < width - 1) & (iy[x] < height - 1)
    if inside:
        return True
    right[:] = channels
    down[:] = width * channels
    for x in range(width):
        x0, y0 = np.int64(ix[x]), np.int64(iy[x])
        x1, y1 = x0 + 1, y0 + 1
        if x0 < 0 or y0 < 0 or x1 >= width or y1 >= height:
            if mirror:
                x0, x1 = _mirrored(x0, width), _mirrored(x1, width)
                y0, y1 = _mirrored(y0, height), _mirrored(y1, height)
            else:
                x0, x1 = _folded(x0, width), _folded(x1, width)
                y0, y1 = _folded(y0, height), _folded(y1, height)
            at[x] = (y0 * width + x0) * channels
            right[x] = (x1 - x0) * channels
            down[x] = (y1 - y0) * width * channels
    return False


@kernel
def _blacken(ix, iy, whole, height, width, weights):  # type: ignore[no-untyped-def]
    """Take the weight from pixels outside: what is there is black. With `whole`, a sum that has some of it is black too."""
    for x in range(width):
        lost = False
        for k in range(4):
            column, row = ix[x] + (k & 1), iy[x] + (k >> 1)
            if (column < 0 or row < 0 or column >= width or row >= height) and weights[k, x] != 0.0:
                weights[k, x] = 0.0
                lost = True
        if whole and lost:
            weights[:, x] = 0.0


@inlined
def _interpolate(flat, inside, at, right, down, weights, channels, out):  # type: ignore[no-untyped-def]
    """Write a row of weighted sums of four pixels."""
    colour = channels == 3
    # Unsigned indices spare numba the check for negative ones.
    p = np.uint64(0)
    for x in range(np.uint64(at.size)):
        w0, w1, w2, w3 = weights[0, x], weights[1, x], weights[2, x], weights[3, x]
        a = np.uint64(at[x])
        b = a + (np.uint64(channels) if inside else np.uint64(right[x]))
        below = np.uint64(at.size * channels) if inside else np.uint64(down[x])
        c, d = a + below, b + below
        out[p] = flat[a] * w0 + flat[b] * w1 + flat[c] * w2 + flat[d] * w3
        if colour:
            out[p + _1] = flat[a + _1] * w0 + flat[b + _1] * w1 + flat[c + _1] * w2 + flat[d + _1] * w3
            out[p + _2] = flat[a + _2] * w0 + flat[b + _2] * w1 + flat[c + _2] * w2 + flat[d + _2] * w3
        p += np.uint64(channels)


@kernel
def _warp(images, offsets, affine, black, warped):  # type: ignore[no-untyped-def]
    """Sample each image at its affine map of the grid, bilinearly; reflected about the outermost centres, or black outside.

    Coordinates are 1/1024 pixel, cut to 1/32 when they are read. `images` is uint8 (N, H, W, C), `offsets` (N, 3, 2) or
    (1, 3, 2), `warped` float64 (N, H, W, C), 0..1, of values that float32 holds.
    """
    count, height, width, channels = images.shape
    plain = np.empty(height * width * channels, np.float32)
    across_x = np.empty(width, np.int64)
    across_y = np.empty(width, np.int64)
    ix = np.empty(width, np.int32)
    iy = np.empty(width, np.int32)
    weights = np.empty((4, width), np.float32)
    w0, w1, w2, w3 = weights[0], weights[1], weights[2], weights[3]
    at = np.empty(width, np.int64)
    right = np.empty(width, np.int64)
    down = np.empty(width, np.int64)
    row = np.empty(width * channels, np.float32)
    unit = np.float32(1.0)
    for i in range(count):
        source = images[i].reshape(-1)
        for p in range(np.uint64(source.size)):
            plain[p] = np.float32(source[p]) / np.float32(255.0)
        points = offsets[min(i, offsets.shape[0] - 1)]
        m = _affine_inverse(points, affine, height, width)
        for x in range(width):
            across_x[x] = np.int64(np.rint(_near(m[0] * x * _STEPS)))
            across_y[x] = np.int64(np.rint(_near(m[3] * x * _STEPS)))
        for y in range(height):
            start_x = np.int64(np.rint(_near((m[1] * y + m[2]) * _STEPS))) + _HALF_STEP
            start_y = np.int64(np.rint(_near((m[4] * y + m[5]) * _STEPS))) + _HALF_STEP
            for x in range(np.uint64(width)):
                sx = (start_x + across_x[x]) >> 5
                sy = (start_y + across_y[x]) >> 5
                ix[x] = sx >> 5
                iy[x] = sy >> 5
                u = np.float32(np.int32(sx & 31)) * np.float32(0.03125)
                v = np.float32(np.int32(sy & 31)) * np.float32(0.03125)
                w0[x], w1[x], w2[x], w3[x] = (unit - u) * (unit - v), u * (unit - v), (unit - u) * v, u * v
            inside = _corners(ix, iy, True, height, width, channels, at, right, down)
            if black and not inside:
                _blacken(ix, iy, False, height, width, weights)
            _interpolate(plain, inside, at, right, down, weights, channels, row)
            target = warped[i, y].reshape(-1)
            for p in range(np.uint64(row.size)):
                target[p] = np.float64(row[p])


@inlined
def _floored(values, half, out):  # type: ignore[no-untyped-def]
    """Write samples (0..1, but for rounding) as the published code stores them: floored; or, with one half, rounded."""
    for p in range(np.uint64(values.size)):
        out[p] = np.uint8(np.int32(min(np.float32(values[p]), np.float32(1.0)) * np.float32(255.0) + half))


@kernel
def _displace(warped, fields_x, fields_y, alpha, black, half, out):  # type: ignore[no-untyped-def]
    """Sample images at the grid plus alpha times the fields, bilinearly; reflected about the edges, or black beyond the outermost centres.

    `warped` is float64 (N, H, W, C), the fields are (N, H, W) or (1, H, W), `out` is uint8 (N, H, W, C).
    """
    count, height, width, channels = warped.shape
    ix = np.empty(width, np.int32)
    iy = np.empty(width, np.int32)
    weights = np.empty((4, width), np.float64)
    w0, w1, w2, w3 = weights[0], weights[1], weights[2], weights[3]
    at = np.empty(width, np.int64)
    right = np.empty(width, np.int64)
    down = np.empty(width, np.int64)
    row = np.empty(width * channels, np.float64)
    for i in range(count):
        flat = warped[i].reshape(-1)
        target = out[i].reshape(-1)
        if alpha == 0.0:
            _floored(flat, half, target)
            continue
        for y in range(height):
            row_x = fields_x[min(i, fields_x.shape[0] - 1), y]
            row_y = fields_y[min(i, fields_y.shape[0] - 1), y]
            for x in range(np.uint64(width)):
                sx = np.float64(np.int32(x)) + np.float64(np.float32(row_x[x] * alpha))
                sy = np.float64(y) + np.float64(np.float32(row_y[x] * alpha))
                fx = np.floor(min(max(sx, -_FAR_PIXELS), _FAR_PIXELS))
                fy = np.floor(min(max(sy, -_FAR_PIXELS), _FAR_PIXELS))
                ix[x] = np.int32(fx)
                iy[x] = np.int32(fy)
                u, v = sx - fx, sy - fy
                w0[x], w1[x], w2[x], w3[x] = (1.0 - u) * (1.0 - v), u * (1.0 - v), (1.0 - u) * v, u * v
            inside = _corners(ix, iy, False, height, width, channels, at, right, down)
            if black and not inside:
                _blacken(ix, iy, True, height, width, weights)
            _interpolate(flat, inside, at, right, down, weights, channels, row)
            _floored(row, half, target[y * row.size : (y + 1) * row.size])


@kernel
def _uniform(words, out):  # type: ignore[no-untyped-def]
    """Scale words to uniforms on [-1, 1), as `philox.fill_uniforms` does."""
    for i in range(np.uint64(words.size)):
        out[i] = -1.0 + 2.0 * (np.float64(words[i]) * 2.0**-32)


def _draw(
    out: NDArray[np.float64], stage_key: np.uint64, sample_keys: NDArray[np.uint64], stream: int, scratch: NDArray[np.float64]
) -> None:
    """Fill each of (N, ...) `out` with its sample's uniforms on [-1, 1)."""
    words = scratch.reshape(-1).view(np.uint32)[: out[0].size]
    # Called for each sample from here: a kernel that did it would compile Philox once more.
    for target, key in zip(out, sample_keys, strict=True):
        fill_words_from(words, 0, stage_key, key, stream)
        _uniform(words, target.reshape(-1))


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
    scratch = np.empty((height, width), np.float64)
    group = max(min(_PIXELS // (height * width), count), 1)
    out = np.empty_like(images)
    warped = np.empty((group, height, width, channels), np.float64)
    offsets = np.empty((group, 3, 2)) if points is None else points[None]
    fields = []
    for value in (field_x, field_y):
        fields.append(
            np.zeros((1, height, width)) if alpha == 0.0 else np.empty((group, height, width)) if value is None else value[None].copy()
        )
        if alpha != 0.0 and value is not None:
            smooth(fields[-1], scratch, kit)
    for start in range(0, count, group):
        chosen = keys.samples[start : start + group]
        moved = warped[: len(chosen)]
        if points is None:
            _draw(offsets[: len(chosen)], keys.stage, chosen, _POINTS, scratch)
        _warp(images[start : start + group], offsets, float(affine), border == "black", moved)
        for field, value, stream in zip(fields, (field_x, field_y), (_FIELD_X, _FIELD_Y), strict=True):
            if alpha != 0.0 and value is None:
                _draw(field[: len(chosen)], keys.stage, chosen, stream, scratch)
                smooth(field[: len(chosen)], scratch, kit)
        dx, dy = fields
        _displace(moved, dx, dy, alpha, border == "black", more, out[start : start + group])
    return out
