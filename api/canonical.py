"""Canonical JSON (RFC 8785), from which the digests of records are computed."""

from __future__ import annotations

import hashlib
from typing import Any

import rfc8785

from .digests import digest_of


def canonical(value: Any) -> bytes:
    """Return the RFC 8785 serialisation of a JSON value.

    Keys are sorted, there are no spaces, and each number has its shortest exact form.

    Parameters
    ----------
    value : JSON value
        A dict with str keys, list, tuple, str, int, finite float, bool or None. Integers must be within +-(2**53 - 1).
        The values 1 and 1.0 give the same bytes.

    Examples
    --------
    >>> canonical({"b": 1.0, "a": [0.08, None]})
    b'{"a":[0.08,null],"b":1}'
    """
    return rfc8785.dumps(value)


def canonical_sha256(value: Any) -> str:
    """Return the SHA-256 digest of the canonical JSON of `value`, as ``sha256:<hex>``."""
    return digest_of(hashlib.sha256(canonical(value)))
