"""Read regular files up to a size limit, and parse TOML.

Paths come from users, so only regular files and symbolic links to them are accepted. Reading a pipe could block
forever, and reading ``/dev/zero`` would fill the memory.
"""

from __future__ import annotations

import errno
import os
import stat
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import CorruptsetError, RecipeError

if TYPE_CHECKING:
    from io import BufferedReader

MAX_TEXT_BYTES = 16 << 20
"""The maximum size of a text file such as a recipe, a table or a list, in bytes."""

_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}

NUL = "its name contains a NUL character, which file names cannot contain"


class UnfitFile(CorruptsetError, OSError):
    """A path that is not a regular file, or a file that is too large.

    `strerror` is the reason, worded as the end of a sentence.
    """

    def __str__(self) -> str:
        return f"{self.filename} cannot be read: {self.strerror}."


def _open_nonblocking(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading in binary mode, or raise `UnfitFile` or another OSError."""
    if "\0" in os.fspath(path):
        raise UnfitFile(errno.EINVAL, NUL, os.fspath(path))
    _refuse_special(path.stat().st_mode, path)  # Merely opening a device can have side effects.
    file = open(path, "rb", opener=_open_nonblocking)  # noqa: SIM115
    try:
        _refuse_special(os.fstat(file.fileno()).st_mode, path)  # The file may have been replaced in the meantime.
    except BaseException:
        file.close()
        raise
    return file


def read_regular(path: Path, max_bytes: int) -> bytes:
    """Return the bytes of a regular file, or raise `UnfitFile` or another OSError.

    A file with more than `max_bytes` bytes is refused.
    """
    with open_regular(path) as file:
        data = file.read(max_bytes + 1) if os.fstat(file.fileno()).st_size <= max_bytes else None
    if data is None or len(data) > max_bytes:
        raise UnfitFile(errno.EFBIG, f"it is larger than {max_bytes:,} bytes, the limit for this file", os.fspath(path))
    return data


def read_text(path: Path, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """Return the text of a regular UTF-8 file, without a byte-order mark and with line endings converted to newlines.

    Raises
    ------
    OSError
        If the file cannot be read, is too large (see `read_regular`), or is not UTF-8 text.
    """
    try:
        text = read_regular(path, max_bytes).decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise UnfitFile(errno.EILSEQ, f"it is not UTF-8 text: {e}", os.fspath(path)) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Return the values in TOML text, or raise `RecipeError`. The error message refers to the text as `where`."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise RecipeError(f"{where} is nested too deeply to be read as TOML.") from None
    except ValueError as e:  # This is a TOMLDecodeError, or Python's error for a number with thousands of digits.
        raise RecipeError(f"{where} is not valid TOML: {e}.") from None


def reason(error: OSError) -> str:
    """Return the reason why a file cannot be read, worded as the end of a sentence."""
    return error.strerror or str(error)


def file_problem(path: Path) -> str | None:
    """Return the reason why a path is not a regular file or a link to one, or None if it is one."""
    if "\0" in os.fspath(path):
        return f"cannot be read: {NUL}"
    try:
        mode = path.stat().st_mode
    except OSError as e:
        return (
            "does not exist"
            if isinstance(e, FileNotFoundError | NotADirectoryError)
            else f"cannot be accessed ({reason(e)})"
        )
    return "is a folder" if stat.S_ISDIR(mode) else _special(mode)


def _special(mode: int) -> str | None:
    kind = _KINDS.get(stat.S_IFMT(mode))
    return None if kind is None else f"is {kind}, not a regular file. Write its contents to a file first"


def _refuse_special(mode: int, path: Path) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    problem = _special(mode)
    if problem is not None:
        raise UnfitFile(errno.EINVAL, f"it {problem}", os.fspath(path))
