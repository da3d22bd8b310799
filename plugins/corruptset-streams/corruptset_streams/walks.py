"""Recipes of streams, and their walk: pairs of corruptions in a drawn order, each along the path that keeps a model's
accuracy.

Press, Schneider, Kümmerer & Bethge 2023, RDumb: A simple approach that questions our progress in continual test-time
adaptation, NeurIPS; released generator (oripress/CCC).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from functools import cache
from itertools import count, permutations, product
from pathlib import Path
from typing import Literal

from pydantic import Field, PositiveInt, ValidationError

from corruptset.corruptions.keys import hash64
from corruptset.corruptions.rows import severity_number
from corruptset.corruptions.stages import Stage, set_id
from corruptset.error_lines import mistake_lines
from corruptset.errors import RecipeError, first_few, mistakes
from corruptset.files import parse_toml, read_text
from corruptset.generate.recipes.file_models import CorruptionName, RecipeTable
from corruptset.generate.recipes.recipe import Recipe, located_recipe

SHIPPED = Path(__file__).with_name("recipes")
STREAM_VERSION = 1
"""Of everything that is drawn for a stream; part of every key."""


class StreamTable(RecipeTable):
    """``[stream]``; the README says what each key means."""

    corruptions: tuple[CorruptionName, ...] = Field(min_length=2)
    baseline: float = Field(ge=0, le=100)
    step: float = Field(0.25, gt=0, le=1, multiple_of=0.25)
    speed: PositiveInt = 1000
    length: PositiveInt = 7_500_000
    crops: Literal["random", "preprocessing"] = "random"
    tar: PositiveInt = 25_000

    @property
    def severities(self) -> list[float]:
        """Of the grid, from 0 to 5."""
        return [severity_number(k * self.step) or 0 for k in range(round(5 / self.step) + 1)]

    @property
    def cells(self) -> list[str]:
        """The sets of all pairs' grids."""
        grid = product(permutations(self.corruptions, 2), self.severities, self.severities)
        return sorted({cell_id(one, s1, two, s2) for (one, two), s1, s2 in grid if s1 or s2})


def load_stream(recipe: str | Path, **changes: int | None) -> tuple[Recipe, StreamTable]:
    """Return the recipe of the sets of one corruption that a stream is made of, and its table with other values
    (`changes`).

    `recipe` is the name of a stream that comes with the package, or a file; a `RecipeError` names its mistakes.
    """
    path, where = SHIPPED / f"{recipe}.toml", f"The stream {recipe}"
    path = path if path.exists() else Path(recipe)
    try:
        data = {"encoding": {"format": "jpeg", "optimize": True}, **parse_toml(read_text(path), where)}
        given = {name: value for name, value in changes.items() if value is not None}
        table = StreamTable.model_validate({**data.pop("stream", {}), **given})
    except ValidationError as e:
        raise RecipeError(mistakes(where, mistake_lines(e, StreamTable))) from None
    except (OSError, TypeError) as e:
        raise RecipeError(
            f"{where} cannot be read ({e}). Expected ccc-easy, ccc-medium, ccc-hard, or a recipe file (.toml)."
        ) from None
    made = located_recipe(
        data | {"sets": [{"corruptions": table.corruptions, "severities": table.severities[1:]}]}, where, path.parent
    )
    if made.preprocessing.kind in ("none", "surrogate") or made.encoding.lossless:
        raise RecipeError(f"{where}: expected JPEG images of one size: resize-crop, central-resize, resize or pad.")
    return made, table


def grid_recipe(recipe: Recipe, table: StreamTable) -> str:
    """Return the text of a recipe of all sets whose accuracy the paths of a stream depend on."""
    names, severities = json.dumps(table.corruptions), json.dumps(table.severities[1:])
    settings = "\n".join(f"{key} = {json.dumps(value)}" for key, value in recipe.preprocessing.as_json().items())
    return f"""\
name = "{recipe.name}-grid"
version = "{recipe.version}"
title = "What the paths of the stream {recipe.name} depend on"
calibration = "{recipe.calibration}"
scale = "{recipe.scale}"
[preprocessing]
{settings}
[encoding]
format = "jpeg"
quality = {recipe.encoding.as_json([])["quality"]}
[[sets]]
corruptions = {names}
severities = {severities}
[[pairs]]
first = {names}
second = {names}
severities = {severities}
orders = "given"
same = false
"""


