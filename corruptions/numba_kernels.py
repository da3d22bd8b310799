"""The decorators that compile kernels with numba, and the cache of their machine code.

Kernels are compiled without fastmath, so numba neither fuses ``a * b + c`` nor reorders sums. Plain x86-64, AVX2 and
AVX-512 therefore give the same bits. Kernels use only + - * / and sqrt. Functions such as exp, sin and log come from
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
# Numba's wrapper, which unpacks the arguments from Python, costs as much to compile as a small function.
_UNWRAPPED: Any = {"no_cpython_wrapper": True}

announce()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` with numba when it is first called, and save its machine code in `cache.kernel_folder`.

    Pass the same dtypes and layouts (C-contiguous, writable) in every call, because numba compiles the function
    separately for each combination. Two habits keep compilation short:

    * Initialise counters that are passed to other kernels as ``np.int64(0)``. Numba gives a literal ``0`` a type of
      its own and compiles the called kernel for this type as well.
    * Write a loop instead of assigning an array to a slice. The assignment compiles the code for broadcasting errors,
      which takes about two seconds.
    """
    if _numba.config.DISABLE_JIT:
        return _refuse_to_interpret
    # Both flags are explicit, because numba otherwise inherits them from the inlined or inner function that it is
    # compiling.
    compiled = _numba.njit(forceinline=False, _nrt=True, **_OPTIONS)(function)
    compiled._cache = _KernelCache(function)
    return compiled


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call, without inlining it.

    The function is optimised only once instead of at every call site. A call takes a few dozen nanoseconds. The
    function cannot be called from Python and must not create arrays. Numba therefore does not count references in this
    function, so slices cost nothing. In a kernel, each slice may cost two atomic operations.
    """
    return _numba.njit(forceinline=False, _nrt=False, **_OPTIONS, **_UNWRAPPED)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a small function and inline it into the kernels that call it, so that their loops can be vectorised.

    The function cannot be called from Python. It is compiled at every call site, so use `inner` for larger functions
    outside of inner loops.
    """
    return _numba.njit(forceinline=True, **_OPTIONS, **_UNWRAPPED)(function)


def _refuse_to_interpret(*arguments: object, **named: object) -> NoReturn:
    """Raise `MachineError`, because without compilation some kernels cannot run and the others would take minutes."""
    raise MachineError(
        "corruptset cannot corrupt images while numba's compiler is disabled. Unset the environment variable "
        "NUMBA_DISABLE_JIT and restart Python."
    )


class _KernelCache(NullCache):
    """Numba's cache for one function, in a folder that is determined when the function is first called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @functools.cached_property
    def _files(self) -> Any:
        package = source_package(self._function.__module__)
        return _Files(self._function) if package else NullCache()  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code for a signature, or None if it is not in the cache or its files are damaged."""
        try:
            compiled = self._files.load_overload(sig, target_context)
        except Exception:  # Unpickling a damaged file can raise any exception.
            with contextlib.suppress(OSError):
                self._files.flush()
            return None
        # Two processes that compile different signatures at the same time can choose the same file name.
        return compiled if compiled and tuple(compiled.signature.args) == tuple(sig) else None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Save the machine code for a signature. If the disk is full or read-only, the kernel is recompiled later."""
        warn_if_unusable()
        with contextlib.suppress(OSError):
            self._files.save_overload(sig, cres)


class _Locator(_CacheLocator):
    """The location of a function's machine code. The folder name depends on the sources, so no time stamp is needed."""

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
    """Machine code with its hash and processor. Without the hash, numba would run damaged code, which can crash."""

    def __init__(self, function: Callable[..., Any]) -> None:
        # The original method would use the cache settings that a user chose for other functions.
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
