"""Large files, written once from their beginning to their end and hashed on the way."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...digests import digest_of
from .atomic import replacing

_BUFFER = 1 << 19


class LargeFile:
    """A new file; the end of its `with` waits until it is on disk, and only then it counts. A file that is there is left alone."""

    def __init__(self, path: Path | str) -> None:
        self.sha256 = hashlib.sha256()
        """Of what was written."""
        self.written = 0
        """Bytes."""
        self._path = os.fspath(path)
        self._file = open(path, "xb", buffering=_BUFFER)  # noqa: SIM115  closed by `__exit__`

    def write(self, data: Any) -> int:
        """Add bytes or any other C-contiguous buffer; return how many bytes."""
        view = memoryview(data)
        self.sha256.update(view)
        try:
            self._file.write(view)
        except OSError as e:
            raise self._named(e)  # noqa: B904  the same error
        self.written += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self.written

    def __enter__(self) -> LargeFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._file.flush()
                os.fsync(self._file.fileno())
        except OSError as e:
            raise self._named(e)  # noqa: B904  the same error
        finally:
            with contextlib.suppress(OSError):  # of bytes that do not fit any more
                self._file.close()

    def _named(self, error: OSError) -> OSError:
        """Let an error name the file; Python names none for a write."""
        error.filename = error.filename or self._path
        return error


def write_large(path: Path, pieces: Iterable[Any]) -> tuple[int, str]:
    """Write a file from buffers as `write_atomic` does, and return its bytes and ``sha256:<hex>``."""
    with replacing(path) as part, LargeFile(part) as file:
        for piece in pieces:
            file.write(piece)
    return file.written, digest_of(file.sha256)
