"""The commands `corruptset list` and `corruptset show`: describe corruptions, recipes and datasets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import first_few
from ..quantities import size
from . import completion
from .options import SETS, AsJson, Plugins
from .output import put, put_json
from .records import put_record, put_records

if TYPE_CHECKING:
    from ..generate.show import Shown

METRICS = ("psnr", "ssim", "ms_ssim", "changed")


def list_(
    what: Annotated[
        Literal["corruptions", "recipes", "sources", "calibrations"],
        typer.Argument(metavar="WHAT", help="The kind to list: corruptions, recipes, sources or calibrations."),
    ] = "corruptions",
    plugins: Plugins = None,
    as_json: AsJson = False,
) -> None:
    """List the corruptions, recipes, sources or calibrations that other commands accept by name."""
    from ..generate.catalogue import catalogue

    rows = catalogue(what, plugins=plugins)
    if as_json:
        return put_json({what: rows})
    shown = {"corruptions": _corruption, "recipes": _recipe}
    put_records([shown[what](row) for row in rows] if what in shown else rows)


def _corruption(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table cells for a corruption. Its severities or levels are shown as a range."""
    ends = [str(s) for s in row["severities"]]
    strength = "severity " + "-".join(dict.fromkeys([ends[0], ends[-1]])) if ends else "parameters"
    fields = ("family", "role", "revision", "parameters", "options")
    return {"name": row["name"]} | {
        "strength": strength if row["levels"] is None else f"level 1-{row['levels']}",
        **{field: row[field] for field in fields},
        "content": "" if row["preserves_geometry"] else "moves",
    }


def _recipe(row: Mapping[str, Any]) -> dict[str, Any]:
    each = row["bytes_per_sample"]
    about = "" if each is None else f"{size(each)} per image"
    also = f" (also: {', '.join(row['aliases'])})" if row["aliases"] else ""
    return {
        "recipe": row["name"],
        "sets": row["sets"],
        "size": "x".join(map(str, row["size"])) if row["size"] else "unchanged",
        "source": row["source"],
        "images": row["images"],
        "about": about if row["bytes"] is None else size(row["bytes"]),
        "what": row["title"] + also,
    }


def _put_shown(shown: Shown) -> None:
    """Print the record of what is shown. Some fields are shortened."""
    record = dict(shown.record)
    if shown.kind in ("corruption", "gradual"):
        _draws_and_sources(record)
    if shown.kind == "recipe":
        record |= record.pop("recipe") | {"stages": None}
        if hold_out := record.get("hold_out"):
            record["hold_out"] = f"the {hold_out['grouping'] or 'groups'} {first_few(hold_out['groups'])}"
        record["sets"] = [{field: row[field] for field in ("id", "role", "aliases", "stages")} for row in shown["sets"]]
    if shown.kind == "build":
        from ..generate.recipes.two_factor import calibration_text

        record["excluded"] = len(record["excluded"])
        name, side = record["calibration"], record.pop("calibration_side")
        record["calibration"] = None if name is None else calibration_text(name, side)
        record["sets"] = [_with_metrics(row) for row in record["sets"]]
    put_record(record)
    if shown.kind == "build" and any("ms_ssim" in row for row in record["sets"]):
        put(
            "The number in brackets is the difference of MS-SSIM from 0.9 at severity 1 and from 0.5 at severity 5. "
            "The authors of ImageNet-C chose their severities to reach these values."
        )


def _draws_and_sources(record: dict[str, Any]) -> None:
    from ..generate.show import of_severities

    draws = record["draws"] or "values that cannot be passed"
    record["draws"] = "nothing" if record.pop("deterministic") else draws
    moves = not record.pop("preserves_geometry")
    record["content"] = "moves, so boxes and masks of the clean image no longer fit" if moves else "stays in place"
    rows, tables = record.pop("source_rows", {}), record.get("tables", {})
    record["sources"] = [of_severities(rows.get(source, {}), tables) + source for source in record["sources"]]
    record["calibration"] = record.pop("tables", None)
    numbers = ("changed", "mean", "colours")
    if "changes" in record:
        record["ladders"] = {name: row for name, row in record["ladders"].items() if row}
        record["changes"] = [row | {name: round(row[name], 1) for name in numbers} for row in record["changes"]]
        if not record["changes"]:
            record["changes"] = "these depend on the model; the manifest of a build contains them for each set"


def _with_metrics(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a set of a dataset with its metrics as columns. MS-SSIM is followed by its difference from the target."""
    from ..manifests.records.models import TARGET_MS_SSIM

    measured = row["metrics"] or {}
    metrics = {name: measured[name] for name in METRICS if name in measured}
    target = next((value for severity, value in TARGET_MS_SSIM.items() if row["id"].endswith(f"/{severity}")), None)
    if target is not None and metrics.get("ms_ssim") is not None:
        metrics["ms_ssim"] = f"{metrics['ms_ssim']:.3f} ({metrics['ms_ssim'] - target:+.3f})"
    return {field: row[field] for field in ("id", "role", "aliases", "count", "bytes")} | metrics


def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            autocompletion=completion.shown,
            help="A corruption, a recipe or recipe file, a calibration, or the directory of a dataset.",
        ),
    ],
    ladder: Annotated[
        Literal["evaluated", "text"] | None,
        typer.Option(
            rich_help_panel=SETS,
            help="For a gradual degradation, the parameters to use: those that Swingler 2022 evaluated (evaluated, the "
            "default), or those in the text of that paper (text).",
        ),
    ] = None,
    toml: Annotated[
        bool,
        typer.Option(
            "--toml", help="For a recipe: print its TOML file. Save it under another name to change the recipe."
        ),
    ] = False,
    plugins: Plugins = None,
    as_json: AsJson = False,
) -> None:
    """Show all details of a corruption, a recipe, a calibration or a finished dataset.

    For a gradual degradation, this command also measures the effect of each level on the sample photographs.
    """
    if toml:
        from ..generate.recipes.recipe_files import read_recipe

        return put(read_recipe(name)[0].rstrip("\n"))
    from .. import show as run

    shown = run(name, ladder=ladder, plugins=plugins)
    if as_json:
        return put_json(dict(shown.record))
    _put_shown(shown)
