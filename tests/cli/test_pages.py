"""Test that the command line accepts the commands in README and docs/, and run those that need no data of the user."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image

from corruptset.cli.app import app
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.sources.source import SCHEMES

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = typer.main.get_command(app).commands
OWN = {"pairs", "my-recipe.toml", "own.toml", "grid.toml"}
"""Pairs, and recipes that the pages tell the reader to write."""


def documented_commands(text):
    """Return the commands of a page, which are lines of fenced shell blocks and lines indented by four spaces."""
    blocks = re.findall(r"^```(?:sh|bash|console)?\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = "\n".join(blocks).split("\n") + re.findall(r"^ {4}(\S.*)$", text, re.MULTILINE)
    return [line for line in (line.removeprefix("$ ") for line in lines) if line.startswith("corruptset ")]


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINES = list(dict.fromkeys(line for page in PAGES for line in documented_commands(page.read_text("utf-8"))))
WITHOUT_MORE = re.compile(
    r"corruptset (list|corrupt|preview)\b(?!.*--(?:surrogate|plugin))|corruptset show [a-z_-]+( |$)"
)
RUN = [line for line in LINES if WITHOUT_MORE.match(line)]
MANY = re.compile(r"--recipe image-degrade-30|corruptset preview(?!.*--sets)")
"""Previews of many sets take most of the time, so they are marked ci."""


def test_command_line_accepts_documented_commands(run):
    for line in LINES:
        _, name, *arguments = shlex.split(line, comments=True)
        try:
            options = COMMANDS[name].make_context(name, arguments).params
        except Exception as e:  # These are exceptions of typer.
            raise AssertionError(line) from e
        if name in ("build", "plan") and options["recipe"] not in OWN:
            load_recipe(options["recipe"])
        if name in ("build", "plan", "rebuild") and options["source"] is not None:
            assert options["source"].partition(":")[0] in SCHEMES, line
    assert len(LINES) > 70
    assert len(RUN) > 12
    pairs = [
        shlex.join(shlex.split(line, comments=True)[2:]) for line in LINES if re.match("corruptset build '?pairs", line)
    ]
    assert len(pairs) >= 2
    for line in pairs:
        assert run.succeeds("plan --samples 1 --json", *shlex.split(line), "--source", "sample").json["sets"]


@pytest.mark.parametrize("line", [pytest.param(line, marks=[pytest.mark.ci] * bool(MANY.search(line))) for line in RUN])
def test_documented_commands_run(line, run, tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (60, 80, 3), np.uint8)
    Image.fromarray(pixels).resize((240, 180)).save(tmp_path / "photo.jpg")
    result = run.succeeds(*shlex.split(line, comments=True)[1:])
    results = set(tmp_path.iterdir()) - {tmp_path / "photo.jpg"}
    if line.split()[1] in ("corrupt", "preview"):
        with Image.open(results.pop()) as image:
            assert image.size[0] >= 180
    assert result.out.strip()
    assert not results
