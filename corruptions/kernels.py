"""The decorators with which numba compiles kernels, and the vector operations that kernels call.

The light installation, without the ``build`` extra, does not contain numba. Kernels can still be declared there, so
that `corruptset list` and `show` know all corruptions, but calling a kernel raises `NotInstalled`.
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
LERP_LENGTH: Any
bilinear_weighted: Any
lerp_row: Any


def _missing(function: Callable[..., Any]) -> Any:
    """Return a function that replaces a kernel and raises `NotInstalled`."""

    def missing(*arguments: object, **named: object) -> NoReturn:
        raise NotInstalled("numba")

    return missing


if find_spec("numba") is not None:
    _compiled: Any = importlib.import_module(".numba_kernels", __package__)
    _vectors: Any = importlib.import_module(".vectors", __package__)
    kernel, inner, inlined = _compiled.kernel, _compiled.inner, _compiled.inlined
    LERP_LENGTH, bilinear_weighted, lerp_row = _vectors.LERP_LENGTH, _vectors.bilinear_weighted, _vectors.lerp_row
else:
    kernel = inner = inlined = _missing
    LERP_LENGTH, bilinear_weighted, lerp_row = 0, None, None
