"""docs/architecture.md says which functions a build goes through, and in which order: a real build is held
against it.
"""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path

from typer.testing import CliRunner

from corruptset.cli.app import app

PAGE = Path(__file__).resolve().parents[2] / "docs/architecture.md"
BUILD = "build imagenet-c --sets contrast/1,brightness/* --samples 2 --jobs 1 --out"
FIRST, LAST = "generate/work/worker.py: process", "generate/work/sidecars.py: write_sidecar"
"""Of what is done for each part."""


def recorded(walk, work):
    """Return the calls of a walk's functions while something works, in the order in which they were entered, in all
    threads.
    """
    calls, functions = [], {name.partition(": ")[2] for name in walk}

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_name in functions:
            file = re.sub(r".*/(?=(cli|generate)/)", "", code.co_filename)
            if (name := f"{file}: {code.co_name}") in walk:
                calls.append(name)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def test_a_build_goes_through_the_functions_of_the_page_in_its_order(tmp_path):
    section = PAGE.read_text("utf-8").split("## The walk of a command")[1].split("\n## ")[0]
    walk = re.findall(r"`((?:cli|generate)/[\w/]+\.py: \w+)`", section)
    assert len(walk) == len(set(walk)) > 15
    arguments = [*BUILD.split(), str(tmp_path)]
    calls = recorded(set(walk), lambda: CliRunner().invoke(app, arguments, catch_exceptions=False))
    assert list(dict.fromkeys(calls)) == walk
    start, stop = calls.index(FIRST), len(calls) - calls[::-1].index(LAST)
    once = [name for name in walk if name not in calls[start:stop]]
    assert len(once) > 10
    assert [calls.count(name) for name in once] == [1] * len(once)
