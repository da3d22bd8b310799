"""The decorators that compile kernels with numba, and the cache of their machine code.

Kernels are compiled without fastmath, so numba neither contracts ``a * b + c`` nor reorders sums, and plain x86-64,
AVX2 and AVX-512 give the same bits. Kernels use + - * / and sqrt only, because exp, sin, log and the like come from
libm, which differs between machines (see `arithmetic`).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pickle
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, _CacheLocator
from numba.core.serialize import dumps

from ..errors import MachineError
from .cache import kernel_folder, source_package, warn_if_unusable
from .compile_notice import announce

# Numba's stubs know neither its settings nor all options of njit.
_numba: Any = numba
_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# Numba's wrapper, which takes Python's arguments apart, costs as much to compile as a small function.
_UNWRAPPED: Any = {"no_cpython_wrapper": True}

announce()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` with numba when it is first called, and save its machine code (`cache.kernel_folder`).

    Inputs have the same dtypes and layouts in every call (C-contiguous, writable): another combination compiles anew.
    So does, within a kernel, a call with a counter that started as a plain ``0``, which numba takes for a type of its
    own at first: start it as ``np.int64(0)``. Assigning an array to a slice compiles a message of broadcasting errors,
    about two seconds: write the loop.
    """
    if _numba.config.DISABLE_JIT:
        return _refuse_to_interpret
    # Explicit, because numba hands both down to the functions it compiles for an inlined or an inner one.
    compiled = _numba.njit(forceinline=False, _nrt=True, **_OPTIONS)(function)
    compiled._cache = _KernelCache(function)
    return compiled


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call and that stays a function of its own.

    Optimised once, not once more at every call. A call costs some dozen nanoseconds. It cannot be called from Python
    and makes no arrays, so that numba counts no references in it: a slice is free, and in a kernel it may cost two
    atomic operations.
    """
    return _numba.njit(forceinline=False, _nrt=False, **_OPTIONS, **_UNWRAPPED)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a small function that other kernels call.

    It is inlined into them, so that their loops can vectorise. It cannot be called from Python. Every call site is
    compiled anew: a larger function outside of inner loops is rather `inner`.
    """
    return _numba.njit(forceinline=True, **_OPTIONS, **_UNWRAPPED)(function)


def _refuse_to_interpret(*arguments: object, **named: object) -> NoReturn:
    """Raise `MachineError`: some kernels use instructions that only compiled code can, and all would take minutes."""
    raise MachineError(
        "corruptset cannot corrupt images while numba's compiler is switched off. Unset the environment variable "
        "NUMBA_DISABLE_JIT and start Python again."
    )


class _KernelCache(NullCache):
    """Numba's own cache of one function, in a folder that is chosen at the function's first call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @functools.cached_property
    def _files(self) -> Any:
        package = source_package(self._function.__module__)
        return _Files(self._function) if package else NullCache()  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code of a signature, or None if there is none or its files are damaged."""
        try:
            compiled = self._files.load_overload(sig, target_context)
        except Exception:  # unpickling a damaged file can raise anything
            with contextlib.suppress(OSError):
                self._files.flush()
            return None
        # Processes that compile two signatures at once can each take the same file's name.
        return compiled if compiled and tuple(compiled.signature.args) == tuple(sig) else None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Save the machine code of a signature. A disk that is full or read-only only costs the time to compile."""
        warn_if_unusable()
        with contextlib.suppress(OSError):
            self._files.save_overload(sig, cres)


class _Locator(_CacheLocator):
    """The place of a function's machine code. The folder is named by the sources, which need no other stamp."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._py_file = function.__code__.co_filename
        self._line = function.__code__.co_firstlineno
        self._folder = kernel_folder(str(source_package(function.__module__)))

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return ""

    def get_disambiguator(self) -> str:
        return str(self._line)


class _MachineCode(CompileResultCacheImpl):
    """Machine code with its hash and processor. Numba alone runs damaged code, which can end the process."""

    def __init__(self, function: Callable[..., Any]) -> None:
        # Numba's own method would look for the locator in the settings that a user made for other functions.
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Locator(function)
        name = f"{function.__module__}.{function.__qualname__}"
        self._filename_base = self.get_filename_base(name, getattr(sys, "abiflags", ""))  # type: ignore[no-untyped-call]

    def reduce(self, data: Any) -> tuple[bytes, bytes]:
        content: bytes = dumps((data.codegen.magic_tuple(), super().reduce(data)))  # type: ignore[no-untyped-call]
        return hashlib.sha256(content).digest(), content

    def rebuild(self, target_context: Any, payload: tuple[bytes, bytes]) -> Any:
        digest, content = payload
        if digest != hashlib.sha256(content).digest():
            return None
        processor, compiled = pickle.loads(content)
        if processor != target_context.codegen().magic_tuple():
            return None
        return super().rebuild(target_context, compiled)  # type: ignore[no-untyped-call]


class _Files(FunctionCache):
    _impl_class = _MachineCode
