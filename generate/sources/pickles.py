"""Reading pickles of arrays, lists, strings and numbers, and of nothing else.

CIFAR's python version is pickles, and `pickle.load` runs whatever a pickle asks for. This reader calls nothing that a
pickle names: the few names that such files need (numpy's way to write an array or a dtype, Python's way to write bytes
under protocol 2) are recognised and understood here, and any other is refused. A pickle is read from its beginning to its
end in pieces, and long strings are not held: an array is where its bytes lie in the file, so that its rows can be read later.

References
----------
Python's ``pickletools`` documents the format; the python version of CIFAR is described at
https://www.cs.toronto.edu/~kriz/cifar.html.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CorruptsetError

PIECE = 4 << 10
"""Bytes of a pickle that are read at once: few, for what is read beyond the beginning of a long string is read again with it."""
MOST_LINE = 1 << 20
LONG = 1 << 10
"""Bytes from which on a string may be what an array holds."""
HELD = 1 << 20
"""Bytes of a string that is held, at most; of a longer one only where it lies."""
HELD_TOGETHER = 16 << 20
MOST_STEPS = 5_000_000
"""Instructions of a pickle, at most: each may leave an object behind. Batches have six or seven a row, and 350,000 rows at most."""
NUMBERS = ("u1", "i1", "b1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8")
"""Types of numpy's that an array may have."""
MOST_MEMO = 10_000_000


class Refused(Exception):
    """What is wrong with a pickle, as the end of a sentence."""


@dataclass(frozen=True)
class Stored:
    """A pickle that lies somewhere."""

    size: int
    read: Callable[[int, int], bytes]
    """(offset, size) -> bytes, so many; asked for from the beginning to the end, but for what is looked up again."""


@dataclass(frozen=True, slots=True)
class Span:
    """A string: where its bytes lie."""

    offset: int
    size: int
    text: bool = False
    """Whether the bytes are UTF-8 text."""
    held: bytes | None = None
    """The bytes, of a short one."""


Look = Callable[[Span], None]


@dataclass(frozen=True)
class Latin:
    """Bytes that protocol 2 wrote as text, every byte a letter of Latin-1."""

    span: Span


@dataclass
class Dtype:
    """A type of numpy's, by its short name such as ``u1``."""

    name: str
    order: str = "|"


@dataclass
class Array:
    """An array: its type and shape, and where its elements lie."""

    dtype: str = ""
    shape: tuple[int, ...] = ()
    fortran: bool = False
    data: Span | Latin | bytes = b""


@dataclass(frozen=True)
class _Name:
    module: str
    name: str


_MARK = object()
_ARRAY_MODULES = ("numpy.core.multiarray", "numpy._core.multiarray")
_NUMERIC_MODULES = ("numpy.core.numeric", "numpy._core.numeric")


