"""Draw random crops and flips from a key, with the distributions of torchvision's ``RandomResizedCrop``."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from hashlib import blake2b
from typing import Any

import numpy as np
from PIL import Image

from corruptset.canonical import canonical
from corruptset.manifests.images.image_formats import to_pil

EXACT = Context(prec=30)
LOG = Decimal("0.287682072451780927439219005991")
"""The natural logarithm of 4/3, the maximum aspect ratio."""


def draw_crop(width: int, height: int, key: list[Any]) -> tuple[tuple[int, ...], bool]:
    """Return the crop (left, top, right, bottom) of an image, and whether to flip it horizontally.

    The crop and the flip depend only on the size of the image and on the key, which is a JSON value. As in torchvision,
    up to ten crops with a random area (8 to 100 %) and a random aspect ratio (3/4 to 4/3) are tried. If none of them
    fits into the image, the result is the largest central crop with an allowed ratio. Exponentials are computed in
    decimal arithmetic, so the crop is the same on all machines.
    """
    hashes = [blake2b(canonical(key) + bytes([block, 0])).digest() for block in range(6)]
    uniforms = (np.frombuffer(b"".join(hashes), "<u8") >> 11) * 2.0**-53
    for of_area, of_ratio, left, top in uniforms[1:41].reshape(10, 4).tolist():
        area = width * height * (0.08 + 0.92 * of_area)
        ratio = float(EXACT.exp(EXACT.multiply(LOG, Decimal(2 * of_ratio - 1))))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            x, y = int(left * (width - w + 1)), int(top * (height - h + 1))
            break
    else:
        w, h = min(width, round(height * (4 / 3))), min(height, round(width / (3 / 4)))
        x, y = (width - w) // 2, (height - h) // 2
    return (x, y, x + w, y + h), bool(uniforms[0] < 0.5)


def cropped(image: Any, box: Any, flipped: bool, size: tuple[int, int], interpolation: str) -> Any:
    """Crop an image (H, W, C), resize the crop to (width, height) with Pillow, and flip it if requested."""
    resized = to_pil(image).crop(box).resize(size, Image.Resampling[interpolation.upper()])
    out = np.asarray(resized).reshape(*size[::-1], -1)
    return out[:, ::-1] if flipped else out
