"""The hash of an image's pixels: what a data set records of an image, and what keys an image that was given no name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray


def pixel_head(shape: Sequence[int]) -> bytes:
    """Return what comes before the pixels of an image of shape (H, W, C) in its digest."""
    height, width, channels = shape
    return f"{height},{width},{channels}\n".encode()


def pixel_hashes(images: NDArray[np.uint8]) -> list[str]:
    """Return the hexadecimal part of the pixel digests of an (N, H, W, C) batch of uint8, C-contiguous."""
    head = pixel_head(images.shape[1:])
    size = images[0].size if len(images) else 1
    view = images.reshape(-1).data
    digests = []
    for start in range(0, images.size, size):
        digest = blake3(head)
        digest.update(view[start : start + size])
        digests.append(digest.hexdigest())
    return digests


def pixel_digest(image: NDArray[np.uint8]) -> str:
    """Return ``blake3:<hex>`` of ``H,W,C\\n`` and the C-order bytes of an (H, W, C) image of uint8.

    Examples
    --------
    >>> import numpy as np
    >>> pixel_digest(np.zeros((8, 8, 1), np.uint8))[:20]
    'blake3:939278fd4f788'
    """
    return "blake3:" + pixel_hashes(np.ascontiguousarray(image)[None])[0]
