"""The commands that README and docs/ show are ones that the command line takes; those that need no data of the reader's
are run.
"""

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
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
OWN = {"my-recipe.toml", "own.toml", "grid.toml"}
"""Recipes that the pages tell the reader to write."""


def shown(text: str) -> list[str]:
    """Return the commands of a page: lines of fenced blocks of a shell, and lines indented by four."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    fenced = "\n".join(block for kind, block in blocks if kind in ("", "sh", "bash", "console"))
    lines = fenced.split("\n") + re.findall(r"^ {4}(\S.*)$", text, re.MULTILINE)
    return list(
        dict.fromkeys(line.removeprefix("$ ") for line in lines if line.removeprefix("$ ").startswith("corruptset "))
    )


CASES = [(page.name, line) for page in PAGES for line in shown(page.read_text(encoding="utf-8"))]
WITHOUT_MORE = re.compile(
    r"corruptset (list|corrupt|preview)\b(?!.*--(?:surrogate|plugin))|corruptset show [a-z_-]+( |$)"
)
RUN = [(page, line) for page, line in CASES if WITHOUT_MORE.match(line)]
MANY = re.compile(r"--recipe image-degrade-30")
"""Half of the time of all, so marked ci."""


@pytest.mark.parametrize("page", sorted({page for page, _ in CASES}))
def test_the_command_line_takes_what_pages_show(page):
    for line in (line for other, line in CASES if other == page):
        _, name, *arguments = shlex.split(line, comments=True)
        try:
            given = COMMANDS[name].make_context(name, arguments).params
        except Exception as e:  # of typer
            raise AssertionError(line) from e
        recipe, source = given.get("recipe"), given.get("source")
        if name in ("build", "plan") and recipe != "pairs" and recipe not in OWN:
            load_recipe(recipe)
        if name in ("build", "plan", "rebuild") and source is not None:
            assert source.partition(":")[0] in SCHEMES, line
    assert len(CASES) > 70
    assert len(RUN) > 12


@pytest.mark.parametrize(
    ("page", "line"), [pytest.param(*case, marks=[pytest.mark.ci] if MANY.search(case[1]) else []) for case in RUN]
)
def test_it_runs(page, line, run, tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (60, 80, 3), np.uint8)
    Image.fromarray(pixels).resize((240, 180)).save(tmp_path / "photo.jpg")
    before = set(tmp_path.iterdir())
    done = run(*shlex.split(line, comments=True)[1:])
    assert done.code == 0
    new = set(tmp_path.iterdir()) - before
    if line.split()[1] in ("corrupt", "preview"):
        (made,) = new
        with Image.open(made) as picture:
            assert picture.size[0] >= 180
    else:
        assert done.out.strip()
        assert not new


def test_pairs_of_the_pages_are_sets(run):
    lines = [line for _, line in CASES if re.match("corruptset build '?pairs", line)]
    assert len(lines) >= 2
    for line in lines:
        arguments = shlex.split(line, comments=True)[2:]
        done = run("plan --source sample --json", *arguments)
        assert done.code == 0
        assert done.json["sets"]
