"""`corruptset list`: what there is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import AsJson
from .output import put_json, put_table, size, value

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
    put_table(table)


def corruptions() -> list[dict[str, Any]]:
    """Return every registered corruption, by family."""
    from ..corruptions.calibrations import SHIPPED, get_calibration
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
                "severities": sorted({severity for c in SHIPPED for severity in get_calibration(c).rows.get(name, {})}),
                "levels": None if found.gradual is None else found.gradual.most,
                "parameters": [p.name for p in found.columns],
                "options": {p.name: p.default for p in found.options},
                "draws": [d.name for d in found.draws],
                "deterministic": found.deterministic,
                "preserves_geometry": found.preserves_geometry,
            }
        )
    return rows


def recipes() -> list[dict[str, Any]]:
    """Return every shipped recipe: what it makes, from what, and how large that is."""
    from ..generate.plan.outline import outline
    from ..generate.recipes.recipe import load_recipe, recipe_names

    return [outline(load_recipe(name)).as_json() for name in recipe_names()]


def sources() -> list[dict[str, Any]]:
    """Return every kind of source."""
    from ..generate.sources.source import SCHEMES

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

    table = Table("family", "corruption", "role", "revision", "strength", "parameters", "options", box=None, pad_edge=False)
    family = ""
    for row in rows:
        options = ", ".join(f"{k}={value(v)}" for k, v in row["options"].items())
        shown = "" if row["family"] == family else row["family"]
        family = row["family"]
        table.add_row(shown, row["name"], row["role"], str(row["revision"]), _strength(row), ", ".join(row["parameters"]), options)
    return table


def _strength(row: Mapping[str, Any]) -> str:
    """Return what says how strong a corruption is."""
    if row["levels"] is not None:
        return f"level 1-{row['levels']}"
    severities = [str(s) for s in row["severities"]]
    return "severity " + "-".join(dict.fromkeys([severities[0], severities[-1]])) if severities else "parameters"


def _recipe_table(rows: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    table = Table("recipe", "sets", "size", "made from", "images", "about", "what", box=None, pad_edge=False)
    for row in rows:
        what = row["title"] + (f" (also: {', '.join(row['aliases'])})" if row["aliases"] else "")
        side = "x".join(map(str, row["size"])) if row["size"] else "as it is"
        images = f"{row['images']:,}" if row["images"] is not None else ""
        about = size(row["bytes"]) if row["bytes"] is not None else ""
        if row["bytes"] is None and row["bytes_per_sample"] is not None:
            about = f"{size(row['bytes_per_sample'])} an image"
        table.add_row(row["name"], str(row["sets"]), side, row["source"], images, about, what)
    return table


def _plain_table(*columns: str) -> Callable[[list[dict[str, Any]]], Table]:
    def make(rows: list[dict[str, Any]]) -> Table:
        from rich.table import Table

        table = Table(*columns, box=None, pad_edge=False)
        for row in rows:
            table.add_row(*("; ".join(v) if isinstance(v, list) else str(v) for v in row.values()))
        return table

    return make
