"""A command that runs foreign code (a plugin, a model) does so in a second process, and notices how that ends.

`os._exit(0)` or a crash in such code ends a process with no word, and with any exit code. So the command starts itself
again before it first runs foreign code, and waits: what ended without a result is an error, whatever its exit code is.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .. import foreign
from ..errors import MachineError, PluginError

NOTES = "CORRUPTSET_NOTES"
"""The environment variable with the file in which the second process notes what runs, and how it ended."""
MOST_NOTED = 1000
"""Bytes of a note."""
PATIENCE_S = 2.0
"""How long the second process may take to leave after its end: a thread that a plugin left would keep it for ever."""
WATCH_S = 0.2
"""How often the second process looks whether the first is still there."""
_DONE = "done "


class StartAgain(BaseException):
    """Raised before a command runs foreign code in a process that nobody watches."""


class _Notes:
    """The notes of the second process; those of its workers, and of what it forks, are no notes of the command."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY)
        self._process = os.getpid()

    def __call__(self, note: str) -> None:
        if os.getpid() == self._process:
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, note.encode("utf-8", "replace")[:MOST_NOTED].ljust(MOST_NOTED))


_notes: _Notes | None = None


def watched() -> None:
    """Prepare a command's process: as the second one, or as a first one that can start itself again."""
    global _notes
    path = os.environ.pop(NOTES, None)
    if path is not None:
        from ..processes import end_with_parent

        end_with_parent(os.getppid(), WATCH_S)
        _notes = foreign.watch = _Notes(path)
    elif sys.orig_argv[-len(sys.argv) + 1 :] == sys.argv[1:]:
        foreign.watch = _start_again


def ended(code: int) -> None:
    """Note that the command has ended with an exit code by itself: nothing that comes later, in a thread or at exit,
    counts.
    """
    if _notes is not None:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            code = code or 120  # as Python leaves where what was printed cannot be written
        _notes(f"{_DONE}{code}")


def _start_again(_: str) -> None:
    raise StartAgain


def run_again() -> int:
    """Run this command in a second process, and return the exit code that it ended with by itself.

    Raises
    ------
    PluginError
        It was ended by foreign code.
    MachineError
        It was killed.
    """
    import signal
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory(prefix="corruptset-") as folder:
        notes = Path(folder, "notes")
        notes.touch()
        process = subprocess.Popen([sys.executable, *sys.orig_argv[1:]], env={**os.environ, NOTES: str(notes)})
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda number, _: process.send_signal(number))
        lingering = False
        while True:
            try:
                process.wait(PATIENCE_S)
                break
            except subprocess.TimeoutExpired:
                if lingering:
                    process.kill()
                lingering = notes.read_text("utf-8", "replace").startswith(_DONE)
        note = notes.read_text("utf-8", "replace").rstrip()
    if note.startswith(_DONE):
        return int(note.removeprefix(_DONE))
    status, during = process.returncode, f" while {note} ran" if note else ""
    how = signal.Signals(-status).name if status < 0 else f"exit code {status}"
    if how == "SIGKILL":
        raise MachineError(
            f"The command's process was killed{during} (often: out of memory), and its work is not done."
        )
    ended = f"{note} ended" if note else "A thread of a plugin or model, or the system, ended"
    raise PluginError(
        f"{ended} the command's process ({how}), and its work is not done. Code of one's own returns, or raises an "
        "error."
    )
