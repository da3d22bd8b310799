"""Affine maps of images.

Each output pixel is read at the position given by the map, bilinearly or from the nearest pixel. A whole rotated image
needs a larger canvas, which is resized to the size of the image with integer arithmetic.
"""

from __future__ import annotations

import functools
from decimal import ROUND_CEILING, Context, localcontext

import numpy as np

from ..arithmetic import decimal_sine_cosine
from ..border import CONSTANT
from ..kernels import inlined, kernel
from ..registry import Floats, Images, Int64Array
from ..sample import rows_at_once, sample

_MIN_TAPS = 3  # Shrinking to half the size or more mixes up to three pixels. Every canvas is larger than three pixels.
RESIZES = ("area", "bilinear", "nearest")
INTERPOLATIONS = ("bilinear", "nearest")
_1 = np.uint64(1)
_2 = np.uint64(2)
_3 = np.uint64(3)


@inlined
def _put_in_frame(image, framed, line):  # type: ignore[no-untyped-def]
    """Copy an image into a frame that is two pixels wide, and return the offset of the image's first value."""
    height, width, channels = image.shape
    start = np.int64(2 * line + 2 * channels)
    for y in range(height):
        source = image[y].reshape(width * channels)
        inner = framed[start + y * line : start + y * line + width * channels]
        for p in range(np.uint64(width * channels)):
            inner[p] = source[p]
    return start


@kernel
def _mix(images, out, maps, fill):  # type: ignore[no-untyped-def]
    """Interpolate bilinearly, where pixels outside of the image have the value `fill`."""
    rows, columns, channels = out.shape[1:]
    band = rows_at_once(rows, columns)
    places = np.empty((3, band * columns), np.float64)
    weights = np.empty((4, band * columns), np.float64)
    sums = np.empty(band * columns * channels, np.float64)
    for n in range(out.shape[0]):
        a, b, c = maps[n, 0], maps[n, 1], maps[n, 2]
        d, e, f = maps[n, 3], maps[n, 4], maps[n, 5]
        for top in range(0, rows, band):
            bottom = min(top + band, rows)
            size = (bottom - top) * columns
            for y in range(top, bottom):
                first = (y - top) * columns
                line_x, line_y = places[0, first : first + columns], places[1, first : first + columns]
                for x in range(np.uint64(columns)):
                    at = np.float64(np.int64(x))
                    line_x[x], line_y[x] = a * at + b * y + c, d * at + e * y + f
            sample(images[n], places, size, weights, CONSTANT, fill, sums)
            target = out[n, top:bottom].reshape(size * channels)
            for p in range(np.uint64(size * channels)):
                target[p] = np.uint8(np.int32(np.rint(sums[p])))


@kernel
def _pick(images, out, matrices, centres, fill):  # type: ignore[no-untyped-def]
    """Read the nearest pixel for each output pixel.

    Coordinates start at the edge of the image, so the nearest pixel is the one that contains the point.
    """
    height, width, channels = images.shape[1:]
    rows, columns = out.shape[1:3]
    line = (width + 4) * channels
    framed = np.full((height + 4) * line + 1, fill, np.uint8)
    picked = np.empty(columns, np.uint32)  # These are pixels of the frame.
    wide, right_end, lower_end = np.int32(width + 4), np.float64(width), np.float64(height)
    for n in range(out.shape[0]):
        _put_in_frame(images[n], framed, line)
        a, b, d, e = matrices[n, 0, 0], matrices[n, 0, 1], matrices[n, 1, 0], matrices[n, 1, 1]
        cx, cy = centres[n, 0] + 0.5, centres[n, 1] + 0.5
        for y in range(rows):
            # Coordinates are relative to the centres, so that products are exactly 0 on the middle lines. A half is
            # therefore exactly a half there.
            v = y - 0.5 * (rows - 1)
            right, down = b * v, e * v
            for x in range(np.uint32(columns)):
                u = np.int64(x) - 0.5 * (columns - 1)
                left = np.int32(np.floor(min(max((a * u + right) + cx, -1.0), right_end)))
                upper = np.int32(np.floor(min(max((d * u + down) + cy, -1.0), lower_end)))
                picked[x] = np.uint32((upper + np.int32(2)) * wide + left + np.int32(2))
            target = out[n, y].reshape(columns * channels)
            if channels == 3:
                for x in range(np.uint32(columns)):
                    at, to = np.uint64(picked[x]) * _3, np.uint64(x) * _3
                    target[to] = framed[at]
                    target[to + _1] = framed[at + _1]
                    target[to + _2] = framed[at + _2]
            else:
                for x in range(np.uint32(columns)):
                    target[x] = framed[np.uint64(picked[x])]


