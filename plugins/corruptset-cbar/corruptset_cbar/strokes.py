"""Lines: grey lines across the image, about a common direction."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.kernels import kernel
from corruptset.corruptions.keys import Keys
from corruptset.corruptions.random.philox import uniform_rows, uniforms
from corruptset.corruptions.registry import Draw, Images, Parameter, corruption, given_array, given_scalar
from corruptset.references import MINTUN_2021

from .elementary import cosine, sine

_GREY = 128.0


@kernel
def _stroke(image, y0, x0, y1, x1, covered, at):  # type: ignore[no-untyped-def]
    """Blend an anti-aliased line into an image: Zingl's walk, in which a pixel's share falls with its distance from the line."""
    height, width, channels = image.shape
    long_x, long_y = abs(x0 - x1), abs(y0 - y1)
    step_x, step_y = 1 if x0 < x1 else -1, 1 if y0 < y1 else -1
    length = max(math.sqrt(np.float64(long_x * long_x + long_y * long_y)), 1.0)
    off = long_x - long_y
    x, y = x0, y0
    number = np.int64(0)
    for _ in range(long_x + long_y + 1):
        # The pixel itself, the one beside it, the one below it
        for k in range(3):
            was_x, was_y, far = x, y, abs(off - long_x + long_y)
            if k == 1:
                was_y, far = y + step_y, abs(off + long_y)
            elif k == 2:
                was_x, far = x + step_x, abs(long_x - off)
            wanted = k == 0 or (k == 1 and 2 * off >= -long_x and x != x1 and off + long_y < length)
            wanted = wanted or (k == 2 and 2 * off <= long_y and (2 * off < -long_x or x != x1) and y != y1 and long_x - off < length)
            if wanted and 0 <= was_x < width and 0 <= was_y < height:
                at[number], covered[number] = was_y * width + was_x, 1.0 - far / length
                number += 1
        before = off
        if 2 * before >= -long_x:
            if x == x1:
                break
            off -= long_y
            x += step_x
        if 2 * before <= long_y:
            if y == y1:
                break
            off += long_x
            y += step_y
    flat = image.reshape(height * width, channels)
    for k in range(number):
        for c in range(channels):
            flat[at[k], c] = np.uint8(np.int32((1.0 - covered[k]) * flat[at[k], c] + covered[k] * _GREY))


@kernel
def _strokes(images, angles, spreads, places, reach):  # type: ignore[no-untyped-def]
    count, height, width, _ = images.shape
    covered, at = np.empty(3 * (height + width), np.float64), np.empty(3 * (height + width), np.int64)
    for n in range(count):
        lines = places[n if places.shape[0] > 1 else 0]
        for k in range(lines.shape[0]):
            y, x = height * lines[k, 0], width * lines[k, 1]
            turns = angles[n] / 360.0 + spreads[n] * (lines[k, 2] - 0.5)
            dx, dy = sine(turns) * reach, cosine(turns) * reach
            _stroke(images[n], np.int64(y - dy), np.int64(x - dx), np.int64(y + dy), np.int64(x + dx), covered, at)


@corruption(
    revision=1,
    reference=f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, Lines; skimage.draw.line_aa",
    parameters=(Parameter("density", low=0.0, high=100.0, about="how many lines there are for each pixel of the side"),),
    draws=(
        Draw("angle_deg", "of the common direction, from the vertical", given_scalar(-3600.0, 3600.0)),
        Draw("spread", "how far lines turn from it, in turns from end to end", given_scalar(0.0, 1.0)),
        Draw(
            "places",
            "(lines, 3) in [0, 1]: the middle of each line, down and across, and its place in the spread",
            given_array(lambda shape, p: (int(p["density"] * min(shape[:2])), 3), np.float64, 0.0, 1.0),
        ),
    ),
)
def lines(
    images: Images,
    keys: Keys,
    *,
    density: float,
    angle_deg: float | None = None,
    spread: float | None = None,
    places: NDArray[np.float64] | None = None,
) -> Images:
    """Draw anti-aliased lines of grey 128 and one pixel across the image, ``floor(density * side)`` of them.

    Notes
    -----
    Drawn at random: a direction, uniform on all; the spread, uniform on [0.1, 1); for each line its middle, uniform on the image, and its
    angle, uniform within the spread. A line is two sides long (the longer ones), its ends are whole pixels, and values are floored after
    each line.
    """
    height, width = images.shape[1:3]
    number, count = int(density * min(height, width)), len(images)
    angles = uniforms(keys.stage, keys.samples, 0, 0.0, 360.0) if angle_deg is None else np.full(count, angle_deg)
    spreads = uniforms(keys.stage, keys.samples, 1, 0.1, 1.0) if spread is None else np.full(count, spread)
    if places is None:
        drawn = uniform_rows(keys.stage, keys.samples, 2, 0.0, 1.0, 3 * number).reshape(count, number, 3)
    else:
        drawn = places[None]
    out = images.copy()
    _strokes(out, angles, spreads, drawn, float(max(height, width)))
    return out
