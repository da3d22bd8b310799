"""Slow reference implementations of regions, and small recipes with regions. A place is (side, y, x)."""

from __future__ import annotations

import numpy as np
from PIL import Image

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
"""(width, height) of the photographs in builds with regions."""
EMBED = 'kind = "embed"\nsides = [24, 30]\ncanvas = 32\nmode = "exhaustive"'


def write_recipe(folder, regions, sets=""):
    """Write a recipe with regions, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "regions.toml"
    path.write_text(RECIPE.format(regions=regions, sets=sets), encoding="utf-8")
    return path


def write_rows(folder, images):
    """Write images as arrays, and return the source."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "images.npy", images)
    np.save(folder / "labels.npy", np.arange(len(images)) % 10)
    return f"npy:{folder / 'images.npy'},{folder / 'labels.npy'}"


def small_images(count=10, channels=3):
    """Return (N, 32, 32, C) images, which are noise on different ramps."""
    rng = np.random.default_rng(1)
    ramp = np.add.outer(np.arange(32) * 5, np.arange(32) * 2)[None, :, :, None]
    return (
        (ramp + rng.integers(0, 60, (count, 32, 32, channels)) + 20 * np.arange(count)[:, None, None, None]) % 256
    ).astype(np.uint8)


def photograph(width, height):
    """Return a crop of a photograph with this size."""
    import skimage.data

    image = Image.fromarray(np.asarray(skimage.data.astronaut())).resize((width + 40, height + 20))
    return np.array(image)[10 : 10 + height, 30 : 30 + width]


def side_of(fraction, width, height):
    """Return the side of regions with this fraction, according to the formula in the paper."""
    tenths = round(fraction * 10)
    return tenths * min(width, height) // 20 * 2 + 1


def shrunk_regions(place):
    """Return the nine regions inside a region that are two pixels smaller."""
    side, y, x = place
    return {(side - 2, y + dy, x + dx) for dy in range(3) for dx in range(3)}


def all_regions(sides, width, height):
    """Return all regions of some sides, and the shrunk ones, sorted."""
    all_regions = {(side, y, x) for side in sides for y in range(height - side + 1) for x in range(width - side + 1)}
    return sorted(all_regions.union(*map(shrunk_regions, all_regions)))


def block_regions(side, block, corners):
    """Return the regions of blocks, and the shrunk ones of their inner regions."""
    regions, steps = set(), range(block)
    for top, left in corners:
        regions |= {(side, top + dy, left + dx) for dy in steps for dx in steps}
        regions = regions.union(
            *(shrunk_regions((side, top + dy, left + dx)) for dy in steps[1:-1] for dx in steps[1:-1])
        )
    return regions


def reference_crop(image, place, out, *, fit="resize"):
    """Return the pixels of a region, with Pillow's crop and resize, or by copying each row to a canvas."""
    side, y, x = place
    grey = image.shape[2] == 1
    if fit == "resize":
        pil_image = Image.fromarray(image[:, :, 0] if grey else image).crop((x, y, x + side, y + side))
        resized = np.array(pil_image.resize((out, out), Image.Resampling.BILINEAR))
        return resized[:, :, None] if grey else resized
    canvas = np.zeros((out, out, image.shape[2]), np.uint8)
    for row in range(side):
        start = (out - side) // 2
        canvas[start + row, start : start + side] = image[y + row, x : x + side]
    return canvas


def reference_embedding(image, place, canvas):
    """Return an image that is shrunk to a side and placed on a black canvas."""
    side, y, x = place
    out = np.zeros((canvas, canvas, 3), np.uint8)
    out[y : y + side, x : x + side] = np.array(Image.fromarray(image).resize((side, side), Image.Resampling.BILINEAR))
    return out


def place_of(record):
    """Return the place of a region's record."""
    return record.side, record.y, record.x
