"""Tables, facts and notes: how every command prints its result as text."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from ..manifests.records.report import printable
from ..quantities import duration, size
from .output import console, put, put_json, put_notes, put_rich, shortened

NARROWEST = 20
"""Columns of a terminal that a cell which takes several lines has at least, where columns can be left out."""


def put_facts(facts: Mapping[str, Any]) -> None:
    """Write a line for each fact: what it is called, and what it is."""
    there = {name: fact for name, fact in facts.items() if fact not in (None, "")}
    width = max(map(len, there), default=0) + 2
    for name, fact in there.items():
        put(f"{name + ': ':{width}}{shortened(str(fact))}")


def put_rows(
    columns: Sequence[str],
    rows: Iterable[Iterable[str]],
    right: Collection[str] = (),
    *,
    spare: Sequence[str] = (),
    wrapped: Collection[str] = (),
) -> None:
    """Write a table to standard output; columns named in `right` are aligned to the right.

    If the table is too wide, cells of the columns in `wrapped` (by default the last) take several lines, then the
    columns in `spare` are left out one after the other; nothing is cut.
    """
    from rich.table import Table

    wrapped = wrapped or {columns[-1]} - set(right)
    lines = [[shortened(cell) for cell in row] for row in rows]
    out = console()

    def width(i: int) -> int:
        longest = max(len(line[i]) for line in [columns, *lines])
        return min(longest, NARROWEST) if columns[i] in wrapped else longest

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
    """Write a table to standard output as `put_rows` does, and an empty line."""
    put_rows(columns, rows, right, **more)
    put()


WORDS = {
    "absent": "in other archives",
    "kept": "there already",
    "linked": "hard links",
    "bytes": "size",
    "seconds": "time",
}
"""Field of a record -> what people call it, where its name does not say it."""
PARAGRAPHS = ("title", "description", "documentation")
"""Fields that are printed as paragraphs."""
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
"""Columns that a narrow table leaves out, one after the other."""
MOST_IN_A_LINE = 7
LONG = 40
"""The length from which an item is printed on a separate line."""


def put_record(record: Mapping[str, Any], hidden: Collection[str] = ()) -> None:
    """Write a record as text: facts, paragraphs, tables and notes, without the `hidden` fields."""
    shown = {key: of for key, of in record.items() if key not in (*hidden, *PARAGRAPHS, "ok", "notes")}
    tables = {key: of for key, of in shown.items() if _is_table(of)}
    put_facts({_words(key): _cell(key, of) for key, of in shown.items() if key not in tables})
    for key in PARAGRAPHS:
        if record.get(key):
            put(f"\n{inspect.cleandoc(record[key])}")
    for key, of in tables.items():
        deep = isinstance(of, Mapping) and all(map(_are_records, of.values()))
        for name, rows in {f"{key} {inner}": of[inner] for inner in of}.items() if deep else [(key, of)]:
            put(f"\n{_words(name)}", style="bold")
            put_records(rows)
    put_notes(record.get("notes", ()))


def fields_of(result: Any) -> dict[str, Any]:
    """Return the fields of the result of a command, as its JSON."""
    rounded = {"seconds": round(result.seconds, 3)} if hasattr(result, "seconds") else {}
    return {"ok": True, **vars(result), **rounded}


def put_result(record: Mapping[str, Any], *, as_json: bool) -> None:
    """Write the record of a command as JSON or as text."""
    if as_json:
        put_json(record)
    else:
        put_record(record)


def put_records(rows: Sequence[Any] | Mapping[str, Any]) -> None:
    """Write records, or what names stand for, as a table."""
    if isinstance(rows, Mapping):
        rows = [{"": name} | (dict(row) if isinstance(row, Mapping) else {"value": row}) for name, row in rows.items()]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    right = [c for c in columns if all(isinstance(row.get(c), int | float | None) for row in rows)]
    cells = [["-" if row.get(c) is None else _cell(c, row[c]) for c in columns] for row in rows]
    long = [any(len(cell) > NARROWEST and " " in cell for cell in column) for column in zip(*cells, strict=True)]
    wrapped = [c for c, is_long in zip(columns[1:], long[1:], strict=True) if is_long]
    put_rows(columns, cells, right, spare=[c for c in SPARE if c in columns[1:]], wrapped=wrapped or columns[-1:])


def _are_records(of: Any) -> bool:
    values = list(of.values()) if isinstance(of, Mapping) else of if isinstance(of, list | tuple) else []
    return any(values) and all(isinstance(value, Mapping) for value in values)


def _is_table(of: Any) -> bool:
    """Whether a value is shown as a table: records, or a mapping of many names."""
    return _are_records(of) or (isinstance(of, Mapping) and len(of) > MOST_IN_A_LINE)


def _words(key: str) -> str:
    return printable(WORDS.get(key, key.replace("_", " "))).capitalize()


def _cell(key: str, of: Any) -> str:
    """Return a value of a record as text, on one line."""
    if of is None:
        return ""
    if isinstance(of, bool):
        return "yes" if of else "no"
    if key in ("bytes", "bytes_per_sample"):
        return size(of)
    if key == "seconds":
        return duration(of)
    if key == "stages":
        return printable(chain(of))
    if isinstance(of, Mapping):
        return printable(settings(of))
    if isinstance(of, list | tuple):
        items = [printable(value(item)) for item in of]
        return ", ".join(items) if len(max(items, default="", key=len)) < LONG else "".join(f"\n  {i}" for i in items)
    return printable(value(of))


def value(number: Any) -> str:
    """Return a parameter's value as text without trailing zeros, as in tables and ids.

    Examples
    --------
    >>> value(0.080), value(10.0), value("bilinear"), value(170.8)
    ('0.08', '10', 'bilinear', '170.8')
    """
    if isinstance(number, float):
        return f"{number:.10g}"
    return str(number).lower() if isinstance(number, bool) else str(number)


def settings(values: Mapping[str, Any]) -> str:
    """Return settings in a line, ``resize=256, crop=224``, without those that are None."""
    return ", ".join(
        f"{k}={', '.join(map(value, v)) if isinstance(v, list) else value(v)}"
        for k, v in values.items()
        if v not in (None, [], {})
    )


def chain(stages: Iterable[Mapping[str, Any]]) -> str:
    """Return the stages of a manifest as text, with their parameters.

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
