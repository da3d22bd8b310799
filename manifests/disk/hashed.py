"""Files that carry their own hash: a damaged file is treated as missing.

The first line is ``{"blake3": "<hex>"}``, of everything after it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from blake3 import blake3

from .atomic import write_atomic

_LINE = b'{"blake3": "%s"}\n'


def write_hashed(path: Path, *pieces: bytes) -> None:
    """Write a file atomically, with its hash in the first line."""
    digest = blake3()
    for piece in pieces:
        digest.update(piece)
    write_atomic(path, _LINE % digest.hexdigest().encode(), *pieces)


def read_hashed(path: Path, cap: int | None = None) -> bytes | None:
    """Return what a file holds after its first line; None where it is missing, no regular file, larger than `cap`, or damaged."""
    try:
        info = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(info.st_mode) or (cap is not None and info.st_size > cap):
        return None
    data = path.read_bytes()
    rest = data[data.find(b"\n") + 1 :]
    return rest if data.startswith(_LINE % blake3(rest).hexdigest().encode()) else None
