"""Ladders: the parameters of the gradual degradations, which are the same at every level."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib.resources import files

from ..errors import ParameterError, suggest
from .registry import get_corruption
from .rows import Row, TableFile

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
        When a corruption is asked for: its entry does not fit the registry.
    """
    file = files(__package__) / "tables" / f"ladder_{check_ladder(name)}.toml"
    return TableFile(file.read_text(encoding="utf-8"), f"The shipped table ladder_{name}.toml", _entry)


def _entry(table: TableFile[Row], corruption: str, problems: list[str]) -> Row:
    if get_corruption(corruption).gradual is None:
        problems.append(f"{table.place(corruption)}: {corruption} has no levels")
    return table.row(corruption, table.entries[corruption], None, problems)