class Pickle:
    """A pickle that was read.

    Parameters
    ----------
    data : bytes or Stored
        The whole pickle.
    look : callable, optional
        Given every string longer than `LONG` as it is come to: what is read there need not be read once more.

    Raises
    ------
    Refused
        It is no pickle, is cut, or asks for anything but arrays, lists, dictionaries, strings and numbers.
    CorruptsetError
        Whatever reading it raises.
    """

    def __init__(self, data: bytes | Stored, look: Look | None = None) -> None:
        self._stored = data if isinstance(data, Stored) else Stored(len(data), lambda offset, size: data[offset : offset + size])
        self._look = look
        self._at = 0
        self._piece = b""
        self._piece_at = 0
        self._held = 0
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        try:
            self.value = self._run()
        except CorruptsetError:
            raise  # some are ValueErrors too
        except (IndexError, KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
            raise Refused(f"is no pickle, or a damaged one (at byte {self._at})") from None

    def fields(self) -> dict[str, Any]:
        """Return the dictionary that the pickle holds, its keys as text."""
        if not isinstance(self.value, dict):
            raise Refused("holds no dictionary")
        return {str(key): value for key, value in self.value.items()}

    def text(self, value: Any) -> str:
        """Return a string as text."""
        data = self.raw(value)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return data.decode("latin-1")

    def raw(self, value: Any) -> bytes:
        """Return a string's bytes."""
        if isinstance(value, Latin):
            return self.raw(value.span).decode("utf-8").encode("latin-1")
        if isinstance(value, Span):
            return value.held if value.held is not None else self._stored.read(value.offset, value.size)
        if isinstance(value, bytes):
            return value
        raise Refused(f"has {_kind(value)} where a string was expected")

    def texts(self, value: Any) -> list[str]:
        """Return a list of strings as text."""
        if not isinstance(value, list):
            raise Refused(f"has {_kind(value)} where a list of names was expected")
        return [self.text(v) for v in value]

    def integers(self, value: Any) -> NDArray[np.int64]:
        """Return a list or an array of whole numbers."""
        if isinstance(value, Array):
            if value.dtype.lstrip("<>")[:1] not in ("u", "i") or len(value.shape) != 1:
                raise Refused(f"has an array of {value.dtype} of shape {value.shape} where whole numbers were expected")
            data = self.raw(value.data)
            if len(data) != value.shape[0] * np.dtype(value.dtype).itemsize:
                raise Refused("has an array of another size than its shape says")
            return np.frombuffer(data, value.dtype).astype(np.int64)
        if not isinstance(value, list) or not all(type(v) is int and abs(v) < 1 << 62 for v in value):
            raise Refused(f"has {_kind(value)} where a list of whole numbers was expected")
        return np.array(value, np.int64)

    # One step of the machine for each opcode; see pickletools.

    def _run(self) -> Any:
        for _ in range(MOST_STEPS):
            code = self._take(1)
            if code == b".":
                return self._stack[-1] if len(self._stack) == 1 else self._fail("leaves something over")
            step = _STEPS.get(code)
            if step is None:
                self._fail(f"has an instruction that only other things than arrays, lists and strings need ({code!r})")
            assert step is not None
            step(self)
        return self._fail(f"has more than {MOST_STEPS:,} instructions")

    def _fail(self, why: str) -> Any:
        raise Refused(f"{why} (at byte {self._at})")

    def _take(self, size: int) -> bytes:
        start = self._at - self._piece_at
        data = self._piece[start : start + size]
        if len(data) < size:
            if self._at + size > self._stored.size:
                raise Refused(f"is cut: it ends at byte {self._stored.size}, in the middle of its contents")
            self._read_on(max(size, PIECE))
            data = self._piece[:size]
        self._at += size
        return data

    def _read_on(self, size: int) -> None:
        """Read a piece from here on, so many bytes or what is left."""
        self._piece_at = self._at
        self._piece = self._stored.read(self._at, min(size, self._stored.size - self._at))

    def _number(self, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self._take(size), "little", signed=signed)

    def _line(self) -> bytes:
        end = self._piece.find(b"\n", self._at - self._piece_at)
        for size in (PIECE, MOST_LINE):
            if end < 0:
                self._read_on(size)
                end = self._piece.find(b"\n")
        if end < 0:
            raise Refused(f"is cut, or no pickle (at byte {self._at})")
        return self._take(self._piece_at + end + 1 - self._at)[:-1]

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _span(self, width: int, *, text: bool = False) -> None:
        size = self._number(width)
        left = self._stored.size - self._at
        if size > left:
            raise Refused(f"is cut: {size:,} bytes should follow at byte {self._at:,}, and {left:,} do")
        if size > LONG and self._look is not None:
            self._look(Span(self._at, size, text))
        held = None
        if size <= HELD and self._held + size <= HELD_TOGETHER:
            self._held += size
            held = self._take(size)
            self._at -= size
        self._push(Span(self._at, size, text, held))
        self._at += size

    def _quoted(self) -> None:
        line = self._line().strip()
        if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b"'", b'"'):
            self._fail("has a string without quotes")
        self._push(codecs.escape_decode(line[1:-1])[0])

    def _integer_line(self) -> None:
        line = self._line()
        if len(line) > 20:
            self._fail("has a number of too many digits")
        self._push({b"00": False, b"01": True}[line] if line in (b"00", b"01") else int(line.rstrip(b"L")))

    def _to_mark(self) -> list[Any]:
        place = len(self._stack) - 1
        while self._stack[place] is not _MARK:
            place -= 1
            if place < 0:
                self._fail("closes what was not opened")
        items = self._stack[place + 1 :]
        del self._stack[place:]
        return items

    def _put(self, index: int) -> None:
        if index > MOST_MEMO:
            self._fail("remembers too much")
        self._memo[index] = self._stack[-1]

    def _append(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, list):
            self._fail("puts items into something that is no list")
        target.extend(items)

    def _set(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, dict) or len(items) % 2:
            self._fail("puts keys into something that is no dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[key if isinstance(key, int) else self.text(key)] = value

    def _pop(self, count: int) -> list[Any]:
        items = self._stack[-count:]
        if len(items) < count or any(i is _MARK for i in items):
            self._fail("takes what is not there")
        del self._stack[-count:]
        return items

    def _stack_name(self) -> None:
        module, name = self._pop(2)
        self._push(_Name(self.text(module), self.text(name)))

    def _reduce(self) -> None:
        name, arguments = self._pop(2)
        if not isinstance(name, _Name) or not isinstance(arguments, tuple):
            self._fail("calls something that is no name")
        self._push(self._made(name, arguments))

    def _made(self, what: _Name, arguments: tuple[Any, ...]) -> Any:
        """Return what a name that is known here stands for; nothing is called."""
        module, name = what.module, what.name
        if module in _ARRAY_MODULES and name == "_reconstruct" and arguments[0] == _Name("numpy", "ndarray"):
            return Array()
        if (module, name) == ("numpy", "dtype"):
            return self._dtype(self.text(arguments[0]))
        if (module, name) == ("_codecs", "encode") and self.text(arguments[1]) in ("latin1", "latin-1"):
            span = arguments[0]
            return Latin(span) if isinstance(span, Span) and span.text else self._fail("has bytes that are no text")
        if module in ("__builtin__", "builtins") and name == "bytes" and arguments == ():
            return b""
        if module in _NUMERIC_MODULES and name == "_frombuffer":
            data, dtype, shape, order = arguments
            return self._array(Array(), (1, shape, dtype, self.text(order) == "F", data))
        if module in _ARRAY_MODULES and name == "scalar" and arguments[0].name[0] in "ui":
            return int(np.frombuffer(self.raw(arguments[1]), arguments[0].order.replace("|", "") + arguments[0].name)[0])
        return self._refuse_name(what)

    def _dtype(self, name: str) -> Dtype:
        order = name[:1] if name[:1] in ("<", ">", "|") else "|"
        plain = name.removeprefix(order)
        if plain not in NUMBERS:
            self._fail(f"has an array of dtype {name[:20]!r}; expected numbers")
        return Dtype(plain, order)

    def _refuse_name(self, what: _Name) -> Any:
        return self._fail(
            f"asks Python to run {f'{what.module}.{what.name}'[:100]!r}; a batch holds arrays, lists, strings and numbers only, so this is "
            "not one. Nothing of it was run"
        )

    def _build(self) -> None:
        state = self._pop(1)[0]
        target = self._stack[-1]
        if isinstance(target, Dtype):
            order = self.text(state[1])
            if order not in ("<", ">", "|", "="):
                self._fail("has an array in no byte order")
            target.order = order
        elif isinstance(target, Array):
            self._array(target, state)
        else:
            self._fail("gives a state to something that has none")

    def _array(self, target: Array, state: tuple[Any, ...]) -> Array:
        _, shape, dtype, fortran, data = state
        if not isinstance(dtype, Dtype) or not isinstance(shape, tuple) or not all(type(n) is int and 0 <= n < 1 << 40 for n in shape):
            self._fail("has an array of no shape")
        target.dtype = dtype.order.lstrip("|=") + dtype.name
        target.shape, target.fortran, target.data = shape, bool(fortran), data
        return target


def _kind(value: Any) -> str:
    if isinstance(value, Array):
        return f"an array of {value.dtype}"
    if isinstance(value, Span | Latin | bytes):
        return "a string"
    return {list: "a list of other things", dict: "a dictionary", tuple: "a tuple", int: "a number", type(None): "nothing"}.get(
        type(value), "something else"
    )


def _name_line(p: Pickle) -> None:
    p._push(_Name(p._line().decode("utf-8"), p._line().decode("utf-8")))


def _pairs(p: Pickle) -> None:
    items = p._to_mark()
    p._push({})
    p._set(items)


_STEPS: dict[bytes, Callable[[Pickle], Any]] = {
    b"\x80": lambda p: p._take(1),
    b"\x95": lambda p: p._take(8),
    b"(": lambda p: p._push(_MARK),
    b"0": lambda p: p._pop(1),
    b"}": lambda p: p._push({}),
    b"]": lambda p: p._push([]),
    b")": lambda p: p._push(()),
    b"N": lambda p: p._push(None),
    b"\x88": lambda p: p._push(True),
    b"\x89": lambda p: p._push(False),
    b"J": lambda p: p._push(p._number(4, signed=True)),
    b"K": lambda p: p._push(p._number(1)),
    b"M": lambda p: p._push(p._number(2)),
    b"\x8a": lambda p: p._push(p._number(p._number(1), signed=True)),
    b"I": Pickle._integer_line,
    b"L": Pickle._integer_line,
    b"S": Pickle._quoted,
    b"V": lambda p: p._push(p._line().decode("raw-unicode-escape").encode("utf-8")),
    b"U": lambda p: p._span(1),
    b"T": lambda p: p._span(4),
    b"C": lambda p: p._span(1),
    b"B": lambda p: p._span(4),
    b"\x8e": lambda p: p._span(8),
    b"\x96": lambda p: p._span(8),
    b"\x8c": lambda p: p._span(1, text=True),
    b"X": lambda p: p._span(4, text=True),
    b"\x8d": lambda p: p._span(8, text=True),
    b"q": lambda p: p._put(p._number(1)),
    b"r": lambda p: p._put(p._number(4)),
    b"p": lambda p: p._put(int(p._line())),
    b"\x94": lambda p: p._put(len(p._memo)),
    b"h": lambda p: p._push(p._memo[p._number(1)]),
    b"j": lambda p: p._push(p._memo[p._number(4)]),
    b"g": lambda p: p._push(p._memo[int(p._line())]),
    b"a": lambda p: p._append(p._pop(1)),
    b"e": lambda p: p._append(p._to_mark()),
    b"s": lambda p: p._set(p._pop(2)),
    b"u": lambda p: p._set(p._to_mark()),
    b"l": lambda p: p._push(p._to_mark()),
    b"d": _pairs,
    b"t": lambda p: p._push(tuple(p._to_mark())),
    b"\x85": lambda p: p._push(tuple(p._pop(1))),
    b"\x86": lambda p: p._push(tuple(p._pop(2))),
    b"\x87": lambda p: p._push(tuple(p._pop(3))),
    b"c": _name_line,
    b"\x93": Pickle._stack_name,
    b"R": Pickle._reduce,
    b"b": Pickle._build,
}
"""Opcode -> what it does. What is not here, among it everything that makes or finds other objects, is refused."""
