"""Tables in narrow terminals: nothing that matters is cut, and the summary of a plan stands at its end."""

from __future__ import annotations

import os
import pty
import subprocess

import pytest
from commands import COMMAND

from corruptset.cli.records import put_rows
from corruptset.corruptions.registry import corruption_names
from corruptset.generate.recipes.recipe import load_recipe, recipe_names


@pytest.mark.parametrize("columns", [60, 160])
def test_names_are_whole_at_any_width(columns, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    texts = {what: run("list", what).out for what in ("corruptions", "recipes", "sources", "calibrations")}
    for text in texts.values():
        assert max(map(len, text.splitlines())) <= columns
        assert "…" not in text
    assert {name for name in corruption_names() if name not in texts["corruptions"].split()} == set()
    assert {line.split()[0] for line in texts["recipes"].splitlines() if line[0] != " "} == {"recipe", *recipe_names()}
    heading = texts["corruptions"].splitlines()[0].split()
    assert [word in heading for word in ("role", "parameters", "options")] == [columns > 80, columns > 60, columns > 80]
    ids = [spec.id for spec in load_recipe("two-factor-69").resolve().sets]
    shown = run("show two-factor-69").out
    assert {name for name in ids if name not in shown.split()} == set()
    assert "…" not in shown


def test_a_cell_takes_several_lines_before_columns_are_left_out(monkeypatch, capsys):
    rows = [["a_long_name", "7", "words " * 8]]

    def lines(columns: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        put_rows(["name", "n", "words"], rows, right=["n"], spare=["n"])
        return [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    assert lines(80)[1:] == ["a_long_name  7  words words words words words words words words"]
    assert lines(36)[:2] == ["name         n  words", "a_long_name  7  words words words"]
    assert lines(35)[:2] == ["name         words", "a_long_name  words words words"]


def test_a_plan_ends_with_its_summary(run):
    done = run("plan imagenet-c --sets 'fog/*,snow/2,glass_blur/*,clean'")
    lines = [line.rstrip() for line in done.out.splitlines()]
    assert {line.split()[0]: line.split(None, 2)[1:] for line in lines[1:4]} == {
        "clean": ["1"],
        "blur": ["5", "glass_blur 1-5"],
        "weather": ["6", "snow 2, fog 1-5"],
    }
    assert "fog/3" not in done.out
    assert any(line.startswith("Sets:   12 of imagenet-c 1.1.0") for line in lines[5:])
    listed = run("plan imagenet-c --sets 'fog/*' --list-sets").out.splitlines()
    listed = [line.rstrip() for line in listed]
    assert [line.split()[0] for line in listed[1:6]] == [f"fog/{n}" for n in range(1, 6)]
    assert listed.index("") < next(i for i, line in enumerate(listed) if line.startswith("Sets:"))


@pytest.mark.parametrize(("colour", "escapes"), [({"NO_COLOR": "1"}, False), ({}, True)])
def test_a_terminal_gets_colours_unless_they_are_not_wanted(colour, escapes):
    main, terminal = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    environment = {**kept, "TERM": "xterm-256color", **colour}
    done = subprocess.run([COMMAND, "show", "no-such-thing"], stderr=terminal, env=environment, check=False)
    text = os.read(main, 4096)
    os.close(terminal)
    os.close(main)
    assert done.returncode == 2
    assert b"no-such-thing" in text
    assert (b"\x1b[31m" in text) == escapes
