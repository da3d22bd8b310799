"""Test the progress lines, how often they are printed without a terminal, and when functions show them by default."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from corruptset import progress
from corruptset.corruptions import compile_notice
from corruptset.progress import ProgressDisplay, ProgressEvent, counts


def test_existing_work_takes_no_time():
    assert counts(212, 400, "images", first=200, seconds=2.0) == "212/400 images, 31 s left"


@pytest.fixture
def clock(monkeypatch):
    """A clock whose time a test sets."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock.now)
    return clock


def test_progress_without_terminal_prints_occasional_lines(capsys, clock):
    with ProgressDisplay("build") as display:
        display(ProgressEvent("compiling", parts_done=3, parts_total=19))
        for clock.now in map(float, range(25)):
            display(ProgressEvent("building", images_done=int(clock.now), images_total=400, seconds=clock.now))
        display(ProgressEvent("building", images_done=400, images_total=400, seconds=25.0))
        display(ProgressEvent("done"))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "build: compiling; 3/19 corruptions, once per machine",
        "build: building; 0/400 images",
        "build: building; 10/400 images",
        "build: building; 20/400 images, 6 min 20 s left",
        "build: building; 400/400 images",
    ]


@pytest.mark.parametrize("columns", [60, 110])
def test_progress_on_terminal_draws_and_removes_bar(columns, monkeypatch, capsys, clock):
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    with ProgressDisplay("build") as display:
        assert display._bar is not None
        for images in (0, 150_000):
            clock.now = images / 500
            display(ProgressEvent("building", images_done=images, images_total=3_750_000))
        display._bar.refresh()
    # These are the successive states of a line that is redrawn, without colours.
    plain_text = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().err)
    line = [line for line in re.split(r"(?:[\r\n]|\x1b\[[0-9;?]*[A-Za-z])+", plain_text) if "left" in line][-1]
    assert "build: building" in line
    assert "150000/3750000 images, 2 h 00 min left" in line
    assert len(line) <= columns
    assert len(re.findall("[━╸╺]", line)) >= {60: 0, 110: 48}[columns]


COUNT = """
import time
from corruptset.progress import progress_function, say_line, shows_progress
from corruptset.corruptions import compile_notice

@shows_progress("count")
def count(most, *, progress=None):
    tell = progress_function(progress)
    for number in range(1, most + 1):
        time.sleep({pause})
        tell("numbers", number, most)
"""


def test_progress_callback_is_called_and_nothing_is_printed_without_terminal(capsys):
    names = {}
    exec(COUNT.format(pause=0), names)
    count, events = names["count"], []
    count(2, progress=lambda *step: events.append(step))
    assert events == [("numbers", 1, 2), ("numbers", 2, 2)]
    for nobody in (False, None):
        count(2, progress=nobody)
    assert capsys.readouterr().err == ""
    count(2, progress=True)
    assert capsys.readouterr().err.splitlines() == ["count: numbers; 1/2", "count: numbers; 2/2"]


@pytest.mark.parametrize(("asked", "shown"), [(None, True), pytest.param(False, False, marks=pytest.mark.ci)])
def test_script_on_terminal_shows_bar_unless_disabled(asked, shown):
    script = COUNT.format(pause=0.3) + f"count(3, progress={asked})"
    main, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    subprocess.run([sys.executable, "-c", script], stderr=terminal, env=environment, check=True)
    os.write(terminal, b"end")
    text = b""
    while not text.endswith(b"end"):
        text += os.read(main, 4096)
    os.close(terminal)
    os.close(main)
    assert (b"count: numbers" in text, b"1/3" in text, text == b"end") == (shown, shown, not shown)


@pytest.mark.ci
def test_notebook_shows_one_line_and_nothing_on_stderr():
    """Test the messages that a real notebook kernel sends, and their order."""
    import nbformat
    from nbclient import NotebookClient

    cell = COUNT.format(pause=0.25) + 'count(8)\nsay_line(compile_notice.SENTENCE)\nprint("end")'
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    messages = []

    class Client(NotebookClient):
        def process_message(self, message, *args):
            messages.append(message)
            return super().process_message(message, *args)

    Client(notebook, timeout=120).execute()
    assert {message["content"]["name"] for message in messages if message["msg_type"] == "stream"} == {"stdout"}
    states = [
        message["content"]["data"]
        for message in messages
        if message["msg_type"] in ("display_data", "update_display_data")
    ]
    assert [state["text/plain"] for state in states[:2]] == ["count: starting", "count: numbers; 1/8"]
    assert re.fullmatch("count: numbers; 3/8, .* left", states[3]["text/plain"])
    assert '<progress value="0.375">' in states[3]["text/html"]
    assert states[-1] == {"text/plain": "", "text/html": ""}
    line, *outputs = notebook.cells[0].outputs
    assert line["data"] == states[-1]
    assert "".join(item["text"] for item in outputs) == f"{compile_notice.SENTENCE}\nend\n"
