"""docs/use-it-with.md and docs/evaluate.md as code: their blocks, and how to run them as a reader does."""

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
    """Return the kind and the text of each block of shell and Python on a page."""
    return re.findall(r"```(sh|python)\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


BLOCKS = blocks(PAGE)
LINES = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines() if not line.startswith("pip ")]
"""The page's commands in their order, but those that install loaders."""


def snippets(word: str) -> list[str]:
    """Return the page's Python snippets that have a word in them."""
    return [text for kind, text in BLOCKS if kind == "python" and word in text]


def lines(word: str) -> list[str]:
    """Return the page's commands that have a word in them."""
    return [line for line in LINES if word in line]


def shell(line: str, folder: Path) -> str:
    """Run a line of the page in a folder, by the shell, and return what it prints; ``corruptset`` and ``python`` are
    this environment's.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    if done.returncode:
        raise AssertionError(f"{line}\nleaves with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def run_corruptset(line: str) -> None:
    """Run a command of corruptset in this process: for tests of many, where Python's start would be most of the
    time.
    """
    if code := exit_code(*shlex.split(line)[1:]):
        raise AssertionError(f"{line} leaves with {code}")


def run_line(line: str, folder: Path) -> None:
    """Run a line of the page in a folder: builds in one process and without a page, which loaders do not see."""
    if not line.startswith("corruptset "):
        shell(line, folder)
        return
    with contextlib.chdir(folder):
        run_corruptset(line + " --jobs 1 --no-page" * line.startswith("corruptset build "))


def run_snippet(text: str, **names: Any) -> dict[str, Any]:
    """Run a snippet, with names that stand before it, and return its names."""
    exec(text, names)
    return names
