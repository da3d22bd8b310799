"""How far something is, for a person who watches: a bar on a terminal or in a notebook, nothing elsewhere."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from .quantities import duration

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

LINE_EVERY = 10.0
"""Seconds between plain lines."""
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class ProgressEvent:
    """How far a build is."""

    phase: str
    """``checking``, ``compiling``, ``building``, ``finishing`` or ``done``."""
    parts_done: int = 0
    """Of ``compiling``: corruptions whose kernels are ready."""
    parts_total: int = 0
    images_done: int = 0
    images_total: int = 0
    sets_done: int = 0
    """Sets of which every part is committed."""
    sets_total: int = 0
    seconds: float = 0.0
    """Since the phase began."""


def in_notebook() -> bool:
    """Say whether this is a notebook's kernel, whose standard error is no terminal and is watched all the same."""
    if "IPython" not in sys.modules:
        return False
    from rich.console import Console

    return Console().is_jupyter


def watched() -> bool:
    """Say whether a person sees standard error now."""
    return (sys.stderr is not None and sys.stderr.isatty()) or in_notebook()


def shows_progress(command: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Have a function that takes `progress` show a person how far it is, unless the caller gives a callable or False.

    The function gets a callable, or None where nothing is shown.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def shown(*args: P.args, **kwargs: P.kwargs) -> R:
            given: Any = kwargs.pop("progress", None)
            if callable(given) or given is False or (given is None and not watched()):
                return function(*args, **kwargs | {"progress": given or None})  # type: ignore[arg-type]
            with ProgressDisplay(command) as display:
                return function(*args, **kwargs | {"progress": display})  # type: ignore[arg-type]

        return shown

    return decorate


def told(progress: Callable[..., None] | bool | None) -> Callable[..., None]:
    """Return what a function tells how far it is: the callable that `shows_progress` gave it, or nothing."""
    return progress if callable(progress) else lambda *_: None


class ProgressDisplay:
    """Shows events on standard error, a live bar or a plain line now and then; a callable, to be used as a context manager.

    Parameters
    ----------
    command : str
        What lines begin with.
    live : bool, optional
        Whether to draw a bar; by default on a terminal, and in a notebook that has ipywidgets.
    console, say : callable, optional
        Return rich's console for the bar; write a plain line.
    """

    shown = 0
    """How many are on the screen now."""

    def __init__(
        self,
        command: str,
        *,
        live: bool | None = None,
        console: Callable[[], Console] | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.command = command
        self._live = (sys.stderr.isatty() or (in_notebook() and find_spec("ipywidgets") is not None)) if live is None else live
        self._console = console or _console
        self._say = say or _say
        self._bar: Bar | None = None
        self._room: int | None = None
        self._phase = ""
        self._written_at = 0.0
        self._finished = False

    def __enter__(self) -> ProgressDisplay:
        ProgressDisplay.shown += 1
        if self._live:
            from rich.progress import BarColumn, SpinnerColumn, TextColumn
            from rich.progress import Progress as Bar

            console = self._console()
            bar_width = 30 if console.width >= 110 else 10 if console.width >= 80 else 0  # the counts matter more
            bar = [BarColumn(bar_width)] * bool(bar_width)
            columns = SpinnerColumn(), TextColumn("{task.description}"), *bar, TextColumn("{task.fields[counts]}")
            self._bar = Bar(*columns, console=console, transient=True)
            self._room = console.width - bar_width - 4
            self._bar.add_task(f"{self.command}: starting", total=None, counts="")
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        ProgressDisplay.shown -= 1
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, event: ProgressEvent | str, done: int = 0, total: int = 0) -> None:
        """Show an event of a build, or the name of another command's step, what is done of it and its total."""
        if isinstance(event, str):
            self._show(event, done, total, f"{done}/{total}" if total else "")
        elif event.images_total and event.sets_total:
            room = self._room and self._room - len(f"{self.command}: {event.phase}")
            self._show(event.phase, event.images_done, event.images_total, counts(event, room))
        elif event.phase == "compiling":
            of = f"{event.parts_done} of {event.parts_total} corruptions, once on a machine" if event.parts_total else ""
            self._show(event.phase, event.parts_done, event.parts_total, of)
        elif event.phase != "done":  # the result says it
            self(event.phase, event.parts_done, event.parts_total)

    def _show(self, phase: str, done: int, total: int, text: str) -> None:
        if self._bar is not None:
            description = f"{self.command}: {phase}"
            self._bar.update(self._bar.task_ids[0], description=description, total=total or None, completed=done, counts=text)
            return
        now = time.monotonic()
        finished = bool(total) and done >= total
        if phase != self._phase or now - self._written_at >= LINE_EVERY or (finished and not self._finished):
            self._phase, self._written_at, self._finished = phase, now, finished
            self._say(f"{self.command}: {phase}; {text}" if text else f"{self.command}: {phase}")


def counts(event: ProgressEvent, room: int | None = None) -> str:
    """Return sets, images, images/s and the remaining time of an event; without rate and sets where there is no room for them."""
    parts = {"sets": f"{event.sets_done}/{event.sets_total} sets", "images": f"{event.images_done}/{event.images_total} images"}
    if event.images_done and event.seconds > 0:
        rate = event.images_done / event.seconds
        parts["rate"] = f"{rate:.0f} images/s"
        if event.images_done < event.images_total:
            parts["left"] = f"{duration((event.images_total - event.images_done) / rate)} left"
    for part in ("rate", "sets"):
        if room is not None and len(", ".join(parts.values())) > room:
            parts.pop(part, None)
    return ", ".join(parts.values())


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True, markup=False, highlight=False, emoji=False)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
