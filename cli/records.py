"""Print the results of commands as text: facts, tables and notes."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from ..manifests.records.report import printable
from ..quantities import duration, size
from .output import console, put, put_json, put_notes, put_rich, shorten

MIN_WRAPPED_WIDTH = 20
"""The minimum width of a column with wrapped cells. If it is reached, other columns are left out."""


def put_facts(facts: Mapping[str, Any]) -> None:
    """Print a line with the name and the value of each fact. Facts without a value are left out."""
    known = {name: fact for name, fact in facts.items() if fact not in (None, "")}
    width = max(map(len, known), default=0) + 2
    for name, fact in known.items():
        put(f"{name + ': ':{width}}{shorten(str(fact))}")


def put_rows(
    columns: Sequence[str],
    rows: Iterable[Iterable[str]],
    right: Collection[str] = (),
    *,
    spare: Sequence[str] = (),
    wrapped: Collection[str] = (),
) -> None:
    """Print a table. The columns in `right` are aligned to the right.

    If the table is too wide, the cells in the columns `wrapped` (by default the last column) are wrapped. If the table
    is still too wide, the columns `spare` are left out, one after the other. Cells are never truncated.
    """
    from rich.table import Table

    wrapped = wrapped or {columns[-1]} - set(right)
    lines = [[shorten(cell) for cell in row] for row in rows]
    out = console()

    def width(i: int) -> int:
        longest = max(len(line[i]) for line in [columns, *lines])
        return min(longest, MIN_WRAPPED_WIDTH) if columns[i] in wrapped else longest

    kept = list(range(len(columns)))
    for name in spare:
        if sum(width(i) + 2 for i in kept) - 2 > out.width:
            kept.remove(columns.index(name))
    table = Table(box=None, pad_edge=False)
    for i in kept:
        justify: Literal["left", "right"] = "right" if columns[i] in right else "left"
        table.add_column(columns[i], justify=justify, no_wrap=columns[i] not in wrapped, overflow="fold")
    for line in lines:
        table.add_row(*(line[i] for i in kept))
    put_rich(table)


def put_table(columns: Sequence[str], rows: Iterable[Iterable[str]], right: Collection[str] = (), **more: Any) -> None:
    """Print a table like `put_rows`, followed by an empty line."""
    put_rows(columns, rows, right, **more)
    put()


LABELS = {
    "absent": "in other archives",
    "kept": "kept from before",
    "linked": "hard links",
    "bytes": "size",
    "seconds": "time",
}
"""The labels of record fields whose names are not self-explanatory."""
PARAGRAPHS = ("title", "description", "documentation")
"""The record fields that are printed as paragraphs."""
SPARE = (
    "revision",
    "options",
    "role",
    "draws",
    "preserves_geometry",
    "parameters",
    "source",
    "about",
    "size",
    "images",
)
"""The columns that are left out if a table is too wide, in this order."""
MAX_FACTS_PER_LINE = 7
"""The maximum number of entries in a mapping that is printed on one line."""
LISTED = ("archives",)
"""The record fields whose items are always printed on separate lines."""
MAX_INLINE_LENGTH = 40
"""The minimum length of list items that are printed on separate lines."""


def put_record(record: Mapping[str, Any], hidden: Collection[str] = ()) -> None:
    """Print a record as facts, paragraphs, tables and notes. The `hidden` fields are left out."""
    shown = {key: field for key, field in record.items() if key not in (*hidden, *PARAGRAPHS, "ok", "notes")}
    tables = {key: field for key, field in shown.items() if _is_table(field)}
    put_facts({_label(key): _cell(key, field) for key, field in shown.items() if key not in tables})
    for key in PARAGRAPHS:
        if record.get(key):
            put(f"\n{inspect.cleandoc(record[key])}")
    for key, table in tables.items():
        is_nested = isinstance(table, Mapping) and all(map(_are_records, table.values()))
        for name, rows in {f"{key} {inner}": table[inner] for inner in table}.items() if is_nested else [(key, table)]:
            put(f"\n{_label(name)}", style="bold")
            put_records(rows)
    put_notes(record.get("notes", ()))


def fields_of(result: Any) -> dict[str, Any]:
    """Return the fields of a command's result, for its JSON output."""
    rounded = {"seconds": round(result.seconds, 3)} if hasattr(result, "seconds") else {}
    return {"ok": True, **vars(result), **rounded}


