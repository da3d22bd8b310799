"""SHA256SUMS: its bytes, reading it, and the check of one file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..digests import digits
from .records.digests import sha256_file
from .records.models import FileRecord
from .records.report import Problem

SUMS_CAP = 256 << 20
_SUM = re.compile(r"([0-9a-f]{64})  (\S.*)")


def sha256sums_bytes(records: Iterable[FileRecord]) -> bytes:
    """Return SHA256SUMS, as ``sha256sum --check`` reads it: ``<hex>  <path>`` a line, sorted by path.

    Give every file but single images and SHA256SUMS itself: the manifest's `files` and manifest.json.
    """
    return sums_bytes({r.path: r.sha256 for r in records})


def sums_bytes(sums: Mapping[str, str]) -> bytes:
    """Return the bytes of path -> ``sha256:<hex>``."""
    return "".join(f"{digits(sha256)}  {path}\n" for path, sha256 in sorted(sums.items())).encode()


def hash_problem(root: Path, record: FileRecord) -> Problem | None:
    """Return what is wrong with a file's hash; None where it is as recorded."""
    try:
        if (size := (root / record.path).stat().st_size) != record.bytes:  # a sparse file may claim a terabyte
            return Problem(record.path, "size", f"has {size} bytes, recorded are {record.bytes}")
        sha256 = sha256_file(root / record.path)
    except OSError as e:
        return Problem(record.path, "unreadable", f"{e.strerror}")
    return (
        None if sha256 == record.sha256 else Problem(record.path, "hash", f"has {sha256}, recorded is {record.sha256}")
    )


def is_file_as(path: Path, size: int, sha256: str) -> bool:
    """Return whether there is a file of this size and hash."""
    return path.is_file() and path.stat().st_size == size and sha256_file(path) == sha256


def parse_sha256sums(data: bytes) -> tuple[dict[str, str], list[str]]:
    """Return path -> ``sha256:<hex>``, and the mistakes: lines of another form."""
    sums: dict[str, str] = {}
    mistakes: list[str] = []
    if data and not data.endswith(b"\n"):
        mistakes.append("the last line does not end: the file is cut off")
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        match = _SUM.fullmatch(line.decode("utf-8", "replace"))
        if match is None:
            mistakes.append(f"line {number} is not '<64 hexadecimal digits>  <path>'")
        elif match[2] in sums:
            mistakes.append(f"line {number} names {match[2]} a second time")
        else:
            sums[match[2]] = "sha256:" + match[1]
    return sums, mistakes
