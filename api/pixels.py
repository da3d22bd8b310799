"""Compute digests of pixels. Datasets record these digests, and images without a name are identified by them."""

from __future__ import annotations

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray


def pixel_hashes(images: NDArray[np.uint8]) -> list[str]:
    """Return the hexadecimal pixel digests of a C-contiguous (N, H, W, C) batch of uint8 images."""
    height, width, channels = images.shape[1:]
    hashes = [blake3(f"{height},{width},{channels}\n".encode()) for _ in images]
    for digest, image in zip(hashes, images, strict=True):
        digest.update(image.data)
    return [digest.hexdigest() for digest in hashes]


def pixel_digest(image: NDArray[np.uint8]) -> str:
    """Return the digest ``blake3:<hex>`` of an (H, W, C) image, computed from ``H,W,C\\n`` and the bytes of its pixels.

    Examples
    --------
    >>> import numpy as np
    >>> pixel_digest(np.zeros((8, 8, 1), np.uint8))[:20]
    'blake3:939278fd4f788'
    """
    return "blake3:" + pixel_hashes(np.ascontiguousarray(image)[None])[0]
