"""Where the command line writes: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TextIO

from ..errors import MachineError
from ..manifests.records.report import printable
from ..progress import ProgressDisplay

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

NARROWEST = 20
"""Columns of a terminal that a cell which takes several lines has at least, where columns can be left out."""
PLAIN_WIDTH = 160
"""Columns of a table that goes to a file or a pipe, where nothing says how wide it may be."""


def console(*, stderr: bool = False) -> Console:
    """Return a rich console that takes text as it is, but for control characters, and does not mind a reader that
    leaves.
    """
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout

    class Patient(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(visible(text), **options)

        def on_broken_pipe(self) -> None:
            self.quiet = True
            silence(stream)

    width = None if stream.isatty() or "COLUMNS" in os.environ else PLAIN_WIDTH
    return Patient(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)


def visible(text: str) -> str:
    """Return lines with control characters as escapes: names in a stranger's file may hold what a terminal obeys.

    Examples
    --------
    >>> visible("a" + chr(27) + "[2Jb")
    'a\\\\x1b[2Jb'
    """
    return "\n".join(map(printable, text.split("\n")))


def put(text: str = "", *, style: str | None = None, stderr: bool = False) -> None:
    """Write lines of the result to standard output, unwrapped."""
    stream = sys.stderr if stderr else sys.stdout
    with _writing(stream):
        if style is not None or stream.isatty():
            console(stderr=stderr).print(text, style=style, soft_wrap=True)
        else:  # what rich would write, without the time that it takes to be imported
            stream.write(visible(text) + "\n")


def say(text: str, *, style: str | None = None) -> None:
    """Write lines for a person to standard error, unwrapped."""
    put(text, style=style, stderr=True)


def progress_of(command: str) -> ProgressDisplay:
    """Return what shows how far a command is: a live bar where standard error is a terminal, a plain line now and then
    elsewhere.
    """
    return ProgressDisplay(command, live=sys.stderr.isatty(), console=partial(console, stderr=True), say=say)


def put_notes(notes: Iterable[str]) -> None:
    """Write what a user should know of the result, a paragraph a note."""
    for note in notes:
        put(f"Note: {note}", style="yellow")


def put_rows(
    columns: Sequence[str],
    rows: Iterable[Iterable[str]],
    right: Collection[str] = (),
    *,
    spare: Sequence[str] = (),
    wrapped: Collection[str] = (),
) -> None:
    """Write a table to standard output.

    Columns named in `right` are aligned to the right. Where the table is too wide, cells of the columns in `wrapped`
    (by default the last) take several lines, then the columns in `spare` are left out one after the other; nothing is
    cut.
    """
    from rich.table import Table

    wrapped = wrapped or {columns[-1]} - set(right)
    lines = [list(row) for row in rows]
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
    with _writing(sys.stdout):
        out.print(table)


def put_table(columns: Sequence[str], rows: Iterable[Iterable[str]], right: Collection[str] = ()) -> None:
    """Write a table to standard output as `put_rows` does, and an empty line."""
    put_rows(columns, rows, right)
    put()


def put_json(value: Any) -> None:
    """Write one JSON object to standard output."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, indent=2, ensure_ascii=not unicode, default=str)
    with _writing(sys.stdout):
        # JSON allows C1 controls and marks that turn text around
        sys.stdout.write("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text) + "\n")


@contextmanager
def _writing(stream: TextIO) -> Iterator[None]:
    """Write to a standard stream whose reader may leave, and whose disk may be full.

    Raises
    ------
    MachineError
        The results cannot be written. Messages on standard error may get lost: the exit code has the answer too.
    """
    try:
        yield
        stream.flush()
    except BrokenPipeError:
        silence(stream)
    except OSError as e:
        if stream is sys.stdout:
            raise unwritable(e) from None
        silence(stream)


def unwritable(error: OSError) -> MachineError:
    """Return the error for a standard output that takes no more; what else is written there is dropped."""
    silence(sys.stdout)
    return MachineError(
        f"Standard output could not be written: {error.strerror or error}. The result is incomplete: send it to where "
        "there is space, and run the same command again."
    )


def prepare_streams() -> None:
    """Make both streams writable whatever they are: closed ones go nowhere, and a name that the encoding lacks is
    escaped.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def silence(stream: TextIO) -> None:
    """Drop what is still to be written to a standard stream: its reader has left, or its disk is full."""
    with open(os.devnull, "wb") as null:
        os.dup2(null.fileno(), stream.fileno())


def value(number: Any) -> str:
    """Return a parameter's value as it stands in tables and ids: no trailing zeros.

    Examples
    --------
    >>> value(0.080), value(10.0), value("bilinear"), value(170.8)
    ('0.08', '10', 'bilinear', '170.8')
    """
    return (
        f"{number:.10g}"
        if isinstance(number, float)
        else str(number).lower()
        if isinstance(number, bool)
        else str(number)
    )


def settings(values: Mapping[str, Any]) -> str:
    """Return settings as they stand in a line: ``resize=256, crop=224``; what is None is left out."""
    return ", ".join(
        f"{k}={', '.join(v) if isinstance(v, list) else value(v)}" for k, v in values.items() if v is not None
    )


def chain(stages: Iterable[Mapping[str, Any]]) -> str:
    """Return stages, as a manifest has them, for people: each with its parameters, one after the other.

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
