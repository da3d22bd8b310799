"""Grey shapes: lines across the image, about a common direction, and squares of a turned checkerboard."""

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
_MOST = 40  # squares along the table of those that may be cut: 4 sides of at least a tenth


@inner
def _dot(image, y, x, far):  # type: ignore[no-untyped-def]
    """Blend a pixel, where it lies inside, with grey, the less the farther the line is."""
    share = 1.0 - far
    if 0 <= y < image.shape[0] and 0 <= x < image.shape[1]:
        for c in range(image.shape[2]):
            image[y, x, c] = level((1.0 - share) * image[y, x, c] + share * _GREY)


@inner
def _stroke(image, y, x, y1, x1):  # type: ignore[no-untyped-def]
    """Blend an anti-aliased line into an image: Zingl's walk, in which a pixel's share falls with its distance."""
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
    {"density": (0.0, 100.0, "how many lines there are for each pixel of the side")},
    number("angle_deg", "of the common direction, from the vertical", -3600.0, 3600.0, uniform(0, 0.0, 360.0)),
    number("spread", "how far lines turn from it, in turns from end to end", 0.0, 1.0, uniform(1, 0.1, 1.0)),
    array(
        "places",
        "(lines, 3) in [0, 1]: the middle of each line, down and across, and its place in the spread",
        _places,
        0.0,
        1.0,
        chances(2, _places),
    ),
)
@kernel
def lines(images, angles, spreads, places, density, out):  # type: ignore[no-untyped-def]
    """Draw anti-aliased lines of grey 128 and one pixel across the image, ``floor(density * side)`` of them.

    Notes
    -----
    Drawn at random: a direction, uniform on all; the spread, uniform on [0.1, 1); for each line its middle, uniform on
    the image, and its angle, uniform within the spread. A line is two sides long (the longer ones), its ends are whole
    pixels, and values are floored after each line.
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
    {"fraction": (0.0, 1.0, "share of the board's dark squares that are cut out")},
    Draw(
        "angle_deg",
        "of the board",
        uniform(0, 0.0, 2.0 * math.pi),
        low=-3600.0,
        high=3600.0,
        check=lambda angle, *_: np.asarray(math.radians(angle)),
    ),
    number(
        "cell",
        "the squares' side in pixels, a tenth of the side or more",
        0.1,
        1e6,
        lambda *given: np.maximum(uniform(1, 0.1, 0.25, side)(*given), 1.0),
    ),
    array(
        "chances",
        "(40, 40) in [0, 1]: a square below the fraction is covered; the first 4 sides / cell of each axis are used",
        fixed(_MOST, _MOST),
        0.0,
        1.0,
        chances(2, fixed(_MOST, _MOST)),
    ),
)
@kernel
def checkerboard_cutout(images, angles, cells, squares, fraction, out):  # type: ignore[no-untyped-def]
    """Cover some of the dark squares of a turned checkerboard with grey of level 128.

    Notes
    -----
    Drawn at random: the angle, uniform on all; the squares' side, uniform on 0.1 to 0.25 of the image's, and at least a
    pixel; for each dark square whether it is covered. As published, the board turns about the upper left corner, and
    what lies within a square of its axes through that corner is covered together.
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
                # Squares are numbered towards zero, so those on both sides of it share a number, as published.
                kept = light or squares[n, np.int64(u) % along, np.int64(v) % along] >= fraction
                for c in range(channels):
                    out[n, y, x, c] = images[n, y, x, c] if kept else _GREY
