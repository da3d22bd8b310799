"""Processes that are stopped, and what they leave behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

LIMIT_S = 120.0


def difference(files: Mapping[str, bytes], wanted: Mapping[str, bytes]) -> str | None:
    """Return what is wrong with files; None where they are those that are wanted: a temporary one or a lock is one too
    many.
    """
    wrong = sorted(path for path in files.keys() | wanted.keys() if files.get(path) != wanted.get(path))
    return f"other bytes, missing or left over: {wrong[:5]}" if wrong else None


def run_script(module: Any, *arguments: str) -> str:
    """Run a script of this folder in a process of its own, for it forks and pytest has threads; return what it
    prints.
    """
    done = subprocess.run([sys.executable, module.__file__, *arguments], capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Child:
    """A forked process that leads a group."""

    def __init__(self, work: Callable[[], int], said: Path) -> None:
        self._said = said
        self._code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                os.setpgid(0, 0)
                signal.signal(signal.SIGINT, signal.default_int_handler)
                file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(file, 1)
                os.dup2(file, 2)
                code = work()
            except KeyboardInterrupt:
                code = 130  # before or after the build itself
                print("the same command again to resume")
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        with contextlib.suppress(OSError):
            os.setpgid(self.pid, self.pid)
        self.group = self.pid

    def poll(self) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code

    def wait(self) -> int:
        deadline = time.monotonic() + LIMIT_S
        while self.poll() is None:
            if time.monotonic() > deadline:
                os.killpg(self.group, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                self._code = -999  # a hang: no way of stopping allows this code
                break
            time.sleep(0.003)
        assert self._code is not None
        return self._code

    def said(self) -> str:
        return self._said.read_text(errors="replace")[-2000:] if self._said.exists() else ""


class Noting:
    """Writes down which phase a build is in."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parts = 0

    def __call__(self, event: Any) -> None:
        self._parts = max(self._parts, event.parts_total if event.phase == "building" else 0)
        self._path.write_text(f"{event.phase} {self._parts}")


def committed(out: Path) -> dict[str, list[int]] | None:
    """Return sidecar -> (inode, mtime); None where nothing was begun, empty where the manifest stands."""
    if next(out.glob("*/manifest.json"), None) is not None:
        return {}
    stamps = {}
    for path in sorted(out.glob("*/.corruptset/parts/*.json")):
        status = path.stat()
        stamps[path.name] = [status.st_ino, status.st_mtime_ns]
    return stamps or None


def _processes() -> list[tuple[int, int, int, str]]:
    """Return (pid, parent, group, command line)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            command = (path.parent / "cmdline").read_bytes().decode(errors="replace")
            if fields[0] != "Z":
                found.append((int(path.parent.name), int(fields[1]), int(fields[2]), command))
    return found


def workers_of(pid: int) -> list[int]:
    """Return the loky workers of a process."""
    return [
        p for p, parent, _, command in _processes() if parent == pid and "loky" in command and "tracker" not in command
    ]


def wait_for_end(group: int) -> bool:
    """Wait until nobody of a killed build's group is left; after twenty seconds end them, and say that they
    were there.
    """
    deadline = time.monotonic() + 20
    while any(g == group and "tracker" not in command for _, _, g, command in _processes()):
        if time.monotonic() > deadline:
            os.killpg(group, signal.SIGKILL)
            return False
        time.sleep(0.01)
    return True