def warp(
    images: Images,
    matrices: Floats,
    shifts: Floats | None = None,
    *,
    size: tuple[int, int] | None = None,
    interpolation: str = "bilinear",
    fill: int = 0,
) -> Images:
    """Apply an affine map to each image.

    The results of bilinear interpolation are rounded to the nearest integer, and halves are rounded to even. If two
    pixels are equally near, nearest-neighbour interpolation uses the one to the right or below.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
        The images, which are not modified.
    matrices : (N, 2, 2) ndarray of float64
        The output pixel at (x, y) from the centre of the output is read at ``matrix @ (x, y)`` from the centre of the
        image.
    shifts : (N, 2) ndarray of float64, optional
        An offset (x, y), in pixels, that is added to the position given by `matrices`.
    size : (H', W'), optional
        The size of the output. By default, it is the size of the images.
    interpolation : {"bilinear", "nearest"}
        The interpolation method.
    fill : int
        The grey value used outside of the image, from 0 to 255. The default is 0 (black).

    Returns
    -------
    (N, H', W', C) ndarray of uint8
    """
    count, height, width, channels = images.shape
    rows, columns = size or (height, width)
    out = np.empty((count, rows, columns, channels), np.uint8)
    cx, cy = (width - 1) / 2, (height - 1) / 2
    if interpolation == "nearest":
        centres = np.full((count, 2), (cx, cy)) + (0.0 if shifts is None else shifts)
        _pick(images, out, np.ascontiguousarray(matrices), centres, np.uint8(fill))
        return out
    x, y = (columns - 1) / 2, (rows - 1) / 2
    maps = np.empty((count, 6))
    for row in range(2):
        maps[:, 3 * row : 3 * row + 2] = matrices[:, row]
        maps[:, 3 * row + 2] = (cx, cy)[row] - matrices[:, row, 0] * x - matrices[:, row, 1] * y
        if shifts is not None:
            maps[:, 3 * row + 2] += shifts[:, row]
    _mix(images, out, maps, float(fill))
    return out


def loose_size(height: int, width: int, angle_deg: float) -> tuple[int, int]:
    """Return the (height, width) of the smallest canvas that contains a rotated image.

    The size is the same for both directions of rotation. It equals that of MATLAB's ``imrotate(..., 'loose')`` since
    R2015b, which is ceil(height |cos| + width |sin|) by ceil(width |cos| + height |sin|). Pixels are squares, and the
    outer edges of the image are rotated rather than the centres of its corner pixels. The size is computed with
    decimals of 60 digits, so that it does not depend on rounding errors. For an angle that a double can represent,
    these sums are whole numbers only at multiples of 90 degrees.

    Examples
    --------
    >>> loose_size(224, 224, 30.0), loose_size(20, 30, -90.0), loose_size(20, 30, 180.0)
    ((306, 306), (30, 20), (20, 30))
    """
    with localcontext(Context(prec=100)):
        sine, cosine = (abs(value) for value in decimal_sine_cosine(float(angle_deg)))
        sides = (height * cosine + width * sine, width * cosine + height * sine)
        rows, columns = (int(side.to_integral_value(ROUND_CEILING)) for side in sides)
    return rows, columns


