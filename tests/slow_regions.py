"""Regions in plain numpy and Pillow, one at a time, and small recipes of regions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Place = tuple[int, int, int]
"""Side, y, x."""
Pixels = NDArray[np.uint8]

RECIPE = """
name = "regions"
version = "1.0.0"
calibration = "cifar"
[regions]
{regions}
[encoding]
format = "png"
[[sets]]
clean = true
{sets}
"""
SAMPLED = "sides = [12, 14]\nblocks = 3\nout = 16"
EXHAUSTIVE = 'sides = [26, 29]\nmode = "exhaustive"\nout = 16'
PHOTOS = "fractions = [0.2, 0.8]\nblocks = 2\nout = 24"
FOGGED = '[[sets]]\nchain = ["contrast-3"]\n[[sets]]\nchain = ["contrast-3", "gaussian_noise-2"]'
SIZES = {"a/0": (120, 90), "a/1": (90, 120), "b/x": (61, 47)}
"""Of the photographs that the builds of regions are made of."""
EMBED = 'kind = "embed"\nsides = [24, 30]\ncanvas = 32\nmode = "exhaustive"'


def write_recipe(folder: Path, regions: str, sets: str = "") -> Path:
    """Write a recipe of regions and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "regions.toml"
    path.write_text(RECIPE.format(regions=regions, sets=sets), encoding="utf-8")
    return path


def write_rows(folder: Path, images: Pixels) -> str:
    """Write images as a source of rows, and return its line."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "images.npy", images)
    np.save(folder / "labels.npy", np.arange(len(images)) % 10)
    return f"npy:{folder / 'images.npy'},{folder / 'labels.npy'}"


def small_images(count: int = 10, channels: int = 3) -> Pixels:
    """Return (N, 32, 32, C) images, each noise on a ramp of its own."""
    rng = np.random.default_rng(1)
    ramp = np.add.outer(np.arange(32) * 5, np.arange(32) * 2)[None, :, :, None]
    return (
        (ramp + rng.integers(0, 60, (count, 32, 32, channels)) + 20 * np.arange(count)[:, None, None, None]) % 256
    ).astype(np.uint8)


def photograph(width: int, height: int) -> Pixels:
    """Return a part of a photograph, at its own size."""
    import skimage.data

    picture = Image.fromarray(np.asarray(skimage.data.astronaut())).resize((width + 40, height + 20))
    return np.array(picture)[10 : 10 + height, 30 : 30 + width]


def side_of(fraction: float, width: int, height: int) -> int:
    """Return the side of a fraction's regions: the paper's formula, in tenths."""
    tenths = round(fraction * 10)
    return tenths * min(width, height) // 20 * 2 + 1


def all_places(sides: Iterable[int], width: int, height: int) -> list[Place]:
    """Return every region of some sides and every shrunk one, sorted."""
    found = set()
    for side in sides:
        for y in range(height - side + 1):
            for x in range(width - side + 1):
                found.add((side, y, x))
                found |= {(side - 2, y + dy, x + dx) for dy in range(3) for dx in range(3)}
    return sorted(found)


def block_places(side: int, block: int, corners: Iterable[tuple[int, int]]) -> set[Place]:
    """Return the regions of blocks, and the shrunk ones of their inner regions."""
    found = set()
    for top, left in corners:
        for y in range(top, top + block):
            for x in range(left, left + block):
                found.add((side, y, x))
                if top < y < top + block - 1 and left < x < left + block - 1:
                    found |= {(side - 2, y + dy, x + dx) for dy in range(3) for dx in range(3)}
    return found


def slow_crop(image: Pixels, place: Place, out: int, *, fit: str = "resize") -> Pixels:
    """Return a region's pixels: Pillow's crop and resize, or each row of the crop put on a canvas."""
    side, y, x = place
    grey = image.shape[2] == 1
    if fit == "resize":
        picture = Image.fromarray(image[:, :, 0] if grey else image).crop((x, y, x + side, y + side))
        resized = np.array(picture.resize((out, out), Image.Resampling.BILINEAR))
        return resized[:, :, None] if grey else resized
    canvas = np.zeros((out, out, image.shape[2]), np.uint8)
    for row in range(side):
        start = (out - side) // 2
        canvas[start + row, start : start + side] = image[y + row, x : x + side]
    return canvas


def slow_embedding(image: Pixels, place: Place, canvas: int) -> Pixels:
    """Return an image shrunk to a side, at a place of a black canvas."""
    side, y, x = place
    out = np.zeros((canvas, canvas, 3), np.uint8)
    out[y : y + side, x : x + side] = np.array(Image.fromarray(image).resize((side, side), Image.Resampling.BILINEAR))
    return out


def place_of(record: Any) -> Place:
    """Return the place of a region's record."""
    return record.side, record.y, record.x
