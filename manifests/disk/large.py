"""Large files, written once from their beginning to their end and hashed on the way.

They go past the system's page cache where it can be gone past (``O_DIRECT``): filling the cache with what nobody reads soon costs several
times the copy itself, above all on virtual machines, and pushes out what is read. The last bytes, and everything where the file system
refuses, are written the ordinary way; the bytes of the file are the same.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ..records.digests import digest_of
from .atomic import replacing

_BUFFER = 1 << 19
"""Small enough to be copied, hashed and handed on within a core's own cache, large enough for the disk."""
_BLOCK = 4096
"""Direct writes begin and end at multiples of the disk's blocks, and so do those of memory pages."""
_DIRECT: int = getattr(os, "O_DIRECT", 0)


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
        """Of what was written; complete after `close`."""
        self.written = 0
        """Bytes."""
        self._path = os.fspath(path)
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        self._direct = False
        self._memory = np.frombuffer(mmap.mmap(-1, _BUFFER), np.uint8)  # of whole pages, as direct writes want it
        self._filled = 0

    def write(self, data: Any) -> int:
        """Add bytes or any other C-contiguous buffer; return how many bytes."""
        view = memoryview(data)
        size = view.nbytes
        if not size:  # cannot be cast
            return 0
        values = np.frombuffer(view.cast("B"), np.uint8)  # numpy lets other threads run while it copies
        self.written += size
        while values.size:
            some = values[: _BUFFER - self._filled]
            self._memory[self._filled : self._filled + some.size] = some
            self._filled += some.size
            values = values[some.size :]
            if self._filled == _BUFFER:
                self._set_direct(True)
                self._put(_BUFFER)
        return size

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self.written

    def close(self) -> None:
        """Write what is left and wait until everything is on disk."""
        try:
            left = self._filled
            if self._direct and left >= _BLOCK:
                whole = left - left % _BLOCK
                self._put(whole)
                self._memory[: left - whole] = self._memory[whole:left].copy()
                self._filled = left - whole
            self._set_direct(False)
            self._put(self._filled)
            os.fsync(self._fd)
        except OSError as e:
            raise self._named(e) from e
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the file as it is."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> LargeFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def _put(self, size: int) -> None:
        """Write the first bytes of the buffer."""
        view = self._memory[:size].data
        self.sha256.update(view)
        self._filled = 0
        while view:
            try:
                count = os.write(self._fd, view)
            except OSError as e:
                if e.errno == errno.EINVAL and self._direct:  # blocks of another size, or a file system that only seemed to allow it
                    self._set_direct(False)
                    continue
                raise self._named(e) from e
            if count % _BLOCK:
                self._set_direct(False)
            view = view[count:]

    def _set_direct(self, wanted: bool) -> None:
        """Go past the page cache from here on, or through it; where the system refuses, through it."""
        if wanted == self._direct or not _DIRECT:
            return
        import fcntl  # there is none on Windows, nor the flag

        flags = fcntl.fcntl(self._fd, fcntl.F_GETFL)
        try:
            fcntl.fcntl(self._fd, fcntl.F_SETFL, flags | _DIRECT if wanted else flags & ~_DIRECT)
        except OSError:
            if not wanted:
                raise
            return
        self._direct = wanted

    def _named(self, error: OSError) -> OSError:
        """Return an error that says which file it is about; Python names none for a descriptor."""
        return error if error.filename else OSError(error.errno, error.strerror, self._path)


def write_large(path: Path, pieces: Iterable[Any]) -> tuple[int, str]:
    """Write a file so that it is there whole or not at all, as `write_atomic` does, and return its bytes and ``sha256:<hex>``.

    Parameters
    ----------
    path : Path
    pieces : iterable of bytes or other C-contiguous buffers

    Raises
    ------
    OSError
        The disk is full or fails; nothing stands at `path` that did not stand there before, and the temporary file is removed.
    """
    with replacing(path) as part, LargeFile(part) as file:
        for piece in pieces:
            file.write(piece)
    return file.written, digest_of(file.sha256)
