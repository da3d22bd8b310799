"""Start, stop and kill real Dask schedulers and workers on this machine.

They are forked from a process that has imported the necessary modules, so that each starts within a tenth of a second.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from corruptset.generate.sources.source import Loaded, Sample, open_source

START_S = 60.0
FORK_SERVER = """
import json, os, signal, sys
import distributed.cli.dask_scheduler, distributed.cli.dask_worker
import corruptset.generate.build, corruptset.generate.work.dask_workers, corruptset.generate.sources.folder
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
exec(sys.argv[1])
for line in sys.stdin:
    call = json.loads(line)
    process = os.fork()
    if process == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setpgid(0, 0)
        os.makedirs(call["folder"])
        os.chdir(call["folder"])
        for descriptor, path in enumerate([os.devnull, "log", "log"]):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), descriptor)
        sys.argv = [call["program"], *call["arguments"]]
        exec(call["before"], {})
        getattr(distributed.cli, "dask_" + call["program"]).main()
        os._exit(0)
    print(process, flush=True)
"""
HIDDEN_MODULES = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "corruptset":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
for name in [name for name in sys.modules if name.split(".")[0] == "corruptset"]:
    del sys.modules[name]
"""
"""Code that hides corruptset in a process."""


class Cluster:
    """A Dask scheduler, which has no corruptset, and workers. Processes run, and write logs, in folders below `folder`.
    The code `begin` runs before the first of them starts, so that all of them have what it imports.
    """

    def __init__(self, folder: Path, begin: str = "") -> None:
        self.folder = folder
        self.pids: list[int] = []
        self._numbers: dict[int, int] = {}
        path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
        self._nursery = subprocess.Popen(
            [sys.executable, "-c", FORK_SERVER, begin],
            env={**os.environ, "PYTHONPATH": path, "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "6s"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.address = ""
        self.start_scheduler()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill(*self.pids)
        self._nursery.communicate()

    def kill(self, *pids: int) -> None:
        """Kill processes."""
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            self.pids.remove(pid)

    def start_scheduler(self) -> None:
        """Start a scheduler, at the address of an earlier one if there was one."""
        port = self.address.rpartition(":")[2] or "0"
        self.scheduler = self._fork(
            "scheduler", HIDDEN_MODULES, "--host", "127.0.0.1", "--port", port, "--no-dashboard"
        )
        self.address = self._waited(self.scheduler, r"Scheduler at:\s+(tcp://\S+)")

    def add(self, before: str = "", *, name: str | None = None, wait: bool = True) -> int:
        """Start a worker, and return its process id when it has registered. The code `before` runs first."""
        name_options = ["--name", name] if name is not None else []
        pid = self._fork(
            "worker", before, self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", *name_options
        )
        if wait:
            self._waited(pid, r"(Registered to)")
        return pid

    def log(self, pid: int) -> str:
        """Return the output of a process."""
        path = self.folder / f"process-{self._numbers[pid]}" / "log"
        return path.read_text() if path.exists() else ""

    def _fork(self, program: str, before: str, *arguments: str) -> int:
        assert self._nursery.stdin is not None
        assert self._nursery.stdout is not None
        number = len(self._numbers)
        call = {
            "program": program,
            "before": before,
            "arguments": arguments,
            "folder": str(self.folder / f"process-{number}"),
        }
        print(json.dumps(call), file=self._nursery.stdin, flush=True)
        pid = int(self._nursery.stdout.readline())
        self._numbers[pid] = number
        self.pids.append(pid)
        return pid

    def _waited(self, pid: int, pattern: str) -> str:
        """Wait for a line in the output of a process, and return its matching part."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if (match := re.search(pattern, self.log(pid))) is not None:
                return match[1]
            time.sleep(0.01)
        raise AssertionError(f"{pattern} not in {self.log(pid)}")


class ScriptedSource:
    """An image folder that, in other processes, performs the actions in a script when a sample is loaded.

    Each line of the script is an action: ``sleep SECONDS``, ``die ID``, ``exhaust ID`` or ``fail PID``.
    """

    def __init__(self, folder: Path, script: Path) -> None:
        self._inner: Any = open_source(f"folder:{folder}")
        self._script = script
        self._parent = os.getpid()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # while it is unpickled, it has no attributes
            raise AttributeError(name)
        return getattr(self._inner, name)

    def load(self, sample: Sample) -> Loaded:
        actions = self._script.read_text().splitlines() if os.getpid() != self._parent and self._script.exists() else []
        for action, _, argument in (line.partition(" ") for line in actions):
            if action == "sleep":
                time.sleep(float(argument))
            elif action == "die" and argument == sample.id:
                os.kill(os.getpid(), signal.SIGKILL)
            elif action == "exhaust" and argument == sample.id:  # like on a machine that is out of memory
                resident_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_AS, (resident_bytes + (1 << 20), resource.RLIM_INFINITY))
                try:
                    bytearray(1 << 33)
                finally:
                    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            elif action == "fail" and argument in (str(os.getpid()), "all"):
                raise FileNotFoundError(2, "No such file or directory", sample.path)
        result: Loaded = self._inner.load(sample)
        return result