def cell_id(one: str, s1: float, two: str, s2: float) -> str:
    """Return the id of the set that a cell of a pair's grid is; at severity 0 a corruption is absent.

    Examples
    --------
    >>> cell_id("fog", 0.25, "snow", 3), cell_id("fog", 0, "snow", 3)
    ('fog-0p25+snow-3', 'snow/3')
    """
    return set_id([Stage(name, 1, severity) for name, severity in ((one, s1), (two, s2)) if severity])


def accuracies_of(table: StreamTable, path: str | Path | None) -> dict[str, float]:
    """Return a model's accuracies of all cells, in per cent; raise `RecipeError` where a file does not have them."""
    expected = (
        "Expected the scores.json of `corruptset score` of a reference model, or a CSV with the columns set and "
        "accuracy, from 0 to 1. --grid FILE.toml writes the recipe of the sets."
    )
    if path is None:
        raise RecipeError(f"--accuracies is needed. {expected}")
    found: dict[str, float] = {}
    try:
        text = read_text(Path(path))
        if text.lstrip().startswith("{"):
            rows = [*json.loads(text)["sets"].items()]
        else:
            rows = [(row["set"], row) for row in csv.DictReader(text.splitlines())]
        for name, row in rows:
            value = float(row["accuracy"])
            if name in found or not 0 <= value <= 1:
                raise ValueError(f"{name} stands there twice, or its {value} is not from 0 to 1")
            found[name] = 100 * value
    except Exception as e:  # whatever a file of another form raises
        raise RecipeError(f"--accuracies {path} cannot be taken ({type(e).__name__}: {e}). {expected}") from None
    cells = table.cells
    if missing := [name for name in cells if name not in found]:
        raise RecipeError(
            f"The accuracies of {len(missing)} of {len(cells)} sets are missing: {first_few(missing)}. --grid "
            "FILE.toml writes a recipe of all of them: build it, predict, score."
        )
    return {name: found[name] for name in cells}


Cell = tuple[int, int]
Way = tuple[float, list[Cell]]
"""The sum of accuracies along a path, and its cells."""


def find_path(accuracy: list[list[float]], baseline: float) -> list[Cell]:
    """Return the cells (i, j) of the path through a grid whose mean accuracy is near to a baseline.

    A path begins at some (i, 0), i > 0, and ends at some (0, j), j > 0; from (i, j) it goes to (i - 1, j) or (i, j +
    1): to the one whose best path on, with (i, j) before it, has the mean nearer to the baseline; where both are as
    near, to (i, j + 1). Of the beginnings the nearest is taken, the lowest of those that are as near.
    ``accuracy[i][j]`` is that of the first corruption at severity i, then the second at severity j, in steps of the
    grid.
    """
    size = len(accuracy)
    best: dict[Cell, Way] = {}  # from a cell on

    def nearest(ways: list[Way]) -> Way:
        return min(ways, key=lambda way: abs(way[0] / len(way[1]) - baseline))

    for i, j in product(range(size), reversed(range(size))):
        ways = [best[step] for step in ((i, j + 1), (i - 1, j)) if step in best] if i else [(0.0, [])]
        if i or j:
            best[i, j] = nearest([(total + accuracy[i][j], [(i, j), *path]) for total, path in ways])
    return nearest([best[i, 0] for i in range(1, size)])[1]


def walk(table: StreamTable, accuracies: dict[str, float], seed: int) -> Iterator[str]:
    """Yield the sets of a stream's steps: along the path of a pair, then from its second corruption to a new one, drawn
    from the seed.
    """

    @cache
    def path(one: str, two: str) -> list[str]:
        cells = [[cell_id(one, a, two, b) for b in table.severities] for a in table.severities]
        grid = [[accuracies.get(cell, 0.0) for cell in row] for row in cells]  # the clean images have none
        return [cells[i][j] for i, j in find_path(grid, table.baseline)]

    one = ""
    for draw in count():
        others = [name for name in table.corruptions if name != one]
        two = others[int(hash64(["stream", STREAM_VERSION, seed, "walk", draw])) * len(others) >> 64]
        yield from path(one, two) if one else ()
        one = two
