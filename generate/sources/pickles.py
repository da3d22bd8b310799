"""Pickles of arrays, lists, strings and numbers, and of nothing else.

CIFAR's python version is pickles, and `pickle.load` runs whatever a pickle asks for. Here Python's own unpickler (the one written
in Python) is held to the instructions that such files need, and to names that stand for the functions of this module. Strings
above `LONG` bytes are not held: they are spans of the file, so the memory for a batch follows its labels and not its pixels.

References
----------
Python's ``pickletools`` documents the format; https://www.cs.toronto.edu/~kriz/cifar.html describes the python version of CIFAR.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

LONG = 255
"""Bytes of a string, or of a line, that is held; a longer string is a span."""
MOST_HELD = 6 << 20
"""Bytes of a pickle outside its spans: 50,000 rows have two to five million, and each byte can leave a hundred in memory."""
NUMBERS = ("u1", "i1", "b1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8")
"""Types of numpy's that an array may have."""


class Refused(Exception):
    """What is wrong with a pickle, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Span:
    """A long string: where its bytes lie in the pickle."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Text(Span):
    """Long text, in UTF-8."""


@dataclass(frozen=True, slots=True)
class Latin(Span):
    """Bytes that protocol 2 writes as text in UTF-8, each byte as a letter of Latin-1."""


@dataclass(slots=True)
class Dtype:
    """A type of numpy's, by its short name such as ``u1``, and its byte order."""

    name: str
    order: str

    def set_state(self, state: Any) -> None:
        """Take the byte order, as numpy writes it."""
        self.order = _text(state[1])
        if self.order not in ("<", ">", "|", "="):
            raise Refused("has an array in no byte order")


@dataclass(slots=True)
class Array:
    """An array: its type and shape, and its elements or where they lie."""

    dtype: str = ""
    shape: tuple[int, ...] = ()
    fortran: bool = False
    data: Any = b""

    def set_state(self, state: Any) -> None:
        """Take type, shape and elements, as numpy writes them."""
        _, shape, dtype, fortran, data = state
        if not isinstance(dtype, Dtype) or not isinstance(shape, tuple) or not all(type(n) is int and 0 <= n < 1 << 40 for n in shape):
            raise Refused("has an array of no shape")
        self.dtype = dtype.order.strip("|=") + dtype.name
        self.shape, self.fortran, self.data = shape, bool(fortran), data


def load_fields(file: BinaryIO, size: int, *, most_held: int = MOST_HELD) -> dict[str, Any]:
    """Return the dictionary that a pickle holds, its keys as text.

    Parameters
    ----------
    file : binary file
        The pickle begins where the file stands.
    size : int
        Bytes of the pickle.
    most_held : int, optional
        How many of them may be outside spans.

    Raises
    ------
    Refused
        It is no pickle, is cut, or asks for anything but arrays, lists, dictionaries, strings and numbers.
    OSError, EOFError, zlib.error
        Whatever reading the file raises.
    """
    fields = load_plain(file, size, most_held=most_held)
    if not isinstance(fields, dict):
        raise Refused("holds no dictionary")
    return fields


def load_plain(file: BinaryIO, size: int, *, most_held: int = MOST_HELD, names: Mapping[tuple[str, str], Any] | None = None) -> Any:
    """Return what a pickle holds, as `load_fields` does; `names` are what it may ask for, in place of `NAMES`."""
    reader = _Reader(file, size, most_held)
    try:
        return _Unpickler(reader, NAMES if names is None else names).load()
    except Refused as e:
        raise Refused(f"{e} (at byte {reader.position:,})") from None
    except (pickle.UnpicklingError, AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError, DeprecationWarning):
        raise Refused(f"is no pickle, or a damaged one (at byte {reader.position:,})") from None


def texts(value: Any) -> list[str]:
    """Return a list of strings as text."""
    if not isinstance(value, list):
        raise Refused(f"has {_kind(value)} where a list of names was expected")
    return [_text(v) for v in value]


