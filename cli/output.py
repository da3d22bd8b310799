"""Print the output of commands. Results go to standard output, and everything else goes to standard error."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

from ..errors import MAX_VALUE_LENGTH, MachineError
from ..manifests.records.report import printable
from ..progress import ProgressDisplay

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

PLAIN_WIDTH = 160
"""The width of tables if the output is a file or a pipe instead of a terminal."""


def console(*, stderr: bool = False) -> Console:
    """Return a rich console that does not interpret markup, escapes control characters, and ignores a closed pipe."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout

    class SafeConsole(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(visible(text), **options)

        def on_broken_pipe(self) -> None:
            self.quiet = True
            silence(stream)

    width = None if stream.isatty() or "COLUMNS" in os.environ else PLAIN_WIDTH
    return SafeConsole(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)


_INSIDE = r"(?:(?!\1)[^\\\n]|\\.)"
_QUOTED = re.compile(rf"""(?<!\w)(['"])(?=\S)({_INSIDE}{{{MAX_VALUE_LENGTH}}}){_INSIDE}+\1(?!\w)""")
"""A regular expression for long values in quotation marks."""
_UNBROKEN = re.compile(rf"(\S{{{MAX_VALUE_LENGTH}}})\S{{{2 * MAX_VALUE_LENGTH},}}")
"""A regular expression for words of at least three times the maximum length, such as names in files.

Paths are shorter than this.
"""


def shorten(text: str) -> str:
    """Truncate long values in a message or a table cell after 200 characters.

    Examples
    --------
    >>> len(shorten(f"name is {'x' * 5000!r}; expected a name")), shorten("name is 'x'; expected a name")
    (230, "name is 'x'; expected a name")
    """
    return _UNBROKEN.sub(r"\1...", _QUOTED.sub(r"\1\2\1...", text))


def visible(text: str) -> str:
    """Escape control characters in lines of text, because a terminal would interpret them.

    Examples
    --------
    >>> visible("a" + chr(27) + "[2Jb")
    'a\\\\x1b[2Jb'
    """
    return "\n".join(map(printable, text.split("\n")))


def put(text: str = "", *, style: str | None = None, stderr: bool = False) -> None:
    """Write lines of the result to standard output, without wrapping them."""
    stream = sys.stderr if stderr else sys.stdout
    with _writing(stream):
        if style is not None or stream.isatty():
            console(stderr=stderr).print(text, style=style, soft_wrap=True)
        else:  # Rich would write the same text, but importing Rich takes time.
            stream.write(visible(text) + "\n")


def put_rich(table: Table) -> None:
    """Write a rich table to standard output."""
    with _writing(sys.stdout):
        console().print(table)


def say(text: str, *, style: str | None = None) -> None:
    """Write a message to standard error, without wrapping it but with long values truncated."""
    put(shorten(text), style=style, stderr=True)


def progress_of(command: str) -> ProgressDisplay:
    """Return the progress display of a command: a bar on a terminal, and lines of text elsewhere."""
    return ProgressDisplay(command, live=sys.stderr.isatty(), console=partial(console, stderr=True), say=say)


def put_notes(notes: Iterable[str]) -> None:
    """Write notes on the result to standard output, one paragraph per note."""
    for note in notes:
        put(f"Note: {shorten(note)}", style="yellow")


def put_json(value: Any) -> None:
    """Write one JSON object to standard output."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, indent=2, ensure_ascii=not unicode, default=str)
    with _writing(sys.stdout):
        # JSON allows C1 control characters and direction marks, but a terminal would interpret them.
        sys.stdout.write("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text) + "\n")


@contextmanager
def _writing(stream: TextIO) -> Iterator[None]:
    """Handle a closed pipe and a full disk while the block writes to a standard stream.

    Raises
    ------
    MachineError
        If standard output cannot be written. If standard error cannot be written, its messages are discarded.
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
    """Discard further standard output, and return the error for output that cannot be written."""
    silence(sys.stdout)
    return MachineError(
        f"Standard output could not be written: {error.strerror or error}. The result is incomplete. Redirect it to a "
        "disk with enough space, and run the same command again."
    )


def prepare_streams() -> None:
    """Make both standard streams writable. Closed ones discard output, and open ones escape unsupported characters."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def silence(stream: TextIO) -> None:
    """Discard the buffered and all further output of a stream that cannot be written."""
    with open(os.devnull, "wb") as null:
        os.dup2(null.fileno(), stream.fileno())
