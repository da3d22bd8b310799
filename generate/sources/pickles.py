"""Pickled arrays, lists, strings and whole numbers, read without running anything: CIFAR's python version,
Icons-50.npy.

Python's own unpickler is held to the names in `_NAMES`, which stand for functions of this module: numpy's own crash
Python on some damaged states. It is the one written in Python: the one in C takes sixteen gigabytes for a memo of one
entry.

References
----------
Python's ``pickletools`` documents the format; numpy.lib.format that of .npy files.
"""

from __future__ import annotations

import codecs
import math
import pickle
import re
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

PIECE = 1 << 20
"""Bytes of a long text that are decoded at once."""
LONG = 255
"""Bytes of a string, or of a line, that is copied out of the pickle."""
MOST_HELD = 6 << 20
"""Bytes of a pickle beside its long strings: 50,000 rows have two to five million, and each byte can take a hundred in
memory.
"""
MOST_COLUMN = 64 << 20
"""Bytes of an array of labels or names, or of an element that many places may name."""
_DTYPE = re.compile(r"[<>|]?([ui][1248]|b1|f[248]|[US][1-9][0-9]{0,3}|O[48]?)")


class Refused(ValueError):
    """What is wrong with a pickle."""


def load_fields(data: bytes | bytearray | memoryview) -> dict[str, Any]:
    """Return the dictionary that is pickled in some bytes; its arrays of numbers are views of them.

    Raises
    ------
    Refused
        It is no pickle, is cut, or asks for anything but arrays, lists, dictionaries, strings and whole numbers.
    """
    reader = _Reader(memoryview(data).toreadonly())
    try:
        fields = _Unpickler(reader, encoding="bytes").load()
    except Refused as e:
        raise Refused(f"{e} (at byte {reader.position:,})") from None
    except (
        pickle.UnpicklingError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        OverflowError,
        DeprecationWarning,
    ):
        raise Refused(
            f"it is no pickle of arrays, lists, strings and whole numbers (at byte {reader.position:,})"
        ) from None
    if isinstance(fields, Array) and isinstance(fields.values, list) and len(fields.values) == 1:
        fields = fields.values[0]  # what numpy.save makes of a dictionary
    if not isinstance(fields, dict):
        raise Refused("it holds no dictionary")
    return fields


def load_saved_fields(data: bytes | bytearray) -> dict[str, Any]:
    """Return the dictionary that the bytes of a .npy file hold, or raise `Refused`."""
    start = 10 + int.from_bytes(data[8:10], "little")
    header = data[10:start]
    if not data.startswith(b"\x93NUMPY\1") or b"|O" not in header or b"()" not in header:
        raise Refused("it is no .npy file of a dictionary")
    return load_fields(memoryview(data)[start:])


def texts(value: Any) -> list[str]:
    """Return a column of strings."""
    return [_text(v) for v in _column(value)]


def whole_numbers(value: Any) -> NDArray[np.int64]:
    """Return a column of whole numbers."""
    values = _column(value)
    if not all(type(v) is int and abs(v) < 1 << 62 for v in values):
        raise Refused("it has other things where whole numbers were expected")
    return np.array(values, np.int64)


def pixels(value: Any) -> NDArray[np.uint8]:
    """Return an array of bytes in C order, of which nothing else is known."""
    array = value.values if isinstance(value, Array) else None
    if not isinstance(array, np.ndarray) or array.dtype != np.uint8 or not array.flags.c_contiguous or not array.size:
        what = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(value).__name__
        raise Refused(f"it has pixels of {what}; expected an array of bytes (uint8), stored row by row")
    return array


def _column(value: Any) -> list[Any]:
    values = value.values if isinstance(value, Array) else value
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.nbytes <= MOST_COLUMN:
        if values.dtype.kind == "U":  # numpy itself takes letters that there are not, which crash Python
            values.tobytes().decode("utf-32-be" if values.dtype.str.startswith(">") else "utf-32-le")
        values = values.tolist()
    if not isinstance(values, list):
        raise Refused(
            f"it has {getattr(values, 'shape', type(values).__name__)} where a column of names or numbers was expected"
        )
    return values


def _text(value: Any) -> str:
    """Return a short string as text."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.decode("latin-1")
    if not isinstance(value, str):
        raise Refused(f"it has {type(value).__name__} where a short string was expected")
    return value


class _Reader:
    """The bytes of a pickle: no more than there are, and long strings as views of them."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.position = self.held = 0

    def read(self, size: int) -> Any:
        piece = self.data[self.position : self.position + size]
        if len(piece) < size:
            raise Refused(f"it is cut: {size:,} bytes should follow, and {len(piece):,} do")
        self.position += size
        if size > LONG:
            return piece
        self.held += size
        if self.held > MOST_HELD:
            raise Refused(f"it has more than {MOST_HELD:,} bytes beside its long strings")
        return bytes(piece)

    def readline(self) -> Any:
        length = bytes(self.data[self.position : self.position + LONG]).find(b"\n") + 1
        if not length:
            raise Refused("it is cut, or is no pickle")
        return self.read(length)


