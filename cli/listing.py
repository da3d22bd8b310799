"""`corruptset list`: what there is."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import AsJson
from .output import console, put_json

if TYPE_CHECKING:
    from rich.table import Table


class Kind(StrEnum):
    """What can be listed."""

    corruptions = "corruptions"
    recipes = "recipes"
    sources = "sources"
    calibrations = "calibrations"


def list_(
    what: Annotated[
        Kind, typer.Argument(help="What to list: corruptions, recipes, sources or calibrations.", metavar="WHAT")
    ] = Kind.corruptions,
    as_json: AsJson = False,
) -> None:
    """List the corruptions, recipes, sources or calibrations that can be named in the other commands."""
    rows = {
        Kind.corruptions: corruptions,
        Kind.recipes: recipes,
        Kind.sources: sources,
        Kind.calibrations: calibrations,
    }[what]()
    if as_json:
        put_json({what.value: rows})
        return
    table = {
        Kind.corruptions: _corruption_table,
        Kind.recipes: _recipe_table,
        Kind.sources: _plain_table("source", "what it is"),
        Kind.calibrations: _plain_table("calibration", "short side", "corruptions", "source"),
    }[what](rows)
    console().print(table)


def corruptions() -> list[dict[str, Any]]:
    """Return every registered corruption, by family."""
    from ..corruptions.registry import corruption_names, get_corruption

    rows = []
    for name in corruption_names():
        found = get_corruption(name)
        rows.append(
            {
                "name": name,
                "family": found.family,
                "role": found.role,
                "revision": found.revision,
                "parameters": [p.name for p in found.columns],
                "options": {p.name: p.default for p in found.options},
                "draws": [d.name for d in found.draws],
                "deterministic": found.deterministic,
                "preserves_geometry": found.preserves_geometry,
            }
        )
    return rows


def recipes() -> list[dict[str, Any]]:
    """Return every shipped recipe."""
    from ..generate.recipe import load_recipe, recipe_names

    rows = []
    for name in recipe_names():
        recipe = load_recipe(name)
        rows.append(
            {
                "name": recipe.name,
                "version": recipe.version,
                "aliases": list(recipe.aliases),
                "sets": len(recipe.resolve()),
                "calibration": recipe.calibration,
                "title": recipe.title,
            }
        )
    return rows


def sources() -> list[dict[str, Any]]:
    """Return every kind of source."""
    from ..generate.sources.base import SCHEMES

    return [{"source": name, "about": scheme.about} for name, scheme in SCHEMES.items()]


def calibrations() -> list[dict[str, Any]]:
    """Return the calibrations that come with the package."""
    from ..corruptions.calibrations import SHIPPED, get_calibration

    rows = []
    for name in SHIPPED:
        table = get_calibration(name)
        cited = {row.source.split(",")[0] for by_severity in table.rows.values() for row in by_severity.values()}
        rows.append({"name": name, "side": table.side, "corruptions": len(table.rows), "sources": sorted(cited)})
    return rows


def _corruption_table(rows: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    table = Table("family", "corruption", "role", "revision", "parameters", "options", box=None, pad_edge=False)
    family = ""
    for row in rows:
        options = ", ".join(f"{k}={v}" for k, v in row["options"].items())
        shown = "" if row["family"] == family else row["family"]
        family = row["family"]
        table.add_row(shown, row["name"], row["role"], str(row["revision"]), ", ".join(row["parameters"]), options)
    return table


def _recipe_table(rows: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    table = Table("recipe", "version", "sets", "calibration", "title", box=None, pad_edge=False)
    for row in rows:
        title = row["title"] + (f" (also: {', '.join(row['aliases'])})" if row["aliases"] else "")
        table.add_row(row["name"], row["version"], str(row["sets"]), str(row["calibration"]), title)
    return table


def _plain_table(*columns: str) -> Callable[[list[dict[str, Any]]], Table]:
    def make(rows: list[dict[str, Any]]) -> Table:
        from rich.table import Table

        table = Table(*columns, box=None, pad_edge=False)
        for row in rows:
            table.add_row(*("; ".join(v) if isinstance(v, list) else str(v) for v in row.values()))
        return table

    return make
