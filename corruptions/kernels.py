"""The decorators of kernels, which numba compiles, and the vector operations that kernels call.

The light installation has no numba. There a kernel can be declared, so that `corruptset list` and `show` know every
corruption, and calling it raises `NotInstalled`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NoReturn

from ..errors import NotInstalled

kernel: Any
inner: Any
inlined: Any
RUN: Any
mix: Any
stretch: Any


def _missing(function: Callable[..., Any]) -> Any:
    """Return a function in place of a kernel that raises `NotInstalled`."""

    def missing(*arguments: object, **named: object) -> NoReturn:
        raise NotInstalled("numba")

    return missing


if find_spec("numba") is not None:
    _compiled: Any = importlib.import_module(".numba_kernels", __package__)
    _vectors: Any = importlib.import_module(".vectors", __package__)
    kernel, inner, inlined = _compiled.kernel, _compiled.inner, _compiled.inlined
    RUN, mix, stretch = _vectors.RUN, _vectors.mix, _vectors.stretch
else:
    kernel = inner = inlined = _missing
    RUN, mix, stretch = 0, None, None
