"""A CSV that says something of each image of a folder, ``file,label`` or ``file,group``: its rows, and every mistake in them."""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from ...errors import SourceError, listed, suggest
from ...files import read_text, reason

MAX_CSV_BYTES = 512 * 2**20
Row = tuple[int, str, str]
"""(line, path on disk, value)"""


def read_column(path: Path, column: str, images: Sequence[str]) -> tuple[list[Row], list[str]]:
    """Return the rows without a mistake, and the mistakes of the others.

    Parameters
    ----------
    path : Path
        UTF-8, with or without a byte-order mark.
    column : str
        What it says of an image: its header line is ``file,<column>``.
    images : sequence of str
        Paths below the folder. They are compared in Unicode's normal form C, in which a value is returned, too.

    Raises
    ------
    SourceError
        It cannot be read, or has another header.
    """
    try:
        text = read_text(path, MAX_CSV_BYTES)
    except OSError as e:
        raise SourceError(f"The {column}s {path} cannot be read: {reason(e)}. Expected a CSV with the columns file,{column}.") from None
    reader = csv.reader(text.splitlines(keepends=True), strict=True)
    on_disk = {_composed(image): image for image in images}
    rows: list[Row] = []
    problems: list[str] = []
    seen: dict[str, int] = {}
    head = None
    try:
        for row in filter(None, reader):
            line = reader.line_num
            if head is None:
                head = row
            elif len(row) != 2:
                problems.append(f"line {line}: has {len(row)} columns; expected file,{column}")
            else:
                name, value = _composed(row[0].strip().replace("\\", "/").removeprefix("./")), _composed(row[1].strip())
                wrong = [] if value else [f"{row[0]!r} has no {column}"]
                if name in seen:
                    wrong.append(f"{row[0]!r} was given on line {seen[name]} already")
                if name not in on_disk:
                    wrong = [f"there is no image {row[0]!r} in the folder.{suggest(name, on_disk) if len(on_disk) < 5000 else ''}"]
                problems += [f"line {line}: {what}" for what in wrong]
                rows += [] if wrong else [(line, on_disk[name], value)]
                seen.setdefault(name, line)
    except csv.Error as e:
        problems.append(f"line {reader.line_num}: {e}")
    if head is None or [c.strip() for c in head] != ["file", column]:
        raise SourceError(f"The {column}s {path} begin with {','.join(head or ['nothing'])!r}; expected the header line 'file,{column}'.")
    return rows, problems


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def refuse_column(path: Path, column: str, problems: Sequence[str], rows: Sequence[Row], expected: str) -> None:
    """Raise `SourceError` with every mistake of a CSV, or where it has no row; `expected` says what a value is."""
    if problems:
        raise SourceError(
            f"The {column}s {path} have {len(problems)} mistake{'s' * (len(problems) > 1)}:\n{listed(problems)}\n"
            f"Expected one line 'file,{column}' an image: the file as a path below the folder, {expected}."
        )
    if not rows:
        raise SourceError(f"The {column}s {path} have a header and no rows.")
