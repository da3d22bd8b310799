"""Pickled arrays, lists, strings and whole numbers, read without running anything: CIFAR's python version, Icons-50.

Python's own unpickler finds nothing but the names in `KNOWN`, which stand for classes and functions of this module:
numpy's own crash Python on some damaged states. It is the one written in Python: the one in C takes sixteen gigabytes
for a memo of one entry, and copies every string.

References
----------
Python's ``pickletools`` documents the format; numpy.lib.format that of .npy files.
"""

from __future__ import annotations

import pickle
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

LONG = 255
"""Bytes of a string, or of a line, that is copied out of the pickle; longer strings stay views of it."""
MOST_HELD = 6 << 20
"""Bytes beside the long strings, each of which can take a hundred in memory: 50,000 rows have two to five million."""


class Refused(ValueError):
    """What is wrong with a pickle."""


def load_fields(data: bytes | bytearray | memoryview) -> dict[str, Any]:
    """Return the dictionary pickled in some bytes; its arrays are views where possible.

    Raises
    ------
    Refused
        It is no pickle, is cut, or asks for anything but arrays, lists, dictionaries, strings and numbers.
    """
    reader = _Reader(data)
    try:
        fields = _Unpickler(reader, encoding="bytes").load()
    except Exception as e:  # Python's unpickler raises many kinds
        what = f"it is no pickle of arrays, lists, strings and whole numbers ({type(e).__name__})"
        raise Refused(f"{e if isinstance(e, Refused) else what} (at byte {reader.at:,})") from None
    match fields:
        case (dict() as found) | Array(values=[dict() as found]):  # the latter is what numpy.save makes of a dictionary
            return {key: value.values if isinstance(value, Array) else value for key, value in found.items()}
    raise Refused("it holds no dictionary")


def load_saved_fields(data: bytes | bytearray) -> dict[str, Any]:
    """Return the dictionary that the bytes of a .npy file hold, or raise `Refused`."""
    start = 10 + int.from_bytes(data[8:10], "little")
    header = data[10:start]
    if not data.startswith(b"\x93NUMPY\1") or b"|O" not in header or b"()" not in header:
        raise Refused("it is no .npy file of a dictionary")
    return load_fields(memoryview(data)[start:])


def texts(values: Any, most: int) -> list[str]:
    """Return a column of at most so many strings."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and len(values) <= most:
        values = _items(values)
    if not isinstance(values, list) or len(values) > most:
        what = getattr(values, "shape", type(values).__name__)
        raise Refused(f"it has {what} where a column of names was expected, one an image")
    return [_text(v) for v in values]


def numbers(values: Any) -> NDArray[Any]:
    """Return an array of any shape, or a list of whole numbers as one."""
    if isinstance(values, list) and all(type(v) is int and abs(v) < 1 << 62 for v in values):
        values = np.array(values, np.int64)
    if not isinstance(values, np.ndarray):
        raise Refused(f"it has {type(values).__name__} of other things where an array of numbers was expected")
    return values


def _items(array: NDArray[Any]) -> list[Any]:
    if array.dtype.kind == "U":  # numpy itself takes letters that there are not, which crash Python
        array.tobytes().decode("utf-32-be" if array.dtype.str.startswith(">") else "utf-32-le")
    items: list[Any] = array.tolist()
    return items


def _text(value: Any) -> str:
    """Return a short string as text."""
    if isinstance(value, bytes) and len(value) <= LONG:
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.decode("latin-1")
    if not isinstance(value, str):
        raise Refused(f"it has {type(value).__name__} where a short string was expected")
    return value


class _Reader:
    """The bytes of a pickle; long strings are views of them."""

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        self.data = memoryview(data).toreadonly()
        self.at = self.held = 0

    def read(self, size: int) -> Any:
        piece = self.data[self.at : self.at + size]
        if len(piece) < size:
            raise Refused(f"it is cut: {size:,} bytes should follow, and {len(piece):,} do")
        self.at += size
        if size > LONG:
            return piece
        self.held += size
        if self.held > MOST_HELD:
            raise Refused(f"it has more than {MOST_HELD:,} bytes beside its long strings")
        return bytes(piece)

    def readline(self) -> Any:
        length = bytes(self.data[self.at : self.at + LONG]).find(b"\n") + 1
        if not length:
            raise Refused("it is cut, or is no pickle")
        return self.read(length)


class Dtype:
    """In place of numpy's class."""

    def __init__(self, name: Any, *flags: Any) -> None:
        self.numpy = np.dtype(_text(name))

    def set_state(self, state: Any) -> None:
        """Take the byte order, as numpy writes it."""
        self.numpy = self.numpy.newbyteorder(_text(state[1]))  # type: ignore[arg-type]


