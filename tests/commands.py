"""The command as a user runs it: the installed console script, or a process that has corruptset's modules already."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from corruptset.cli import main
from corruptset.interruption import SIGNALS

COMMAND = Path(sys.executable).with_name("corruptset")

SERVER = """
import json, os, sys
import numpy as np
import corruptset.cli.app, corruptset.generate.reproduction.verify, corruptset.generate.build
corruptset.corrupt(np.zeros((8, 8, 3), np.uint8), "gaussian_noise", severity=1)
for line in sys.stdin:
    call = json.loads(line)
    process = os.fork()
    if process == 0:
        os.chdir(call["cwd"])
        for descriptor, path in enumerate([os.devnull, call["out"], call["err"]]):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), descriptor)
        sys.argv = call["argv"]
        corruptset.cli.main()
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


def exit_code(*words):
    """Run ``corruptset WORDS...`` in this process, and return what it leaves with."""
    signals = [(number, signal.getsignal(number)) for number in SIGNALS]
    argv, sys.argv = sys.argv, ["corruptset", *map(str, words)]
    try:
        main()
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    finally:
        sys.argv = argv
        for number, handler in signals:  # the command leaves them ignored, as its process ends
            signal.signal(number, handler)
    return 0


@dataclass(frozen=True)
class Result:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """Standard output, which must be one JSON object."""
        return json.loads(self.out)


class CommandRunner:
    """What tests say of a command that is called with its words."""

    folder = Path()
    """Where it runs, if nothing else is said."""

    def succeeds(self, *words, **place):
        """Run a command that works."""
        done = self(*words, **place)
        assert done.code == 0, (words, done.err)
        return done

    def fails(self, said, *words, code=2, **place):
        """Run a command that says a sentence, leaves with a code, and writes nothing where it runs."""
        folder = place.get("cwd", self.folder)
        before = set(folder.rglob("*"))
        done = self(*words, **place)
        text = " ".join((done.out + done.err).replace("│", " ").split())
        assert (done.code, said in text) == (code, True), (words, done)
        assert set(folder.rglob("*")) == before, words
        return done


class CommandServer(CommandRunner):
    """Forks a process for each command. It has imported modules and loaded a kernel, so that a command takes a fraction
    of a second.
    """

    def __init__(self, folder):
        self.folder, self._said, self._number = folder / "here", folder, 0
        self.folder.mkdir()
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            env={**os.environ, "COLUMNS": "160", "CORRUPTSET_DEBUG": ""},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments, cwd=None):
        """Run ``corruptset ARGUMENTS``; a traceback or a warning on standard error fails the test."""
        self._number += 1
        said = {name: str(self._said / f"{self._number}.{name}") for name in ("out", "err")}
        call = {"argv": ["corruptset", *map(str, arguments)], "cwd": str(cwd or self.folder), **said}
        print(json.dumps(call), file=self._process.stdin, flush=True)
        code = int(self._process.stdout.readline())
        done = Result(code, *(Path(path).read_text("utf-8") for path in said.values()))
        assert "Traceback" not in done.err, done.err
        assert "Warning" not in done.err, done.err
        return done

    def stop(self):
        """End the server."""
        self._process.communicate()
