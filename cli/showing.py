"""`corruptset show NAME`: one corruption, recipe, calibration or finished build."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import AsJson
from .output import console, put, put_json, size, value

if TYPE_CHECKING:
    from rich.table import Table


def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A corruption, recipe (or recipe file), calibration, or the directory of a build.")
    ],
    as_json: AsJson = False,
) -> None:
    """Show a corruption with its tables, a recipe with its sets, a calibration, or what a finished build holds."""
    from ..corruptions.calibrations import SHIPPED
    from ..corruptions.registry import corruption_names
    from ..errors import UnknownCorruption, suggest
    from ..generate.recipe import recipe_names

    if name in corruption_names():
        found, shown = corruption_json(name), _print_corruption
    elif name in SHIPPED:
        found, shown = calibration_json(name), _print_calibration
    elif Path(name).is_dir():
        found, shown = build_json(Path(name)), _print_build
    elif name in recipe_names() or name.endswith(".toml") or _is_alias(name):
        found, shown = recipe_json(name), _print_recipe
    else:
        known = [*corruption_names(), *recipe_names(), *SHIPPED]
        raise UnknownCorruption(
            f"{name!r} is no corruption, recipe or calibration, and no directory or recipe file (.toml) is there.{suggest(name, known)} "
            "`corruptset list`, `corruptset list recipes` and `corruptset list calibrations` name them."
        )
    if as_json:
        put_json(found)
    else:
        shown(found)


def corruption_json(name: str) -> dict[str, Any]:
    """Return what is known of a corruption: declaration, documentation, and its rows in every calibration."""
    from ..corruptions.calibrations import SHIPPED, get_calibration
    from ..corruptions.registry import get_corruption

    found = get_corruption(name)
    tables: dict[str, dict[str, Any]] = {}
    for calibration in SHIPPED:
        rows = get_calibration(calibration).rows.get(name, {})
        if rows:
            tables[calibration] = {str(severity): dict(row.parameters) for severity, row in sorted(rows.items())}
    cited = {row.source for c in tables for row in get_calibration(c).rows[name].values()}
    return {
        "corruption": found.name,
        "family": found.family,
        "role": found.role,
        "revision": found.revision,
        "preserves_geometry": found.preserves_geometry,
        "deterministic": found.deterministic,
        "reference": found.reference,
        "documentation": inspect.cleandoc(found.function.__doc__ or ""),
        "parameters": {
            p.name: {
                "kind": p.kind.__name__,
                "low": p.low,
                "high": p.high,
                "length": p.length,
                "option": p.option,
                "default": p.default,
                "about": p.about,
            }
            for p in found.parameters
        },
        "draws": {d.name: d.about for d in found.draws},
        "tables": tables,
        "sources": sorted(cited),
    }


def recipe_json(name: str) -> dict[str, Any]:
    """Return a recipe, resolved: its settings and its sets."""
    from ..generate.recipe import load_recipe

    recipe = load_recipe(name)
    sets = [
        {"id": s.id, "aliases": list(s.aliases), "role": s.role, "stages": [stage.as_json() for stage in s.stages]}
        for s in recipe.resolve()
    ]
    return {"recipe": recipe.model_dump(mode="json", exclude={"sets"}), "sets": sets}


def calibration_json(name: str) -> dict[str, Any]:
    """Return a calibration: its side and every row."""
    from ..corruptions.calibrations import get_calibration

    table = get_calibration(name)
    rows = {c: {str(s): dict(row.parameters) for s, row in sorted(rows.items())} for c, rows in table.rows.items()}
    cited = {row.source for by_severity in table.rows.values() for row in by_severity.values()}
    return {"calibration": table.name, "side": table.side, "rows": rows, "sources": sorted(cited)}


def build_json(directory: Path) -> dict[str, Any]:
    """Return what a finished build's manifest says, in short."""
    from ..manifests.files import load_manifest

    manifest = load_manifest(directory)
    return {
        "build": manifest.name,
        "version": manifest.version,
        "digest": manifest.digest,
        "seed": manifest.seed,
        "coupling": manifest.coupling,
        "scale": manifest.scale,
        "source": manifest.source.as_json(),
        "preprocessing": manifest.preprocessing,
        "encoding": manifest.encoding,
        "classes": len(manifest.classes),
        "samples": max((s.count for s in manifest.sets), default=0),
        "excluded": [e.as_json() for e in manifest.excluded],
        "images": sum(s.count for s in manifest.sets),
        "bytes": sum(s.bytes for s in manifest.sets),
        "sets": [
            {
                "id": s.id,
                "aliases": s.aliases,
                "role": s.role,
                "count": s.count,
                "bytes": s.bytes,
                "metrics": s.metrics.as_json() if s.metrics else None,
            }
            for s in manifest.sets
        ],
        "environment": manifest.environment,
    }


