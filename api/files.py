"""Files that a user names, read up to a limit; TOML that a person writes.

A pipe would hang whoever waits for it, and ``/dev/zero`` fills the memory. A link to a regular file is one.
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

MOST_TEXT = 16 << 20
"""Bytes of a recipe, a table or a list that a person writes."""

_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}

NUL = "it has a NUL character in its name, which no file has"


class UnfitFile(CorruptsetError, OSError):
    """A path that names no regular file, or one that is too large.

    `strerror` says which, as the end of a sentence.
    """

    def __str__(self) -> str:
        return f"{self.filename} cannot be read: {self.strerror}."


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file to read its bytes.

    UnfitFile or another OSError says why it cannot be read.
    """
    if "\0" in os.fspath(path):
        raise UnfitFile(errno.EINVAL, NUL, os.fspath(path))
    _refuse_special(path.stat().st_mode, path)  # even to open a device may have an effect
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _refuse_special(os.fstat(fd).st_mode, path)  # another file may have taken its place
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def read_regular(path: Path, most: int) -> bytes:
    """Return the bytes of a regular file of limited size.

    UnfitFile or another OSError says why it cannot be read.
    """
    with open_regular(path) as file:
        data = file.read(most + 1) if os.fstat(file.fileno()).st_size <= most else None
    if data is None or len(data) > most:
        raise UnfitFile(errno.EFBIG, f"it has more than {most:,} bytes, the most that are taken here", os.fspath(path))
    return data


def read_text(path: Path, most: int = MOST_TEXT) -> str:
    """Return the text of a regular file, UTF-8, with newlines as line ends.

    A byte-order mark is left out; errors are those of `read_regular`.
    """
    try:
        text = read_regular(path, most).decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise UnfitFile(errno.EILSEQ, f"it is not UTF-8 text: {e}", os.fspath(path)) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Return the values of a TOML text.

    `where` is what the `RecipeError` of a mistake calls it.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise RecipeError(f"{where} is nested too deeply to be read as TOML.") from None
    except ValueError as e:  # TOMLDecodeError, and what Python says of a number of thousands of digits
        raise RecipeError(f"{where} is not TOML: {e}.") from None


def reason(error: OSError) -> str:
    """Return why a file cannot be read, to end a sentence that names it."""
    return error.strerror or str(error)


def file_problem(path: Path) -> str | None:
    """Return why a path is no regular file, and no link to one, or None."""
    if "\0" in os.fspath(path):
        return f"cannot be read: {NUL}"
    try:
        mode = path.stat().st_mode
    except OSError as e:
        return (
            "does not exist"
            if isinstance(e, FileNotFoundError | NotADirectoryError)
            else f"cannot be looked at ({reason(e)})"
        )
    return "is a folder" if stat.S_ISDIR(mode) else _special(mode)


def _special(mode: int) -> str | None:
    kind = _KINDS.get(stat.S_IFMT(mode))
    return None if kind is None else f"is {kind}, not a regular file: write what comes out of it into a file first"


def _refuse_special(mode: int, path: Path) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    problem = _special(mode)
    if problem is not None:
        raise UnfitFile(errno.EINVAL, f"it {problem}", os.fspath(path))
