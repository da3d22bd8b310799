"""Load stream recipes, and compute the sequence of sets that keeps a model's accuracy near a baseline.

References
----------
Press, Schneider, Kümmerer & Bethge 2023, RDumb: A simple approach that questions our progress in continual test-time
adaptation, NeurIPS, and its released generator (oripress/CCC).
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
from corruptset.error_lines import error_lines
from corruptset.errors import RecipeError, first_few, problems_message
from corruptset.files import parse_toml, read_text
from corruptset.generate.recipes.file_models import CorruptionName, RecipeTable
from corruptset.generate.recipes.recipe import Recipe, recipe_from_values

SHIPPED = Path(__file__).with_name("recipes")
STREAM_VERSION = 1
"""The version of a stream's random draws. It is part of every key."""


class StreamTable(RecipeTable):
    """The table ``[stream]`` of a recipe. The README describes its keys."""

    corruptions: tuple[CorruptionName, ...] = Field(min_length=2)
    baseline: float = Field(ge=0, le=100)
    step: float = Field(0.25, gt=0, le=1, multiple_of=0.25)
    speed: PositiveInt = 1000
    length: PositiveInt = 7_500_000
    crops: Literal["random", "preprocessing"] = "random"
    tar: PositiveInt = 25_000

    @property
    def severities(self) -> list[float]:
        """The severities in the grid, from 0 to 5."""
        return [severity_number(k * self.step) or 0 for k in range(round(5 / self.step) + 1)]

    @property
    def cells(self) -> list[str]:
        """The ids of the sets in the grid: all combinations of two severities for each ordered pair of corruptions."""
        grid = product(permutations(self.corruptions, 2), self.severities, self.severities)
        return sorted({cell_id(one, s1, two, s2) for (one, two), s1, s2 in grid if s1 or s2})


def load_stream(recipe: str | Path, **changes: int | None) -> tuple[Recipe, StreamTable]:
    """Return a recipe with the single-corruption sets of a stream, and the table ``[stream]``.

    Parameters
    ----------
    recipe : str or Path
        The name of a recipe that is included in the package, or a recipe file.
    **changes : int, optional
        Values that replace those in the recipe. None keeps the value in the recipe.

    Raises
    ------
    RecipeError
        If the recipe cannot be read or contains errors. The message lists all errors.
    """
    path, where = SHIPPED / f"{recipe}.toml", f"The stream {recipe}"
    path = path if path.exists() else Path(recipe)
    try:
        data = {"encoding": {"format": "jpeg", "optimize": True}, **parse_toml(read_text(path), where)}
        given = {name: value for name, value in changes.items() if value is not None}
        table = StreamTable.model_validate({**data.pop("stream", {}), **given})
    except ValidationError as e:
        raise RecipeError(problems_message(where, error_lines(e))) from None
    except (OSError, TypeError) as e:
        raise RecipeError(
            f"{where} cannot be read ({e}). Choose ccc-easy, ccc-medium, ccc-hard, or a recipe file (.toml)."
        ) from None
    made = recipe_from_values(
        data | {"sets": [{"corruptions": table.corruptions, "severities": table.severities[1:]}]}, where, path.parent
    )
    if made.preprocessing.kind in ("none", "surrogate") or made.encoding.lossless:
        raise RecipeError(
            f"{where} does not give JPEG images of one size. Set the encoding to jpeg, and the kind of preprocessing "
            "to resize-crop, central-resize, resize or pad."
        )
    return made, table


def grid_recipe(recipe: Recipe, table: StreamTable) -> str:
    """Return the text of a recipe that contains all sets whose accuracies determine the paths of a stream."""
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
quality = {recipe.encoding.model_dump()["quality"]}
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
    """Return the id of the set in a cell of the grid for a pair. A corruption with severity 0 is left out.

    Examples
    --------
    >>> cell_id("fog", 0.25, "snow", 3), cell_id("fog", 0, "snow", 3)
    ('fog-0p25+snow-3', 'snow/3')
    """
    return set_id([Stage(name, 1, severity) for name, severity in ((one, s1), (two, s2)) if severity])


