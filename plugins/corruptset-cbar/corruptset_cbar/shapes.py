"""Draw grey shapes: lines around a common direction, and the squares of a rotated checkerboard."""

from __future__ import annotations

import math

import numpy as np

from corruptset.corruptions.arithmetic import sine_cosine
from corruptset.corruptions.kernels import inner, kernel
from corruptset.corruptions.registry import Draw, Given, Shape

from .declare import array, cbar, chances, fixed, number, side, uniform
from .elementary import cosine, sine
from .rows import level

_GREY = np.uint8(128)
_MAX_SQUARES = (
    40  # The maximum number of squares per axis. The board is 4 sides long, and a square is at least 1/10 side long.
)


@inner
def _dot(image, y, x, far):  # type: ignore[no-untyped-def]
    """Blend a pixel with grey if it is inside the image. The weight decreases with the distance from the line."""
    share = 1.0 - far
    if 0 <= y < image.shape[0] and 0 <= x < image.shape[1]:
        for c in range(image.shape[2]):
            image[y, x, c] = level((1.0 - share) * image[y, x, c] + share * _GREY)


@inner
def _stroke(image, y, x, y1, x1):  # type: ignore[no-untyped-def]
    """Blend an anti-aliased line with an image, using Zingl's algorithm."""
    down, across = abs(y1 - y), abs(x1 - x)
    step_y, step_x = 1 if y < y1 else -1, 1 if x < x1 else -1
    length = max(math.sqrt(across * across + down * down), 1.0)
    off = across - down
    while True:
        _dot(image, y, x, abs(off - across + down) / length)
        sideways, onwards = 2 * off >= -across, 2 * off <= down
        if sideways and x == x1:
            break
        if sideways and off + down < length:
            _dot(image, y + step_y, x, abs(off + down) / length)
        if onwards and y == y1:
            break
        if onwards and across - off < length:
            _dot(image, y, x + step_x, abs(across - off) / length)
        if sideways:
            off -= down
            x += step_x
        if onwards:
            off += across
            y += step_y


def _places(shape: Shape, parameters: Given) -> tuple[int, int]:
    return int(parameters["density"] * side(shape)), 3


@cbar(
    "Lines; skimage.draw.line_aa",
    {"density": (0.0, 100.0, "number of lines per pixel of the side")},
    number("angle_deg", "angle of the common direction, from the vertical", -3600.0, 3600.0, uniform(0, 0.0, 360.0)),
    number("spread", "width of the range of angles around it, in turns", 0.0, 1.0, uniform(1, 0.1, 1.0)),
    array(
        "places",
        "(lines, 3) in [0, 1]: y and x of the middle of each line, and the position of its angle in the range",
        _places,
        0.0,
        1.0,
        chances(2, _places),
    ),
)
@kernel
def lines(images, angles, spreads, places, density, out):  # type: ignore[no-untyped-def]
    """Draw ``floor(density * side)`` anti-aliased grey lines that are one pixel wide.

    Notes
    -----
    The grey value is 128. All lines in an image share a main direction, which is drawn uniformly, and a spread, which
    is drawn uniformly from [0.1, 1) turns. The angle of each line is drawn uniformly from a range of width `spread`
    around the main direction. The middle of the line is drawn uniformly from the image. A line is twice as long as the
    longer side of the image. Its end points are truncated to whole pixels. Values are rounded down after each line.
    """
    count, height, width, _ = images.shape
    reach = max(height, width)
    source, target = images.reshape(-1), out.reshape(-1)
    for i in range(source.size):
        target[i] = source[i]
    for n in range(count):
        for k in range(places.shape[1]):
            y, x = height * places[n, k, 0], width * places[n, k, 1]
            turns = angles[n] / 360.0 + spreads[n] * (places[n, k, 2] - 0.5)
            dx, dy = sine(turns) * reach, cosine(turns) * reach
            _stroke(out[n], int(y - dy), int(x - dx), int(y + dy), int(x + dx))


@cbar(
    "CheckerBoardCutOut",
    {"fraction": (0.0, 1.0, "fraction of the dark squares that are covered")},
    Draw(
        "angle_deg",
        "angle of the board",
        uniform(0, 0.0, 2.0 * math.pi),
        low=-3600.0,
        high=3600.0,
        check=lambda angle, *_: np.asarray(math.radians(angle)),
    ),
    number(
        "cell",
        "side of the squares in pixels, at least a tenth of the side of the image",
        0.1,
        1e6,
        lambda *given: np.maximum(uniform(1, 0.1, 0.25, side)(*given), 1.0),
    ),
    array(
        "chances",
        "(40, 40) in [0, 1]: a square is covered if its value is below the fraction (the first 4 * side / cell values "
        "of each axis are used)",
        fixed(_MAX_SQUARES, _MAX_SQUARES),
        0.0,
        1.0,
        chances(2, fixed(_MAX_SQUARES, _MAX_SQUARES)),
    ),
)
@kernel
def checkerboard_cutout(images, angles, cells, squares, fraction, out):  # type: ignore[no-untyped-def]
    """Cover some of the dark squares of a rotated checkerboard with the grey value 128.

    Notes
    -----
    The angle is drawn uniformly from all angles. The side of the squares is drawn uniformly from 0.1 to 0.25 of the
    side of the image, with a minimum of one pixel. Which of the dark squares are covered is also decided at random. As
    in the released generator, the board rotates about the upper left corner. Neighbouring squares on opposite sides of
    a grid line through this corner share a random number.
    """
    count, height, width, channels = images.shape
    for n in range(count):
        sin, cos = sine_cosine(angles[n])
        least = min(height, width)
        cell = max(cells[n], 0.1 * least)
        along = int(4 * least // cell)
        for y in range(height):
            for x in range(width):
                u = (cos * y + sin * x) / cell
                v = (-sin * y + cos * x) / cell
                light = (math.floor(u) ^ math.floor(v)) & 1
                # As published, indices are rounded towards zero, so the squares on both sides of zero share an index.
                kept = light or squares[n, np.int64(u) % along, np.int64(v) % along] >= fraction
                for c in range(channels):
                    out[n, y, x, c] = images[n, y, x, c] if kept else _GREY
