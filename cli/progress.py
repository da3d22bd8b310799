"""How far a build or a verification is: a live bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from .output import console, duration, say

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from ..generate.build import ProgressEvent

LINE_EVERY = 10.0
"""Seconds between plain lines."""


class Progress:
    """Shows events on standard error; a callable, to be used as a context manager."""

    def __init__(self, command: str) -> None:
        self.command = command
        self._bar: Bar | None = None
        self._phase = ""
        self._written_at = 0.0
        self._finished = False
        self.done: dict[str, int] = {}
        """Phase -> how much of it is done."""

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            from rich.progress import BarColumn, SpinnerColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=30), TextColumn("{task.fields[counts]}")
            self._bar = Bar(*columns, console=console(stderr=True), transient=True)
            self._bar.add_task(f"{self.command}: starting", total=None, counts="")
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, event: ProgressEvent) -> None:
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
        if self._bar is not None:
            description = f"{self.command}: {phase}"
            self._bar.update(self._bar.task_ids[0], description=description, total=total or None, completed=done, counts=text)
            return
        now = time.monotonic()
        finished = bool(total) and done >= total
        if phase != self._phase or now - self._written_at >= LINE_EVERY or (finished and not self._finished):
            self._phase, self._written_at, self._finished = phase, now, finished
            say(f"{self.command}: {phase}; {text}" if text else f"{self.command}: {phase}")


def counts(event: ProgressEvent) -> str:
    """Return sets, images, images/s and the remaining time of an event."""
    parts = [f"{event.sets_done}/{event.sets_total} sets", f"{event.images_done}/{event.images_total} images"]
    if event.images_done and event.seconds > 0:
        rate = event.images_done / event.seconds
        parts.append(f"{rate:.0f} images/s")
        if event.images_done < event.images_total:
            parts.append(f"{duration((event.images_total - event.images_done) / rate)} left")
    return ", ".join(parts)
