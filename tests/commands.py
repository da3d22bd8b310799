"""Run the command line: as the installed script, in this process, or in forked processes."""

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


def exit_code(*arguments):
    """Run ``corruptset ARGUMENTS...`` in this process, and return its exit code."""
    signals = [(number, signal.getsignal(number)) for number in SIGNALS]
    argv, sys.argv = sys.argv, ["corruptset", *map(str, arguments)]
    try:
        main()
    except SystemExit as e:
        return e.code if isinstance(e.code, int) else int(e.code is not None)
    finally:
        sys.argv = argv
        for number, handler in signals:  # the command leaves signals ignored, because its process usually ends
            signal.signal(number, handler)
    return 0


@dataclass(frozen=True)
class Result:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """The standard output parsed as JSON."""
        return json.loads(self.out)


class CommandRunner:
    """Base class for objects that run a command when they are called, with assertions on the result."""

    folder = Path()
    """The folder in which commands run by default."""

    def succeeds(self, *arguments, **options):
        """Run a command, and assert that it succeeds."""
        result = self(*arguments, **options)
        assert result.code == 0, (arguments, result.err)
        return result

    def fails(self, message, *arguments, code=2, **options):
        """Run a command, and assert that it fails with a message and an exit code, and writes no files."""
        folder = options.get("cwd", self.folder)
        before = set(folder.rglob("*"))
        result = self(*arguments, **options)
        text = " ".join((result.out + result.err).replace("│", " ").split())
        assert (result.code, message in text) == (code, True), (arguments, result)
        assert set(folder.rglob("*")) == before, arguments
        return result


class CommandServer(CommandRunner):
    """Forks a process for each command. It has imported modules and loaded a kernel, so that a command takes a fraction
    of a second.
    """

    def __init__(self, folder):
        self.folder, self._folder, self._number = folder / "here", folder, 0
        self.folder.mkdir()
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            env={**os.environ, "COLUMNS": "160", "CORRUPTSET_DEBUG": ""},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments, cwd=None):
        """Run ``corruptset ARGUMENTS``, and assert that there is no traceback and no warning."""
        self._number += 1
        outputs = {name: str(self._folder / f"{self._number}.{name}") for name in ("out", "err")}
        call = {"argv": ["corruptset", *map(str, arguments)], "cwd": str(cwd or self.folder), **outputs}
        print(json.dumps(call), file=self._process.stdin, flush=True)
        code = int(self._process.stdout.readline())
        result = Result(code, *(Path(path).read_text("utf-8") for path in outputs.values()))
        assert "Traceback" not in result.err, result.err
        assert "Warning" not in result.err, result.err
        return result

    def stop(self):
        """Stop the server."""
        self._process.communicate()
