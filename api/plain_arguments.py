"""Arguments of public functions as plain Python values: NumPy's numbers, texts and arrays, and paths of any class."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ParamSpec, TypeVar

from .arguments import LARGEST
from .errors import ParameterError, quoted

P = ParamSpec("P")
R = TypeVar("R")

_WORDS = frozenset(
    "Coupling Container Digests Division Kind LayoutName Level ProfileOver Scale Split Storage".split()
)  # aliases of a Literal
_ANYTHING = frozenset(
    "Any Callable DescribeLevel FamilyOf GivenPredictions Image Images Model Progress Source Surrogate Wholes".split()
)
"""Annotations of arguments whose type the function looks at itself."""
_ARRAYS = frozenset({"GivenPredictions", "Image", "Images", "Wholes"})
_EXPECTED = {"str": "text", "Path": "a path", "int": "a whole number", "float": "a number", "bool": "True or False"}


@dataclass(frozen=True)
class _Kind:
    """The types that an annotation allows."""

    names: frozenset[str]
    """Names of the allowed types, without containers."""
    items: _Kind | None
    """The types allowed for the items of a list, or None if a list is not allowed."""

    @property
    def expected(self) -> str:
        """Describe the allowed values for an error message."""
        words = [_EXPECTED[name] for name in _EXPECTED if name in self.names]
        words += sorted(f"a {name}" for name in self.names - _EXPECTED.keys() - {"None"})
        words += [] if self.items is None else [f"a list (each item: {self.items.expected})"]
        return ", or ".join(words)


def plain_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function get plain Python values, and raise `ParameterError` for a value of another type.

    The annotations of the function say what it takes. NumPy's scalars and arrays become Python's, an object with
    ``__fspath__`` becomes a path, and a whole float becomes an int where one is expected.
    """
    parameters = inspect.signature(function).parameters
    kinds = {name: _kind_of(str(p.annotation)) for name, p in parameters.items() if p.kind is not p.VAR_KEYWORD}
    names = list(kinds)

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        given: Any = [_plain(name, value, kinds[name]) for name, value in zip(names, args, strict=False)]
        options: Any = {
            name: _plain(name, value, kinds[name]) if name in kinds else value for name, value in kwargs.items()
        }
        given += args[len(given) :]  # too many, which the function refuses
        return function(*given, **options)

    return called


@functools.cache
def _kind_of(annotation: str) -> _Kind:
    names, items = set[str](), set[str]()
    for part in _parts(annotation):
        head, _, inside = part.partition("[")
        if head in ("Sequence", "Iterable", "tuple", "list"):
            items.update(alternative for item in _parts(inside[:-1], ",") for alternative in _parts(item))
        elif head == "Literal" or head in _WORDS:
            names.add("str")
        else:
            names.add(head)
    return _Kind(frozenset(names), _kind_of(" | ".join(sorted(items))) if items else None)


def _parts(annotation: str, mark: str = "|") -> list[str]:
    """Split an annotation at a mark that is in no brackets."""
    parts, depth = [""], 0
    for character in annotation:
        depth += (character == "[") - (character == "]")
        if character == mark and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _plain(name: str, value: Any, kind: _Kind) -> Any:
    """Return an argument as a plain value, or raise ParameterError."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()  # of NumPy and PyTorch
    elif hasattr(value, "ndim") and hasattr(value, "tolist") and not kind.names & _ARRAYS:
        listed: list[Any] = value.tolist()
        value = listed if kind.items is not None or len(listed) != 1 else listed[0]
    if isinstance(value, str):
        return _text(name, value, kind)
    if isinstance(value, os.PathLike):
        return _path(name, value, kind)
    if kind.names & _ANYTHING or (value is None and "None" in kind.names):
        return value
    if isinstance(value, bool):
        if "bool" in kind.names:
            return value
    elif isinstance(value, Real) or hasattr(value, "__index__"):
        return _number(name, value, kind)
    elif _is_one_of(value, kind):
        return value
    elif kind.items is not None and isinstance(value, Iterable) and not isinstance(value, bytes | Mapping):
        items = [_plain(f"an item of {name}", item, kind.items) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    raise _unfit(name, value, kind)


def _is_one_of(value: Any, kind: _Kind) -> bool:
    """Say whether a value is of a class that an annotation names."""
    if isinstance(value, Mapping) and "Mapping" in kind.names:
        return True
    return not kind.names.isdisjoint({base.__name__ for base in type(value).__mro__} - {"int", "float", "str", "bool"})


def _text(name: str, value: str, kind: _Kind) -> str:
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ParameterError(f"{name} is {quoted(value)}, which has half of a character that needs two.") from None
    allowed = {"str", "Path", *_ANYTHING}
    if kind.names & allowed or (kind.items is not None and kind.items.names & allowed):
        return str(value)
    raise _unfit(name, value, kind)


def _path(name: str, value: os.PathLike[Any], kind: _Kind) -> Any:
    from pathlib import Path

    path = os.fspath(value)
    if isinstance(path, str):
        allowed = kind.names if kind.items is None else kind.names | kind.items.names
        if "Path" in allowed or allowed & _ANYTHING:
            return value if isinstance(value, Path) else Path(path)
        if "str" in allowed:
            return path
    raise _unfit(name, value, kind)


def _number(name: str, value: Any, kind: _Kind) -> Any:
    allowed = kind.names | (kind.items.names if kind.items is not None else frozenset())  # one item may stand alone
    if hasattr(value, "__index__") and {"int", "float"} & allowed:
        return value.__index__()  # the function knows how large it may be
    if "float" in allowed and not hasattr(value, "__index__"):
        return value
    if kind.items is not None and kind.items.names & _ANYTHING:
        return value
    if "int" in allowed and abs(value) <= LARGEST and value == int(value):  # NaN is not below it
        return int(value)
    raise _unfit(name, value, kind)


def _unfit(name: str, value: Any, kind: _Kind) -> ParameterError:
    return ParameterError(f"{name} is {quoted(value)}; expected {kind.expected}.")
