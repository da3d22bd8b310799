"""How far a build or a verification is: a live bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from .output import console, duration, say

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

LINE_EVERY = 10.0
"""Seconds between plain lines."""


class Event(Protocol):
    """What is read of the events that `corruptset.generate` reports."""

    @property
    def phase(self) -> str: ...

    @property
    def parts_done(self) -> int: ...
    @property
    def parts_total(self) -> int: ...
    @property
    def images_done(self) -> int: ...

    @property
    def images_total(self) -> int: ...

    @property
    def sets_done(self) -> int: ...

    @property
    def sets_total(self) -> int: ...

    @property
    def seconds(self) -> float: ...


class Progress:
    """Shows events on standard error; a callable, to be used as a context manager."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._phase = ""
        self._last = 0.0
        self._finished = False
        self.done: dict[str, int] = {}
        """phase -> how much of it was done when it was last told of"""

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            from rich.progress import BarColumn, SpinnerColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(bar_width=30),
                TextColumn("{task.fields[counts]}"),
                console=console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(f"{self.what}: starting", total=None, counts="")
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, event: Event) -> None:
        """Show an event of a build."""
        if event.phase == "done":  # the result says it
            return
        if event.images_total and event.sets_total:
            self._show(event.phase, event.images_done, event.images_total, counts(event))
        else:
            self.step(event.phase, event.parts_done, event.parts_total)

    def step(self, phase: str, done: int, total: int) -> None:
        """Show how far a step of a verification is."""
        self._show(phase, done, total, f"{done}/{total}" if total else "")

    def _show(self, phase: str, done: int, total: int, text: str) -> None:
        self.done[phase] = done
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=f"{self.what}: {phase}", total=total or None, completed=done, counts=text)
            return
        now = time.monotonic()
        finished = bool(total) and done >= total
        if phase == self._phase and now - self._last < LINE_EVERY and not (finished and not self._finished):
            return
        self._phase, self._last, self._finished = phase, now, finished
        say(f"{self.what}: {phase}; {text}" if text else f"{self.what}: {phase}")


def counts(event: Event) -> str:
    """Return sets, images, images/s and the time left of an event."""
    parts = [f"{event.sets_done}/{event.sets_total} sets", f"{event.images_done}/{event.images_total} images"]
    if event.images_done and event.seconds > 0:
        rate = event.images_done / event.seconds
        parts.append(f"{rate:.0f} images/s")
        if event.images_done < event.images_total:
            parts.append(f"{duration((event.images_total - event.images_done) / rate)} left")
    return ", ".join(parts)
