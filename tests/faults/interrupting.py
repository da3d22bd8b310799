"""Interrupt every command at moments spread over its length, as people do with Ctrl-C.

    python tests/faults/interrupting.py --moments 8           for each command; prints the counts

The installed command runs in a process group of its own. Six signals, 50 ms apart, go to the whole group, including
workers, as a terminal sends them. The command must print one sentence, end with exit code 130, and leave no processes
and no temporary files. An interrupted build is then resumed and compared with an undisturbed one, byte by byte. The
earliest moment is when the command has installed its signal handlers.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from children import LIMIT_S, memory_folder, parse_arguments, wait_for_end

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import small_builds
from commands import COMMAND

AS_IN_A_TERMINAL = """
import os, signal, sys
for number in (signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)  # a background job would ignore them
os.execv(sys.argv[1], sys.argv[1:])
"""
TIMES, APART_S = 6, 0.05
PROGRESS = r"((build|rebuild|verify|pack|export|unpack|preview): .*\n)*"
ONE_SENTENCE = re.compile(PROGRESS + r"Interrupted\.[^\n]*\n(  corruptset [^\n]*\n)?")
"""What standard error may contain: progress, the sentence, and the command that resumes."""
LEFT = ("build", "build-2", "rebuild", "unpack")
"""Commands that may leave temporary files, which are deleted when the command is resumed."""


@dataclass(frozen=True)
class Done:
    """The exit code and output of an interrupted command."""

    code: int
    out: str
    err: str
    met: bool = True
    """Whether the command was running when the first signal was sent."""
    alone: bool = True
    """Whether all of its processes have ended."""


class Running:
    """A command that runs in a process group of its own."""

    def __init__(self, arguments: Sequence[str], folder: Path) -> None:
        self._out, self._err = folder / "out.txt", folder / "err.txt"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-c", AS_IN_A_TERMINAL, COMMAND, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                process_group=0,
            )

    def err(self) -> str:
        return self._err.read_text()

    def listens(self) -> bool:
        """Return whether the command has installed its signal handlers. Python handles only SIGINT."""
        status = Path(f"/proc/{self.process.pid}/status")
        match = re.search(r"SigCgt:\s(\w+)", status.read_text()) if status.exists() else None
        return match is not None and bool(int(match[1], 16) >> (signal.SIGTERM - 1) & 1)

    def wait_until(self, ready: Callable[[], bool]) -> None:
        while self.process.poll() is None and not ready():
            time.sleep(0.0005)

    def press(self, number: int = signal.SIGINT, times: int = TIMES, *, group: bool = True) -> Done:
        """Send a signal several times to the group, or to the command's process only, and wait for the end."""
        met, pid = self.process.poll() is None, self.process.pid
        for _ in range(times):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number) if group else self.process.send_signal(number)
            time.sleep(APART_S)
        try:
            code = self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(pid, signal.SIGKILL)
            self.process.wait()
            code = -999  # a hang
        return Done(code, self._out.read_text(), self.err(), met, wait_for_end(pid))


def problem(name: str, result: Done, out: Path) -> str | None:
    """Return what is wrong with the end of an interrupted command, or None."""
    if not result.alone:
        return "workers outlived it"
    if result.code == 0 and "Interrupted" not in result.err:
        return None if result.out else "exit code 0 and no result"  # it had already finished
    if result.code != 130:
        return f"exit code {result.code}: {result.err[-1500:]}"
    if not ONE_SENTENCE.fullmatch(result.err):
        return f"not one sentence: {result.err[-1500:]!r}"
    # the result may have been printed just before the signal
    if result.out.startswith("{") and json.loads(result.out)["exit_code"] != 130:
        return f"standard output: {result.out[-300:]!r}"
    remaining = list(out.rglob("*.part")) if name not in LEFT else []
    return f"left behind: {remaining[:3]}" if remaining else None


class Harness:
    """Commands that use one small source."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out, self.whole = folder, folder / "out", folder / "whole"
        self.bad = 0
        source, recipe = small_builds.write_crops(folder / "source", each=3), small_builds.write_recipe(folder)
        command = [str(recipe), "--source", f"folder:{source}", "--storage", "both"]
        self.run(["build", *command, "--out", str(self.whole), "--jobs", "1"])
        (directory,) = map(str, self.whole.glob("[!.]*"))
        self.run(["pack", directory, "--out", str(folder / "release"), "--by", "set"])
        to, photograph = ["--out", str(self.out)], str(next(source.rglob("*.png")))
        self.commands = {
            "build": ["build", *command, "--jobs", "1", *to],
            "build-2": ["build", *command, "--jobs", "2", *to],
            "verify": ["verify", directory, "--jobs", "1"],
            "verify-2": ["verify", directory, "--jobs", "2", "--json"],
            "export": ["export", "cifar-c", directory, "--sets", "*/*", *to],
            "pack": ["pack", directory, "--by", "set", *to],
            "unpack": ["unpack", str(folder / "release"), *to],
            "rebuild": ["rebuild", directory, "--source", f"folder:{source}", "--jobs", "2", *to],
            "preview": ["preview", photograph, "--recipe", str(recipe), "--out", str(self.out / "sheet.png")],
            "corrupt": ["corrupt", photograph, "fog", "-s", "3", "--out", str(self.out / "fog.png")],
            "plan": ["plan", *command, "--json"],
        }

    def run(self, arguments: Sequence[str]) -> float:
        """Run a command to its end, and return the time after its signal handlers were installed."""
        running = Running(arguments, self.folder)
        running.wait_until(running.listens)
        began = time.monotonic()
        assert running.process.wait(LIMIT_S) == 0, running.err()
        return time.monotonic() - began

    def begin(self) -> None:
        """Empty the folder that commands write to."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()

    def sweep(self, name: str, moments: int) -> None:
        """Interrupt a command at moments spread over its length, and resume builds."""
        self.begin()
        length = self.run(self.commands[name]) if moments > 1 else 0.0
        codes: Counter[int] = Counter()
        met, problems = 0, []
        for k in range(moments):
            later = length * 1.05 * k / moments
            self.begin()
            running = Running(self.commands[name], self.folder)
            running.wait_until(running.listens)
            time.sleep(later)
            result = running.press()
            codes[result.code] += 1
            met += result.met
            problem_text = problem(name, result, self.out)
            if problem_text is None and result.code == 130 and name.startswith("build"):
                self.run(self.commands[name])
                if small_builds.read_files(self.out) != small_builds.read_files(self.whole):
                    problem_text = "the resumed build has other bytes, or more or fewer files"
            if problem_text is not None:
                problems.append(f"  {name}, {later:.3f} s of {length:.3f} s: {problem_text}")
        ends = ", ".join(f"{count} left with {code}" for code, count in sorted(codes.items()))
        print(f"{name:8} {moments} moments, {met} met it running: {ends}; {len(problems)} wrong", *problems, sep="\n")
        self.bad += len(problems)


def main() -> int:
    arguments = parse_arguments(__doc__, 8, commands="")
    with memory_folder() as folder:
        harness = Harness(folder)
        names = arguments.commands.split(",") if arguments.commands else list(harness.commands)
        for name in names:
            harness.sweep(name, arguments.moments)
    print(f"{arguments.moments * len(names)} moments, {harness.bad} wrong")
    return bool(harness.bad)


if __name__ == "__main__":
    sys.exit(main())
