"""Real Dask schedulers and workers: processes of this machine, which tests kill, stop and add."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

START_S = 60.0
WITHOUT = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "corruptset":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
"""
"""What a process begins with that has no corruptset."""


class Cluster:
    """A scheduler, which has no corruptset, and workers.

    Parameters
    ----------
    folder : Path
        Where processes run, each in a folder of its own, and where their logs go.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.start_scheduler(0)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for process in self.processes:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()

    def _start(self, program: str, code: str, *arguments: str) -> tuple[subprocess.Popen[bytes], Path]:
        number = len(self.processes)
        folder = self.folder / f"process-{number}"
        folder.mkdir(parents=True)
        log = folder / "log"
        text = f"{code}\nfrom distributed.cli.dask_{program} import main\nmain()"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-c", text, *arguments], cwd=folder, stdout=out, stderr=out, stdin=subprocess.DEVNULL
            )
        self.processes.append(process)
        return process, log

    def start_scheduler(self, port: int) -> None:
        """Start the scheduler; with the port of one before, in its place."""
        self.scheduler, log = self._start("scheduler", WITHOUT, "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        self.address = _waited(log, r"Scheduler at:\s+(tcp://\S+)")
        self.port = int(self.address.rpartition(":")[2])

    def add(self, code: str = "", *arguments: str, environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a worker, with `code` before it; return when it has registered."""
        process, log = self._start("worker", code, self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", *arguments)
        _waited(log, r"(Registered to)")
        return process


def _waited(log: Path, pattern: str) -> str:
    """Return what a process says of itself, once it has."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if (match := re.search(pattern, log.read_text())) is not None:
            return match[1]
        time.sleep(0.01)
    raise AssertionError(f"{pattern} not in {log.read_text()}")
