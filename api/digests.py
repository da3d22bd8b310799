"""Format digests as text: the name of the algorithm, a colon and the hexadecimal digits."""

from __future__ import annotations

from typing import Protocol


class Hash(Protocol):
    """A hash object of hashlib or blake3."""

    @property
    def name(self) -> str:
        """The name of the algorithm."""

    def hexdigest(self) -> str:
        """Return the hexadecimal digits."""


def digest_of(hashed: Hash) -> str:
    """Return the digest of a hash object as ``<algorithm>:<hex>``, the form that records use.

    Examples
    --------
    >>> import hashlib
    >>> digest_of(hashlib.sha256(b"a"))
    'sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb'
    """
    return f"{hashed.name}:{hashed.hexdigest()}"


def digits(digest: str) -> str:
    """Return the hexadecimal digits of a digest, without the name of the algorithm."""
    return digest.partition(":")[2]
