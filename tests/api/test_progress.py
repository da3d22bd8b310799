"""Progress: what a line says, how often it is said where there is no terminal, and when a function shows it by itself."""

from __future__ import annotations

import functools
import os
import pty
import subprocess
import sys
from collections.abc import Callable

import pytest

from corruptset import progress
from corruptset.progress import ProgressDisplay, ProgressEvent, counts, shows_progress, told

Event = functools.partial(ProgressEvent, "building", parts_total=4, images_total=400, sets_total=5)


def test_counts_name_sets_images_rate_and_time_left() -> None:
    assert counts(Event(images_done=100, sets_done=1, seconds=2.0)) == "1/5 sets, 100/400 images, 50 images/s, 6 s left"
    assert counts(Event()) == "0/5 sets, 0/400 images"
    assert counts(Event(images_done=400, sets_done=5, seconds=8.0)) == "5/5 sets, 400/400 images, 50 images/s"


def test_without_a_terminal_there_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with ProgressDisplay("build") as shown:
        shown(ProgressEvent("compiling", parts_done=3, parts_total=19))
        for second in range(25):
            now = float(second)
            shown(Event(images_done=second, seconds=now))
        shown(Event(images_done=400, sets_done=5, seconds=25.0))
        shown(ProgressEvent("done"))
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0] == "build: compiling; 3 of 19 corruptions, once on a machine"
    assert [line.split(", ")[1] for line in lines[1:]] == ["0/400 images", "10/400 images", "20/400 images", "400/400 images"]


@pytest.mark.parametrize(("columns", "said"), [(60, ""), (80, ""), (110, "3/75 sets, "), (160, "3/75 sets, ")])
def test_on_a_terminal_a_bar_is_drawn_and_taken_away(
    columns: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    with ProgressDisplay("build") as shown:
        assert shown._bar is not None
        shown(ProgressEvent("building", images_done=150_000, images_total=3_750_000, sets_done=3, sets_total=75, seconds=300.0))
        shown._bar.refresh()
    rate = "500 images/s, " if columns == 160 else ""
    assert f"{said}150000/3750000 images, {rate}2 h 00 min left" in capsys.readouterr().err


def test_steps_are_shown_with_their_counts(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress.time, "monotonic", lambda: 0.0)
    with ProgressDisplay("verify") as shown:
        for done in (1, 2, 3, 3):
            shown("files", done, 3)
        shown("sets", 1, 9)
    assert capsys.readouterr().err.splitlines() == ["verify: files; 1/3", "verify: files; 3/3", "verify: sets; 1/9"]


@shows_progress("count")
def count(most: int, *, progress: Callable[..., None] | bool | None = None) -> int:
    """Count, and tell each number."""
    tell = told(progress)
    for number in range(1, most + 1):
        tell("numbers", number, most)
    return most


def test_a_callable_is_told_and_nothing_is_shown_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[str, int, int]] = []
    assert count(2, progress=lambda *step: seen.append(step)) == 2
    assert seen == [("numbers", 1, 2), ("numbers", 2, 2)]
    assert count(2) == count(2, progress=False) == count(2, progress=None) == 2
    assert capsys.readouterr().err == ""
    count(2, progress=True)
    assert capsys.readouterr().err.splitlines() == ["count: numbers; 1/2", "count: numbers; 2/2"]


@pytest.mark.parametrize(("asked", "shown"), [("None", True), ("False", False), ("True", True)])
def test_a_script_on_a_terminal_shows_a_bar_unless_it_says_no(asked: str, shown: bool) -> None:
    script = f"""
import time
from corruptset.progress import shows_progress, told
@shows_progress("count")
def count(*, progress=None):
    told(progress)("numbers", 1, 2)
    time.sleep(0.3)
count(progress={asked})
print("end")
"""
    main, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=terminal, text=True, env=environment, check=True)
    os.close(terminal)
    text = b""
    while chunk := _read(main):
        text += chunk
    os.close(main)
    assert done.stdout == "end\n"
    assert (b"count: numbers" in text and b"1/2" in text) == shown
    assert shown or text == b""


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # the other end is closed
        return b""


class _Kernel:
    """What IPython's get_ipython returns in a notebook."""


_Kernel.__name__ = "ZMQInteractiveShell"


def test_in_a_notebook_progress_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "IPython", type(sys)("IPython"))
    monkeypatch.setattr("builtins.get_ipython", _Kernel, raising=False)
    assert progress.watched()
    monkeypatch.setattr(progress, "find_spec", lambda name: None)  # without ipywidgets rich would only warn
    count(2)
    assert capsys.readouterr().err.splitlines() == ["count: numbers; 1/2", "count: numbers; 2/2"]
