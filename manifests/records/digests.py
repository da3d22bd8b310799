"""Digests: of an image's pixels, of a set, of a source, of a build.

A build's digest is the name of a benchmark: it is made of the seed, the preprocessing, the classes, the samples, the stages
and the pixels alone, so it is equal on every machine, whatever the container, the encoder and the library versions.
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
from .models import SCHEMA_VERSION, ClassRecord


def set_digest(pixels: Iterable[str]) -> str:
    """Return ``blake3:<hex>`` of the 32-byte digests of a set's images, in sample order."""
    hashed = blake3()
    for digest in pixels:
        hashed.update(bytes.fromhex(digits(digest)))
    return digest_of(hashed)


def source_digest(samples: Iterable[tuple[str, int | None, str]]) -> str:
    """Return ``sha256:<hex>`` of canonical JSON ``[[id, label, sha256], ...]`` over the selection, in sample order."""
    return canonical_sha256([list(s) for s in samples])


def build_digest(
    *,
    seed: int,
    preprocessing: Mapping[str, Any],
    classes: Iterable[ClassRecord],
    samples: Iterable[tuple[str, int | None, str]],
    sets: Iterable[Sequence[Any]],
) -> str:
    """Return the digest of a build.

    Parameters
    ----------
    seed : int
    preprocessing : mapping
        As in the manifest.
    classes : iterable of ClassRecord
        As in the manifest; their indices, names and folders count.
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
            "classes": [[c.index, c.name, c.folder] for c in classes],
            "samples": [list(s) for s in samples],
            "sets": sorted((list(s) for s in sets), key=lambda s: s[0]),
        }
    )


def sha256_bytes(data: bytes | memoryview) -> str:
    """Return ``sha256:<hex>`` of bytes."""
    return digest_of(hashlib.sha256(data))


def sha256_file(path: Path) -> str:
    """Return ``sha256:<hex>`` of a file, read in pieces."""
    with open_regular(path) as f:
        return digest_of(hashlib.file_digest(f, "sha256"))
