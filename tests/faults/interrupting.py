"""Press Ctrl-C six times, 50 ms apart, at moments of every command: it says one sentence and leaves with 130.

    python tests/faults/interrupting.py --moments 8           of each command, counts printed

The installed command runs in a process group of its own, and the signals go to the group, as a terminal sends them:
workers get them too. The earliest moment is when the command has taken the signals; before that only Python itself
runs, which nobody can ask for another answer.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import layouts
from children import wait_for_end
from commands import COMMAND
from layouts import files_of

AS_A_TERMINAL = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)  # a background job ignores it, and so would what it starts
os.execv(sys.argv[1], sys.argv[1:])
"""
TIMES, APART_S = 6, 0.05
LIMIT_S = 120.0
ONE_SENTENCE = re.compile(
    r"((build|rebuild|verify|pack|export|unpack|preview): .*\n)*Interrupted\.[^\n]*\n(  corruptset [^\n]*\n)?"
)
"""What may stand on standard error: lines of progress, the sentence, and the command that goes on."""
LEFT = ("build", "build-2", "rebuild", "unpack")
"""Commands that may leave temporary files, which the same command takes away."""


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str
    met: bool
    """Whether it ran when the first signal came."""
    alone: bool
    """Whether none of its processes outlived it."""


def start(arguments: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start the command in a group of its own, with Ctrl-C as a terminal has it."""
    with (folder / "out.txt").open("wb") as out, (folder / "err.txt").open("wb") as err:
        return subprocess.Popen(
            [sys.executable, "-c", AS_A_TERMINAL, COMMAND, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            process_group=0,
        )


def listens(process: subprocess.Popen[bytes]) -> bool:
    """Return whether the command has taken the signals: Python takes SIGINT by itself, SIGTERM it does not."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
    return False


def interrupt(arguments: Sequence[str], later: float, folder: Path, *, said: str = "") -> Done:
    """Run a command, and press Ctrl-C so many seconds after it has taken the signals, and `said` something, and again,
    and again.
    """
    process = start(arguments, folder)
    while process.poll() is None and not (listens(process) and said in (folder / "err.txt").read_text()):
        time.sleep(0.0005)
    time.sleep(later)
    met = process.poll() is None
    for _ in range(TIMES):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        time.sleep(APART_S)
    try:
        code = process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        code = -999  # a hang
        process.wait()
    alone = wait_for_end(process.pid)
    return Done(code, (folder / "out.txt").read_text(), (folder / "err.txt").read_text(), met, alone)


def problem(name: str, done: Done, out: Path) -> str | None:
    """Return what is wrong with how a command was interrupted; None where it is right."""
    if not done.alone:
        return "workers outlived it"
    if done.code == 0 and "Interrupted" not in done.err:
        return None if done.out else "exit code 0 and no result"  # it was through
    if done.code != 130:
        return f"exit code {done.code}: {done.err[-1500:]}"
    if not ONE_SENTENCE.fullmatch(done.err):
        return f"not one sentence: {done.err[-1500:]!r}"
    # a result in words may be there: the signal came as the command left
    if done.out.startswith("{") and json.loads(done.out)["exit_code"] != 130:
        return f"told on standard output: {done.out[-300:]!r}"
    left = list(out.rglob("*.part")) if out.exists() and name not in LEFT else []
    return f"left behind: {left[:3]}" if left else None


class Harness:
    """Commands on one small source.

    Parameters
    ----------
    folder : Path
        Where everything goes.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        source = layouts.write_crops(folder / "source", each=3)
        recipe = layouts.write_recipe(folder)
        self.out = folder / "out"
        asked = ["build", str(recipe), "--source", f"folder:{source}", "--format", "both"]
        self.whole = folder / "whole"
        self.run([*asked, "--out", str(self.whole), "--jobs", "1"])
        (built,) = self.whole.iterdir()
        self.run(["pack", str(built), "--out", str(folder / "release"), "--by", "set"])
        archives = sorted(map(str, (folder / "release" / "data").glob("*.tar")))
        to = ["--out", str(self.out)]
        photograph = str(next(source.rglob("*.png")))
        self.commands = {
            "build": [*asked, "--jobs", "1", *to],
            "build-2": [*asked, "--jobs", "2", *to],
            "verify": ["verify", str(built), "--jobs", "1"],
            "verify-2": ["verify", str(built), "--jobs", "2", "--json"],
            "export": ["export", "cifar-c", str(built), "--sets", "*/*", *to],
            "pack": ["pack", str(built), "--by", "set", *to],
            "unpack": ["unpack", *archives, *to],
            "rebuild": ["rebuild", str(built), "--source", f"folder:{source}", "--jobs", "2", *to],
            "preview": ["preview", photograph, "--recipe", str(recipe), "--out", str(self.out / "sheet.png")],
            "corrupt": ["corrupt", photograph, "fog", "-s", "3", "--out", str(self.out / "fog.png")],
            "plan": [asked[0].replace("build", "plan"), *asked[1:], "--json"],
        }

    def run(self, arguments: Sequence[str]) -> float:
        """Run a command that nobody stops; return how long it took from when it had taken the signals."""
        process = start(arguments, self.folder)
        while process.poll() is None and not listens(process):
            time.sleep(0.001)
        began = time.monotonic()
        assert process.wait(LIMIT_S) == 0, (self.folder / "err.txt").read_text()
        return time.monotonic() - began

    def begin(self) -> None:
        """Empty the place that commands write to."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()

    def stop(self, name: str, later: float) -> tuple[Done, str | None]:
        """Interrupt a command, and run it again where that goes on; return what it did and what was wrong."""
        self.begin()
        done = interrupt(self.commands[name], later, self.folder)
        wrong = problem(name, done, self.out)
        if wrong is None and done.code == 130 and name.startswith("build"):
            self.run(self.commands[name])
            if files_of(self.out) != files_of(self.whole):
                wrong = "the resumed build has other bytes, or more or fewer files"
        return done, wrong

    def sweep(self, name: str, moments: int) -> tuple[Counter[int], int, list[str]]:
        """Interrupt a command at moments spread over its length; return exit codes, how many met it running, and what
        was wrong.
        """
        self.begin()
        length = self.run(self.commands[name])
        codes: Counter[int] = Counter()
        met, wrong = 0, []
        for k in range(moments):
            later = length * 1.05 * k / moments
            done, problem = self.stop(name, later)
            codes[done.code] += 1
            met += done.met
            if problem is not None:
                wrong.append(f"{name}, {later:.3f} s of {length:.3f} s: {problem}")
        return codes, met, wrong


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=8)
    parser.add_argument("--commands", default="")
    given = parser.parse_args(arguments)
    bad = total = 0
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(Path(folder))
        for name in given.commands.split(",") if given.commands else harness.commands:
            codes, met, wrong = harness.sweep(name, given.moments)
            said = ", ".join(f"{count} left with {code}" for code, count in sorted(codes.items()))
            print(f"{name:8} {given.moments} moments, {met} met it running: {said}; {len(wrong)} wrong", flush=True)
            for line in wrong:
                print(f"  {line}", flush=True)
            bad, total = bad + len(wrong), total + given.moments
    print(f"{total} moments, {bad} wrong")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