@functools.lru_cache(maxsize=256)
def _taps(size_in: int, size_out: int, method: str) -> tuple[Int64Array, Floats, int]:
    """Return the weights that resize a line of pixels, as (first, weights, total).

    Output pixel i is the sum of weights[j, i] times input pixel first[i] + j, divided by total. The weights are whole
    numbers whose sum is total. Output pixel i covers i * size_in to (i + 1) * size_in, and input pixel k covers k *
    size_out to (k + 1) * size_out.
    """
    rows: list[tuple[int, list[int]]] = []
    total = {"area": size_in, "bilinear": 2 * size_out, "nearest": 1}[method]
    for i in range(size_out):
        centre = (2 * i + 1) * size_in  # in units of 1 / (2 * size_out) of an input pixel
        if method == "area":
            start, end = i * size_in, (i + 1) * size_in
            inside = range(start // size_out, (end - 1) // size_out + 1)
            rows.append((inside[0], [min((k + 1) * size_out, end) - max(k * size_out, start) for k in inside]))
        elif method == "bilinear":
            left, part = divmod(centre - size_out, total)
            edge = left < 0 or left + 1 >= size_in
            rows.append((min(max(left, 0), size_in - 1), [total] if edge else [total - part, part]))
        else:
            rows.append((centre // (2 * size_out), [1]))
    most = max(_MIN_TAPS, *(len(weights) for _, weights in rows))
    first, mixed = np.empty(size_out, np.int64), np.zeros((most, size_out))
    for i, (start, weights) in enumerate(rows):
        # Each output pixel reads the same number of pixels, all inside the image. Unused ones have the weight 0.
        first[i] = min(start, size_in - most)
        mixed[start - first[i] : start - first[i] + len(weights), i] = weights
    return first, mixed, total


# OpenCV's INTER_AREA adds in single precision, which is not exact. For photographs on a canvas that is resized to
# 224x224, one value in 1.5 million differs. At 45x37, where sums can be halves, one in 2,200 differs.
@kernel
def _resize(images, out, first_y, weights_y, first_x, weights_x, total):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    across, along = np.uint32(width * channels), np.uint32(out.shape[2] * channels)
    step = np.uint64(channels)
    sums = np.empty(across, np.float64)
    mixed = np.empty(along, np.float64)
    starts = np.empty(along, np.uint32)
    weights = np.empty((weights_x.shape[0], along), np.float64)
    for x in range(out.shape[2]):
        for c in range(channels):
            starts[x * channels + c] = first_x[x] * channels + c
            for j in range(weights_x.shape[0]):
                weights[j, x * channels + c] = weights_x[j, x]
    # Sums of whole numbers are exact below 2**53. A half is added for rounding, and another quarter so that the product
    # with the rounded inverse is on the correct side of a whole number. Without rounding errors, the product is at
    # least a quarter of 1 / total away from any whole number.
    left, middle, right = weights[0], weights[1], weights[2]
    half, inverse = 0.5 * total + 0.25, 1.0 / total
    for n in range(count):
        source = images[n].reshape((height, width * channels))
        for y in range(out.shape[1]):
            top = first_y[y]
            one, two, three = source[top], source[top + 1], source[top + 2]
            for p in range(across):
                sums[p] = weights_y[0, y] * one[p] + weights_y[1, y] * two[p] + weights_y[2, y] * three[p]
            for j in range(3, weights_y.shape[0]):
                weight = weights_y[j, y]
                if weight != 0.0:
                    row = source[top + j]
                    for p in range(across):
                        sums[p] += weight * row[p]
            for p in range(along):
                at = np.uint64(starts[p])
                mixed[p] = half + left[p] * sums[at] + middle[p] * sums[at + step] + right[p] * sums[at + step + step]
            for j in range(3, weights_x.shape[0]):
                ours = weights[j]
                ahead = np.uint64(j) * step
                for p in range(along):
                    mixed[p] += ours[p] * sums[np.uint64(starts[p]) + ahead]
            target = out[n, y].reshape(out.shape[2] * channels)
            for p in range(along):
                target[p] = np.uint8(np.int32(mixed[p] * inverse))


def resize_into(images: Images, out: Images, method: str) -> None:
    """Resize images (N, H', W', C) to the size of `out`, rounding once with halves up.

    The method ``area`` computes the mean over the rectangle that an output pixel covers. Each pixel is weighted by the
    part of it that is inside the rectangle. ``bilinear`` interpolates between the four pixels nearest to the centre,
    without averaging. ``nearest`` takes the pixel under the centre.
    """
    height, width = images.shape[1:3]
    first_y, weights_y, total_y = _taps(height, out.shape[1], method)
    first_x, weights_x, total_x = _taps(width, out.shape[2], method)
    _resize(images, out, first_y, weights_y, first_x, weights_x, float(total_y * total_x))
