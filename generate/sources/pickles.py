"""Pickled arrays, lists, strings and whole numbers, read without running anything: CIFAR's python version, Icons-50.npy.

Python's own unpickler is held to the names in `_NAMES`, which stand for functions of this module. It is the one written in Python: the
one in C takes sixteen gigabytes for a memo of one entry. A string above `LONG` bytes is not read: it stays a `Span` of the file.

References
----------
Python's ``pickletools`` documents the format; numpy.lib.format that of .npy files.
"""

from __future__ import annotations

import codecs
import io
import os
import pickle
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...files import open_regular
from .places import PIECE, Place, read_place

LONG = 255
"""Bytes of a string, or of a line, that is held."""
MOST_BYTES = 256 << 20
"""Bytes of a pickle: 50,000 rows have 155 million, or 230 where they were pickled as text."""
MOST_HELD = 6 << 20
"""Bytes of a pickle beside its long strings: 50,000 rows have two to five million, and each byte can take a hundred in memory."""
MOST_COLUMN = 64 << 20
"""Bytes of an array of labels or names."""
MAGIC = b"\x93NUMPY"
_VOID = np.dtype("V")
_DTYPE = re.compile(r"[<>|]?([ui][1248]|b1|f[248]|[US][1-9][0-9]{0,3}|O[48]?)")


class Refused(Exception):
    """What is wrong with a pickle, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Span:
    """A long string: where its bytes lie in the file."""

    place: Place
    text: bool = False
    """Whether it is text in UTF-8; of bytes that protocol 2 wrote as text, each letter is a byte."""

    def read(self) -> bytes | bytearray:
        """Return the bytes; text is decoded piece by piece, as beside each other its forms take four times their size."""
        if not self.text:
            return read_place(self.place)
        decoder, data = codecs.getincrementaldecoder("utf-8")(), bytearray()
        for start in range(0, self.place.size, PIECE):
            piece = read_place(self.place.part(start, min(PIECE, self.place.size - start)))
            data += decoder.decode(piece, start + PIECE >= self.place.size).encode("latin-1")
        return data


@dataclass(slots=True)
class Dtype:
    """A type of numpy's."""

    numpy: np.dtype[Any]

    def set_state(self, state: Any) -> None:
        """Take the byte order, as numpy writes it."""
        self.numpy = self.numpy.newbyteorder(_text(state[1]))  # type: ignore[arg-type]


@dataclass(slots=True)
class Array:
    """An array: its type and shape, and its elements or where they lie."""

    dtype: np.dtype[Any] = _VOID
    shape: tuple[int, ...] = ()
    fortran: bool = False
    data: Any = b""

    def set_state(self, state: Any) -> None:
        """Take type, shape and elements, as numpy writes them."""
        _, shape, dtype, fortran, data = state
        if not isinstance(dtype, Dtype) or not isinstance(shape, tuple) or not all(type(n) is int and 0 <= n < 1 << 40 for n in shape):
            raise Refused("has an array of no shape")
        self.dtype, self.shape, self.fortran, self.data = dtype.numpy, shape, bool(fortran), data

    def values(self) -> list[Any]:
        """Return the elements of a column."""
        if len(self.shape) != 1:
            raise Refused(f"has an array of shape {self.shape} where a column was expected")
        values = self.data
        if self.dtype.kind != "O":
            if isinstance(values, Span):
                if values.place.size > MOST_COLUMN:
                    raise Refused(f"has a column of {values.place.size:,} bytes")
                values = values.read()
            if self.dtype.kind == "U":
                values.decode("utf-32-be" if self.dtype.str.startswith(">") else "utf-32-le")  # numpy itself takes any letter
            values = np.frombuffer(values, self.dtype).tolist()
        if not isinstance(values, list) or len(values) != self.shape[0]:
            raise Refused("has an array of another size than its shape says")
        return values


