"""HDF5 files read by a process of their own, because on some damaged ones the HDF5 library loops for ever or crashes.

A process that asks has one such child, `hdf5_child`, which starts at the first request and ends with the one that asks. A request may
take `DEFAULT_SECONDS`, or what the environment variable `SECONDS_VARIABLE` says.

Not a pool of the standard library: its workers import the user's main module, which fails in scripts without a ``__main__`` guard, need
semaphores in /dev/shm, and outlive a killed parent while they hang. This child has a pipe and an alarm of the system.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from ...processes import interrupts_held_back

SECONDS_VARIABLE = "CORRUPTSET_HDF5_SECONDS"
DEFAULT_SECONDS = 60.0
"""A request is of some megabytes at most but for labels: half a minute on a disk that reads a megabyte in a second."""
TOO_LONG = -signal.SIGALRM if hasattr(signal, "SIGALRM") else 1
"""The exit status of a child whose request took longer: see `hdf5_child.end_after`."""
COMMAND = (sys.executable, "-P", "-m", f"{__package__}.hdf5_child")

Answer = tuple[dict[str, Any], NDArray[np.uint8]]
"""The line of an answer, and the bytes that follow it."""


class NoAnswer(Exception):
    """The library did not come back, or crashed; the message says which, as the end of a sentence about the file."""


class Refused(Exception):
    """The library says that it cannot read this."""


def seconds_allowed() -> float:
    """Return how long a request may take.

    Raises
    ------
    ParameterError
        `SECONDS_VARIABLE` is no number above 0.
    """
    text = os.environ.get(SECONDS_VARIABLE)
    if not text:
        return DEFAULT_SECONDS
    with contextlib.suppress(ValueError):
        if 0 < (seconds := float(text)) <= 1e6:
            return seconds
    raise ParameterError(f"{SECONDS_VARIABLE} is {text!r}; expected a number of seconds above 0.")


class Guard:
    """The child of this process, started with `command`."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, do: str, path: Path, **arguments: Any) -> Answer:
        """Return the line of an answer and its bytes.

        Raises
        ------
        NoAnswer
            It took too long (`seconds_allowed`), or the child ended twice.
        Refused
            The library says that the file is damaged.
        MemoryError
            The child got no memory.
        """
        seconds = seconds_allowed()
        request = json.dumps({"do": do, "path": os.fspath(path), "seconds": seconds, **arguments}).encode() + b"\n"
        with self._lock:
            code = 0
            for _ in range(2):
                try:
                    answer = self._exchange(request)
                except BaseException:
                    self.close(kill=True)  # the next request would get the answer that nobody read
                    raise
                if answer is not None:
                    return _checked(answer)
                code = self.close()
                if code == TOO_LONG:
                    raise NoAnswer(f"the HDF5 library did not come back from it within {seconds:g} s")
                # Another end may have a cause outside the file: memory that ran out for a moment, a kill. So it is asked again.
        end = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        raise NoAnswer(f"the process that reads it ended ({end})")

    def _exchange(self, request: bytes) -> Answer | None:
        """Ask once; None where the child ended."""
        process = self._process = self._process or _started(self._command)
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):  # BrokenPipeError, on Windows EINVAL
            process.stdin.write(request)
            process.stdin.flush()
            line = process.stdout.readline()
            if line.endswith(b"\n"):
                answer = json.loads(line)
                data = np.empty(answer["bytes"], np.uint8)
                # a buffered reader goes on until it has all
                if cast(BufferedReader, process.stdout).readinto(data.data) == len(data):
                    return answer, data
        return None

    def close(self, *, kill: bool = False) -> int:
        """End the child, if there is one, and return its exit status. A child that waits for requests ends by itself."""
        process, self._process = self._process, None
        if process is None:
            return 0
        if kill:
            process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            return process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def forget(self) -> None:
        """Leave the child to the parent, in a process that was forked."""
        self._lock = threading.Lock()
        if self._process is not None:
            self._process.returncode = 0  # it is not this process's to wait for
            self._process = None


def _started(command: Sequence[str]) -> subprocess.Popen[bytes]:
    with interrupts_held_back():
        return subprocess.Popen(
            command,
            bufsize=1 << 16,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )


def _checked(answer: Answer) -> Answer:
    line = answer[0]
    if "error" in line:
        raise Refused(line["error"])
    if "fault" in line:
        raise (MemoryError if line["fault"].startswith("MemoryError") else RuntimeError)(f"reading HDF5: {line['fault']}")
    return answer


GUARD = Guard()
atexit.register(GUARD.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=GUARD.forget)
