"""docs/sources.md says what there is, and its commands are ones that the command line takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import typer

from corruptset.cli.app import app
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.sources.source import SCHEMES

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "sources.md").read_text(encoding="utf-8")


def test_every_source_and_option_is_described():
    for name, scheme in SCHEMES.items():
        assert f"`{name}:" in PAGE or f"`{name}`" in PAGE
        assert all(f"{option}=" in PAGE for option in scheme.takes)
    named = set(re.findall(r"`([a-z0-9]+):[A-Z]", PAGE))
    assert named <= set(SCHEMES)


def test_the_commands_are_taken():
    commands = typer.main.get_command(app).commands
    lines = [line for line in PAGE.split("\n") if line.startswith(("corruptset plan ", "corruptset build "))]
    assert len(lines) >= 7
    for line in lines:
        _, name, *arguments = shlex.split(line, comments=True)
        context = commands[name].make_context(name, arguments)
        load_recipe(context.params["recipe"])
        assert context.params["source"].partition(":")[0] in SCHEMES