def _is_alias(name: str) -> bool:
    from ..generate.recipe import load_recipe, recipe_names

    return any(name in load_recipe(r).aliases for r in recipe_names())


def _print_corruption(found: Mapping[str, Any]) -> None:
    put(f"{found['corruption']} ({found['family']}, {found['role']}, revision {found['revision']})\n", style="bold")
    put(found["documentation"] + "\n")
    for calibration, rows in found["tables"].items():
        put(f"calibration {calibration}", style="bold")
        console().print(_severities(rows))
        put()
    draws = "; ".join(f"{name} ({about})" if about else name for name, about in found["draws"].items())
    put("Draws at random: " + ("nothing" if found["deterministic"] else draws or "values for each pixel only"))
    options = [f"{n} ({p['about']}; default {p['default']})" for n, p in found["parameters"].items() if p["option"]]
    if options:
        put("Options: " + "; ".join(options))
    put(f"Reference: {found['reference']}")
    for source in found["sources"]:
        put(f"Tables: {source}")


def _print_calibration(found: Mapping[str, Any]) -> None:
    put(f"calibration {found['calibration']}: short side {found['side']} px\n", style="bold")
    for corruption, rows in found["rows"].items():
        put(corruption, style="bold")
        console().print(_severities(rows))
        put()
    for source in found["sources"]:
        put(f"Source: {source}")


def _severities(rows: Mapping[str, Mapping[str, Any]]) -> Table:
    from rich.table import Table

    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    table = Table("severity", *columns, box=None, pad_edge=False)
    for severity, row in rows.items():
        table.add_row(severity, *(value(row.get(c, "")) for c in columns))
    return table


def _print_recipe(found: Mapping[str, Any]) -> None:
    recipe, sets = found["recipe"], found["sets"]
    put(f"{recipe['name']} {recipe['version']}: {recipe['title']}\n", style="bold")
    if recipe.get("description"):
        put(inspect.cleandoc(recipe["description"]) + "\n")
    if recipe.get("aliases"):
        put(f"Also called: {', '.join(recipe['aliases'])}")
    put(f"Calibration: {recipe['calibration']}; scale: {recipe['scale']}")
    put(f"Preprocessing: {_settings(recipe['preprocessing'])}")
    put(f"Encoding: {_settings(recipe['encoding'])}\n")
    _print_sets(sets, "stages", (", ".join(_stage(stage) for stage in s["stages"]) or "(the preprocessed image)" for s in sets))


def _print_build(found: Mapping[str, Any]) -> None:
    put(f"{found['build']} {found['version']}", style="bold")
    put(f"Digest: {found['digest']}")
    put(f"Seed {found['seed']}, coupling {found['coupling']}, scale {found['scale']}")
    put(f"Source: {found['source']['name']} ({found['source']['digest']}; licence: {found['source']['license'] or 'not stated'})")
    put(f"Preprocessing: {_settings(found['preprocessing'])}")
    put(f"Encoding: {_settings(found['encoding'])}")
    samples = f"{found['samples']} samples in {found['classes']} classes"
    put(f"{len(found['sets'])} sets of {samples}: {found['images']} images, {size(found['bytes'])}")
    if found["excluded"]:
        put(f"{len(found['excluded'])} bad images of the source were left out")
    put()
    _print_sets(found["sets"], "bytes    PSNR  SSIM  changed", (_measured(s) for s in found["sets"]))


def _print_sets(sets: Iterable[Mapping[str, Any]], last: str, cells: Iterable[str]) -> None:
    from rich.table import Table

    table = Table(f"set ({len(list(sets))})", "role", "aliases", last, box=None, pad_edge=False)
    for one, cell in zip(sets, cells, strict=True):
        table.add_row(one["id"], one["role"], ", ".join(one["aliases"]), cell)
    console().print(table)


def _stage(stage: Mapping[str, Any]) -> str:
    return f"{stage['corruption']}({_settings(stage['parameters'])})"


def _settings(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{k}={', '.join(v) if isinstance(v, list) else value(v)}" for k, v in values.items() if v is not None)


def _measured(one: Mapping[str, Any]) -> str:
    m = one["metrics"]
    if not m:
        return f"{size(one['bytes']):8}"
    cells = [f"{m[k]:.{d}f}" if m[k] is not None else "-" for k, d in (("psnr", 2), ("ssim", 3), ("changed", 3))]
    return f"{size(one['bytes']):8} {cells[0]:>5} {cells[1]:>5} {cells[2]:>5}"