class Dtype:
    """In place of numpy's class."""

    def __init__(self, name: Any, *flags: Any) -> None:
        if not _DTYPE.fullmatch(_text(name)):
            raise Refused(f"it has an array of dtype {_text(name)[:20]!r}; expected numbers or strings")
        self.numpy: np.dtype[Any] = np.dtype(_text(name))

    def set_state(self, state: Any) -> None:
        """Take the byte order, as numpy writes it."""
        self.numpy = self.numpy.newbyteorder(_text(state[1]))  # type: ignore[arg-type]


class Array:
    """In place of numpy's class: an array of numbers or short strings, or the list of an array of objects."""

    values: NDArray[Any] | list[Any] | None = None

    def set_state(self, state: Any) -> None:
        """Take type, shape and elements, as numpy writes them."""
        _, shape, dtype, fortran, data = state
        if not all(type(n) is int and 0 <= n < 1 << 40 for n in shape):
            raise Refused("it has an array of no shape")
        if dtype.numpy.kind != "O":
            self.values = np.frombuffer(data, dtype.numpy).reshape(shape, order="F" if fortran else "C")
        elif isinstance(data, list) and len(data) == math.prod(shape):
            self.values = data
        else:
            raise Refused("it has an array of another size than its shape says")


def _frombuffer(data: Any, dtype: Any, shape: Any, order: Any) -> Array:
    array = Array()
    array.set_state((1, shape, dtype, _text(order) == "F", data))
    return array


def _scalar(dtype: Any, data: Any) -> Any:
    if len(data) > LONG:  # a pickle may name the same one half a million times
        raise Refused("it has a long string among its elements")
    return _column(_frombuffer(data, dtype, (1,), "C"))[0]


def _encode(text: Any, coding: Any) -> bytes | bytearray:
    if _text(coding) not in ("latin1", "latin-1"):
        raise Refused("it has bytes that are no text")
    return text if isinstance(text, bytearray) else _text(text).encode("latin-1")


_NAMES = {
    "numpy.ndarray": None,
    "numpy.dtype": Dtype,
    "_codecs.encode": _encode,
    "__builtin__.bytes": lambda: b"",
    "builtins.bytes": lambda: b"",
    "numpy.core.multiarray._reconstruct": lambda kind, shape, code: Array(),
    "numpy.core.multiarray.scalar": _scalar,
    "numpy.core.numeric._frombuffer": _frombuffer,
}
"""What numpy and Python 2 and 3 write in pickles of arrays and bytes; ``numpy._core`` is ``numpy.core`` of later
releases.
"""
_INSTRUCTIONS = (
    "PROTO MARK STOP POP NONE NEWTRUE NEWFALSE INT LONG BININT BININT1 BININT2 LONG1 STRING UNICODE BINSTRING "
    "SHORT_BINSTRING BINBYTES "
    "SHORT_BINBYTES SHORT_BINUNICODE EMPTY_LIST EMPTY_TUPLE LIST TUPLE TUPLE1 TUPLE2 TUPLE3 APPEND APPENDS SETITEM "
    "SETITEMS PUT "
    "BINPUT LONG_BINPUT MEMOIZE GET BINGET LONG_BINGET GLOBAL STACK_GLOBAL REDUCE"
).split()


class _Fields(dict[str, Any]):
    """A dictionary whose keys are text: the hash of deep tuples crashes Python."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_text(key), value)


class _Unpickler(pickle._Unpickler):
    """Python's unpickler, which finds nothing but `_NAMES`."""

    append: Any
    read: Any
    pop_mark: Any
    stack: list[Any]

    def find_class(self, module: str, name: str) -> Any:
        asked = f"{module}.{name}".replace("numpy._core.", "numpy.core.")
        if asked not in _NAMES:
            raise Refused(f"it asks Python to run {asked[:100]!r}, which no such file does. Nothing of it was run")
        return _NAMES[asked]

    def load_build(self) -> None:
        state = self.stack.pop()
        self.stack[-1].set_state(state)  # of arrays and types; nothing else takes a state

    def load_dict(self) -> None:
        if self.pop_mark():
            raise Refused("it has a dictionary that no version of Python writes")
        self.append(_Fields())

    def load_text(self) -> None:
        data = self.read(int.from_bytes(self.read(4), "little"))
        self.append(data.decode() if isinstance(data, bytes) else _letters(data))

    dispatch: ClassVar[dict[int, Any]] = {
        **{getattr(pickle, name)[0]: pickle._Unpickler.dispatch[getattr(pickle, name)[0]] for name in _INSTRUCTIONS},
        pickle.FRAME[0]: lambda self: self.read(8),  # only says how many bytes may be read at once
        pickle.BUILD[0]: load_build,
        pickle.DICT[0]: load_dict,
        pickle.EMPTY_DICT[0]: lambda self: self.append(_Fields()),
        pickle.BINUNICODE[0]: load_text,
        pickle.BYTEARRAY8[0]: pickle._Unpickler.dispatch[pickle.BINBYTES8[0]],
    }


def _letters(data: memoryview) -> bytearray | None:
    """Return the bytes that protocol 2 wrote as a long text, each as a letter; None of other text, which nothing needs.

    They are decoded piece by piece: beside each other the forms of the text take four times their size.
    """
    decoder, letters = codecs.getincrementaldecoder("utf-8")(), bytearray()
    try:
        for start in range(0, len(data), PIECE):
            letters += decoder.decode(data[start : start + PIECE], start + PIECE >= len(data)).encode("latin-1")
    except UnicodeError:
        return None
    return letters
