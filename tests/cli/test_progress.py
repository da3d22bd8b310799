"""Progress: what a line says, and how often it is said where there is no terminal."""

from __future__ import annotations

import functools

import pytest

from corruptset.cli import progress
from corruptset.cli.progress import Progress, counts
from corruptset.generate.build import ProgressEvent

Event = functools.partial(ProgressEvent, "building", parts_total=4, images_total=400, sets_total=5)


def test_counts_name_sets_images_rate_and_time_left() -> None:
    assert counts(Event(images_done=100, sets_done=1, seconds=2.0)) == "1/5 sets, 100/400 images, 50 images/s, 6 s left"
    assert counts(Event()) == "0/5 sets, 0/400 images"
    assert counts(Event(images_done=400, sets_done=5, seconds=8.0)) == "5/5 sets, 400/400 images, 50 images/s"


def test_without_a_terminal_there_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with Progress("build") as shown:
        shown(ProgressEvent("compiling", parts_done=3, parts_total=19))
        for second in range(25):
            now = float(second)
            shown(Event(images_done=second, seconds=now))
        shown(Event(images_done=400, sets_done=5, seconds=25.0))
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0] == "build: compiling; 3/19"
    assert [line.split(", ")[1] for line in lines[1:]] == ["0/400 images", "10/400 images", "20/400 images", "400/400 images"]


def test_on_a_terminal_a_bar_is_drawn_and_taken_away(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    with Progress("build") as shown:
        assert shown._bar is not None
        shown(Event(images_done=100, sets_done=1, seconds=2.0))
        shown._bar.refresh()
    assert "1/5 sets, 100/400 images, 50 images/s, 6 s left" in capsys.readouterr().err


def test_a_verification_shows_its_steps(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress.time, "monotonic", lambda: 0.0)
    with Progress("verify") as shown:
        for done in (1, 2, 3, 3):
            shown.step("files", done, 3)
        shown.step("sets", 1, 9)
    assert capsys.readouterr().err.splitlines() == ["verify: files; 1/3", "verify: files; 3/3", "verify: sets; 1/9"]
