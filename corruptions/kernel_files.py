"""Compiled kernels on disk, each with its own hash: a damaged file is compiled anew, never run.

Numba's own files have no hash. Cut or flipped bytes in one break every later call, or are loaded and run. And its index, which two
processes may write at once, can name the machine code of another signature; here the key names the file, so there is no index.
"""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

from numba.core.serialize import dumps

from .cache import keep_file

SUFFIX = ".kernel"
_HASH_BYTES = 32


class CompiledFiles:
    """Where numba's dispatcher of one function keeps its overloads; in place of numba's `IndexDataCacheFile`.

    Parameters
    ----------
    folder : path
        Named by the sources of all kernels and numba's version, so that no file holds them.
    base : str
        The beginning of this function's file names.
    """

    def __init__(self, folder: str | Path, base: str) -> None:
        self._folder = Path(folder)
        self._base = base

    def load(self, key: Any) -> Any:
        """Return the compiled code of a signature on this kind of processor; None where there is none, or a damaged file."""
        entry = read_entry(self._path(key))
        return entry[1] if entry is not None and entry[0] == repr(key) else None

    def save(self, key: Any, compiled: Any) -> None:
        """Save compiled code under its signature."""
        payload: bytes = dumps((repr(key), compiled))  # type: ignore[no-untyped-call]
        keep_file(self._path(key), _hash(payload) + payload)

    def flush(self) -> None:
        """Remove all files of this function."""
        for path in self._folder.glob(f"{self._base}-*{SUFFIX}"):
            path.unlink(missing_ok=True)

    def _path(self, key: Any) -> Path:
        # Types and processors have the same repr in every process; their pickles need not be equal.
        return self._folder / f"{self._base}-{hashlib.blake2b(repr(key).encode(), digest_size=8).hexdigest()}{SUFFIX}"


def read_entry(path: Path) -> tuple[str, Any] | None:
    """Return a file's signature and processor, as text, and its compiled code; None where it is missing or damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    payload = data[_HASH_BYTES:]
    if data[:_HASH_BYTES] != _hash(payload):
        return None
    entry: tuple[str, Any] = pickle.loads(payload)
    return entry


def _hash(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_HASH_BYTES).digest()
