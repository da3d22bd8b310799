"""Mistakes in a file, in words: where it is, what was given, what was expected."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from .errors import quoted, suggest

EXPECTED = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list in square brackets",
    "list_type": "a list in square brackets",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "literal_error": "one of {expected}",
    "greater_than_equal": "a number from {ge:g} upwards",
    "less_than_equal": "a number up to {le:g}",
    "greater_than": "a number above {gt:g}",
    "too_short": "something in it",
    "string_too_short": "something in it",
}
"""Kind of pydantic's errors -> what was expected, for people; with the limits that the error states."""
PATTERNS = {
    r"^sha256:[0-9a-f]{64}$": "sha256: and 64 digits 0-9, a-f",
    r"^blake3:[0-9a-f]{64}$": "blake3: and 64 digits 0-9, a-f",
    r"^[a-z0-9_+-]+(/[a-z0-9_+-]+)*$": "a set id such as fog/3: lower-case letters, digits, _ + - and slashes between "
    "them",
    r"^[a-z0-9][a-z0-9._-]*$": "a name such as my-recipe: lower-case letters, digits, . _ and -, beginning with a "
    "letter or digit",
    r"^[0-9A-Za-z][0-9A-Za-z._+-]*$": "a version such as 1.0.0: letters, digits, . _ + and -, beginning with a letter "
    "or digit",
    r"^[a-z0-9][0-9A-Za-z._+-]*$": "a file name of letters, digits, . _ + and -, beginning with a lower-case letter "
    "or digit",
    r"^(data/)?[a-z0-9][0-9A-Za-z._+-]*$": "a file name of letters, digits, . _ + and -, with data/ before it or "
    "nothing",
    r"^[0-9A-Za-z_][0-9A-Za-z._+-]*$": "a file name of letters, digits, . _ + and -",
    r"^[a-z0-9_-]+$": "a short name such as gn010: lower-case letters, digits, _ and -",
    r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$": "a time such as 2026-01-31T23:59:59Z",
}
"""What texts of the models must look like, for people; a test finds a pattern that has no words."""


def mistake_lines(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """Return each mistake as a line: the key, what was given, what was expected.

    A near name among the model's keys is suggested.
    """
    # a list whose items are all wrong is also called too short; its items have their own lines
    shown = [details for details in error.errors() if details["type"] != "too_short" or not details["input"]]
    return [_line(details, model) for details in shown]


def _line(details: ErrorDetails, model: type[BaseModel]) -> str:
    kind, context = details["type"], details.get("ctx", {})
    keys, known = _walk(details["loc"], model, names_key=kind in ("missing", "extra_forbidden"))
    where = _place(keys)
    match kind:
        case "missing":
            return f"{where} is missing"
        case "extra_forbidden":
            return f"{where}: there is no such key.{suggest(str(keys[-1]), known)} Known here: {', '.join(known)}"
        case "union_tag_not_found":
            return f"{where}: {context['discriminator']!s} is missing"
        case "union_tag_invalid":
            field = str(context["discriminator"]).strip("'")
            return f"{where}, {field} is {quoted(context['tag'])}; expected one of {context['expected_tags']}"
        case "value_error":
            return f"{where}: {context['error']}"
        case _:
            return f"{where} is {quoted(details['input'])}; expected {expected(details)}"


def expected(details: ErrorDetails) -> str:
    """Return what one of pydantic's errors expected, for people."""
    kind, context = details["type"], details.get("ctx", {})
    if kind == "string_pattern_mismatch":
        return PATTERNS[context["pattern"]]
    if kind == "literal_error" and " or " not in context["expected"]:
        return str(context["expected"])
    return EXPECTED[kind].format(**context) if kind in EXPECTED else details["msg"]


def _place(keys: list[str | int]) -> str:
    """Return where a key stands, counting as people do: ``[[sets]] 2, corruptions, item 7``."""
    words: list[str] = []
    for key in keys:
        if isinstance(key, int):
            words = [f"[[{words[0]}]] {key + 1}"] if words in (["sets"], ["pairs"]) else [*words, f"item {key + 1}"]
        elif words == ["stages"]:
            words = [f"[stages] {key}"]
        else:
            words.append(key)
    return ", ".join(words) or "the file"


def _walk(loc: tuple[str | int, ...], model: type[BaseModel], *, names_key: bool) -> tuple[list[str | int], list[str]]:
    """Return a location without union branches, and the keys known at its end."""
    keys: list[str | int] = []
    models: list[type[BaseModel]] = [model]
    known = models
    in_table = False
    for i, key in enumerate(loc):
        fields = {name: field for m in models for name, field in m.model_fields.items()}
        if in_table or isinstance(key, int):  # a name that the file chose, in a table of entries; or an item
            in_table = False
        elif key in fields:
            known, in_table = models, typing.get_origin(fields[key].annotation) is dict
            models = list(_models(fields[key].annotation)) or models
        elif names_key and i + 1 == len(loc):
            known = models
        else:
            models = [m for m in models if key in _tags(m)] or models
            continue
        keys.append(key)
    return keys, list(dict.fromkeys(name for m in known for name in m.model_fields))


def _tags(model: type[BaseModel]) -> Iterator[Any]:
    """Yield the values of a model's own tag: ``jpeg`` for ``format: Literal["jpeg"]``."""
    for field in model.model_fields.values():
        if typing.get_origin(field.annotation) is typing.Literal:
            yield from typing.get_args(field.annotation)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that a field's type can hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models(argument)
