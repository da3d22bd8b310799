"""What stops a build from outside: a signal, the disk, the memory; what is said of it, and how it is resumed."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import Interrupted, MachineError
from .running import machine_error


@dataclass
class Place:
    """Where a build stands, as far as it is known."""

    directory: Path
    stopped: bool = False
    """Whether a signal has asked it to stop."""


@contextlib.contextmanager
def resumable(out: Path) -> Iterator[Place]:
    """Say of everything that stops a build from outside how it is resumed; SIGTERM stops it as Ctrl-C does."""
    place = Place(out)
    try:
        with _stoppable(place):
            yield place
    except (KeyboardInterrupt, Exception) as e:
        # A signal that comes while Python holds a lock of its own may end in another error than KeyboardInterrupt.
        if place.stopped or isinstance(e, KeyboardInterrupt):
            raise Interrupted(
                f"Interrupted. What was committed in {place.directory} stands: run the same command again to resume where it stopped."
            ) from None
        if isinstance(e, OSError):
            raise machine_error(e, place.directory) from e
        if isinstance(e, MemoryError):
            raise MachineError(
                f"The machine ran out of memory. What was committed in {place.directory} stands: run the same command with fewer --jobs "
                "to resume."
            ) from None
        raise


@contextlib.contextmanager
def _stoppable(place: Place) -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C while the build runs, and note that either came."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        place.stopped = True
        raise KeyboardInterrupt

    # A program that handles Ctrl-C itself goes on doing so.
    ours = [signal.SIGTERM, *([signal.SIGINT] if signal.getsignal(signal.SIGINT) is signal.default_int_handler else [])]
    before = {number: signal.signal(number, stop) for number in ours}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
