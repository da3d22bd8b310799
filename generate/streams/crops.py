"""Random flips and crops that follow from a key: torchvision's RandomResizedCrop, drawn without a generator."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from decimal import Context, Decimal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ...canonical import canonical

AREA = (0.08, 1.0)
"""Of the image that a crop covers, uniform."""
RATIO = 3 / 4, 4 / 3
"""Width over height of a crop; its logarithm is uniform."""
TRIES = 10
_CONTEXT = Context(prec=30)
_LOG_RATIO = _CONTEXT.ln(_CONTEXT.divide(Decimal(4), Decimal(3)))

Box = tuple[int, int, int, int]
"""Left, top, right, bottom."""


def draw_crop(width: int, height: int, key: list[object]) -> tuple[Box, bool]:
    """Return the crop of an image of a size, and whether it is flipped.

    As torchvision: ten tries of an area (8 to 100 %) and a ratio (3/4 to 4/3) that may not fit; else the middle, as large as the ratio lets
    it be. Exponentials come from decimal arithmetic, so the crop is the same on every machine.

    Parameters
    ----------
    width, height : int
    key : JSON value
        What the draws follow from.
    """
    numbers = _uniforms(key)
    flipped = next(numbers) < 0.5
    for _ in range(TRIES):
        area = width * height * (AREA[0] + (AREA[1] - AREA[0]) * next(numbers))
        exponent = _CONTEXT.multiply(_LOG_RATIO, Decimal(2 * next(numbers) - 1))
        ratio = float(_CONTEXT.exp(exponent))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        left, top = next(numbers), next(numbers)
        if 0 < w <= width and 0 < h <= height:
            x, y = int(left * (width - w + 1)), int(top * (height - h + 1))
            return (x, y, x + w, y + h), flipped
    w, h = min(width, round(height * RATIO[1])), min(height, round(width / RATIO[0]))
    x, y = (width - w) // 2, (height - h) // 2
    return (x, y, x + w, y + h), flipped


def cropped(image: NDArray[np.uint8], box: Box, flipped: bool, size: tuple[int, int], interpolation: str) -> NDArray[np.uint8]:
    """Return a crop of an (H, W, C) image, resized by Pillow to (width, height), then flipped."""
    picture = Image.fromarray(image if image.shape[2] == 3 else image[:, :, 0]).crop(box)
    out = np.asarray(picture.resize(size, Image.Resampling[interpolation.upper()])).reshape(size[1], size[0], -1)
    return np.ascontiguousarray(out[:, ::-1] if flipped else out)


def _uniforms(key: list[object]) -> Iterator[float]:
    """Yield numbers on [0, 1) with 53 bits."""
    text = canonical(key)
    for block in range(2**16):
        digest = hashlib.blake2b(text + block.to_bytes(2, "little"), digest_size=64).digest()
        for at in range(0, 64, 8):
            yield (int.from_bytes(digest[at : at + 8], "little") >> 11) * 2.0**-53