def whole_numbers(value: Any, read: Callable[[Span], bytes]) -> NDArray[np.int64]:
    """Return a list or an array of whole numbers; `read` gives the bytes of a span."""
    if isinstance(value, Array):
        if value.dtype.lstrip("<>")[:1] not in ("u", "i") or len(value.shape) != 1:
            raise Refused(f"has an array of {value.dtype} of shape {value.shape} where whole numbers were expected")
        stored, size = value.data, value.shape[0] * np.dtype(value.dtype).itemsize
        if (stored.size if type(stored) is Span else len(stored) if isinstance(stored, bytes) else -1) != size:
            raise Refused("has an array of another size than its shape says")
        return np.frombuffer(stored if isinstance(stored, bytes) else read(stored), value.dtype).astype(np.int64)
    if not isinstance(value, list) or not all(type(v) is int and abs(v) < 1 << 62 for v in value):
        raise Refused(f"has {_kind(value)} where a list of whole numbers was expected")
    return np.array(value, np.int64)


class _Reader:
    """The bytes of a pickle: no more than there are, and no long ones."""

    def __init__(self, file: BinaryIO, size: int, most_held: int) -> None:
        self.file, self.size, self.most_held = file, size, most_held
        self.position = self.spans = 0

    def _advance(self, size: int) -> None:
        if size > self.size - self.position:
            raise Refused(f"is cut: {size:,} bytes should follow, and {self.size - self.position:,} do")
        self.position += size
        if self.position - self.spans > self.most_held:
            raise Refused(f"has more than {self.most_held:,} bytes beside its long strings")

    def read(self, size: int) -> bytes:
        self._advance(size)
        data = self.file.read(size)
        if len(data) < size:
            raise Refused("is cut")
        return data

    def readline(self) -> bytes:
        line = self.file.readline(min(LONG, self.size - self.position))
        self._advance(len(line))
        if not line.endswith(b"\n"):
            raise Refused("is cut, is no pickle, or was saved under pickle's protocol 0: save it under protocol 2")
        return line

    def skip(self, size: int) -> int:
        """Pass over a span; return where it begins."""
        start = self.position
        self.spans += size
        self._advance(size)
        self.file.seek(size, os.SEEK_CUR)
        return start


def _text(value: Any) -> str:
    """Return a string as text."""
    if isinstance(value, str):
        return value
    if not isinstance(value, bytes):
        raise Refused(f"has {_kind(value)} where a short string was expected")
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


_KINDS = {
    Array: "an array", Span: "a long string", Text: "a long string", Latin: "a long string", str: "a string", bytes: "a string",
    list: "a list of other things", dict: "a dictionary", tuple: "a tuple", int: "a number", type(None): "nothing",
}  # fmt: skip


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "something else")


# What the names of a batch stand for. numpy's own functions would crash the interpreter on some damaged states.


def _reconstruct(kind: Any, shape: Any, code: Any) -> Array:
    return Array()


def _frombuffer(data: Any, dtype: Any, shape: Any, order: Any) -> Array:
    array = Array()
    array.set_state((1, shape, dtype, _text(order) == "F", data))
    return array


def make_scalar(dtype: Dtype, data: bytes) -> int:
    """Return a whole number of numpy's."""
    if dtype.name[0] not in "ui":
        raise Refused(f"has a number of dtype {dtype.name!r}; expected whole ones")
    return int(np.frombuffer(data, dtype.order.replace("|", "") + dtype.name)[0])


def make_dtype(name: Any, *flags: Any) -> Dtype:
    """Return a type of numbers."""
    text = _text(name)
    order = text[:1] if text[:1] in ("<", ">", "|") else "|"
    plain = text.removeprefix(order)
    if plain not in NUMBERS:
        raise Refused(f"has an array of dtype {text[:20]!r}; expected numbers")
    return Dtype(plain, order)


def _encode(text: Any, coding: Any) -> bytes | Latin:
    if _text(coding) not in ("latin1", "latin-1") or not isinstance(text, str | Text):
        raise Refused("has bytes that are no text")
    return text.encode("latin-1") if isinstance(text, str) else Latin(text.offset, text.size)


def _empty() -> bytes:
    return b""


