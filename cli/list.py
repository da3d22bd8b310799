"""`corruptset list`: what there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer

from .options import AsJson
from .output import put_json, put_rows, size, value

Rows = list[dict[str, Any]]


def list_(
    what: Annotated[
        Literal["corruptions", "recipes", "sources", "calibrations"],
        typer.Argument(help="What to list: corruptions, recipes, sources or calibrations.", metavar="WHAT"),
    ] = "corruptions",
    as_json: AsJson = False,
) -> None:
    """List the corruptions, recipes, sources or calibrations that can be named in the other commands."""
    find, put = {
        "corruptions": (corruptions, _put_corruptions),
        "recipes": (recipes, _put_recipes),
        "sources": (sources, _put_sources),
        "calibrations": (calibrations, _put_calibrations),
    }[what]
    rows = find()
    if as_json:
        put_json({what: rows})
    else:
        put(rows)


def corruptions() -> Rows:
    """Return every registered corruption, by family."""
    from ..corruptions.calibrations import SHIPPED, get_calibration
    from ..corruptions.registry import corruption_names, get_corruption

    return [
        {
            "name": corruption.name,
            "family": corruption.family,
            "role": corruption.role,
            "revision": corruption.revision,
            "severities": sorted({severity for c in SHIPPED for severity in get_calibration(c).rows.get(corruption.name, {})}),
            "levels": None if corruption.gradual is None else corruption.gradual.most,
            "parameters": [p.name for p in corruption.columns],
            "options": {p.name: p.default for p in corruption.options},
            "draws": [d.name for d in corruption.draws],
            "deterministic": corruption.deterministic,
            "preserves_geometry": corruption.preserves_geometry,
        }
        for corruption in map(get_corruption, corruption_names())
    ]


def recipes() -> Rows:
    """Return every shipped recipe: what it makes, from what, and how large that is."""
    from ..generate.plan.outline import outline
    from ..generate.recipes.recipe import load_recipe, recipe_names

    return [outline(load_recipe(name)).as_json() for name in recipe_names()]


def sources() -> Rows:
    """Return every kind of source."""
    from ..generate.sources.source import SCHEMES

    return [{"source": name, "about": scheme.about} for name, scheme in SCHEMES.items()]


def calibrations() -> Rows:
    """Return the calibrations that come with the package."""
    from ..corruptions.calibrations import SHIPPED, get_calibration

    rows = []
    for table in map(get_calibration, SHIPPED):
        cited = {row.source.split(",")[0] for by_severity in table.rows.values() for row in by_severity.values()}
        rows.append({"name": table.name, "side": table.side, "corruptions": len(table.rows), "sources": sorted(cited)})
    return rows


def _put_corruptions(rows: Rows) -> None:
    lines = []
    family = ""
    for row in rows:
        shown = "" if row["family"] == family else row["family"]
        family = row["family"]
        options = ", ".join(f"{name}={value(default)}" for name, default in row["options"].items())
        lines.append([shown, row["name"], row["role"], str(row["revision"]), _strength(row), ", ".join(row["parameters"]), options])
    put_rows(["family", "corruption", "role", "revision", "strength", "parameters", "options"], lines)


def _strength(row: Mapping[str, Any]) -> str:
    """Return what says how strong a corruption is."""
    if row["levels"] is not None:
        return f"level 1-{row['levels']}"
    severities = [str(s) for s in row["severities"]]
    return "severity " + "-".join(dict.fromkeys([severities[0], severities[-1]])) if severities else "parameters"


def _put_recipes(rows: Rows) -> None:
    lines = []
    for row in rows:
        title = row["title"] + (f" (also: {', '.join(row['aliases'])})" if row["aliases"] else "")
        side = "x".join(map(str, row["size"])) if row["size"] else "as it is"
        images = "" if row["images"] is None else f"{row['images']:,}"
        about = "" if row["bytes"] is None else size(row["bytes"])
        if row["bytes"] is None and row["bytes_per_sample"] is not None:
            about = f"{size(row['bytes_per_sample'])} an image"
        lines.append([row["name"], str(row["sets"]), side, row["source"], images, about, title])
    put_rows(["recipe", "sets", "size", "made from", "images", "about", "what"], lines)


def _put_sources(rows: Rows) -> None:
    put_rows(["source", "what it is"], [row.values() for row in rows])


def _put_calibrations(rows: Rows) -> None:
    lines = [[row["name"], str(row["side"]), str(row["corruptions"]), "; ".join(row["sources"])] for row in rows]
    put_rows(["calibration", "short side", "corruptions", "source"], lines)
