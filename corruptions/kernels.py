"""The one way in which this package compiles a function.

Numba, without fastmath, its machine code kept between runs. Without fastmath numba neither contracts ``a * b + c`` nor
reorders sums, so plain x86-64, AVX2 and AVX-512 give the same bits. Kernels use + - * / and sqrt only: exp, sin, log
and the like come from libm, which differs between machines (see `arithmetic`).

Numba's own cache watches only the file that defines a function, finds its files by the path of the installation, and
gives them no hash: cut or flipped bytes in one break every later call, or are loaded and run. Here a file is named by
the hash of what it was made of.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from .cache import KERNEL_SUFFIX, keep_file, kernel_folder
from .compile_notice import announce

# Numba's stubs do not know all options of njit.
_njit: Any = numba.njit
_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# Numba's wrapper, which takes Python's arguments apart, costs as much to compile as a small function.
_UNWRAPPED: Any = {"no_cpython_wrapper": True}
_HASH_BYTES = 32

announce()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` with numba when it is first called.

    Its machine code is kept under `cache.kernel_folder`.

    Inputs have the same dtypes and layouts in every call (C-contiguous, writable): another combination compiles anew.
    So does, within a kernel, a call with a counter that started as a plain ``0``, which numba takes for a type of its
    own at first: start it as ``np.int64(0)``. Assigning an array to a slice compiles a message of broadcasting errors,
    about two seconds: write the loop.
    """
    # Explicit, because numba hands both down to the functions it compiles for an inlined or an inner one.
    compiled = _njit(forceinline=False, _nrt=True, **_OPTIONS)(function)
    compiled._cache = KernelCache(function)
    return compiled


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call and that stays a function of its own.

    Optimised once, not once more at every call. A call costs some dozen nanoseconds. It cannot be called from Python
    and makes no arrays, so that numba counts no references in it: a slice is free, and in a kernel it may cost two
    atomic operations.
    """
    return _njit(forceinline=False, _nrt=False, **_OPTIONS, **_UNWRAPPED)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a small function that other kernels call.

    It is inlined into them, so that their loops can vectorise. It cannot be called from Python. Every call site is
    compiled anew: a larger function outside of inner loops is rather `inner`.
    """
    return _njit(forceinline=True, **_OPTIONS, **_UNWRAPPED)(function)


class KernelCache(NullCache):
    """The compiled overloads of one function on disk.

    A damaged file is compiled anew, never run. A file is named by the function's code and all that it calls and reads
    (`_stamp`), its signature, and the processor.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code of a signature on this kind of processor.

        None where there is none, or a damaged file.
        """
        target_context.refresh()
        place = self._place(sig, target_context.codegen())
        entry = read_entry(place[1]) if place else None
        if place is None or entry is None or entry[0] != place[0]:
            return None
        return CompileResult._rebuild(target_context, *entry[1])  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep compiled code under its signature."""
        place = self._place(sig, cres.codegen)
        if place and not cres.library.has_dynamic_globals:  # addresses in this process
            key, path = place
            payload: bytes = dumps((key, cres._reduce()))  # type: ignore[no-untyped-call]
            keep_file(path, _hash(payload) + payload)

    def _place(self, sig: Any, codegen: Any) -> tuple[str, Path] | None:
        """Return what a file is made of, and its path; None where the kernel names what has no description."""
        # Types and processors have the same repr in every process; their pickles need not be equal.
        try:
            key = repr((_stamp(self._function), sig, codegen.magic_tuple()))
        except (ValueError, RecursionError):
            return None
        name = f"{self._function.__module__.partition('.')[2]}.{self._function.__name__}"
        return key, kernel_folder() / f"{name}-{_hash(key.encode()).hex()[:16]}{KERNEL_SUFFIX}"


def read_entry(path: Path) -> tuple[str, Any] | None:
    """Return what a file was made of, as text, and its compiled code.

    None where it is missing or damaged.
    """
    try:
        data = path.read_bytes()
    except OSError:
        return None
    payload = data[_HASH_BYTES:]
    entry: tuple[str, Any] | None = pickle.loads(payload) if data[:_HASH_BYTES] == _hash(payload) else None
    return entry


def _hash(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_HASH_BYTES).digest()


@functools.cache
def _stamp(function: Callable[..., Any]) -> str:
    """Return the hash of a function's code and of all that it names.

    Functions that it calls, constants. Its docstring does not count.
    """
    code = function.__code__
    names, values = _names(code), function.__globals__
    cells = [_described(cell.cell_contents, names) for cell in function.__closure__ or ()]
    named = [(name, _described(values[name], names)) for name in sorted(names) if name in values]
    return _hash(repr((_code(code, function.__doc__), _described(function.__defaults__), named, cells)).encode()).hex()


def _names(code: CodeType) -> set[str]:
    """Return the names in a function's code, in its comprehensions and inner functions too."""
    return set(code.co_names).union(*(_names(one) for one in code.co_consts if isinstance(one, CodeType)))


def _code(code: CodeType, doc: str | None) -> Any:
    constants = [
        _code(one, None) if isinstance(one, CodeType) else repr(one)
        for one in code.co_consts
        if doc is None or one != doc
    ]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars


def _described(value: Any, names: Iterable[str] = ()) -> str:
    """Return what tells a value from all others; of a module, its values with these names.

    Raises
    ------
    ValueError
        It is a function or object of somebody else's, which may be anything.
    """
    if hasattr(value, "py_func"):
        return f"{_stamp(value.py_func)} {value.targetoptions}"
    if hasattr(value, "_defn"):  # an intrinsic, with what it is made of
        return _hash(inspect.getsource(inspect.getmodule(value._defn) or value._defn).encode()).hex()
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    if type(value) is tuple:
        return f"({', '.join(map(_described, value))})"
    name = getattr(value, "__name__", None)
    if isinstance(value, ModuleType):
        if name in ("math", "numpy"):
            return repr(name)
        read = [one for one in sorted(names) if hasattr(value, one)]
        return repr([(one, _described(getattr(value, one), {*names} - {one})) for one in read])
    home = str(getattr(value, "__module__", None) or type(value).__module__)
    if home.partition(".")[0] not in ("builtins", "math", "numpy"):
        raise ValueError
    return repr(value) if name is None else f"{home}.{name}"
