"""Functions that take a dataclass's fields as ``**options``: their signatures and sentences."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import MISSING, fields
from inspect import Parameter, signature
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def showing(options: type) -> Callable[[F], F]:
    """Return a decorator that shows a dataclass's fields in place of ``**options``.

    `inspect.signature`, `help` and notebooks see them.
    """

    def shown(function: F) -> F:
        own = signature(function)
        kept = [p for p in own.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        more = [
            Parameter(
                f.name,
                Parameter.KEYWORD_ONLY,
                annotation=f.type,
                default=Parameter.empty if f.default is MISSING else f.default,
            )
            for f in fields(options)
            if f.name not in own.parameters
        ]
        function.__signature__ = own.replace(parameters=[*kept, *more])  # type: ignore[attr-defined]
        return function

    return shown


def sentences(options: type) -> dict[str, str]:
    """Return the first paragraph on each parameter of a numpydoc docstring, as one line."""
    text = inspect.cleandoc(options.__doc__ or "") + "\n"
    found = re.findall(r"^(\w+) : .*\n((?: {4}.*\n)+)", text, re.MULTILINE)
    # python -OO has none
    return defaultdict(str, {name: " ".join(said.split()).replace("``", "'") for name, said in found})
