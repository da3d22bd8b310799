"""Digests: of an image's pixels, of a set, of a source, of a build.

A build's digest is the name of a benchmark: it is made of the seed, the preprocessing, the samples, the stages and the
pixels alone, so it is equal on every machine, whatever the container, the encoder and the library versions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from ..canonical import canonical_sha256
from .models import SCHEMA_VERSION


def pixel_digest(image: NDArray[np.uint8]) -> str:
    """Return ``blake3:<hex>`` of ``H,W,C\\n`` and the C-order bytes of an (H, W, C) image of uint8.

    Examples
    --------
    >>> import numpy as np
    >>> pixel_digest(np.zeros((8, 8, 1), np.uint8))[:20]
    'blake3:939278fd4f788'
    """
    return "blake3:" + pixel_hashes(np.ascontiguousarray(image)[None])[0]


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


def set_digest(pixels: Iterable[str]) -> str:
    """Return ``blake3:<hex>`` of the 32-byte digests of a set's images, in sample order."""
    digest = blake3()
    for one in pixels:
        digest.update(bytes.fromhex(one.removeprefix("blake3:")))
    return "blake3:" + digest.hexdigest()


def source_digest(samples: Iterable[tuple[str, int, str]]) -> str:
    """Return ``sha256:<hex>`` of canonical JSON ``[[id, label, sha256], ...]`` over the selection, in sample order."""
    return canonical_sha256([list(s) for s in samples])


def build_digest(
    *, seed: int, preprocessing: Mapping[str, Any], samples: Iterable[tuple[str, int, str]], sets: Iterable[Sequence[Any]]
) -> str:
    """Return the digest of a build.

    Parameters
    ----------
    seed : int
    preprocessing : mapping
        As in the manifest.
    samples : iterable of (id, label, sha256)
        In sample order.
    sets : iterable of (id, stages, count, pixel_digest)
        Stages as in the manifest; sorted here by id.
    """
    return canonical_sha256(
        {
            "schema_version": SCHEMA_VERSION,
            "seed": seed,
            "preprocessing": dict(preprocessing),
            "samples": [list(s) for s in samples],
            "sets": sorted((list(s) for s in sets), key=lambda s: s[0]),
        }
    )


def sha256_bytes(data: bytes | memoryview) -> str:
    """Return ``sha256:<hex>`` of bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """Return ``sha256:<hex>`` of a file, read in pieces."""
    with path.open("rb") as f:
        return "sha256:" + hashlib.file_digest(f, "sha256").hexdigest()
