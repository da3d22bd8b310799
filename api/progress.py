"""Show the progress of a command in a terminal or a notebook."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from .quantities import duration

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

LINE_INTERVAL_S = 10.0
"""The time between two lines of plain text."""
CELL_INTERVAL_S = 0.2
"""The time between two updates of the output of a notebook cell."""
MIN_SHARE_FOR_ESTIMATE = 0.03
"""The share of the work that must be finished before the remaining time is estimated."""
MIN_BAR_WIDTH = 70
"""The minimum width of a terminal, in columns, at which a bar is drawn next to the counts."""
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class ProgressEvent:
    """The progress of a build."""

    phase: str
    """``checking``, ``waiting``, ``preparing``, ``compiling`` (if kernels are not in the cache), ``building``,
    ``finishing`` or ``done``. A plan has the phase ``measuring`` instead of the last three.
    """
    parts_done: int = 0
    """The number of finished parts. In the phase ``compiling``, the number of corruptions whose kernels have been
    compiled. In the phase ``measuring``, the number of measurements.
    """
    parts_total: int = 0
    images_done: int = 0
    """The number of finished images, including those of unfinished parts."""
    images_total: int = 0
    seconds: float = 0.0
    """Seconds since the phase began."""
    waiting_for: str = ""
    """In the phase ``waiting``, a description of the other array job's process for which the build waits."""


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    if "IPython" not in sys.modules:
        return False
    from rich.console import Console

    return Console().is_jupyter


def is_interactive() -> bool:
    """Return whether standard error is a terminal or a notebook."""
    return (sys.stderr is not None and sys.stderr.isatty()) or in_notebook()