def load_fields(place: Place, file: BinaryIO) -> dict[str, Any]:
    """Return the dictionary that is pickled in a place; the file stands at it.

    Raises
    ------
    Refused
        It is no pickle, is cut, or asks for anything but arrays, lists, dictionaries, strings and whole numbers.
    OSError, EOFError, zlib.error
        Whatever reading the file raises.
    """
    if place.size > MOST_BYTES:
        raise Refused(f"has {place.size:,} bytes, more than any such file")
    reader = _Reader(place, file)
    try:
        fields = _Unpickler(reader, encoding="bytes").load()
    except Refused as e:
        raise Refused(f"{e} (at byte {reader.position:,})") from None
    except (pickle.UnpicklingError, AttributeError, LookupError, TypeError, ValueError, OverflowError, DeprecationWarning):
        raise Refused(f"is no pickle of arrays, lists, strings and whole numbers, or a damaged one (at byte {reader.position:,})") from None
    if isinstance(fields, Array) and fields.shape == () and isinstance(fields.data, list) and len(fields.data) == 1:
        fields = fields.data[0]  # what numpy.save makes of a dictionary
    if not isinstance(fields, dict):
        raise Refused("holds no dictionary")
    return fields


def load_saved_fields(path: Path) -> dict[str, Any]:
    """Return the dictionary that a .npy file holds; raise as `load_fields`."""
    with open_regular(path) as file:
        begin = file.read(10)
        header = file.read(int.from_bytes(begin[8:], "little"))
        if not begin.startswith(MAGIC + b"\1") or b"|O" not in header or b"()" not in header:
            raise Refused("is no .npy file of a dictionary")
        start = file.tell()
        return load_fields(Place(path, start, os.fstat(file.fileno()).st_size - start), file)


def texts(value: Any) -> list[str]:
    """Return a column of strings."""
    return [_text(v) for v in _column(value, "names")]


def whole_numbers(value: Any) -> NDArray[np.int64]:
    """Return a column of whole numbers."""
    values = _column(value, "whole numbers")
    if not all(type(v) is int and abs(v) < 1 << 62 for v in values):
        raise Refused("has other things among its whole numbers")
    return np.array(values, np.int64)


def _column(value: Any, what: str) -> list[Any]:
    try:
        values = value.values() if isinstance(value, Array) else value
    except ValueError:  # bytes that are no whole elements, letters that there are not
        values = None
    if not isinstance(values, list):
        raise Refused(f"has {type(value).__name__} where a list of {what} was expected")
    return values


