"""Output of the command line: results go to standard output, everything else to standard error."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

from ..errors import LONGEST_VALUE, MachineError
from ..manifests.records.report import printable
from ..progress import ProgressDisplay

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

PLAIN_WIDTH = 160
"""Columns of a table that goes to a file or a pipe, where nothing says how wide it may be."""


def console(*, stderr: bool = False) -> Console:
    """Return a rich console without markup, which escapes control characters and ignores a closed pipe."""
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


_INSIDE = r"(?:(?!\1)[^\\\n]|\\.)"
_QUOTED = re.compile(rf"""(?<!\w)(['"])(?=\S)({_INSIDE}{{{LONGEST_VALUE}}}){_INSIDE}+\1(?!\w)""")
"""A value in quotation marks that is longer than a person reads."""
_UNBROKEN = re.compile(rf"(\S{{{LONGEST_VALUE}}})\S{{{2 * LONGEST_VALUE},}}")
"""A word of at least three times this length, such as a name in a file. Paths are shorter."""


def shortened(text: str) -> str:
    """Return a message or a cell of a table with values that end after 200 characters.

    Examples
    --------
    >>> len(shortened(f"name is {'x' * 5000!r}; expected a name")), shortened("name is 'x'; expected a name")
    (230, "name is 'x'; expected a name")
    """
    return _UNBROKEN.sub(r"\1...", _QUOTED.sub(r"\1\2\1...", text))


def visible(text: str) -> str:
    """Return lines with control characters as escapes, since a terminal would obey them.

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


def put_rich(table: Table) -> None:
    """Write one of rich's tables to standard output."""
    with _writing(sys.stdout):
        console().print(table)


def say(text: str, *, style: str | None = None) -> None:
    """Write lines for a person to standard error, unwrapped, with long values cut."""
    put(shortened(text), style=style, stderr=True)


def progress_of(command: str) -> ProgressDisplay:
    """Return what shows how far a command is: a bar on a terminal, elsewhere lines."""
    return ProgressDisplay(command, live=sys.stderr.isatty(), console=partial(console, stderr=True), say=say)


def put_notes(notes: Iterable[str]) -> None:
    """Write what a user should know of the result, a paragraph a note."""
    for note in notes:
        put(f"Note: {shortened(note)}", style="yellow")


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
    """Return the error of a standard output that takes no more, and silence it."""
    silence(sys.stdout)
    return MachineError(
        f"Standard output could not be written: {error.strerror or error}. The result is incomplete: send it to where "
        "there is space, and run the same command again."
    )


def prepare_streams() -> None:
    """Make both streams writable: closed ones go nowhere, and unknown characters are escaped."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def silence(stream: TextIO) -> None:
    """Drop what is still to be written to a stream that takes no more."""
    with open(os.devnull, "wb") as null:
        os.dup2(null.fileno(), stream.fileno())
