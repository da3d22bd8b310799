"""The command in a shell: pipes, streams, single pictures."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from commands import COMMAND


def test_a_reader_that_leaves_is_no_failure() -> None:
    shell = f"set -o pipefail; '{COMMAND}' show glass_blur | head -n 1"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Corruption: glass_blur")
    for arguments in ("list --json", "build --help"):
        shell = f"'{COMMAND}' {arguments} | true; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=120)
        assert (done.stdout, done.stderr) == ("0\n", "")


def test_closed_and_narrow_streams_are_no_failure() -> None:
    done = subprocess.run(["bash", "-c", f"'{COMMAND}' list >&-; echo $?"], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("0\n", "")
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([COMMAND, "show", "Ünbekannt"], capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 2
    assert "\\xdcnbekannt" in done.stderr


def test_pictures_as_the_readme_makes_them(run: Any, tmp_path: Path) -> None:
    done = run("corrupt", "sample:rocket", "contrast", "--severity", "4", "--out", "snow.png", cwd=tmp_path)
    assert done.code == 0, done.err
    done = run("corrupt", "snow.png", "contrast-2+pixelate-5", cwd=tmp_path)
    assert done.code == 0, done.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["snow-contrast-2+pixelate-5.png", "snow.png"]


def test_version(run: Any) -> None:
    from importlib.metadata import version

    assert run("--version").out == f"corruptset {version('corruptset')}\n"
