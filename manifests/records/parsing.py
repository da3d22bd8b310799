"""JSON to records: held to the models strictly (no `"5"` for 5, no key twice), with every mistake in words."""

from __future__ import annotations

import json
from collections import Counter
from importlib.metadata import version
from typing import TypeVar

from pydantic import ValidationError

from ...error_lines import PATTERNS
from .models import SCHEMA_VERSION, Manifest, Record
from .report import printable

R = TypeVar("R", bound=Record)


def field_mistakes(error: ValidationError) -> list[str]:
    """Return a validation error as one line a field: where, what is wrong, what was given."""
    mistakes = []
    for e in error.errors(include_url=False):
        where = printable("".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in e["loc"]).lstrip("."))
        given = repr(e["input"])
        given = given if len(given) <= 80 else given[:77] + "..."
        if e["type"] in ("missing", "json_invalid"):
            mistakes.append(f"{where + ': ' if where else ''}{e['msg']}")
        elif e["type"] == "string_pattern_mismatch":
            mistakes.append(f"{where}: expected {PATTERNS[e['ctx']['pattern']]} (given: {given})")
        else:
            mistakes.append(f"{where or 'the whole'}: {e['msg']} (given: {given})")
    return mistakes


def record_or_mistakes(model: type[R], data: bytes) -> tuple[R | None, list[str]]:
    """Return a record from its JSON, held to the model strictly, or None and every mistake; a key that stands twice is one."""
    try:
        record = model.model_validate_json(data, strict=True)
    except ValidationError as e:
        return None, field_mistakes(e)
    # pydantic takes the last of two equal keys and does not complain. Each key has two quotation marks, and a string without a backslash
    # has none inside: so a count of the marks tells, in a third of the time of a look at every key.
    if b"\\" in data or data.count(b'"') != record.model_dump_json().count('"'):
        twice: list[str] = []
        json.loads(data, object_pairs_hook=lambda pairs: twice.extend(k for k, n in Counter(k for k, _ in pairs).items() if n > 1))
        if twice:
            return None, [f"the key {key!r} stands more than once in one object" for key in dict.fromkeys(twice)]
    return record, []


def manifest_or_mistakes(data: bytes) -> tuple[Manifest | None, list[str]]:
    """Return a manifest from its bytes, or None and every field that is wrong; another schema version is the only mistake named."""
    manifest, mistakes = record_or_mistakes(Manifest, data)
    by_other_release = other_schema(data) if manifest is None else None
    return manifest, mistakes if by_other_release is None else [by_other_release]


def other_schema(data: bytes) -> str | None:
    """Return the message for a manifest of another schema version, with the next step; None where it has this one."""
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError):
        return None
    schema = manifest.get("schema_version") if isinstance(manifest, dict) else None
    if type(schema) is not int or schema == SCHEMA_VERSION:
        return None
    libraries = manifest.get("environment")
    release = libraries.get("corruptset") if isinstance(libraries, dict) else None
    named = isinstance(release, str) and release != version("corruptset")  # a release under development may have had both schemas
    by = f"corruptset {printable(str(release))[:40]}" if named else "the release that made it"
    versions = f"schema_version is {schema}, and this release reads {SCHEMA_VERSION}"
    if schema > SCHEMA_VERSION:
        return f"{versions}: it was made by a newer one. Update corruptset, or use {by}."
    return (
        f"{versions}: the digest of schema 1 does not cover class names. Run the same `corruptset build` command with another --out: its "
        f"pixels and the pixel_digest of every set stay the same, the digest of the whole is new. Or use {by}."
    )
