"""docs/use-it-with.md as code: its blocks, and how to run them."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/use-it-with.md"
BLOCKS = re.findall(r"```(sh|python)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


def snippets(word: str) -> list[str]:
    """Return the page's Python snippets that have a word in them."""
    return [text for kind, text in BLOCKS if kind == "python" and word in text]


def corruptset_runs(line: str) -> None:
    """Run a line of the page in this process."""
    from corruptset.cli import main

    before, sys.argv = sys.argv, shlex.split(line)
    try:
        main()
    except SystemExit as left:
        if left.code:
            raise AssertionError(f"{line} leaves with {left.code}") from left
    finally:
        sys.argv = before


def run(text: str) -> dict[str, Any]:
    """Run a snippet and return its names."""
    names: dict[str, Any] = {}
    exec(text, names)
    return names
