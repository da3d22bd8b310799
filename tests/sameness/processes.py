"""Run a build and see which worker processes it really had, and how much each wrote (Linux)."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

_EVERY = 0.02  # seconds between two looks: a worker ends together with its build


def written_by_workers(
    command: list[str], environment: dict[str, str]
) -> tuple[subprocess.CompletedProcess[str], list[int]]:
    """Run a command to its end.

    Parameters
    ----------
    command : list of str
    environment : dict of str to str

    Returns
    -------
    tuple of CompletedProcess, list of int
        How it ended, and of each loky worker that it had the bytes written, as last seen.
    """
    written: dict[int, int] = {}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=err)
        while process.poll() is None:
            for child in _children(process.pid):
                if b"popen_loky" in _read(child, "cmdline"):
                    counted = [line for line in _read(child, "io").splitlines() if line.startswith(b"wchar:")]
                    if counted:
                        written[child] = int(counted[0].split()[1])
            time.sleep(_EVERY)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(command, process.returncode, out.read(), err.read()), list(written.values())


def _children(pid: int) -> list[int]:
    return [int(word) for task in Path(f"/proc/{pid}/task").glob("*/children") for word in _content(task).split()]


def _read(pid: int, name: str) -> bytes:
    return _content(Path(f"/proc/{pid}/{name}"))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended since
        return b""
