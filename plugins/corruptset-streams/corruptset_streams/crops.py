"""Random flips and crops that follow from a key: torchvision's RandomResizedCrop, drawn without a generator."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from decimal import Context, Decimal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from corruptset.canonical import canonical

EXACT = Context(prec=30)
LOG = EXACT.ln(EXACT.divide(Decimal(4), Decimal(3)))

Box = tuple[int, int, int, int]
"""Left, top, right, bottom."""


def draw_crop(width: int, height: int, key: list[object]) -> tuple[Box, bool]:
    """Return the crop of an image of a size, and whether it is flipped; both follow from a key, a JSON value.

    As torchvision: ten tries of an area (8 to 100 %) and a ratio (3/4 to 4/3) that may not fit; else the middle, as large as the ratio lets
    it be. Exponentials come from decimal arithmetic, so the crop is the same on every machine.
    """
    numbers = _uniforms(key)
    flipped = next(numbers) < 0.5
    for _ in range(10):
        area = width * height * (0.08 + 0.92 * next(numbers))
        ratio = float(EXACT.exp(EXACT.multiply(LOG, Decimal(2 * next(numbers) - 1))))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        left, top = next(numbers), next(numbers)
        if 0 < w <= width and 0 < h <= height:
            x, y = int(left * (width - w + 1)), int(top * (height - h + 1))
            break
    else:
        w, h = min(width, round(height * (4 / 3))), min(height, round(width / (3 / 4)))
        x, y = (width - w) // 2, (height - h) // 2
    return (x, y, x + w, y + h), flipped


def cropped(image: NDArray[np.uint8], box: Box, flipped: bool, size: tuple[int, int], interpolation: str) -> NDArray[np.uint8]:
    """Return a crop of an (H, W, C) image, resized by Pillow to (width, height), then flipped."""
    picture = Image.fromarray(image if image.shape[2] == 3 else image[:, :, 0]).crop(box)
    out = np.asarray(picture.resize(size, Image.Resampling[interpolation.upper()])).reshape(size[1], size[0], -1)
    return out[:, ::-1] if flipped else out


def _uniforms(key: list[object]) -> Iterator[float]:
    """Yield numbers on [0, 1) with 53 bits."""
    for block in range(2**16):
        digest = hashlib.blake2b(canonical(key) + block.to_bytes(2, "little"), digest_size=64).digest()
        for word in np.frombuffer(digest, "<u8").tolist():
            yield (word >> 11) * 2.0**-53
