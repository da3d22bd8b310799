"""Progress: what a line says, how often it is said where there is no terminal, and when a function shows it by
itself.
"""

from __future__ import annotations

import functools
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from corruptset import progress
from corruptset.corruptions import compile_notice
from corruptset.progress import ProgressDisplay, ProgressEvent, counts, progress_function, shows_progress

Event = functools.partial(ProgressEvent, "building", parts_total=4, images_total=400)


def test_what_was_there_before_took_no_time():
    assert counts(212, 400, "images", first=200, seconds=2.0) == "212/400 images, 31 s left"


def test_without_a_terminal_there_is_a_line_now_and_then(capsys, monkeypatch):
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with ProgressDisplay("build") as shown:
        shown(ProgressEvent("compiling", parts_done=3, parts_total=19))
        for second in range(25):
            now = float(second)
            shown(Event(images_done=second, seconds=now))
        shown(Event(images_done=400, seconds=25.0))
        shown(ProgressEvent("done"))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "build: compiling; 3/19 corruptions, once on a machine",
        "build: building; 0/400 images",
        "build: building; 10/400 images",
        "build: building; 20/400 images, 6 min 20 s left",
        "build: building; 400/400 images",
    ]


@pytest.mark.parametrize("columns", [60, 110])
def test_on_a_terminal_a_bar_is_drawn_and_taken_away(columns, monkeypatch, capsys):
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with ProgressDisplay("build") as shown:
        assert shown._bar is not None
        for images in (0, 150_000):
            now = images / 500
            shown(ProgressEvent("building", images_done=images, images_total=3_750_000))
        shown._bar.refresh()
    line = [line for line in drawn_lines(capsys.readouterr().err) if "left" in line][-1]
    assert "build: building" in line
    assert "150000/3750000 images, 2 h 00 min left" in line
    assert len(line) <= columns
    assert line.count("━") + line.count("╸") + line.count("╺") >= {60: 0, 110: 48}[columns]


def drawn_lines(text: str) -> list[str]:
    """Return the states of a line that is drawn again and again, without colours."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return [line for line in re.split(r"(?:[\r\n]|\x1b\[[0-9;?]*[A-Za-z])+", plain) if line.strip()]


@shows_progress("count")
def count(most: int, *, progress: Callable[..., None] | bool | None = None) -> int:
    """Count, and tell each number."""
    tell = progress_function(progress)
    for number in range(1, most + 1):
        tell("numbers", number, most)
    return most


def test_a_callable_is_told_and_nothing_is_shown_where_nobody_watches(capsys):
    seen: list[tuple[str, int, int]] = []
    assert count(2, progress=lambda *step: seen.append(step)) == 2
    assert seen == [("numbers", 1, 2), ("numbers", 2, 2)]
    assert count(2) == count(2, progress=False) == count(2, progress=None) == 2
    assert capsys.readouterr().err == ""
    count(2, progress=True)
    assert capsys.readouterr().err.splitlines() == ["count: numbers; 1/2", "count: numbers; 2/2"]


@pytest.mark.parametrize(("asked", "shown"), [("None", True), ("False", False)])
def test_a_script_on_a_terminal_shows_a_bar_unless_it_says_no(asked, shown):
    script = f"""
import time
from corruptset.progress import progress_function, shows_progress
@shows_progress("count")
def count(*, progress=None):
    progress_function(progress)("numbers", 1, 2)
    time.sleep(0.3)
count(progress={asked})
print("end")
"""
    main, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=terminal, text=True, env=environment, check=True
    )
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


NOTEBOOK = """
import time
from corruptset.progress import progress_function, say_line, shows_progress
from corruptset.corruptions import compile_notice

@shows_progress("count")
def count(most, *, progress=None):
    tell = progress_function(progress)
    for number in range(1, most + 1):
        time.sleep(0.25)
        tell("numbers", number, most)

count(8)
say_line(compile_notice.SENTENCE)
print("end")
"""


@pytest.mark.ci
def test_in_a_notebook_one_line_is_shown_and_nothing_goes_to_standard_error():
    """In a real kernel: what it sends, in order."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(NOTEBOOK)])
    sent: list[dict[str, Any]] = []

    class Client(NotebookClient):
        def process_message(self, message: dict[str, Any], *given: Any) -> Any:
            sent.append(message)
            return super().process_message(message, *given)

    Client(notebook, timeout=120).execute()
    assert {message["content"]["name"] for message in sent if message["msg_type"] == "stream"} == {"stdout"}
    states = [
        message["content"]["data"] for message in sent if message["msg_type"] in ("display_data", "update_display_data")
    ]
    assert [state["text/plain"] for state in states[:2]] == ["count: starting", "count: numbers; 1/8"]
    assert re.fullmatch("count: numbers; 3/8, .* left", states[3]["text/plain"])
    assert '<progress value="0.375">' in states[3]["text/html"]
    assert states[-1] == {"text/plain": "", "text/html": ""}
    line, *printed = notebook.cells[0].outputs
    assert line["data"] == states[-1]
    assert "".join(one["text"] for one in printed) == f"{compile_notice.SENTENCE}\nend\n"
