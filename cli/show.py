"""`corruptset list` and `corruptset show`: what there is, and one corruption, recipe, calibration or finished build."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from ..errors import first_few
from ..manifests.records.report import printable
from ..quantities import size
from . import completion
from .options import AsJson, Plugins, argument, option
from .output import chain, put, put_json, put_rows, put_table, settings, value

Rows = list[dict[str, Any]]


def list_(
    what: Literal["corruptions", "recipes", "sources", "calibrations"] = argument(
        "WHAT", "What to list: corruptions, recipes, sources or calibrations.", "corruptions"
    ),
    plugins: Plugins = None,
    as_json: AsJson = False,
) -> None:
    """List the corruptions, recipes, sources or calibrations that can be named in the other commands."""
    from ..generate.catalogue import catalogue

    rows = catalogue(what, plugins=plugins)
    if as_json:
        put_json({what: rows})
    else:
        {
            "corruptions": _put_corruptions,
            "recipes": _put_recipes,
            "sources": _put_sources,
            "calibrations": _put_calibrations,
        }[what](rows)


def _put_corruptions(rows: Rows) -> None:
    lines = []
    family = ""
    for row in rows:
        shown = "" if row["family"] == family else row["family"]
        family = row["family"]
        options = ", ".join(f"{name}={value(default)}" for name, default in row["options"].items())
        moves = "" if row["preserves_geometry"] else "moves"
        lines.append(
            [
                shown,
                row["name"],
                row["role"],
                moves,
                str(row["revision"]),
                _strength(row),
                ", ".join(row["parameters"]),
                options,
            ]
        )
    columns = ["family", "corruption", "role", "content", "revision", "strength", "parameters", "options"]
    put_rows(
        columns,
        lines,
        spare=["revision", "options", "role", "content", "parameters"],
        wrapped=["parameters", "options"],
    )


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
    put_rows(
        columns,
        lines,
        right=["sets", "images"],
        spare=["made from", "about", "size", "images"],
        wrapped=["made from", "what"],
    )


def _put_sources(rows: Rows) -> None:
    put_rows(["source", "what it is"], [row.values() for row in rows])


def _put_calibrations(rows: Rows) -> None:
    lines = [[row["name"], str(row["side"]), str(row["corruptions"]), "; ".join(row["sources"])] for row in rows]
    put_rows(["calibration", "short side", "corruptions", "source"], lines)


METRICS = {"PSNR": ("psnr", 2), "SSIM": ("ssim", 3), "MS-SSIM": ("ms_ssim", 3), "changed": ("changed", 3)}
"""Columns of a build's sets: heading -> field, decimals."""


def show(
    name: str = argument(
        "NAME",
        "A corruption, recipe (or recipe file), calibration, or the directory of a build.",
        autocompletion=completion.shown,
    ),
    ladder: Literal["evaluated", "text"] | None = option(
        "--ladder",
        "Of a gradual degradation: whose parameters the table of its levels has, those of the results of Swingler 2022 "
        "or of its text; by default evaluated.",
        None,
    ),
    plugins: Plugins = None,
    as_json: AsJson = False,
) -> None:
    """Show a corruption with its tables, a recipe with its sets, a calibration, or what a finished build holds.

    Of a gradual degradation the table says what each level does to the sample source's photographs: that is measured
    now.
    """
    from ..generate.show import show as run

    shown = run(name, ladder=ladder, plugins=plugins)
    if as_json:
        put_json(shown.record)
    else:
        PRINTERS[shown.kind](shown.record)


def _put_corruption(record: Mapping[str, Any]) -> None:
    from ..generate.show import of_severities

    put(f"{record['corruption']} ({record['family']}, {record['role']}, revision {record['revision']})\n", style="bold")
    put(record["documentation"] + "\n")
    for calibration, rows in record.get("tables", {}).items():
        put(f"calibration {calibration}", style="bold")
        _put_parameters("severity", rows)
    if "levels" in record:
        _put_levels(record)
    elif not record["tables"]:
        put("No severities were published: its parameters are always given.\n")
    draws = "; ".join(f"{name} ({about})" if about else name for name, about in record["draws"].items())
    if not record["preserves_geometry"]:
        put("Geometry: content moves, and boxes and masks of the clean image do not fit any more")
    put("Draws at random: " + ("nothing" if record["deterministic"] else draws or "values for each pixel only"))
    options = [
        f"{n} ({p['about']}; default {value(p['default'])})" for n, p in record["parameters"].items() if p["option"]
    ]
    if options:
        put("Options: " + "; ".join(options))
    put(f"Reference: {record['reference']}")
    for source in record["sources"]:
        which = of_severities(record["source_rows"][source], record["tables"]) if "tables" in record else ""
        put(f"Tables: {which}{source}")


def _put_levels(record: Mapping[str, Any]) -> None:
    """Print the ladders of a gradual degradation, and what each of its levels changes."""
    put(
        f"Levels 1 to {record['levels']}, "
        f"{'each from the one before' if record['accumulates'] else 'each from the clean image'}\n"
    )
    if any(record["ladders"].values()):
        _put_parameters("ladder", record["ladders"])
    if record["changes"]:
        put(f"ladder {record['ladder']}: means over the sample source's photographs at 224x224, seed 0", style="bold")
        numbers = ("changed", "mean", "colours")
        rows = (
            [str(row["level"]), row["change"], *(f"{row[key]:.1f}" for key in numbers)] for row in record["changes"]
        )
        put_rows(
            ["level", "change", "changed %", "mean", "colours"],
            rows,
            right=("changed %", "mean", "colours"),
            wrapped=("change",),
        )
    else:
        put(
            "What a level changes depends on the model: the manifest of a build has the share of pixels that each set "
            "changes."
        )
    put()


