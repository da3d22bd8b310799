"""The four frosts that the default textures are pictures of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import crystals as draw
from . import grading
from .grading import Layer, Texture

SHARES = (0.0, 0.002, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.998, 1.0)
_MEDIAN = SHARES.index(0.5)


@dataclass(frozen=True)
class Likeness:
    """Figures that give a drawing the photograph's: contrast at each scale, levels, colours.

    Levels and channels are measured; octaves are fitted, because levels change them once more.
    """

    levels: tuple[float, ...]
    """Mean of the channels below which `SHARES` of the pixels lie."""
    octaves: tuple[float, ...]
    """Standard deviations of the octaves of the drawing, finest first."""
    channels: tuple[tuple[float, float, float], ...]
    """Of red, green and blue less their mean: offset, share of the light, share of the tint."""


def _layer(size: tuple[int, int]) -> Layer:
    return np.zeros(size, np.float32)


def _cursor(texture: int) -> NDArray[np.uint64]:
    return np.array([0, texture, 0], np.uint64)


def _clouds(size: tuple[int, int], cell_x: float, cell_y: float, octaves: int, gain: float, seed: int) -> Layer:
    layer = _layer(size)
    draw.clouds(layer, cell_x, cell_y, octaves, gain, seed)
    grading.standardise(layer)
    return layer


def _rim(size: tuple[int, int]) -> Layer:
    layer = grading.rim(size)
    grading.standardise(layer)
    return layer


def _graded(light: Layer, tint: Layer, like: Likeness) -> Texture:
    grading.balance(light, np.array(like.octaves))
    grading.standardise(light)
    grading.level(light, np.array(SHARES), np.array(like.levels))
    return grading.coloured(light, tint, like.levels[_MEDIAN], np.array(like.channels))


def _count(size: tuple[int, int], area_each: float) -> int:
    return max(int(size[0] * size[1] / area_each), 1)


SHEET = Likeness(
    (89.5, 93.3, 97.0, 104.0, 109.0, 117.7, 129.0, 142.3, 155.3, 163.3, 177.3, 188.7, 209.6),
    (10.51, 2.74, 1.78, 5.08, 3.52, 1.59, 2.08, 8.08, 9.56),
    ((-53.2, 0.369, -10.9), (18.3, -0.1, 3.0), (34.9, -0.27, 7.9)),
)
NEEDLES = Likeness(
    (86.2, 116.0, 141.3, 166.0, 177.3, 195.0, 210.3, 222.3, 231.3, 236.3, 245.0, 249.7, 252.3),
    (7.62, 10.46, 3.27, 10.28, 1.43, 3.27, 2.02, 12.29, 5.52),
    ((-6.1, -0.03, -1.5), (-1.5, 0.005, -0.1), (7.6, 0.025, 1.6)),
)
PANE = Likeness(
    (29.0, 58.7, 82.0, 104.0, 116.0, 134.0, 152.0, 169.0, 186.0, 198.7, 233.7, 250.3, 252.7),
    (12.3, 15.1, 1.83, 8.07, 0.99, 2.77, 1.55, 19.0, 3.09),
    ((-14.2, -0.016, -1.4), (0.9, -0.015, -0.9), (13.3, 0.031, 2.3)),
)
FEATHERS = Likeness(
    (30.2, 37.7, 45.0, 60.0, 70.7, 91.7, 119.0, 150.7, 183.0, 203.3, 237.7, 252.0, 253.5),
    (17.85, 17.05, 8.36, 6.27, 6.21, 7.31, 3.77, 2.27, 32.05),
    ((-11.2, 0.03, -1.4), (-0.1, 0.004, -0.1), (11.3, -0.034, 1.5)),
)


def sheet(size: tuple[int, int]) -> Texture:
    """Crinkled blue-green ice."""
    folds = _layer(size)
    draw.creases(folds, 14.0, 2, 0.7, 0.6, 11)
    light = grading.relief(folds)
    grading.standardise(light)
    grading.swell(light, _clouds(size, 90.0, 90.0, 3, 0.6, 15), 0.4)
    grading.add(light, _clouds(size, 150.0, 150.0, 4, 0.5, 17), 1.0)
    grading.add(light, _clouds(size, 520.0, 480.0, 1, 0.5, 18), 1.0)
    return _graded(light, _clouds(size, 240.0, 190.0, 4, 0.5, 19), SHEET)


def needles(size: tuple[int, int]) -> Texture:
    """Bright white ice of rough shards grown through each other."""
    light = _layer(size)
    cursor = _cursor(2)
    draw.clouds(light, 60.0, 60.0, 5, 0.7, 23)
    draw.grain(light, cursor, 0.3, 60.0)
    draw.splinters(light, cursor, _count(size, 330.0), 10.0, 120.0, 150.0, 29)
    draw.grain(light, cursor, 0.15, 45.0)
    grading.standardise(light)
    grading.add(light, _rim(size), 0.4)
    grading.add(light, _clouds(size, 520.0, 480.0, 2, 0.5, 31), 1.0)
    return _graded(light, _clouds(size, 90.0, 90.0, 4, 0.6, 37), NEEDLES)


def pane(size: tuple[int, int]) -> Texture:
    """A window pane: frozen droplets in vertical runs, with stars of ice between them."""
    light = _layer(size)
    cursor = _cursor(3)
    draw.clouds(light, 26.0, 40.0, 3, 0.6, 45)
    draw.droplets(light, cursor, _count(size, 16.0), 0.9, 3.0, 12.0, 41)
    draw.blades(light, cursor, _count(size, 160.0), 4.0, 30.0, 0.15, 1.3, 0.75, 43)
    draw.droplets(light, cursor, _count(size, 30.0), 0.9, 2.5, 12.0, 41)
    draw.grain(light, cursor, 0.45, 60.0)
    grading.standardise(light)
    grading.swell(light, _clouds(size, 250.0, 250.0, 2, 0.5, 49), 0.15)
    grading.add(light, _rim(size), -0.5)
    grading.add(light, _clouds(size, 520.0, 480.0, 2, 0.5, 206), 0.3)
    return _graded(light, _clouds(size, 12.0, 12.0, 3, 0.7, 53), PANE)


def feathers(size: tuple[int, int]) -> Texture:
    """Small pale feathers of frost, dense on grey-blue glass."""
    light = _layer(size)
    cursor = _cursor(4)
    draw.dendrites(light, cursor, _count(size, 85.0), 8.0, 75.0, 130.0, 0.6, 61)
    draw.grain(light, cursor, 0.1, 70.0)
    grading.standardise(light)
    grading.swell(light, _clouds(size, 300.0, 300.0, 2, 0.5, 65), 0.3)
    grading.add(light, _rim(size), 0.35)
    grading.add(light, _clouds(size, 520.0, 480.0, 2, 0.5, 203), 0.3)
    return _graded(light, _clouds(size, 160.0, 160.0, 4, 0.5, 71), FEATHERS)


RENDERERS: tuple[tuple[str, Callable[[tuple[int, int]], Texture]], ...] = (
    ("sheet", sheet),
    ("needles", needles),
    ("pane", pane),
    ("feathers", feathers),
)


def render(name: str, size: tuple[int, int]) -> Texture:
    """Return a default texture, RGB: the same bytes on every machine, with crystals of the same size in pixels at every size."""
    return dict(RENDERERS)[name](size)