def put_result(record: Mapping[str, Any], *, as_json: bool) -> None:
    """Print the record of a command's result as JSON or as text."""
    if as_json:
        put_json(record)
    else:
        put_record(record)


def put_records(rows: Sequence[Any] | Mapping[str, Any]) -> None:
    """Print records as a table. If they are given as a mapping, its keys are the first column."""
    if isinstance(rows, Mapping):
        rows = [{"": name} | (dict(row) if isinstance(row, Mapping) else {"value": row}) for name, row in rows.items()]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    right = [c for c in columns if all(isinstance(row.get(c), int | float | None) for row in rows)]
    cells = [["-" if row.get(c) is None else _cell(c, row[c]) for c in columns] for row in rows]
    long = [
        any(len(cell) > MIN_WRAPPED_WIDTH and " " in cell for cell in column) for column in zip(*cells, strict=True)
    ]
    wrapped = [c for c, is_long in zip(columns[1:], long[1:], strict=True) if is_long]
    put_rows(columns, cells, right, spare=[c for c in SPARE if c in columns[1:]], wrapped=wrapped or columns[-1:])


def _are_records(field: Any) -> bool:
    values = list(field.values()) if isinstance(field, Mapping) else field if isinstance(field, list | tuple) else []
    return any(values) and all(isinstance(value, Mapping) for value in values)


def _is_table(field: Any) -> bool:
    """Return whether a value is printed as a table. This applies to records and to mappings with many entries."""
    return _are_records(field) or (isinstance(field, Mapping) and len(field) > MAX_FACTS_PER_LINE)


def _label(key: str) -> str:
    return printable(LABELS.get(key, key.replace("_", " "))).capitalize()


def _cell(key: str, field: Any) -> str:
    """Return a value in a record as text."""
    if field is None:
        return ""
    if isinstance(field, bool):
        return "yes" if field else "no"
    if key in ("bytes", "bytes_per_sample"):
        return size(field)
    if key == "seconds":
        return duration(field)
    if key == "stages":
        return printable(chain(field))
    if isinstance(field, Mapping):
        return printable(settings(field))
    if isinstance(field, list | tuple):
        items = [printable(value(item)) for item in field]
        is_short = key not in LISTED and len(max(items, default="", key=len)) < MAX_INLINE_LENGTH
        return ", ".join(items) if is_short else "".join(f"\n  {item}" for item in items)
    return printable(value(field))


def value(number: Any) -> str:
    """Return the value of a parameter as text without trailing zeros, for tables and ids.

    Examples
    --------
    >>> value(0.080), value(10.0), value("bilinear"), value(170.8)
    ('0.08', '10', 'bilinear', '170.8')
    """
    if isinstance(number, float):
        return f"{number:.10g}"
    return str(number).lower() if isinstance(number, bool) else str(number)


def settings(values: Mapping[str, Any]) -> str:
    """Return settings on one line, such as ``resize=256, crop=224``. Settings that are None or empty are left out."""
    return ", ".join(
        f"{k}={', '.join(map(value, v)) if isinstance(v, list) else value(v)}"
        for k, v in values.items()
        if v not in (None, [], {})
    )


def chain(stages: Iterable[Mapping[str, Any]]) -> str:
    """Return stages from a manifest as text, with their parameters.

    Examples
    --------
    >>> chain([{"corruption": "fade_black", "level": 7, "parameters": {"factor": 0.9}}])
    'fade_black(factor=0.9, level 7)'
    >>> chain([{"corruption": "fog", "level": None, "parameters": {"weight": 1.5, "wibble_decay": 2.0}}] * 2)
    'fog(weight=1.5, wibble_decay=2) + fog(weight=1.5, wibble_decay=2)'
    >>> chain([])
    '(the preprocessed image)'
    """
    texts = []
    for stage in stages:
        inside = [settings(stage["parameters"])] * bool(stage["parameters"])
        inside += [] if stage["level"] is None else [f"level {stage['level']}"]
        texts.append(f"{stage['corruption']}({', '.join(inside)})")
    return " + ".join(texts) or "(the preprocessed image)"
