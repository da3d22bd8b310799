"""The command as a user runs it: the installed console script, or a process that has corruptset's modules already."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = Path(sys.executable).with_name("corruptset")

SERVER = """
import json, os, sys
import corruptset.cli.app, corruptset.generate.reproduction.verify, corruptset.generate.build
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


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON object."""
        return json.loads(self.out)


class Server:
    """Forks a process for each command. It has imported what commands import, so that a command takes a fraction of a
    second.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._number = 0
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            env={**os.environ, "COLUMNS": "160", "CORRUPTSET_DEBUG": ""},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def call(self, *arguments: Any, cwd: Path | None = None) -> Done:
        """Run ``corruptset ARGUMENTS``; a traceback or a warning on standard error fails the test."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._number += 1
        out, err = (self.folder / f"{self._number}.{name}" for name in ("out", "err"))
        argv = ["corruptset", *map(str, arguments)]
        print(
            json.dumps({"argv": argv, "cwd": str(cwd or self.folder), "out": str(out), "err": str(err)}),
            file=self._process.stdin,
            flush=True,
        )
        code = int(self._process.stdout.readline())
        done = Done(code, out.read_text("utf-8"), err.read_text("utf-8"))
        assert "Traceback" not in done.err, done.err
        assert "Warning" not in done.err, done.err
        return done

    def stop(self) -> None:
        """End the server."""
        self._process.communicate()
