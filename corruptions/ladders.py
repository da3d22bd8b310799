"""Ladders: the parameters of the gradual degradations, which are the same at every level."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from importlib.resources import files

from ..errors import ParameterError, RecipeError, suggest
from .registry import get_corruption
from .rows import Row

LADDERS = ("evaluated", "text")
"""What the paper's results were made with (its tables and the released notebook agree), and what its text says."""
DEFAULT_LADDER = "evaluated"


def check_ladder(name: object) -> str:
    """Return the name of a ladder, or raise `ParameterError`."""
    if name not in LADDERS:
        hint = suggest(name, LADDERS) if isinstance(name, str) else ""
        raise ParameterError(f"There is no ladder {name!r}.{hint} Known: {', '.join(LADDERS)}.")
    return str(name)


@functools.cache
def ladder(name: str) -> Mapping[str, Row]:
    """Return corruption -> its parameters, of one of the ladders that come with the package.

    Raises
    ------
    ParameterError
        No such ladder.
    RecipeError
        The file does not fit the registry: a corruption or a column is missing or unknown.
    """
    text = (files(__package__) / "tables" / f"ladder_{check_ladder(name)}.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    sources = data.pop("sources")
    rows: dict[str, Row] = {}
    for corruption, entry in data.items():
        found = get_corruption(corruption)
        if found.gradual is None:
            raise RecipeError(f"The ladder {name}: {corruption} has no levels.")
        source = sources[entry.pop("source")]
        columns = {p.name: p for p in found.columns}
        if entry.keys() != columns.keys():
            raise RecipeError(f"The ladder {name}: {corruption} has {sorted(entry)}, expected {sorted(columns)}.")
        rows[corruption] = Row({key: columns[key].checked(value, corruption) for key, value in entry.items()}, source)
    return rows
