"""Docstrings as pages, `show` and `--help` print them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any


def docstring(function: Callable[..., Any]) -> str:
    """Return a function's docstring; from its file where ``python -OO`` has dropped it."""
    if function.__doc__ is None:
        import ast
        import inspect
        import textwrap

        with suppress(OSError, SyntaxError):
            (defined,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
            if isinstance(defined, ast.FunctionDef):
                return ast.get_docstring(defined) or ""
    return function.__doc__ or ""
