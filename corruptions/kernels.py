"""The one way in which this package compiles a function: numba, cached, without fastmath.

Without fastmath numba neither contracts ``a * b + c`` nor reorders sums, so plain x86-64, AVX2 and AVX-512 give the
same bits. Kernels use + - * / and sqrt only: exp, sin, log and the like come from libm, which differs between
machines (see `arithmetic`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numba

from .compile_notice import announce
from .kernel_files import KernelCache

# Numba's stubs do not know all options of njit.
_njit: Any = numba.njit
_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# Numba's wrapper, which takes Python's arguments apart, costs as much to compile as a small function.
_UNWRAPPED: Any = {"no_cpython_wrapper": True}

announce()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` with numba when it is first called, and keep the machine code under `cache.kernel_folder`.

    Inputs have the same dtypes and layouts in every call (C-contiguous, writable): another combination compiles anew. So does,
    within a kernel, a call with a counter that started as a plain ``0``, which numba takes for a type of its own at first: start it
    as ``np.int64(0)``. Assigning an array to a slice compiles a message of broadcasting errors, about two seconds: write the loop.
    """
    # Explicit, because numba hands both down to the functions it compiles for an inlined or an inner one.
    compiled = _njit(forceinline=False, _nrt=True, **_OPTIONS)(function)
    compiled._cache = KernelCache(function)
    return compiled


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call and that stays a function of its own: optimised once, not once more at every call.

    A call costs some dozen nanoseconds. It cannot be called from Python and makes no arrays, so that numba counts no references in
    it: a slice is free, and in a kernel it may cost two atomic operations.
    """
    return _njit(forceinline=False, _nrt=False, **_OPTIONS, **_UNWRAPPED)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a small function that other kernels call; it is inlined into them, so that their loops can vectorise.

    It cannot be called from Python. Every call site is compiled anew: a larger function outside of inner loops is rather `inner`.
    """
    return _njit(forceinline=True, **_OPTIONS, **_UNWRAPPED)(function)


_AT_A_TIME = 1 << 18  # elements: values between two kernels stay in the second-level cache


def portions(count: int, elements: int) -> Iterator[slice]:
    """Cut a batch of `count` images, of `elements` intermediate values each, into runs that fit into the processor's cache."""
    step = max(1, _AT_A_TIME // max(elements, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
