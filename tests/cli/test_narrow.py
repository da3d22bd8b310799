"""Test tables in narrow terminals, in which no important text is truncated."""

from __future__ import annotations

import os
import pty
import subprocess

import pytest
from commands import COMMAND

from corruptset.cli.records import put_rows
from corruptset.corruptions.registry import corruption_names
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.recipes.recipe_files import recipe_names


@pytest.mark.parametrize("columns", [60, 160])
def test_names_are_complete_at_any_width(columns, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    texts = {
        kind_of_name: run.succeeds("list", kind_of_name).out
        for kind_of_name in ("corruptions", "recipes", "sources", "calibrations")
    }
    texts["sets"] = run.succeeds("show two-factor-69").out
    for kind_of_name, text in texts.items():
        assert kind_of_name == "sets" or max(map(len, text.splitlines())) <= columns
        assert "…" not in text
    assert set(corruption_names()) <= set(texts["corruptions"].split())
    assert {line.split()[0] for line in texts["recipes"].splitlines() if line[0] != " "} == {"recipe", *recipe_names()}
    heading = texts["corruptions"].splitlines()[0].split()
    assert [word in heading for word in ("role", "parameters", "options")] == [columns > 80, columns > 60, columns > 80]
    assert {spec.id for spec in load_recipe("two-factor-69").resolve().sets} <= set(texts["sets"].split())


def test_cells_wrap_before_columns_are_dropped(monkeypatch, capsys):
    for columns, lines in (
        (80, ["name         n  words", "a_long_name  7  words words words words words words words words"]),
        (36, ["name         n  words", "a_long_name  7  words words words"]),
        (35, ["name         words", "a_long_name  words words words"]),
    ):
        monkeypatch.setenv("COLUMNS", str(columns))
        put_rows(["name", "n", "words"], [["a_long_name", "7", "words " * 8]], right=["n"], spare=["n"])
        assert [line.rstrip() for line in capsys.readouterr().out.splitlines()[:2]] == lines


def test_plan_ends_with_summary(run, recipe, crops):
    plan = ["plan", recipe, "--source", f"folder:{crops}"]
    out = run.succeeds(*plan).out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    families = ["chains of 2 1 contrast+brightness", "clean 1", "digital 5 contrast 1-5", "weather 5 brightness 1-5"]
    assert sorted(lines[1:5]) == families
    assert "contrast/3" not in out
    assert any(line.startswith("Sets: 12 of small-c 1.0.0") for line in lines[6:])
    output = run.succeeds(*plan, "--sets", "contrast/*", "--list-sets").out
    assert [line.split()[0] for line in output.splitlines()[1:6]] == [f"contrast/{n}" for n in range(1, 6)]
    assert "Sets:" in output.partition("\n\n")[2]


def test_terminal_output_is_coloured():
    main, terminal = pty.openpty()
    variables = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    environment = {**variables, "TERM": "xterm-256color"}
    result = subprocess.run([COMMAND, "show", "no-such-thing"], stderr=terminal, env=environment)
    text = os.read(main, 4096)
    os.close(terminal)
    os.close(main)
    assert (result.returncode, b"no-such-thing" in text, b"\x1b[31m" in text) == (2, True, True)
