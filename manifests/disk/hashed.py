"""Files that carry their own hash: a damaged file is treated as missing.

The first line is ``{"blake3": "<hex>"}``, of everything after it.
"""

from __future__ import annotations

from pathlib import Path

from blake3 import blake3

from ..records.report import Problem
from .atomic import write_atomic
from .listing import read_small

CAP = 2 << 30
"""Bytes of a file: a part's sidecar of a million images has a few hundred million."""
_LINE = b'{"blake3": "%s"}\n'


def write_hashed(path: Path, *pieces: bytes) -> None:
    """Write a file atomically, with its hash in the first line."""
    digest = blake3()
    for piece in pieces:
        digest.update(piece)
    write_atomic(path, _LINE % digest.hexdigest().encode(), *pieces)


def read_hashed(path: Path, cap: int = CAP) -> bytes | None:
    """Return what a file holds after its first line.

    None where it is missing, no regular file, larger than `cap`, or damaged.
    """
    data = read_small(path.parent, path.name, cap)
    if isinstance(data, Problem):
        return None
    rest = data[data.find(b"\n") + 1 :]
    return rest if data.startswith(_LINE % blake3(rest).hexdigest().encode()) else None
