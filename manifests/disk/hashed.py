"""Files that contain their own hash, so that a damaged file can be treated as missing.

The first line is ``{"blake3": "<hex>"}``, the hash of everything after it.
"""

from __future__ import annotations

from pathlib import Path

from blake3 import blake3

from ..records.report import Problem
from .atomic import write_atomic
from .listing import read_small

CAP = 2 << 30
"""Limit on the size of a file in bytes. The file that records a part with a million images has a few hundred million
bytes.
"""
_LINE = b'{"blake3": "%s"}\n'


def write_hashed(path: Path, *pieces: bytes) -> None:
    """Write a file atomically, with its hash in the first line."""
    digest = blake3()
    for piece in pieces:
        digest.update(piece)
    write_atomic(path, _LINE % digest.hexdigest().encode(), *pieces)


def read_hashed(path: Path, cap: int = CAP) -> bytes | None:
    """Return the content of a file after its first line.

    The result is None if the file is missing, is not a regular file, is larger than `cap`, or is damaged.
    """
    data = read_small(path.parent, path.name, cap)
    if isinstance(data, Problem):
        return None
    rest = data[data.find(b"\n") + 1 :]
    return rest if data.startswith(_LINE % blake3(rest).hexdigest().encode()) else None
