"""JSON to records, strictly: no `"5"` for 5, no key twice, every mistake in words."""

from __future__ import annotations

import json
from collections import Counter
from typing import TypeVar

from pydantic import ValidationError

from ...error_lines import error_line
from .models import Record
from .report import printable

R = TypeVar("R", bound=Record)


def field_mistakes(error: ValidationError) -> list[str]:
    """Return a validation error as one line per field: the place, what is wrong, the value.

    If the record has another schema version, that is the only line.
    """
    mistakes = []
    for e in error.errors(include_url=False):
        # A record without this field has no version to state.
        if e["loc"] == ("schema_version",) and type(e["input"]) is int and (limits := e.get("ctx")):
            (reads,) = limits.values()
            return [
                f"schema_version is {e['input']!s:.20}, and this release reads {reads}: use the release of corruptset "
                "that wrote it"
            ]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in e["loc"]).lstrip(".")
        mistakes.append(error_line(e, printable(place) or "the whole"))
    return mistakes


def record_or_mistakes(model: type[R], data: bytes) -> tuple[R | None, list[str]]:
    """Return a record from its JSON, read strictly, or None and every mistake.

    A key that stands twice is one.
    """
    try:
        record = model.model_validate_json(data, strict=True)
    except ValidationError as e:
        return None, field_mistakes(e)
    # pydantic takes the last of two equal keys. Each key has two quotation marks, and a string without a backslash has
    # none inside: so a count of the marks tells, in a third of the time of a look at every key.
    if b"\\" in data or data.count(b'"') != record.model_dump_json().count('"'):
        twice: list[str] = []
        json.loads(
            data,
            object_pairs_hook=lambda pairs: twice.extend(k for k, n in Counter(k for k, _ in pairs).items() if n > 1),
        )
        if twice:
            return None, [f"the key {key!r} stands more than once in one object" for key in dict.fromkeys(twice)]
    return record, []