def _text(value: Any) -> str:
    """Return a short string as text."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.decode("latin-1")
    if not isinstance(value, str):
        raise Refused(f"has {type(value).__name__} where a short string was expected")
    return value


class _Reader:
    """The bytes of a pickle: no more than there are, and no long strings."""

    def __init__(self, place: Place, file: BinaryIO) -> None:
        self.place, self.file = place, file
        self.position = self.held = 0

    def read(self, size: int) -> Any:
        if size > self.place.size - self.position:
            raise Refused(f"is cut: {size:,} bytes should follow, and {self.place.size - self.position:,} do")
        if size > LONG:
            span = Span(self.place.part(self.position, size))
            self.file.seek(size, io.SEEK_CUR)
            self.position += size
            return span
        return self._hold(self.file.read(size), size)

    def readline(self) -> bytes:
        line = self.file.readline(min(LONG, self.place.size - self.position))
        return self._hold(line, len(line) if line.endswith(b"\n") else LONG + 1)

    def _hold(self, data: bytes, size: int) -> bytes:
        if len(data) < size:
            raise Refused("is cut, or is no pickle")
        self.position += size
        self.held += size
        if self.held > MOST_HELD:
            raise Refused(f"has more than {MOST_HELD:,} bytes beside its long strings")
        return data


# What the names of a pickle stand for. numpy's own functions crash Python on some damaged states.


def _frombuffer(data: Any, dtype: Any, shape: Any, order: Any) -> Array:
    array = Array()
    array.set_state((1, shape, dtype, _text(order) == "F", data))
    return array


def _scalar(dtype: Any, data: Any) -> Any:
    return _frombuffer(data, dtype, (1,), "C").values()[0]


def _dtype(name: Any, *flags: Any) -> Dtype:
    text = _text(name)
    if not _DTYPE.fullmatch(text):
        raise Refused(f"has an array of dtype {text[:20]!r}; expected numbers or strings")
    return Dtype(np.dtype(text))


def _encode(text: Any, coding: Any) -> Any:
    if _text(coding) not in ("latin1", "latin-1"):
        raise Refused("has bytes that are no text")
    return text if isinstance(text, Span) else _text(text).encode("latin-1")


_NAMES = {
    "numpy.ndarray": None,
    "numpy.dtype": _dtype,
    "_codecs.encode": _encode,
    "__builtin__.bytes": lambda: b"",
    "builtins.bytes": lambda: b"",
    **{f"numpy.{core}.multiarray._reconstruct": lambda kind, shape, code: Array() for core in ("core", "_core")},
    **{f"numpy.{core}.multiarray.scalar": _scalar for core in ("core", "_core")},
    **{f"numpy.{core}.numeric._frombuffer": _frombuffer for core in ("core", "_core")},
}
"""What numpy and Python 2 and 3 write in pickles of arrays and bytes."""
_INSTRUCTIONS = (
    "PROTO MARK STOP POP NONE NEWTRUE NEWFALSE INT LONG BININT BININT1 BININT2 LONG1 STRING UNICODE BINSTRING SHORT_BINSTRING BINBYTES "
    "SHORT_BINBYTES SHORT_BINUNICODE EMPTY_LIST EMPTY_TUPLE LIST TUPLE TUPLE1 TUPLE2 TUPLE3 APPEND APPENDS SETITEM SETITEMS PUT BINPUT "
    "LONG_BINPUT MEMOIZE GET BINGET LONG_BINGET GLOBAL STACK_GLOBAL REDUCE"
).split()


class _Fields(dict[str, Any]):
    """A dictionary whose keys are text: the hash of deep tuples crashes Python."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_text(key), value)


class _Unpickler(pickle._Unpickler):
    """Python's unpickler, which finds nothing but `_NAMES`, and reads long strings as spans."""

    append: Any
    read: Any
    pop_mark: Any
    stack: list[Any]

    def find_class(self, module: str, name: str) -> Any:
        if f"{module}.{name}" not in _NAMES:
            raise Refused(f"asks Python to run {f'{module}.{name}'[:100]!r}, which no such file does. Nothing of it was run")
        return _NAMES[f"{module}.{name}"]

    def load_build(self) -> None:
        state = self.stack.pop()
        self.stack[-1].set_state(state)  # of arrays and types; nothing else takes a state

    def load_dict(self) -> None:
        if self.pop_mark():
            raise Refused("has a dictionary that no version of Python writes")
        self.append(_Fields())

    def load_text(self) -> None:
        data = self.read(int.from_bytes(self.read(4), "little"))
        self.append(Span(data.place, text=True) if isinstance(data, Span) else data.decode())

    dispatch: ClassVar[dict[int, Any]] = {
        **{getattr(pickle, name)[0]: pickle._Unpickler.dispatch[getattr(pickle, name)[0]] for name in _INSTRUCTIONS},
        pickle.FRAME[0]: lambda self: self.read(8),  # only says how many bytes may be read at once
        pickle.BUILD[0]: load_build,
        pickle.DICT[0]: load_dict,
        pickle.EMPTY_DICT[0]: lambda self: self.append(_Fields()),
        pickle.BINUNICODE[0]: load_text,
        pickle.BYTEARRAY8[0]: pickle._Unpickler.dispatch[pickle.BINBYTES8[0]],
    }