class Array:
    """In place of numpy's class: numbers, short strings, or a list of objects."""

    values: NDArray[Any] | list[Any] | None = None

    def set_state(self, state: Any) -> None:
        """Take type, shape and elements, as numpy writes them."""
        _, shape, dtype, fortran, data = state
        if isinstance(data, list):
            self.values = data
        else:  # which refuses objects, and bytes that are not of this shape
            self.values = np.frombuffer(data, dtype.numpy).reshape(shape, order="F" if fortran else "C")


def _frombuffer(data: Any, dtype: Any, shape: Any, order: Any) -> Array:
    array = Array()
    array.set_state((1, shape, dtype, order != "C", data))
    return array


def _scalar(dtype: Any, data: Any) -> Any:
    if len(data) > LONG:  # a pickle may name the same one half a million times
        raise Refused("it has a long string among its elements")
    return _items(np.frombuffer(data, dtype.numpy))[0]


def _encode(text: Any, coding: Any) -> bytes:
    """Return the bytes that protocol 2 writes as text; long ones are bytes already."""
    if coding != "latin1":  # some codings take the square of a text's length in time
        raise Refused("it has bytes that are no text")
    return text if isinstance(text, bytes) else _text(text).encode("latin-1")


KNOWN = {
    "numpy.ndarray": None,
    "numpy.dtype": Dtype,
    "_codecs.encode": _encode,
    "__builtin__.bytes": lambda: b"",
    "builtins.bytes": lambda: b"",
    "numpy.core.multiarray._reconstruct": lambda kind, shape, code: Array(),
    "numpy.core.multiarray.scalar": _scalar,
    "numpy.core.numeric._frombuffer": _frombuffer,
}
"""What numpy and Python 2 and 3 write in pickles of arrays; ``numpy._core`` is ``numpy.core`` of later releases."""
REFUSED = b"".join([pickle.EMPTY_SET, pickle.ADDITEMS, pickle.FROZENSET, pickle.EXT1, pickle.EXT2, pickle.EXT4])
"""Sets, since the hash of deep tuples crashes Python; and names that other libraries have registered."""


class _Fields(dict[str, Any]):
    """A dictionary whose keys are text, whose hash is no deep one."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_text(key), value)


class _Unpickler(pickle._Unpickler):
    """Python's unpickler, which finds nothing but `KNOWN`."""

    append: Any
    read: Any
    pop_mark: Any
    stack: list[Any]

    def find_class(self, module: str, name: str) -> Any:
        asked = f"{module}.{name}".replace("numpy._core.", "numpy.core.")
        if asked not in KNOWN:
            raise Refused(f"it asks Python to run {asked[:100]!r}, which no such file does. Nothing of it was run")
        return KNOWN[asked]

    def load_build(self) -> None:
        state = self.stack.pop()
        self.stack[-1].set_state(state)  # of arrays and types; nothing else takes a state

    def load_dict(self) -> None:
        if self.pop_mark():
            raise Refused("it has a dictionary that no version of Python writes")
        self.append(_Fields())

    def load_text(self) -> None:
        data = self.read(int.from_bytes(self.read(4), "little"))
        text = str(data, "utf-8")  # a long one can only be the bytes of protocol 2, which are made once
        self.append(text if isinstance(data, bytes) else text.encode("latin-1"))

    dispatch: ClassVar[dict[int, Any]] = {
        **{code: load for code, load in pickle._Unpickler.dispatch.items() if code not in REFUSED},
        pickle.FRAME[0]: lambda self: self.read(8),  # only says how many bytes may be read at once
        pickle.BUILD[0]: load_build,
        pickle.DICT[0]: load_dict,
        pickle.EMPTY_DICT[0]: lambda self: self.append(_Fields()),
        pickle.BINUNICODE[0]: load_text,
        pickle.BYTEARRAY8[0]: pickle._Unpickler.dispatch[pickle.BINBYTES8[0]],
    }