_NDARRAY = object()
NAMES: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _NDARRAY,
    ("numpy", "dtype"): make_dtype,
    ("_codecs", "encode"): _encode,
    ("__builtin__", "bytes"): _empty,
    ("builtins", "bytes"): _empty,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _reconstruct for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): make_scalar for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _frombuffer for core in ("core", "_core")},
}
"""What numpy and Python 2 and 3 write in pickles of arrays and bytes."""
_PLAIN = (
    "PROTO MARK STOP POP NONE NEWTRUE NEWFALSE INT LONG BININT BININT1 BININT2 LONG1 STRING UNICODE SHORT_BINSTRING SHORT_BINBYTES "
    "SHORT_BINUNICODE EMPTY_DICT EMPTY_LIST EMPTY_TUPLE LIST TUPLE TUPLE1 TUPLE2 TUPLE3 APPEND APPENDS PUT BINPUT LONG_BINPUT MEMOIZE "
    "GET BINGET LONG_BINGET GLOBAL STACK_GLOBAL"
).split()
"""Instructions that Python's unpickler may follow as it does: they make plain objects of what was just read."""


class _Instructions(dict[int, Any]):
    """Opcode -> what it does. What is not here, among it everything that makes or finds other objects, is refused."""

    def __missing__(self, code: int) -> Any:
        raise Refused(f"has an instruction that only other things than arrays, lists and strings need ({bytes([code])!r})")


class _Unpickler(pickle._Unpickler):
    """Python's unpickler, which calls nothing but the functions that its names stand for."""

    stack: list[Any]
    append: Callable[[Any], None]
    pop_mark: Callable[[], list[Any]]
    read: Callable[[int], bytes]

    dispatch = _Instructions({getattr(pickle, name)[0]: pickle._Unpickler.dispatch[getattr(pickle, name)[0]] for name in _PLAIN})

    def __init__(self, reader: _Reader, names: Mapping[tuple[str, str], Any]) -> None:
        super().__init__(reader, encoding="bytes")
        self.reader, self.names = reader, names

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.names:
            raise Refused(
                f"asks Python to run {f'{module}.{name}'[:100]!r}; such a file holds arrays, lists, strings and numbers only, so this is "
                "not one. Nothing of it was run"
            )
        return self.names[module, name]

    def load_frame(self) -> None:
        self.read(8)  # a frame only says how many bytes may be read at once

    def load_reduce(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if not callable(function) or not isinstance(arguments, tuple):
            raise Refused("calls something that is no name")
        self.append(function(*arguments))

    def load_build(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if not isinstance(target, Array | Dtype):
            raise Refused("gives a state to something that has none")
        target.set_state(state)

    def load_dict(self) -> None:
        items = self.pop_mark()
        self.append({})
        self.set_items(items)

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.set_items([key, value])

    def load_setitems(self) -> None:
        self.set_items(self.pop_mark())

    def set_items(self, items: list[Any]) -> None:
        """Put keys and values in turn into the dictionary on top; only text is a key, as the hash of deep tuples crashes Python."""
        target = self.stack[-1]
        if not isinstance(target, dict) or len(items) % 2:
            raise Refused("puts keys into something that is no dictionary")
        target.update(zip(map(_text, items[::2]), items[1::2], strict=True))

    def load_text(self, width: int) -> None:
        size = int.from_bytes(self.read(width), "little")
        self.append(self.read(size).decode("utf-8") if size <= LONG else Text(self.reader.skip(size), size))

    def load_bytes(self, width: int) -> None:
        size = int.from_bytes(self.read(width), "little")
        self.append(self.read(size) if size <= LONG else Span(self.reader.skip(size), size))

    dispatch |= {
        pickle.FRAME[0]: load_frame,
        pickle.REDUCE[0]: load_reduce,
        pickle.BUILD[0]: load_build,
        pickle.DICT[0]: load_dict,
        pickle.SETITEM[0]: load_setitem,
        pickle.SETITEMS[0]: load_setitems,
        pickle.BINUNICODE[0]: lambda self: self.load_text(4),
        pickle.BINUNICODE8[0]: lambda self: self.load_text(8),
        pickle.BINSTRING[0]: lambda self: self.load_bytes(4),
        pickle.BINBYTES[0]: lambda self: self.load_bytes(4),
        pickle.BINBYTES8[0]: lambda self: self.load_bytes(8),
        pickle.BYTEARRAY8[0]: lambda self: self.load_bytes(8),
    }
