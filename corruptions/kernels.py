"""The one way in which this package compiles a function: numba, cached, without fastmath.

Without fastmath numba neither contracts ``a * b + c`` nor reorders sums, so plain x86-64, AVX2 and AVX-512 give the
same bits. Kernels use + - * / and sqrt only: exp, sin, log and the like come from libm, which differs between
machines (see `arithmetic`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numba

from .cache import kernel_folder
from .kernel_files import CompiledFiles

# Numba's stubs know neither its configuration nor all options of njit.
_config: Any = numba.config
_njit: Any = numba.njit
_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# Numba's wrapper, which takes Python's arguments apart, costs as much to compile as a small function.
_UNWRAPPED: Any = {"no_cpython_wrapper": True}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` with numba when it is first called, and keep the machine code under `cache.kernel_folder`.

    Inputs should always come with the same dtypes and layouts (C-contiguous, writable): another combination compiles
    anew. So does, within a kernel, a call with a counter that started as a plain ``0``, which numba takes for a type of
    its own at first: start it as ``np.int64(0)``. Assigning an array to a slice compiles a message of broadcasting
    errors, about two seconds: write the loop.
    """
    before = _config.CACHE_DIR
    _config.CACHE_DIR = str(kernel_folder())
    try:
        # Said outright, because numba hands both down to what it compiles on behalf of an inlined function or an inner one.
        compiled = _njit(cache=True, forceinline=False, _nrt=True, **_OPTIONS)(function)
    finally:
        _config.CACHE_DIR = before
    cache = compiled._cache
    cache._cache_file = CompiledFiles(cache.cache_path, cache._impl.filename_base)
    return compiled


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call, seldom for what it does; it stays a function of its own.

    So it is optimised once and not once more at every call, and a caller remains short. A call costs some dozen nanoseconds:
    what is called for every row of a small image is rather `inlined`. It cannot be called from Python and makes no
    arrays, and its machine code is kept as part of its callers'.
    """
    return _njit(forceinline=False, _nrt=False, **_OPTIONS, **_UNWRAPPED)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a small function that other kernels call; it is inlined into them, so that their loops can vectorise.

    It cannot be called from Python: it gets no wrapper, which would hold its body once more. Every call site is
    compiled anew, so a function of some size that is called from several and in no inner loop is rather `inner`.
    """
    return _njit(forceinline=True, **_OPTIONS, **_UNWRAPPED)(function)


_AT_A_TIME = 1 << 18  # elements: what lies between two kernels stays in the second-level cache


def portions(count: int, elements: int) -> Iterator[slice]:
    """Cut a batch of `count` images, of `elements` intermediate values each, into runs that fit into the processor's cache."""
    step = max(1, _AT_A_TIME // max(elements, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