def accuracies_of(table: StreamTable, path: str | Path | None) -> dict[str, float]:
    """Return a model's accuracy on each cell in per cent. Raise `RecipeError` if the file lacks some of them."""
    advice = (
        "Pass the scores.json that `corruptset score` writes for a reference model, or a CSV file with the columns set "
        "and accuracy (from 0 to 1). To write the recipe of the sets, use --grid FILE.toml."
    )
    if path is None:
        raise RecipeError(f"--accuracies is required. {advice}")
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
                raise ValueError(f"{name} occurs twice, or its accuracy {value} is not from 0 to 1")
            found[name] = 100 * value
    except Exception as e:  # A file in another format can raise any exception.
        raise RecipeError(f"--accuracies {path} cannot be used ({type(e).__name__}: {e}). {advice}") from None
    cells = table.cells
    if missing := [name for name in cells if name not in found]:
        raise RecipeError(
            f"The accuracies of {len(missing)} of {len(cells)} sets are missing: {first_few(missing)}. Write the "
            "recipe of all sets with --grid FILE.toml, build it, and run predict and score on it."
        )
    return {name: found[name] for name in cells}


Cell = tuple[int, int]
Way = tuple[float, list[Cell]]
"""The sum of the accuracies along a path, and the cells on the path."""


def find_path(accuracy: list[list[float]], baseline: float) -> list[Cell]:
    """Return the cells (i, j) of the path through a grid whose mean accuracy is nearest to a baseline.

    A path starts at a cell (i, 0) with i > 0, and ends at a cell (0, j) with j > 0. The cell after (i, j) is (i - 1, j)
    or (i, j + 1). For each cell, the search keeps the path to the end whose mean accuracy is nearer to the baseline. If
    both paths are equally near, it keeps the one through (i, j + 1). The path starts at the cell whose best path is
    nearest to the baseline. Among equally near cells, it starts at the one with the lowest i.

    Parameters
    ----------
    accuracy : list of list of float
        The accuracies, by severity i of the first corruption and severity j of the second, in steps of the grid.
    baseline : float
        The desired mean accuracy, in the same unit.
    """
    size = len(accuracy)
    best: dict[Cell, Way] = {}  # The best path from each cell to the end.

    def nearest(ways: list[Way]) -> Way:
        return min(ways, key=lambda way: abs(way[0] / len(way[1]) - baseline))

    for i, j in product(range(size), reversed(range(size))):
        ways = [best[step] for step in ((i, j + 1), (i - 1, j)) if step in best] if i else [(0.0, [])]
        if i or j:
            best[i, j] = nearest([(total + accuracy[i][j], [(i, j), *path]) for total, path in ways])
    return nearest([best[i, 0] for i in range(1, size)])[1]


def walk(table: StreamTable, accuracies: dict[str, float], seed: int) -> Iterator[str]:
    """Yield the set at each step of an endless stream.

    The sets first follow a path through the severities of a pair of corruptions. At the end of the path, the second
    corruption becomes the first corruption of a new pair. The second corruption of the new pair is drawn with the seed.
    """

    @cache
    def path(one: str, two: str) -> list[str]:
        cells = [[cell_id(one, a, two, b) for b in table.severities] for a in table.severities]
        grid = [[accuracies.get(cell, 0.0) for cell in row] for row in cells]  # Clean images have no accuracy.
        return [cells[i][j] for i, j in find_path(grid, table.baseline)]

    one = ""
    for draw in count():
        others = [name for name in table.corruptions if name != one]
        two = others[int(hash64(["stream", STREAM_VERSION, seed, "walk", draw])) * len(others) >> 64]
        yield from path(one, two) if one else ()
        one = two
