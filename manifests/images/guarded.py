"""HDF5 files read by a process of their own, because on some damaged ones the HDF5 library loops for ever or crashes.

A process that asks has one such child, `hdf5_child`, started at the first request and kept; it ends with the one that asks.
What a request takes is limited: `DEFAULT_SECONDS`, or the environment variable `SECONDS_VARIABLE`.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
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
PIPE_BYTES = 1 << 20
"""Linux's pipes hold 64 KiB by default: an image of 224 pixels would go through in three steps."""

_CHILD = Path(__file__).with_name("hdf5_child.py")


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
    """The child of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, do: str, path: Path, **what: Any) -> tuple[dict[str, Any], NDArray[np.uint8]]:
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
        request = json.dumps({"do": do, "path": os.fspath(path), "seconds": seconds, **what}).encode() + b"\n"
        with self._lock:
            code = 0
            for _ in range(2):
                try:
                    answer = self._asked(request)
                except BaseException:
                    self.close(kill=True)  # an answer that nobody read would be taken for the next one
                    raise
                if answer is not None:
                    return _checked(*answer)
                code = self.close()
                if code == -signal.SIGALRM:
                    raise NoAnswer(f"the HDF5 library did not come back from it within {seconds:g} s")
                # Anything else may have been somebody else's doing: memory that ran out for a moment, a kill.
        raise NoAnswer(f"the process that reads it ended ({_said(code)})")

    def _asked(self, request: bytes) -> tuple[dict[str, Any], NDArray[np.uint8]] | None:
        """Ask once; None where the child ended."""
        if self._process is None:
            self._process = _start()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(request)
            self._process.stdin.flush()
            line = self._process.stdout.readline()
            if line.endswith(b"\n"):
                said = json.loads(line)
                data = np.empty(said["bytes"], np.uint8)
                # a buffered reader goes on until it has all
                if cast(BufferedReader, self._process.stdout).readinto(data.data) == len(data):
                    return said, data
        return None

    def close(self, *, kill: bool = False) -> int:
        """End the child, if there is one; return how it ended. One that waits for requests ends by itself."""
        process, self._process = self._process, None
        if process is None:
            return 0
        if kill:
            process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            return process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def forget(self) -> None:
        """In a process that was forked: the child is the parent's."""
        self._lock = threading.Lock()
        if self._process is not None:
            self._process.returncode = 0  # it is not this process's to wait for
            self._process = None


def _start() -> subprocess.Popen[bytes]:
    with interrupts_held_back():
        process = subprocess.Popen(
            [sys.executable, "-P", str(_CHILD), str(os.getpid())],
            bufsize=1 << 16,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )
    if process.stdout is not None and hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):
            fcntl.fcntl(process.stdout.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return process


def _checked(said: dict[str, Any], data: NDArray[np.uint8]) -> tuple[dict[str, Any], NDArray[np.uint8]]:
    if "error" in said:
        raise Refused(said["error"])
    if "fault" in said:
        raise (MemoryError if said["fault"].startswith("MemoryError") else RuntimeError)(f"reading HDF5: {said['fault']}")
    return said, data


def _said(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"


GUARD = Guard()
atexit.register(GUARD.close)
os.register_at_fork(after_in_child=GUARD.forget)
