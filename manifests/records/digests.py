"""Digests: of an image's pixels, of a set, of a source, of a build.

A build's digest is the name of a benchmark: it is made of the seed, the preprocessing, the classes, the samples, the
stages and the pixels alone, so it is equal on every machine, whatever the container, the encoder and the library
versions.
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
"""The version of the digest of a build. It rises when the digest covers something else, not when a record changes."""


def source_digest(samples: Iterable[tuple[str, int | None, str]]) -> str:
    """Return ``sha256:<hex>`` of canonical JSON ``[[id, label, sha256], ...]`` over the selection, in sample order."""
    return canonical_sha256([list(sample) for sample in samples])


def build_digest(
    *,
    seed: int,
    preprocessing: Mapping[str, Any],
    classes: Iterable[ClassRecord],
    samples: Iterable[tuple[str, int | None, str]],
    sets: Iterable[Sequence[Any]],
) -> str:
    """Return the digest of a build.

    Samples are (id, label, sha256), in sample order; sets are (id, stages, count, pixel_digest), stages as in the
    manifest, and are sorted here by id. Of classes the indices, names and folders count.
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
    """Return ``sha256:<hex>`` of bytes that come in pieces."""
    hashed = hashlib.sha256()
    for piece in pieces:
        hashed.update(piece)
    return digest_of(hashed)


def sha256_file(path: Path) -> str:
    """Return ``sha256:<hex>`` of a file, read in pieces."""
    with open_regular(path) as f:
        return digest_of(hashlib.file_digest(f, "sha256"))