def _put_calibration(record: Mapping[str, Any]) -> None:
    put(f"calibration {record['calibration']}: short side {record['side']} px\n", style="bold")
    for corruption, rows in record["rows"].items():
        put(corruption, style="bold")
        _put_parameters("severity", rows)
    for source in record["sources"]:
        put(f"Source: {source}")


def _put_parameters(first: str, rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Print a table of parameters by severity or ladder, and an empty line."""
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    put_table([first, *columns], ([name, *(value(row.get(c, "")) for c in columns)] for name, row in rows.items()))


def _put_recipe(record: Mapping[str, Any]) -> None:
    recipe, sets = record["recipe"], record["sets"]
    put(f"{recipe['name']} {recipe['version']}: {recipe['title']}\n", style="bold")
    if recipe.get("description"):
        put(inspect.cleandoc(recipe["description"]) + "\n")
    if recipe.get("aliases"):
        put(f"Also called: {', '.join(recipe['aliases'])}")
    put(f"Calibration: {recipe['calibration']}; scale: {recipe['scale']}")
    if held := recipe.get("hold_out"):
        put(f"Held out of training: the {held['grouping'] or 'groups'} {first_few(held['groups'])}")
    put(f"Preprocessing: {settings(recipe['preprocessing'])}")
    put(f"Encoding: {settings(recipe['encoding'])}\n")
    if record["moves_content"]:
        put(f"Content moves (boxes and masks of the clean images do not fit): {', '.join(record['moves_content'])}\n")
    _put_sets(sets, ["stages"], [[chain(s["stages"])] for s in sets])


def _put_build(record: Mapping[str, Any]) -> None:
    record = _printable(dict(record))
    sets = record["sets"]
    put(f"{record['build']} {record['version']}", style="bold")
    put(f"Digest: {record['digest']}")
    put(f"Seed {record['seed']}, coupling {record['coupling']}, scale {record['scale']}")
    put(
        f"Source: {record['source']['name']} ({record['source']['digest']}; licence: "
        f"{record['source']['license'] or 'not stated'})"
    )
    put(f"Preprocessing: {settings(record['preprocessing'])}")
    put(f"Encoding: {settings(record['encoding'])}")
    if record["excluded"]:
        put(f"{len(record['excluded'])} bad images of the source were left out")
    classes = f"in {record['classes']} classes" if record["classes"] else "without labels"
    samples = f"{record['samples']} samples {classes}"
    on_disk = "a part of them here" if record["bytes"] is None else f"{size(record['bytes'])} on disk"
    put(f"{len(sets)} sets of {samples}: {record['images']} images, {on_disk}")
    put()
    fields = {
        title: one for title, one in METRICS.items() if title != "MS-SSIM" or any(_measured(s, "ms_ssim") for s in sets)
    }
    columns = ["bytes", *fields]
    _put_sets(
        sets, columns, [[size(s["bytes"]), *(_metric(s, *one) for one in fields.values())] for s in sets], right=columns
    )
    counts = sorted({s["metrics"]["images"] for s in sets if s["metrics"]})
    if counts:
        put(
            f"\nPSNR, SSIM and the fraction of pixels changed are means over {', '.join(map(str, counts))} images of "
            "a set."
        )
    if any(_aim(s) for s in sets):
        put(
            "Behind MS-SSIM: how far it is from 0.9 at severity 1 and 0.5 at severity 5, by which ImageNet-C's "
            "authors chose severities."
        )


def _printable(value: Any) -> Any:
    """Return JSON values of a stranger's file with every string on one line."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(key): _printable(inner) for key, inner in value.items()}
    return [_printable(inner) for inner in value] if isinstance(value, list) else value


def _measured(entry: Mapping[str, Any], field: str) -> float | None:
    return (entry["metrics"] or {}).get(field)


def _metric(entry: Mapping[str, Any], field: str, digits: int) -> str:
    """Return a metric of a set; ``-`` for one that it lacks: an infinite PSNR, another shape, or nothing measured."""
    measured = _measured(entry, field)
    return "-" if measured is None else f"{measured:.{digits}f}{_aim(entry) if field == 'ms_ssim' else ''}"


def _aim(entry: Mapping[str, Any]) -> str:
    """Return how far the MS-SSIM of a severity is from the one that it was chosen by; empty where there is no
    such one.
    """
    from ..manifests.records.models import AIMED_AT

    measured = _measured(entry, "ms_ssim")
    aim = next((aim for severity, aim in AIMED_AT.items() if entry["id"].endswith(f"/{severity}")), None)
    return "" if measured is None or aim is None else f" ({measured - aim:+.3f})"


def _put_sets(
    sets: Sequence[Mapping[str, Any]], columns: Sequence[str], cells: Iterable[Sequence[str]], right: Sequence[str] = ()
) -> None:
    rows = (
        [entry["id"], entry["role"], ", ".join(entry["aliases"]), *row] for entry, row in zip(sets, cells, strict=True)
    )
    columns = [f"set ({len(sets)})", "role", "aliases", *columns]
    put_rows(columns, rows, right=right, spare=["role", *right[:1]], wrapped=["aliases", "stages"])


PRINTERS: dict[str, Callable[[Mapping[str, Any]], None]] = {
    "corruption": _put_corruption,
    "gradual": _put_corruption,
    "calibration": _put_calibration,
    "recipe": _put_recipe,
    "build": _put_build,
}
