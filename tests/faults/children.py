"""Small builds in forked processes, which are stopped, and checks of what they leave behind."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import small_builds

LIMIT_S = 120.0
RECIPE = """
name = "kill"
version = "1.0.0"
title = "To be killed"
calibration = "cifar"

[preprocessing]
kind = "none"
channels = "rgb"

[encoding]
format = "png"

[[sets]]
corruptions = ["contrast", "brightness", "gaussian_noise"]
"""
SINKS: dict[str, dict[str, Any]] = {name: {"storage": name} for name in ("folder", "hdf5", "both")}


def run_script(module: Any, *arguments: str) -> str:
    """Run a script of this folder in another process, because it forks and pytest has threads. Return its output."""
    result = subprocess.run([sys.executable, module.__file__, *arguments], capture_output=True, text=True)
    print(result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def parse_arguments(doc: str | None, moments: int, **more: Any) -> argparse.Namespace:
    """Return the options of a script: ``--moments``, ``--seed`` and others, by their defaults."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"moments": moments, "seed": 0, **more}.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    return parser.parse_args()


@contextlib.contextmanager
def memory_folder() -> Iterator[Path]:
    """Yield a folder, in memory if possible, because the tests concern the order of writes and not the disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


class Child:
    """A forked process with a process group of its own."""

    def __init__(self, work: Callable[[], object], output: Path) -> None:
        self._output = output
        self._code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                from corruptset.errors import CorruptsetError
                from corruptset.interruption import handle_signals

                os.setpgid(0, 0)
                signal.signal(signal.SIGINT, signal.default_int_handler)
                handle_signals()  # as the command does
                file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(file, 1)
                os.dup2(file, 2)
                try:
                    work()
                    code = 0
                except CorruptsetError as e:
                    os.write(2, str(e).encode())  # pytest captures the output
                    code = e.exit_code
            except KeyboardInterrupt:  # before or after the build
                os.write(2, b"the same command again to resume")
                code = 130
            except SystemExit as e:
                code = int(e.code or 0)
            except BaseException:
                os.write(2, traceback.format_exc().encode())
            finally:
                with contextlib.suppress(BaseException):
                    sys.stdout.flush()
                    sys.stderr.flush()
                os._exit(code)
        with contextlib.suppress(OSError):
            os.setpgid(self.pid, self.pid)

    def poll(self) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code

    def wait(self, until: Callable[[], object] = lambda: False) -> int | None:
        """Wait for the end, or for something else; return the exit code."""
        deadline = time.monotonic() + LIMIT_S
        while self.poll() is None and not until():
            if time.monotonic() > deadline:
                os.killpg(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                self._code = -999  # a hang, which is always wrong
            time.sleep(0.001)
        return self._code

    def output(self) -> str:
        return self._output.read_text(errors="replace")[-2000:] if self._output.exists() else ""


def committed_parts(out: Path) -> dict[str, list[int]] | None:
    """Return sidecar -> (inode, mtime). It is None if no part was committed, and empty if the manifest exists."""
    if next(out.glob("*/manifest.json"), None) is not None:
        return {}
    stamps = {p.name: p.stat() for p in sorted(out.glob("*/.corruptset/parts/*.json"))}
    return {name: [s.st_ino, s.st_mtime_ns] for name, s in stamps.items()} or None


def difference(files: Mapping[str, bytes], expected: Mapping[str, bytes]) -> list[str]:
    """Return what is wrong with the files of a dataset. It must not have temporary files or locks either."""
    problems = sorted(path for path in files.keys() | expected.keys() if files.get(path) != expected.get(path))
    return [f"other bytes, missing or left over: {problems[:5]}"] if problems else []


class Builds:
    """Builds of one small source in forked children, which inherit the imported modules and compiled kernels.

    Parameters
    ----------
    folder : Path
        The folder for all files.
    each : int
        The number of images in each of the ten classes.
    """

    def __init__(self, folder: Path, *, each: int = 3) -> None:
        from corruptset.generate.recipes.recipe import parse_recipe

        self.folder, self.out, self.notes = folder, folder / "out", folder / "notes"
        self.source: Any = f"folder:{small_builds.write_crops(folder / 'source', each=each)}"
        self.recipe = parse_recipe(RECIPE, "kill")
        self.whole: dict[str, dict[str, bytes]] = {}
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._children = 0

    def make(self, sink: str, out: Path, **options: Any) -> Path:
        """Build in this process, and return the dataset."""
        from corruptset.generate.build import build

        build_options = {"jobs": 1, "metrics": 8, "progress": False, **SINKS[sink], **options}
        return build(self.recipe, self.source, out, **build_options).directory

    def child(self, sink: str, **options: Any) -> Child:
        """Build into `out` in another process, which writes its phase and the number of parts to a file."""

        parts = 0

        def note(event: Any) -> None:
            nonlocal parts
            parts = max(parts, event.parts_total if event.phase == "building" else 0)
            self.notes.write_text(f"{event.phase} {parts}")

        return self.start(lambda: self.make(sink, self.out, **{"progress": note, **options}))

    def start(self, work: Callable[[], object]) -> Child:
        """Run a function in another process."""
        self._children += 1
        return Child(work, self.folder / f"said-{self._children}")

    def phase(self) -> str:
        """Return the phase that the last child was in."""
        return (self.notes.read_text() if self.notes.exists() else "").partition(" ")[0] or "starting"

    def resume(self, location: str, sink: str, **options: Any) -> None:
        """Resume the build, and report failures, committed parts that were built again, and wrong files."""
        before, record_file = committed_parts(self.out), self.folder / "seen.json"
        record_file.unlink(missing_ok=True)

        def look(event: Any) -> None:
            if event.phase == "finishing":
                record_file.write_text(json.dumps(committed_parts(self.out)))

        child = self.child(sink, **options, progress=look)
        if child.wait() != 0:
            self.wrong.append(f"{location}: the resume failed: {child.output()}")
            return
        after = json.loads(record_file.read_text()) if record_file.exists() else None
        if after is None and before != {}:
            self.wrong.append(f"{location}: the resume had nothing to finish, with {before} committed")
        redone = [part for part, stamp in (before or {}).items() if after is not None and after.get(part) != stamp]
        self.wrong += [f"{location}: made again though committed: {redone}"] * bool(redone)
        self.counts["committed parts found again untouched"] += len(before or {}) - len(redone)
        self.compare(location, self.whole[sink])

    def compare(self, location: str, expected: Mapping[str, bytes]) -> None:
        """Note the differences between `out` and the wanted files."""
        files = small_builds.read_files(self.out)
        self.counts["files compared"] += len(files)
        self.wrong += [f"{location}: {problem}" for problem in difference(files, expected)]

    def report(self, what: str, moments: int) -> int:
        """Print the counts and the faults, and return an exit code."""
        for name, count in sorted(self.counts.items()):
            print(f"{name}: {count}")
        print("\n".join([f"{moments} {what}, {len(self.wrong)} wrong", *self.wrong]))
        return bool(self.wrong)


def _processes() -> list[tuple[int, int, int, str]]:
    """Return (pid, parent, group, command line)."""
    results = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            command = (path.parent / "cmdline").read_bytes().decode(errors="replace")
            if fields[0] != "Z" and "tracker" not in command:
                results.append((int(path.parent.name), int(fields[1]), int(fields[2]), command))
    return results


def workers_of(pid: int) -> list[int]:
    """Return the loky workers of a process."""
    return [p for p, parent, _, command in _processes() if parent == pid and "loky" in command]


def wait_for_end(group: int) -> bool:
    """Wait until all processes of a group have ended. After twenty seconds, kill them and return False."""
    deadline = time.monotonic() + 20
    while any(g == group for _, _, g, _ in _processes()):
        if time.monotonic() > deadline:
            os.killpg(group, signal.SIGKILL)
            return False
        time.sleep(0.01)
    return True
