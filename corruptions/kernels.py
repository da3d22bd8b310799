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

# Numba's stubs know neither its configuration nor all options of njit.
_config: Any = numba.config
_njit: Any = numba.njit


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
        return _njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)(function)
    finally:
        _config.CACHE_DIR = before


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a small function that other kernels call; it is inlined into them, so that their loops can vectorise.

    It cannot be called from Python: it gets no wrapper, which would hold its body once more. Every call site is
    compiled anew, so a function of some size that is called from several and in no inner loop is rather a `kernel`.
    """
    return _njit(nogil=True, error_model="numpy", forceinline=True, no_cfunc_wrapper=True, no_cpython_wrapper=True)(function)


_AT_A_TIME = 1 << 18  # elements: what lies between two kernels stays in the second-level cache


def portions(count: int, elements: int) -> Iterator[slice]:
    """Cut a batch of `count` images, of `elements` intermediate values each, into runs that fit into the processor's cache."""
    step = max(1, _AT_A_TIME // max(elements, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
