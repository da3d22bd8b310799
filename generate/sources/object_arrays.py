"""What ``numpy.save`` writes of a dictionary: an array without axes, of one pickled object. It is read without running anything.

Beside what `pickles` reads, arrays may hold objects and strings here, and are then lists.

References
----------
numpy.lib.format documents the .npy format.
"""

from __future__ import annotations

import os
import re
import tokenize
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...files import open_regular
from . import pickles
from .pickles import Array, Dtype, Latin, Refused, Span

MAGIC = b"\x93NUMPY"
MOST_HEADER = 10_000
MOST_BYTES = 1 << 30
MOST_TEXT = 64 << 20
"""Bytes of an array of strings."""
_WIDE = re.compile(r"[US][1-9][0-9]{0,3}")
Read = Callable[[Span], bytes]
"""Returns the bytes of a span."""


def load_saved_fields(path: Path) -> tuple[dict[str, Any], int]:
    """Return the dictionary that a .npy file holds, its keys as text, and where its pickle begins, which spans count from.

    Raises
    ------
    Refused
        It is no .npy file, holds something else, is cut, or asks for anything but arrays, lists, dictionaries, strings and numbers.
    OSError
        It cannot be read.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > MOST_BYTES:
            raise Refused(f"has {size:,} bytes, which no such file has")
        start = _read_header(file, size)
        whole = pickles.load_plain(file, size - start, names=_NAMES)
    if isinstance(whole, Array) and whole.dtype == "O" and whole.shape == () and isinstance(whole.data, list) and len(whole.data) == 1:
        whole = whole.data[0]
    if not isinstance(whole, dict):
        raise Refused("holds no dictionary")
    return whole, start


def _read_header(file: BinaryIO, size: int) -> int:
    """Read a file's header; return where its pickle begins."""
    begin = file.read(12)
    # numpy reads as many bytes as the header states for itself: up to 4 GiB
    length = int.from_bytes(begin[8:10] if begin[6:7] == b"\x01" else begin[8:12], "little")
    if not begin.startswith(MAGIC) or length > min(MOST_HEADER, size):
        raise Refused("is no .npy file")
    file.seek(0)
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file, max_header_size=MOST_HEADER)
    # the header is Python text: on bad text Python's tokenizer and parser raise these, and MemoryError on deep nesting
    except (ValueError, EOFError, OverflowError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError, tokenize.TokenError):
        raise Refused("is no .npy file, or one with a damaged header") from None
    if dtype.kind != "O" or shape != ():
        raise Refused(f"holds an array of {dtype} of shape {shape}, not a dictionary")
    return file.tell()


def column_texts(value: Any, read: Read) -> list[str]:
    """Return a list or an array of strings as text.

    Raises
    ------
    Refused
        It is something else, or its strings are damaged.
    """
    if not isinstance(value, Array):
        return pickles.texts(value)
    if len(value.shape) != 1:
        raise Refused(f"has an array of shape {value.shape} where a list of names was expected")
    if value.dtype == "O":
        return pickles.texts(_objects(value))
    if not _WIDE.fullmatch(value.dtype.lstrip("<>")):
        raise Refused(f"has an array of {value.dtype} where a list of names was expected")
    data, size = _stored(value.data, read), value.shape[0] * np.dtype(value.dtype).itemsize
    if len(data) != size:
        raise Refused("has an array of another size than its shape says")
    width, count = int(value.dtype.lstrip("<>")[1:]), value.shape[0]
    if "S" in value.dtype:
        return pickles.texts([data[i * width : (i + 1) * width].rstrip(b"\0") for i in range(count)])
    try:
        # numpy itself would make strings of letters that there are not
        letters = data.decode("utf-32-be" if value.dtype.startswith(">") else "utf-32-le")
    except UnicodeDecodeError:
        raise Refused("has an array of strings with letters that there are not") from None
    return [letters[i * width : (i + 1) * width].rstrip("\0") for i in range(count)]


def column_numbers(value: Any, read: Read) -> NDArray[np.int64]:
    """Return a list or an array of whole numbers as int64."""
    if isinstance(value, Array) and value.dtype == "O" and len(value.shape) == 1:
        value = _objects(value)
    elif isinstance(value, Array):
        value = Array(value.dtype, value.shape, value.fortran, _stored(value.data, read))
    return pickles.whole_numbers(value, read)


def _objects(array: Array) -> list[Any]:
    if not isinstance(array.data, list) or len(array.data) != array.shape[0]:
        raise Refused("has an array of another size than its shape says")
    return array.data


def _stored(data: Any, read: Read) -> bytes:
    """Return the bytes of an array."""
    if isinstance(data, bytes):
        return data
    if not isinstance(data, Span) or data.size > MOST_TEXT:
        raise Refused("has an array without its bytes")
    if not isinstance(data, Latin):
        return read(data)
    try:
        return read(data).decode("utf-8").encode("latin-1")
    except UnicodeError:
        raise Refused("has bytes of text whose letters are no bytes") from None


def _dtype(name: Any, *flags: Any) -> Dtype:
    text = name.decode("latin-1") if isinstance(name, bytes) else name
    if isinstance(text, str) and re.fullmatch(r"\|?O[48]?", text):
        return Dtype("O", "|")
    if isinstance(text, str) and _WIDE.fullmatch(text):
        return Dtype(text, "|" if text.startswith("S") else "<")
    return pickles.make_dtype(name, *flags)


def _scalar(dtype: Dtype, data: Any) -> Any:
    """Return a string of numpy's, or a whole number."""
    if isinstance(dtype, Dtype) and _WIDE.fullmatch(dtype.name) and isinstance(data, bytes):
        (text,) = column_texts(Array(dtype.order.strip("|=") + dtype.name, (1,), False, data), lambda span: b"")
        return text
    return pickles.make_scalar(dtype, data)


_NAMES = pickles.NAMES | {
    ("numpy", "dtype"): _dtype,
    **{(f"numpy.{core}.multiarray", "scalar"): _scalar for core in ("core", "_core")},
}
