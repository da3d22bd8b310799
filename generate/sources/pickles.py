"""Read pickled arrays, lists, strings and integers without running code: CIFAR's Python version and Icons-50.

`pickle.Unpickler` finds only the names in `ALLOWED`. These names are bound to objects in this module, because numpy's
own functions crash Python if the state of an array is damaged.

References
----------
Python's ``pickletools`` documents the pickle format, and ``numpy.lib.format`` the format of .npy files.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_NAME_BYTES = 255
"""Limit on the length of a string that is used as a name."""
MAX_OPCODES = 2_000_000
"""Limit on the instructions in a pickle, to limit time and memory. 50,000 rows with names need about 300,000."""
MAX_TUPLES = 50_000
"""Limit on the tuples in a pickle. Python hashes nested tuples recursively, and crashes if the nesting is too deep."""
FORBIDDEN = {"EXT1", "EXT2", "EXT4", "EMPTY_SET", "ADDITEMS", "FROZENSET"}
"""Opcodes that pickles of arrays, lists, strings and integers do not contain."""


class PickleRefused(ValueError):
    """An error for a pickle that is not read. The message states the reason."""


def load_fields(data: bytes | bytearray | memoryview) -> dict[str, Any]:
    """Return the dictionary that is pickled in a buffer.

    Raises
    ------
    PickleRefused
        The data is not a pickle, is truncated, or contains anything except arrays, lists, dictionaries, strings and
        integers.
    """
    stream = io.BytesIO(data)
    del data  # a batch has 30 MB, and this frees the memory if the caller keeps no reference
    try:
        _check_opcodes(stream)
        stream.seek(0)
        fields = _Unpickler(stream, encoding="bytes").load()
    except (PickleRefused, MemoryError):
        raise
    except Exception as e:  # the standard library raises many kinds of errors
        raise PickleRefused(f"it is not a pickle of arrays, lists, strings and integers ({e})") from None
    if isinstance(fields, Array) and isinstance(fields.values, list) and len(fields.values) == 1:
        (fields,) = fields.values  # numpy.save stores a dictionary in an array of one object
    if not isinstance(fields, dict):
        raise PickleRefused("it does not contain a dictionary")
    return {_text(key): value.values if isinstance(value, Array) else value for key, value in fields.items()}


def load_saved_fields(data: bytes | bytearray) -> dict[str, Any]:
    """Return the dictionary that a .npy file contains.

    Raises
    ------
    PickleRefused
        The data is not a .npy file of a dictionary, or its pickle is refused by `load_fields`.
    """
    start = 10 + int.from_bytes(data[8:10], "little")
    header = data[10:start]
    if not data.startswith(b"\x93NUMPY\1") or b"|O" not in header or b"()" not in header:
        raise PickleRefused("it is not a .npy file of a dictionary")
    return load_fields(memoryview(data)[start:])


def string_column(values: Any, max_length: int) -> list[str]:
    """Return a column of at most `max_length` short strings as a list of str."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and len(values) <= max_length:
        values = _items(values)
    if not isinstance(values, list) or len(values) > max_length:
        what = getattr(values, "shape", type(values).__name__)
        raise PickleRefused(f"it has {what} where a column of names was expected, one name per image")
    return [_text(value) for value in values]


def number_array(values: Any) -> NDArray[Any]:
    """Return an array unchanged, or convert a list of integers to an int64 array."""
    if isinstance(values, list) and all(type(v) is int and abs(v) < 1 << 62 for v in values):
        values = np.array(values, np.int64)
    if not isinstance(values, np.ndarray):
        raise PickleRefused(f"it has a {type(values).__name__} where an array of integers was expected")
    return values


