"""docs/architecture.md says which functions a build goes through, and in which order: a real build is held
against it.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from typer.testing import CliRunner

import corruptset
from corruptset.cli.app import app

ROOT = Path(corruptset.__file__).parent
PAGE = Path(__file__).resolve().parents[2] / "docs/architecture.md"
PER_PART = "generate/work/worker.py: process"


def documented_walk() -> list[str]:
    """Return the functions of the page's walk, in its order."""
    section = PAGE.read_text("utf-8").split("## The walk of a command")[1].split("\n## ")[0]
    return re.findall(r"`((?:cli|generate)/[\w/]+\.py: \w+)`", section)


def recorded_walk(walk: list[str], work: Callable[[], Any]) -> list[str]:
    """Return the calls of the walk's functions while something works, in the order in which they were entered, in all
    threads.
    """
    names = set(walk)
    calls: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and ("/generate/" in code.co_filename or "/cli/" in code.co_filename):
            parts = Path(code.co_filename).parts
            start = max(i for i, part in enumerate(parts) if part in ("generate", "cli"))
            name = f"{'/'.join(parts[start:])}: {code.co_name}"
            if name in names:
                calls.append(name)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def test_a_build_goes_through_the_functions_of_the_page_in_its_order(tmp_path: Path) -> None:
    walk = documented_walk()
    assert len(walk) == len(set(walk)) > 15
    arguments = [
        "build",
        "imagenet-c",
        "--sets",
        "contrast/1,brightness/*",
        "--samples",
        "2",
        "--jobs",
        "1",
        "--out",
        str(tmp_path),
    ]
    calls = recorded_walk(walk, lambda: CliRunner().invoke(app, arguments, catch_exceptions=False))
    assert list(dict.fromkeys(calls)) == walk
    start, stop = calls.index(PER_PART), len(calls) - 1 - calls[::-1].index("generate/work/sidecars.py: write_sidecar")
    once = [name for name in walk if name not in calls[start : stop + 1]]
    assert len(once) > 10
    assert [calls.count(name) for name in once] == [1] * len(once)
