"""The accuracies of a reference model that a stream's paths follow: from a scores file, or a CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from ...errors import RecipeError, first_few
from ...files import read_text, reason
from .stream_recipe import Cell, StreamRecipe, cell_id


def read_accuracies(path: str | Path) -> dict[str, float]:
    """Return set id -> accuracy, 0..1, of a file.

    Parameters
    ----------
    path : path
        The ``scores.json`` of ``corruptset score``, or a CSV with the columns ``set`` and ``accuracy``.

    Raises
    ------
    RecipeError
        It cannot be read, or is neither; a value is no fraction; a set stands there twice.
    """
    path = Path(path)
    try:
        text = read_text(path)
    except OSError as e:
        raise RecipeError(f"The accuracies {path} cannot be read: {reason(e)}.") from None
    found: dict[str, float] = {}
    for place, name, value in _rows(path, text):
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = -1.0
        if not 0 <= number <= 1:
            raise RecipeError(f"{path}, {place}: the accuracy is {value!r}; expected a fraction from 0 to 1.")
        if name in found:
            raise RecipeError(f"{path}, {place}: the set {name} stands there a second time.")
        found[name] = number
    return found


def _rows(path: Path, text: str) -> Iterator[tuple[str, str, Any]]:
    """Yield where a value stands, its set, and the value."""
    expected = "expected the scores.json of `corruptset score`, or a CSV with the columns set and accuracy"
    if text.lstrip().startswith("{"):
        try:
            sets = json.loads(text)["sets"].items()
        except (ValueError, KeyError, AttributeError):
            raise RecipeError(f'{path} is JSON without a table "sets"; {expected}.') from None
        for name, record in sets:
            yield f"set {name}", name, record.get("accuracy") if isinstance(record, Mapping) else record
        return
    reader = csv.DictReader(text.splitlines())
    if not {"set", "accuracy"} <= set(reader.fieldnames or ()):
        raise RecipeError(f"{path} has the columns {', '.join(reader.fieldnames or ()) or '(none)'}; {expected}.")
    for row in reader:
        yield f"line {reader.line_num}", row["set"], row["accuracy"]


def cells(recipe: StreamRecipe) -> Iterator[Cell]:
    """Yield every cell of every pair's grid but that of the clean image."""
    for (first, second), (s1, s2) in product(recipe.pairs(), product(recipe.severities, repeat=2)):
        if s1 or s2:
            yield first, s1, second, s2


def grid_accuracies(recipe: StreamRecipe, accuracies: Mapping[str, float]) -> dict[str, float]:
    """Return the accuracies that a stream needs, in per cent, by set.

    Raises
    ------
    RecipeError
        Some are missing.
    """
    needed = sorted({cell_id(cell) for cell in cells(recipe)})
    missing = [name for name in needed if name not in accuracies]
    if missing:
        raise RecipeError(
            f"The accuracies of {len(missing)} of {len(needed)} sets are missing: {first_few(missing)}. `corruptset stream {recipe.name} "
            "--grid FILE.toml` writes a recipe of all of them: build it, predict, score."
        )
    return {name: 100 * accuracies[name] for name in needed}
