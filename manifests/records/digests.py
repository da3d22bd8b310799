"""Digests of sets, sources, datasets and files.

The digest of a dataset identifies a benchmark. It depends only on the seed, the preprocessing, the classes, the
samples, the corruptions with their parameters, and the pixels. It therefore does not depend on the machine, the
container, the encoder or the versions of the libraries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from blake3 import blake3

from ...canonical import canonical_sha256
from ...digests import digest_of, digits
from ...files import open_regular
from .models import ClassRecord


def set_digest(pixels: Iterable[str]) -> str:
    """Return ``blake3:<hex>`` of the 32-byte digests of a set's images, in sample order."""
    hashed = blake3()
    for digest in pixels:
        hashed.update(bytes.fromhex(digits(digest)))
    return digest_of(hashed)


DIGEST_VERSION = 2
"""The version of the digest of a dataset. It increases if the digest covers different values, but not if the format of
a record changes.
"""


def source_digest(samples: Iterable[tuple[str, int | None, str]]) -> str:
    """Return the digest of the selected samples.

    It is ``sha256:<hex>`` of the canonical JSON list ``[[id, label, sha256], ...]``, in the order of the samples.
    """
    return canonical_sha256([list(sample) for sample in samples])


def build_digest(
    *,
    seed: int,
    preprocessing: Mapping[str, Any],
    classes: Iterable[ClassRecord],
    samples: Iterable[tuple[str, int | None, str]],
    sets: Iterable[Sequence[Any]],
) -> str:
    """Return the digest of a dataset.

    Parameters
    ----------
    seed : int
        The seed of the build.
    preprocessing : mapping
        The preprocessing of the recipe.
    classes : iterable of ClassRecord
        The classes. Their indices, names and folders are hashed.
    samples : iterable of (id, label, sha256)
        The samples in order.
    sets : iterable of (id, stages, count, pixel_digest)
        The sets in any order, with stages as in the manifest.
    """
    return canonical_sha256(
        {
            "schema_version": DIGEST_VERSION,
            "seed": seed,
            "preprocessing": dict(preprocessing),
            "classes": [[c.index, c.name, c.folder] for c in classes],
            "samples": [list(sample) for sample in samples],
            "sets": sorted((list(s) for s in sets), key=lambda s: s[0]),
        }
    )


def sha256_bytes(data: bytes | memoryview) -> str:
    """Return ``sha256:<hex>`` of bytes."""
    return digest_of(hashlib.sha256(data))


def sha256_pieces(pieces: Iterable[bytes]) -> str:
    """Return ``sha256:<hex>`` of the concatenation of several pieces."""
    hashed = hashlib.sha256()
    for piece in pieces:
        hashed.update(piece)
    return digest_of(hashed)


def sha256_file(path: Path) -> str:
    """Return ``sha256:<hex>`` of a file, without loading the whole file into memory."""
    with open_regular(path) as f:
        return digest_of(hashlib.file_digest(f, "sha256"))
