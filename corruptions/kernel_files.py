"""Compiled kernels on disk, found by content, each with its own hash: a damaged file is compiled anew, never run.

Numba finds its files by the path of the installation, so every virtual environment would compile for itself. They have
no hash: cut or flipped bytes in one break every later call, or are loaded and run. And numba's index, which two processes
may write at once, can name the machine code of another signature; here the key names the file, so there is no index.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.serialize import dumps

from .cache import add_on_folder, keep_file, kernel_folder

SUFFIX = ".kernel"
_HASH_BYTES = 32


class _Locator:
    """Says where numba keeps a function: not by the path of its file, so that all installations share it."""

    def __init__(self, line: int) -> None:
        self._line = line

    def get_cache_path(self) -> str:
        return str(kernel_folder())

    def get_source_stamp(self) -> None:
        """Return nothing: the name of the folder stands for all sources."""

    def get_disambiguator(self) -> str:
        """Return what tells two functions of one name apart."""
        return str(self._line)

    def ensure_cache_path(self) -> None:
        """Do nothing: `CompiledFiles` makes the folder where it can."""

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func.__code__.co_firstlineno)


class _Impl(CompileResultCacheImpl):
    _locator_classes: Any = [_Locator]  # whose base has another name in older releases


class KernelCache(FunctionCache):
    """Numba's cache of one function, with its files in `kernel_folder`."""

    _impl_class = _Impl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        room = function.__module__.rpartition(".")[0]  # numba's own name begins with the last part of the module
        ours = function.__module__.partition(".")[0] == __name__.partition(".")[0]
        folder = kernel_folder() if ours else add_on_folder(Path(function.__code__.co_filename).parent)
        self._cache_file: Any = CompiledFiles(folder, f"{room}.{self._impl.filename_base}")


class CompiledFiles:
    """Where `KernelCache` keeps a function's overloads; in place of numba's `IndexDataCacheFile`.

    Parameters
    ----------
    folder : path
        Named by the sources of all kernels and the compiler's versions, so that no file holds them.
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
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
        payload: bytes = dumps((repr(key), compiled))  # type: ignore[no-untyped-call]
        keep_file(self._path(key), _hash(payload) + payload)

    def all(self) -> list[Path]:
        """Return all files of this function."""
        return [*self._folder.glob(f"{self._base}-*{SUFFIX}")]

    def flush(self) -> None:
        """Remove them."""
        for path in self.all():
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
