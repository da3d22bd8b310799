"""Extract and run the commands and snippets of docs/use-it-with.md and docs/evaluate.md."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from commands import exit_code

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/use-it-with.md"
EVALUATE = ROOT / "docs/evaluate.md"


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the language and the text of each block of shell or Python on a page."""
    return re.findall(r"```(sh|python)\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


BLOCKS = blocks(PAGE)
LINES = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines() if not line.startswith("pip ")]
"""The commands of the page in their order, except those that install packages."""


def snippets(word: str) -> list[str]:
    """Return the Python snippets of the page that contain a word."""
    return [text for kind, text in BLOCKS if kind == "python" and word in text]


def lines(word: str) -> list[str]:
    """Return the commands of the page that contain a word."""
    return [line for line in LINES if word in line]


def shell(line: str, folder: Path) -> str:
    """Run a command in a folder with the shell and this environment, and return its output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-c", line], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    if result.returncode:
        raise AssertionError(f"{line}\nexits with code {result.returncode}:\n{result.stdout}{result.stderr}")
    return result.stdout


def run_corruptset(line: str) -> None:
    """Run a command of corruptset in this process, which is much faster than starting Python."""
    if code := exit_code(*shlex.split(line)[1:]):
        raise AssertionError(f"{line} exits with code {code}")


def run_line(line: str, folder: Path) -> None:
    """Run a command of the page in a folder. Builds use one process and write no page."""
    if not line.startswith("corruptset "):
        shell(line, folder)
        return
    with contextlib.chdir(folder):
        run_corruptset(line + " --jobs 1 --no-page" * line.startswith("corruptset build "))


def run_snippet(text: str, **names: Any) -> dict[str, Any]:
    """Run a snippet with some variables, and return all variables afterwards."""
    exec(text, names)
    return names
