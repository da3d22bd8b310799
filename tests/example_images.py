"""Images for tests: synthetic ones, and photographs that are part of scikit-image."""

from __future__ import annotations

import functools
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray


def number_keys(count: int) -> list[str]:
    """Return different keys for a batch of equal images, which would otherwise get the same random draws."""
    return [str(number) for number in range(count)]


def synthetic_image(height: int, width: int, channels: int = 3, which: int = 0) -> NDArray[np.uint8]:
    """Return an image with ramps, a disc, stripes, a flat patch and fine grain. It is the same on every machine."""
    y, x = np.mgrid[:height, :width].astype(np.int64)
    planes = []
    for c in range(channels):
        ramp = (x * (3 + c) * 255 // (4 * width) + y * (2 + which) * 255 // (5 * height)) % 256
        disc = (y - height // 2) ** 2 + (x - width // 3) ** 2 < (min(height, width) // 3) ** 2
        stripes = ((x + (which + 1) * y) // 3) % 2 * 120 + 40 * c
        plane = np.where(disc, 255 - ramp, np.where(x > 2 * width // 3, stripes, ramp))
        plane[: height // 5, : width // 4] = 90 + 50 * c
        grain = ((x * 7919 + y * 104729 + c * 1299709 + which * 15485863) * 2654435761 >> 7) % 23 - 11
        planes.append(np.clip(plane + grain, 0, 255))
    return np.ascontiguousarray(np.stack(planes, axis=-1).astype(np.uint8))


@functools.cache
def photograph(name: str, size: int = 224) -> NDArray[np.uint8]:
    """Return a photograph of scikit-image, resized to a short side of 256 and cropped to 224 pixels.

    For other sizes, the crop is reduced with a box filter.
    """
    import skimage.data
    from PIL import Image

    image = Image.fromarray(np.asarray(getattr(skimage.data, name)())[..., :3])
    width, height = image.size
    short = min(width, height)
    image = image.resize((int(256 * width / short), int(256 * height / short)), Image.Resampling.BILINEAR)
    left, top = round((image.width - 224) / 2), round((image.height - 224) / 2)
    image = image.crop((left, top, left + 224, top + 224))
    if size != 224:
        image = image.resize((size, size), Image.Resampling.BOX)
    out = np.array(image)
    out.setflags(write=False)
    return out


def digit_image(which: int = 0) -> NDArray[np.uint8]:
    """Return a grey image of 28x28 pixels with soft strokes on black, like scanned digits."""
    y, x = np.mgrid[:112, :112].astype(np.int64)
    ring = abs((y - 44) ** 2 + (x - 52 - 2 * which) ** 2 - 900) < 320
    bar = (abs(x - 40 - 8 * which) < 8) & (y > 16) & (y < 96)
    slope = (abs(3 * x - 2 * y - 40 + 20 * which) < 24) & (y > 24) & (y < 90)
    ink = [ring | (slope & (y > 60)), bar | slope, ring & (x > 40) | bar & (y > 50)][which % 3]
    soft = (ink * 255).reshape(28, 4, 28, 4).sum(axis=(1, 3)) // 16
    return np.ascontiguousarray(soft.astype(np.uint8)[:, :, None])


def encode_image(image: Any, kind: str = "PNG", **options: Any) -> bytes:
    """Return the bytes of an image file that Pillow writes for an array or a PIL image."""
    from PIL import Image

    buffer = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(buffer, kind, **options)
    return buffer.getvalue()


def jpeg_round_trip(image: NDArray[np.uint8], quality: int) -> NDArray[np.uint8]:
    """Return an image (H, W, C) after encoding it as JPEG and decoding it again."""
    from PIL import Image

    file = io.BytesIO(encode_image(image if image.shape[-1] == 3 else image[..., 0], "JPEG", quality=quality))
    return np.asarray(Image.open(file)).reshape(image.shape)
