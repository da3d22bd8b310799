"""Signatures that show what a function takes, where its source says ``**options``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from inspect import Parameter, signature
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def showing(options: type) -> Callable[[F], F]:
    """Return a decorator: `inspect.signature`, `help` and notebooks show the fields of a dataclass in place of
    ``**options``.
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
