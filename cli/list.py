"""`corruptset list`: what there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from ..quantities import size
from .options import AsJson, Plugins, argument
from .output import put_json, put_rows, value

Rows = list[dict[str, Any]]


def list_(
    what: Annotated[
        Literal["corruptions", "recipes", "sources", "calibrations"],
        argument("WHAT", "What to list: corruptions, recipes, sources or calibrations."),
    ] = "corruptions",
    plugins: Plugins = None,
    as_json: AsJson = False,
) -> None:
    """List the corruptions, recipes, sources or calibrations that can be named in the other commands."""
    from ..generate.catalogue import catalogue

    rows = catalogue(what, plugins=plugins)
    if as_json:
        put_json({what: rows})
    else:
        {"corruptions": _put_corruptions, "recipes": _put_recipes, "sources": _put_sources, "calibrations": _put_calibrations}[what](rows)


def _put_corruptions(rows: Rows) -> None:
    lines = []
    family = ""
    for row in rows:
        shown = "" if row["family"] == family else row["family"]
        family = row["family"]
        options = ", ".join(f"{name}={value(default)}" for name, default in row["options"].items())
        moves = "" if row["preserves_geometry"] else "moves"
        lines.append([shown, row["name"], row["role"], moves, str(row["revision"]), _strength(row), ", ".join(row["parameters"]), options])
    columns = ["family", "corruption", "role", "content", "revision", "strength", "parameters", "options"]
    put_rows(columns, lines, spare=["revision", "options", "role", "content", "parameters"], wrapped=["parameters", "options"])


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
    columns = ["recipe", "sets", "size", "made from", "images", "about", "what"]
    put_rows(columns, lines, right=["sets", "images"], spare=["made from", "about", "size", "images"], wrapped=["made from", "what"])


def _put_sources(rows: Rows) -> None:
    put_rows(["source", "what it is"], [row.values() for row in rows])


def _put_calibrations(rows: Rows) -> None:
    lines = [[row["name"], str(row["side"]), str(row["corruptions"]), "; ".join(row["sources"])] for row in rows]
    put_rows(["calibration", "short side", "corruptions", "source"], lines)