def _check_opcodes(stream: io.BytesIO) -> None:
    """Refuse pickles that make `pickle.Unpickler` allocate too much memory, crash or take quadratic time."""
    tuples = 0
    for count, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
        if count == MAX_OPCODES:
            raise PickleRefused(f"it has more than {MAX_OPCODES:,} values")
        tuples += "TUPLE" in opcode.name
        if opcode.name in FORBIDDEN or tuples > MAX_TUPLES:
            raise PickleRefused(
                f"it has an opcode {opcode.name} that no pickle of arrays, lists, strings and integers has"
            )
        if "PUT" in opcode.name and (argument or 0) > count:  # the unpickler allocates a table of this size
            raise PickleRefused("it has a memo index that Python does not write")
        # huge integers that all have the same hash would make dictionaries slow
        if isinstance(argument, int) and abs(argument) >> 64:
            raise PickleRefused("it has an integer of more than 64 bits")


def _items(array: NDArray[Any]) -> list[Any]:
    if array.dtype.kind == "U":  # numpy accepts code points that do not exist, and Python then crashes
        array.tobytes().decode("utf-32-be" if array.dtype.str.startswith(">") else "utf-32-le")
    items: list[Any] = array.tolist()
    return items


def _text(value: Any) -> str:
    """Return a short string as text."""
    if isinstance(value, bytes) and len(value) <= MAX_NAME_BYTES:
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.decode("latin-1")
    if not isinstance(value, str) or len(value) > MAX_NAME_BYTES:
        raise PickleRefused(f"it has a {type(value).__name__} where a short string was expected")
    return value


class Dtype:
    """Stand-in for an instance of ``numpy.dtype``."""

    __slots__ = ("numpy",)

    def __init__(self, name: Any, *flags: Any) -> None:
        self.numpy = np.dtype(_text(name))

    def __setstate__(self, state: Any) -> None:
        """Set the byte order."""
        self.numpy = self.numpy.newbyteorder(_text(state[1]))  # type: ignore[arg-type]


class Array:
    """Stand-in for an instance of ``numpy.ndarray``: numbers, short strings, or a list of objects."""

    __slots__ = ("values",)
    values: NDArray[Any] | list[Any] | None

    def __setstate__(self, state: Any) -> None:
        """Set the type, the shape and the elements."""
        _, shape, dtype, fortran, data = state
        if isinstance(data, list):
            self.values = data
        else:  # numpy raises ValueError for objects, and for bytes that do not fit the shape
            self.values = np.frombuffer(data, dtype.numpy).reshape(shape, order="F" if fortran else "C")


def _reconstruct(kind: Any, shape: Any, code: Any) -> Array:
    array = Array()
    array.values = None
    return array


def _frombuffer(data: Any, dtype: Any, shape: Any, order: Any) -> Array:
    array = Array()
    array.__setstate__((1, shape, dtype, order != "C", data))
    return array


def _scalar(dtype: Any, data: Any) -> Any:
    return _items(np.frombuffer(data, dtype.numpy))[0]


def _encode(text: str, coding: Any) -> bytes:
    """Return the bytes that protocol 2 writes as text."""
    if coding not in ("latin1", b"latin1"):
        raise PickleRefused("it has bytes in an unknown encoding")
    return text.encode("latin-1")


@dataclass(frozen=True, slots=True)
class Allowed:
    """A callable whose attributes a pickle cannot set. Attributes of a function or a class could be set."""

    function: Callable[..., Any]

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def __setstate__(self, state: Any) -> None:
        raise PickleRefused("it sets attributes of a function")


ALLOWED = {
    "numpy.ndarray": object(),
    "numpy.dtype": Allowed(Dtype),
    "_codecs.encode": Allowed(_encode),
    "__builtin__.bytes": Allowed(lambda: b""),
    "builtins.bytes": Allowed(lambda: b""),
    "numpy.core.multiarray._reconstruct": Allowed(_reconstruct),
    "numpy.core.multiarray.scalar": Allowed(_scalar),
    "numpy.core.numeric._frombuffer": Allowed(_frombuffer),
}
"""The names that numpy and Python 2 and 3 write in pickles of arrays. Later numpy releases write ``numpy._core``."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in for a name in a pickle."""
        full_name = f"{module}.{name}".replace("numpy._core.", "numpy.core.")
        if full_name not in ALLOWED:
            raise PickleRefused(
                f"it asks Python to run {full_name[:100]!r}, which a file of this dataset never does. It was not run"
            )
        return ALLOWED[full_name]
