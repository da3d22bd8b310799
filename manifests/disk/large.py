"""Large files, written once from their beginning to their end and hashed on the way."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from ...digests import digest_of
from .atomic import replacing

_BUFFER = 1 << 19


class LargeFile:
    """A new file; `close` waits until it is on disk, and only then it counts.

    Raises
    ------
    FileExistsError
        There is a file already.
    OSError
        The disk is full or fails.
    """

    def __init__(self, path: Path | str) -> None:
        self.sha256 = hashlib.sha256()
        """Of what was written."""
        self.written = 0
        """Bytes."""
        self._path = os.fspath(path)
        self._file = open(path, "xb", buffering=_BUFFER)  # noqa: SIM115  closed by `close` or `abandon`

    def write(self, data: Any) -> int:
        """Add bytes or any other C-contiguous buffer; return how many bytes."""
        view = memoryview(data)
        self.sha256.update(view)
        try:
            self._file.write(view)
        except OSError as e:
            raise self._named(e) from e
        self.written += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self.written

    def close(self) -> None:
        """Write what is left and wait until everything is on disk."""
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as e:
            raise self._named(e) from e
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the file, complete or not."""
        with contextlib.suppress(OSError):  # of bytes that do not fit any more
            self._file.close()

    def __enter__(self) -> LargeFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def _named(self, error: OSError) -> OSError:
        """Return an error that names the file; Python names none for a write."""
        return error if error.filename else OSError(error.errno, error.strerror, self._path)


def write_large(path: Path, pieces: Iterable[Any]) -> tuple[int, str]:
    """Write a file from buffers as `write_atomic` does, and return its bytes and ``sha256:<hex>``."""
    with replacing(path) as part, LargeFile(part) as file:
        for piece in pieces:
            file.write(piece)
    return file.written, digest_of(file.sha256)
