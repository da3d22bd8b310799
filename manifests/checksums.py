"""Write and read SHA256SUMS, and check the hash of a file."""

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
    """Return the content of SHA256SUMS in the format of ``sha256sum --check``, one line ``<hex>  <path>`` per file.

    `records` are the records of manifest.json itself and of the files that it lists. Single images are not included.
    """
    return sums_bytes({r.path: r.sha256 for r in records})


def sums_bytes(sums: Mapping[str, str]) -> bytes:
    """Return the content of SHA256SUMS for a mapping from paths to ``sha256:<hex>``."""
    return "".join(f"{digits(sha256)}  {path}\n" for path, sha256 in sorted(sums.items())).encode()


def hash_problem(root: Path, record: FileRecord) -> Problem | None:
    """Return a problem if the size or hash of a file differs from its record, or None."""
    try:
        # the size is compared first, because a sparse file may claim a terabyte, which would take hours to hash
        if (size := (root / record.path).stat().st_size) != record.bytes:
            return Problem(record.path, "size", f"has {size} bytes, but {record.bytes} are recorded")
        sha256 = sha256_file(root / record.path)
    except OSError as e:
        return Problem(record.path, "unreadable", f"{e.strerror}")
    if sha256 == record.sha256:
        return None
    return Problem(record.path, "hash", f"has {sha256}, but {record.sha256} is recorded")


def is_file_as(path: Path, size: int, sha256: str) -> bool:
    """Return whether a file exists and has the given size and hash."""
    return path.is_file() and path.stat().st_size == size and sha256_file(path) == sha256


def parse_sha256sums(data: bytes) -> tuple[dict[str, str], list[str]]:
    """Parse SHA256SUMS, and return a mapping from paths to ``sha256:<hex>``, and a list of errors."""
    sums: dict[str, str] = {}
    errors: list[str] = []
    if data and not data.endswith(b"\n"):
        errors.append("the last line is truncated")
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        match = _SUM.fullmatch(line.decode("utf-8", "replace"))
        if match is None:
            errors.append(f"line {number} is not '<64 hexadecimal digits>  <path>'")
        elif match[2] in sums:
            errors.append(f"line {number} names {match[2]} a second time")
        else:
            sums[match[2]] = "sha256:" + match[1]
    return sums, errors
