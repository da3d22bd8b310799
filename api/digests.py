"""How digests are written: the algorithm, a colon, and the digits."""

from __future__ import annotations

from typing import Protocol


class Hash(Protocol):
    """A hash of hashlib, or of blake3."""

    @property
    def name(self) -> str:
        """The algorithm."""

    def hexdigest(self) -> str:
        """Return its digits."""


def digest_of(hashed: Hash) -> str:
    """Return ``<algorithm>:<hex>`` of a hash, as records have it.

    Examples
    --------
    >>> import hashlib
    >>> digest_of(hashlib.sha256(b"a"))
    'sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb'
    """
    return f"{hashed.name}:{hashed.hexdigest()}"


def digits(digest: str) -> str:
    """Return a digest without the name of its algorithm."""
    return digest.partition(":")[2]
