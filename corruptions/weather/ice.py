"""The four frosts that the default textures are pictures of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from . import crystals as draw

REVISION = 1
"""Bumped whenever a default texture changes: it is part of the cache's file names."""

Layer = NDArray[np.float32]
Texture = NDArray[np.uint8]


def _layer(size: tuple[int, int]) -> Layer:
    return np.zeros(size, np.float32)


def _cursor(texture: int) -> NDArray[np.uint64]:
    return np.array([0, texture, 0], np.uint64)


def _clouds(size: tuple[int, int], cell_x: float, cell_y: float, octaves: int, gain: float, seed: int) -> Layer:
    layer = _layer(size)
    draw.clouds(layer, cell_x, cell_y, octaves, gain, seed)
    draw.standardise(layer)
    return layer


def _mixed(size: tuple[int, int], *parts: tuple[float, Layer]) -> Layer:
    total = _layer(size)
    for weight, part in parts:
        draw.add(total, part, weight)
    draw.standardise(total)
    return total


def _picture(light: Layer, tint: Layer, means: list[float], by_light: list[float], by_tint: list[float]) -> Texture:
    texture: Texture = draw.coloured(light, tint, *(np.array(v, np.float64) for v in (means, by_light, by_tint)))
    return texture


def _count(size: tuple[int, int], area_each: float) -> int:
    return max(int(size[0] * size[1] / area_each), 1)


def sheet(size: tuple[int, int]) -> Texture:
    """Crinkled blue-green ice with rime in its folds."""
    folds, lit, rime = _layer(size), _layer(size), _layer(size)
    draw.creases(folds, 34.0, 4, 0.55, 0.8, 11)
    draw.relief(folds, lit)
    draw.standardise(lit)
    draw.ferns(rime, _cursor(1), _count(size, 420.0), 14.0, 75.0, 3.2, 0.55, 13)
    draw.standardise(rime)
    light = _mixed(size, (0.6, _clouds(size, 150.0, 150.0, 4, 0.5, 17)), (0.36, lit), (0.42, rime))
    return _picture(light, _clouds(size, 240.0, 190.0, 3, 0.5, 19), [78, 149, 166], [19, 15.5, 14.5], [17.5, 6, 0])


def needles(size: tuple[int, int]) -> Texture:
    """Bright white ice of long shards grown through each other."""
    shards = _layer(size)
    cursor = _cursor(2)
    draw.clouds(shards, 60.0, 60.0, 4, 0.6, 23)
    draw.blades(shards, cursor, _count(size, 260.0), 25.0, 190.0, 0.04, 0.3, 0.5, 29)
    draw.grain(shards, cursor, 0.25)
    draw.standardise(shards)
    light = _mixed(size, (0.45, _clouds(size, 170.0, 170.0, 3, 0.5, 31)), (0.9, shards))
    return _picture(light, _clouds(size, 90.0, 90.0, 3, 0.5, 37), [201, 205, 215], [21.3, 22, 22.4], [2.5, 0.5, -2.5])


def pane(size: tuple[int, int]) -> Texture:
    """A window pane: frozen droplets in vertical runs, with stars of ice between them."""
    beads = _layer(size)
    cursor = _cursor(3)
    draw.clouds(beads, 26.0, 40.0, 3, 0.6, 45)
    draw.droplets(beads, cursor, _count(size, 16.0), 0.9, 3.4, 15.0, 41)
    draw.blades(beads, cursor, _count(size, 900.0), 8.0, 80.0, 0.12, 1.5, 0.7, 43)
    draw.droplets(beads, cursor, _count(size, 45.0), 0.9, 3.0, 15.0, 41)
    draw.grain(beads, cursor, 0.45)
    draw.standardise(beads)
    light = _mixed(size, (0.55, _clouds(size, 120.0, 260.0, 4, 0.55, 47)), (0.85, beads))
    return _picture(light, _clouds(size, 140.0, 140.0, 2, 0.5, 53), [138, 153, 165], [28.3, 28.3, 29.3], [3, 0, -3])


def feathers(size: tuple[int, int]) -> Texture:
    """Pale feathers of frost on dark glass."""
    fronds = _layer(size)
    cursor = _cursor(4)
    draw.add(fronds, _clouds(size, 50.0, 50.0, 4, 0.6, 59), 0.22)
    draw.ferns(fronds, cursor, _count(size, 1000.0), 26.0, 170.0, 3.8, 0.4, 61)
    draw.grain(fronds, cursor, 0.15)
    draw.standardise(fronds)
    light = _mixed(size, (0.5, _clouds(size, 260.0, 210.0, 2, 0.5, 67)), (0.95, fronds))
    return _picture(light, _clouds(size, 160.0, 160.0, 2, 0.5, 71), [112, 123, 135], [43.5, 42.5, 41], [4, 0, -3])


RENDERERS: tuple[tuple[str, Callable[[tuple[int, int]], Texture]], ...] = (
    ("sheet", sheet),
    ("needles", needles),
    ("pane", pane),
    ("feathers", feathers),
)


def render(name: str, size: tuple[int, int]) -> Texture:
    """Render a default texture.

    Parameters
    ----------
    name : {"sheet", "needles", "pane", "feathers"}
    size : (height, width)

    Returns
    -------
    (height, width, 3) ndarray of uint8, RGB
        The same bytes on every machine. Crystals have the same size in pixels whatever the size of the picture.
    """
    return dict(RENDERERS)[name](size)
