"""Checkerboard cutout: grey squares of a turned checkerboard."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.arithmetic import sine_cosine
from corruptset.corruptions.kernels import kernel
from corruptset.corruptions.keys import Keys
from corruptset.corruptions.random.philox import uniform_rows, uniforms
from corruptset.corruptions.registry import Draw, Images, Parameter, corruption, given_array, given_scalar
from corruptset.references import MINTUN_2021

_GREY = np.uint8(128)
_MOST = 40  # squares along the table of those that may be cut: 4 sides of at least a tenth


@kernel
def _cut(images, angles, cells, grids, fraction, side, out):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    for n in range(count):
        sine, cosine = sine_cosine(angles[n])
        cell = cells[n]
        grid = grids[n if grids.shape[0] > 1 else 0]
        along = np.int64(4 * side // cell)
        for y in range(height):
            for x in range(width):
                u = (cosine * y + sine * x) / cell
                v = (-sine * y + cosine * x) / cell
                light = (np.int64(np.floor(u)) ^ np.int64(np.floor(v))) & 1
                # Squares are numbered towards zero, so those on both sides of it share a number, as published.
                kept = light or grid[(np.int64(u) % along) * _MOST + np.int64(v) % along] >= fraction
                for c in range(channels):
                    out[n, y, x, c] = images[n, y, x, c] if kept else _GREY


@corruption(
    revision=1,
    reference=f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, CheckerBoardCutOut",
    parameters=(Parameter("fraction", low=0.0, high=1.0, about="share of the board's dark squares that are cut out"),),
    draws=(
        Draw("angle_deg", "of the board", given_scalar(-3600.0, 3600.0)),
        Draw("cell", "the squares' side in pixels, a tenth of the side or more", given_scalar(0.1, 1e6)),
        Draw(
            "chances",
            "(40, 40) in [0, 1]: a square below the fraction is covered; the first 4 sides / cell of each axis are used",
            given_array(lambda shape, p: (_MOST, _MOST), np.float64, 0.0, 1.0),
        ),
    ),
)
def checkerboard_cutout(
    images: Images,
    keys: Keys,
    *,
    fraction: float,
    angle_deg: float | None = None,
    cell: float | None = None,
    chances: NDArray[np.float64] | None = None,
) -> Images:
    """Cover some of the dark squares of a turned checkerboard with grey of level 128.

    Notes
    -----
    Drawn at random: the angle, uniform on all; the squares' side, uniform on 0.1 to 0.25 of the image's, and at least a pixel; for each
    dark square whether it is covered. As published, the board turns about the upper left corner, and what lies within a square of its
    axes through that corner is covered together.
    """
    side = min(images.shape[1:3])
    count = len(images)

    angles = uniforms(keys.stage, keys.samples, 0, 0.0, 2.0 * math.pi) if angle_deg is None else np.full(count, math.radians(angle_deg))
    cells = (
        np.maximum(uniforms(keys.stage, keys.samples, 1, 0.1 * side, 0.25 * side), 1.0)
        if cell is None
        else np.full(count, max(cell, 0.1 * side))
    )
    squares = uniform_rows(keys.stage, keys.samples, 2, 0.0, 1.0, _MOST * _MOST) if chances is None else chances.reshape(1, -1)
    out = np.empty_like(images)
    _cut(images, angles, cells, squares, float(fraction), side, out)
    return out
