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
from collections.abc import Callable
from pathlib import Path
from types import CodeType
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
        key, path = self._place(sig, target_context.codegen())
        entry = read_entry(path)
        if entry is None or entry[0] != key:
            return None
        return CompileResult._rebuild(target_context, *entry[1])  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep compiled code under its signature."""
        if not cres.library.has_dynamic_globals:  # addresses in this process
            key, path = self._place(sig, cres.codegen)
            payload: bytes = dumps((key, cres._reduce()))  # type: ignore[no-untyped-call]
            keep_file(path, _hash(payload) + payload)

    def _place(self, sig: Any, codegen: Any) -> tuple[str, Path]:
        # Types and processors have the same repr in every process; their pickles need not be equal.
        key = repr((_stamp(self._function), sig, codegen.magic_tuple()))
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
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    named = [
        (name, _described(function.__globals__[name])) for name in sorted(code.co_names) if name in function.__globals__
    ]
    parts = _code(code, function.__doc__), repr(function.__defaults__), named, [_described(value) for value in cells]
    return _hash(repr(parts).encode()).hex()


def _code(code: CodeType, doc: str | None) -> Any:
    constants = [
        _code(one, None) if isinstance(one, CodeType) else repr(one)
        for one in code.co_consts
        if doc is None or one != doc
    ]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars


def _described(value: Any) -> str:
    if hasattr(value, "py_func"):
        return f"{_stamp(value.py_func)} {value.targetoptions}"
    if hasattr(value, "_defn"):  # an intrinsic, with what it is made of
        return _hash(inspect.getsource(inspect.getmodule(value._defn) or value._defn).encode()).hex()
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    return repr(getattr(value, "__name__", value))