def shows_progress(command: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that makes functions with a parameter `progress` show a progress bar by default.

    Callers can pass a callable to replace the bar, or False to disable it. The decorated function receives a callable,
    or None if progress is not shown.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def with_progress(*args: P.args, **kwargs: P.kwargs) -> R:
            given: Any = kwargs.pop("progress", None)
            if callable(given) or given is False or (given is None and not is_interactive()):
                return function(*args, **kwargs | {"progress": given or None})  # type: ignore[arg-type]
            with ProgressDisplay(command) as display:
                return function(*args, **kwargs | {"progress": display})  # type: ignore[arg-type]

        return with_progress

    return decorate


def progress_function(progress: Callable[..., None] | bool | None) -> Callable[..., None]:
    """Return the callback for the argument `progress`. The callback does nothing if progress is not shown."""
    return progress if callable(progress) else lambda *_: None


class ProgressDisplay:
    """Context manager that shows the progress of a command in one line. To update the line, call the object.

    On a terminal, the line contains a progress bar. In a notebook, the line is part of the output of the cell. In both
    cases, the line is removed at the end. Elsewhere, a line of plain text is written to standard error from time to
    time.

    Parameters
    ----------
    command : str
        The name of the command, with which the line begins.
    live : bool, optional
        Whether to draw a progress bar. By default, a bar is drawn if standard error is a terminal.
    console : callable, optional
        A function that returns the rich console on which the bar is drawn.
    say : callable, optional
        A function that writes a line of plain text.
    """

    shown = 0
    """The number of displays that are visible now."""

    def __init__(
        self,
        command: str,
        *,
        live: bool | None = None,
        console: Callable[[], Console] | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.command = command
        self._live = sys.stderr.isatty() if live is None else live
        self._console = console or _console
        self._say = say or say_line
        self._bar: Bar | None = None
        self._cell: Any = None
        self._phase = ""
        self._first = 0
        self._began = 0.0
        self._written_at = 0.0
        self._finished = False

    def __enter__(self) -> ProgressDisplay:
        ProgressDisplay.shown += 1
        if self._live:
            from rich.progress import BarColumn, SpinnerColumn, TextColumn
            from rich.progress import Progress as Bar

            console = self._console()
            bar = [BarColumn(None)] * (console.width >= MIN_BAR_WIDTH)  # The bar takes the rest of the line.
            columns = SpinnerColumn(), TextColumn("{task.description}"), *bar, TextColumn("{task.fields[counts]}")
            self._bar = Bar(*columns, console=console, transient=True, expand=bool(bar))
            self._bar.add_task(f"{self.command}: starting", total=None, counts="")
            self._bar.start()
        elif in_notebook():
            from IPython.display import display

            self._cell = display(_cell(f"{self.command}: starting"), raw=True, display_id=True)
        return self

    def __exit__(self, *_: object) -> None:
        ProgressDisplay.shown -= 1
        if self._bar is not None:
            self._bar.stop()
        if self._cell is not None:
            self._cell.update({"text/plain": "", "text/html": ""}, raw=True)

    def __call__(self, event: ProgressEvent | str, done: int = 0, total: int = 0) -> None:
        """Show a build event, or a phase of another command with the number of finished items and the total."""
        if isinstance(event, str):
            self._show(event, done, total)
        elif event.phase == "waiting":
            self._show(f"waiting for {event.waiting_for}", 0, 0)
        elif event.phase == "compiling":
            self._show(event.phase, event.parts_done, event.parts_total, "corruptions, once per machine")
        elif event.images_total:
            self._show(event.phase, event.images_done, event.images_total, "images")
        elif event.phase != "done":  # When a build is done, its result is printed instead.
            self._show(event.phase, event.parts_done, event.parts_total)

    def _show(self, phase: str, done: int, total: int, unit: str = "") -> None:
        now = time.monotonic()
        begins = phase != self._phase or done < self._first
        if begins:
            self._phase, self._first, self._began, self._finished = phase, done, now, False
        finished = bool(total) and done >= total
        text = counts(done, total, unit, first=self._first, seconds=now - self._began)
        line = f"{self.command}: {phase}"
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=line, total=total or None, completed=done, counts=text)
            return
        due = now - self._written_at >= (CELL_INTERVAL_S if self._cell else LINE_INTERVAL_S)
        if begins or due or (finished and not self._finished):
            self._written_at, self._finished = now, finished
            line = f"{line}; {text}" if text else line
            if self._cell is not None:
                self._cell.update(_cell(line, done / total if total else None), raw=True)
            else:
                self._say(line)


def counts(done: int, total: int, unit: str = "", *, first: int = 0, seconds: float = 0.0) -> str:
    """Return the number of finished items and, if enough of them are finished, the remaining time.

    Parameters
    ----------
    done, total : int
        The number of finished items and the number of all items.
    unit : str, optional
        The noun for the items, such as ``images``.
    first : int, optional
        The number of items that were finished when the time measurement started.
    seconds : float, optional
        The time since the measurement started.

    Examples
    --------
    >>> counts(80, 600, "images", first=50, seconds=3.0), counts(60, 600, "images", first=50, seconds=3.0), counts(0, 0)
    ('80/600 images, 52 s left', '60/600 images', '')
    """
    text = f"{done}/{total} {unit}".strip() if total else ""
    measured, remaining = done - first, total - done
    if remaining > 0 and 0 < MIN_SHARE_FOR_ESTIMATE * (total - first) <= measured:
        text += f", {duration(seconds * remaining / measured)} left"
    return text


def _cell(line: str, share: float | None = None) -> dict[str, str]:
    """Return a line and a progress bar as the output of a notebook cell, in plain text and HTML."""
    bar = "<progress></progress>" if share is None else f'<progress value="{share:.3f}"></progress>'
    return {"text/plain": line, "text/html": f"{bar} {escape(line)}"}


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True, markup=False, highlight=False, emoji=False)


def say_line(line: str) -> None:
    """Write a line to standard error or, in a notebook, to standard output.

    Notebooks highlight standard error as if something had failed.
    """
    print(line, file=sys.stdout if in_notebook() else sys.stderr, flush=True)
