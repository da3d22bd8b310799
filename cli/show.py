"""`corruptset show NAME`: one corruption, recipe, calibration or finished build."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ParameterError
from ..manifests.records.report import printable
from .options import AsJson, Ladder
from .output import chain, put, put_json, put_table, settings, size, value

if TYPE_CHECKING:
    from rich.table import Table


def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A corruption, recipe (or recipe file), calibration, or the directory of a build.")
    ],
    ladder: Annotated[
        Ladder | None,
        typer.Option(
            "--ladder",
            help="Of a gradual degradation: whose parameters the table of its levels has, those of the paper's results or of its text; "
            "by default evaluated.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a corruption with its tables, a recipe with its sets, a calibration, or what a finished build holds.

    Of a gradual degradation the table says what each level does to the sample source's photographs: that is measured now.
    """
    from ..corruptions.calibrations import SHIPPED
    from ..corruptions.registry import corruption_names, get_corruption
    from ..errors import UnknownCorruption, suggest
    from ..generate.recipes.recipe import recipe_names

    make: Callable[[], dict[str, Any]]
    if name in corruption_names() and get_corruption(name).gradual is not None:
        make, shown = partial(gradual_json, name, (ladder or Ladder.evaluated).value), _print_gradual
    elif name in corruption_names():
        make, shown = partial(corruption_json, name), _print_corruption
    elif name in SHIPPED:
        make, shown = partial(calibration_json, name), _print_calibration
    elif Path(name).is_dir():
        make, shown = partial(build_json, Path(name)), _print_build
    elif name in recipe_names() or name.endswith(".toml") or _is_alias(name):
        make, shown = partial(recipe_json, name), _print_recipe
    else:
        known = [*corruption_names(), *recipe_names(), *SHIPPED]
        raise UnknownCorruption(
            f"{name!r} is no corruption, recipe or calibration, and no directory or recipe file (.toml) is there.{suggest(name, known)} "
            "`corruptset list`, `corruptset list recipes` and `corruptset list calibrations` name them."
        )
    if ladder is not None and shown is not _print_gradual:
        raise ParameterError(f"--ladder goes with a gradual degradation, which has levels; {name!r} is none.")
    found = make()
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


def gradual_json(name: str, which: str) -> dict[str, Any]:
    """Return what is known of a gradual degradation: as `corruption_json`, with ladders in place of tables, and what each level changes."""
    from ..corruptions.calibrations import LADDERS, ladder
    from ..corruptions.registry import get_corruption
    from ..generate.level_effects import change_table

    gradual = get_corruption(name).gradual
    assert gradual is not None
    known = corruption_json(name)
    del known["tables"]
    return known | {
        "sources": [ladder(other)[name].source for other in LADDERS],
        "levels": gradual.most,
        "accumulates": gradual.accumulates,
        "ladders": {other: dict(ladder(other)[name].parameters) for other in LADDERS},
        "ladder": which,
        "changes": [row.as_json() for row in change_table(name, ladder=which)],
    }


def recipe_json(name: str) -> dict[str, Any]:
    """Return a recipe, resolved: its settings and its sets."""
    from ..generate.recipes.recipe import load_recipe

    recipe = load_recipe(name)
    return {"recipe": recipe.model_dump(mode="json", exclude={"sets"}), "sets": [spec.as_json() for spec in recipe.resolve().sets]}


def calibration_json(name: str) -> dict[str, Any]:
    """Return a calibration: its side and every row."""
    from ..corruptions.calibrations import get_calibration

    table = get_calibration(name)
    rows = {c: {str(s): dict(row.parameters) for s, row in sorted(rows.items())} for c, rows in table.rows.items()}
    cited = {row.source for by_severity in table.rows.values() for row in by_severity.values()}
    return {"calibration": table.name, "side": table.side, "rows": rows, "sources": sorted(cited)}


def build_json(directory: Path) -> dict[str, Any]:
    """Return what a finished build's manifest says, in short."""
    from ..manifests.manifest_file import load_manifest

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
    from ..generate.recipes.recipe import load_recipe, recipe_names

    return any(name in load_recipe(r).aliases for r in recipe_names())


def _print_corruption(found: Mapping[str, Any]) -> None:
    _print_heading(found)
    for calibration, rows in found["tables"].items():
        put(f"calibration {calibration}", style="bold")
        put_table(_rows("severity", rows))
        put()
    if not found["tables"]:
        put("No severities were published: its parameters are always given.\n")
    _print_rest(found)


def _print_gradual(found: Mapping[str, Any]) -> None:
    from rich.table import Table

    _print_heading(found)
    put(f"Levels 1 to {found['levels']}, {'each from the one before' if found['accumulates'] else 'each from the clean image'}\n")
    if any(found["ladders"].values()):
        put_table(_rows("ladder", found["ladders"]))
        put()
    put(f"ladder {found['ladder']}: means over the sample source's photographs at 224x224, seed 0", style="bold")
    table = Table("level", "change", box=None, pad_edge=False)
    for heading in ("changed %", "mean", "colours"):
        table.add_column(heading, justify="right")
    for row in found["changes"]:
        table.add_row(str(row["level"]), row["change"], *(f"{row[key]:.1f}" for key in ("changed", "mean", "colours")))
    put_table(table)
    put()
    _print_rest(found)


def _print_heading(found: Mapping[str, Any]) -> None:
    put(f"{found['corruption']} ({found['family']}, {found['role']}, revision {found['revision']})\n", style="bold")
    put(found["documentation"] + "\n")


def _print_rest(found: Mapping[str, Any]) -> None:
    """Print what stands below the tables."""
    draws = "; ".join(f"{name} ({about})" if about else name for name, about in found["draws"].items())
    put("Draws at random: " + ("nothing" if found["deterministic"] else draws or "values for each pixel only"))
    options = [f"{n} ({p['about']}; default {value(p['default'])})" for n, p in found["parameters"].items() if p["option"]]
    if options:
        put("Options: " + "; ".join(options))
    put(f"Reference: {found['reference']}")
    for source in found["sources"]:
        put(f"Tables: {source}")


def _print_calibration(found: Mapping[str, Any]) -> None:
    put(f"calibration {found['calibration']}: short side {found['side']} px\n", style="bold")
    for corruption, rows in found["rows"].items():
        put(corruption, style="bold")
        put_table(_rows("severity", rows))
        put()
    for source in found["sources"]:
        put(f"Source: {source}")


def _rows(first: str, rows: Mapping[str, Mapping[str, Any]]) -> Table:
    from rich.table import Table

    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    table = Table(first, *columns, box=None, pad_edge=False)
    for name, row in rows.items():
        table.add_row(name, *(value(row.get(c, "")) for c in columns))
    return table


def _print_recipe(found: Mapping[str, Any]) -> None:
    recipe, sets = found["recipe"], found["sets"]
    put(f"{recipe['name']} {recipe['version']}: {recipe['title']}\n", style="bold")
    if recipe.get("description"):
        put(inspect.cleandoc(recipe["description"]) + "\n")
    if recipe.get("aliases"):
        put(f"Also called: {', '.join(recipe['aliases'])}")
    put(f"Calibration: {recipe['calibration']}; scale: {recipe['scale']}")
    put(f"Preprocessing: {settings(recipe['preprocessing'])}")
    put(f"Encoding: {settings(recipe['encoding'])}\n")
    _print_sets(sets, [("stages", [chain(s["stages"]) for s in sets])])


def _plain(value: Any) -> Any:
    """Return JSON values of a stranger's file with every string on one line."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _print_build(found: Mapping[str, Any]) -> None:
    found = _plain(dict(found))
    put(f"{found['build']} {found['version']}", style="bold")
    put(f"Digest: {found['digest']}")
    put(f"Seed {found['seed']}, coupling {found['coupling']}, scale {found['scale']}")
    put(f"Source: {found['source']['name']} ({found['source']['digest']}; licence: {found['source']['license'] or 'not stated'})")
    put(f"Preprocessing: {settings(found['preprocessing'])}")
    put(f"Encoding: {settings(found['encoding'])}")
    samples = f"{found['samples']} samples in {found['classes']} classes"
    put(f"{len(found['sets'])} sets of {samples}: {found['images']} images, {size(found['bytes'])}")
    if found["excluded"]:
        put(f"{len(found['excluded'])} bad images of the source were left out")
    put()
    sets = found["sets"]
    measured = [(name, [_metric(s, key, digits) for s in sets]) for name, key, digits in METRICS]
    _print_sets(sets, [("bytes", [size(s["bytes"]) for s in sets]), *measured])
    counts = sorted({s["metrics"]["images"] for s in sets if s["metrics"]})
    if counts:
        put(f"\nPSNR, SSIM and the fraction of pixels changed are means over {', '.join(map(str, counts))} images of a set.")


METRICS = (("PSNR", "psnr", 2), ("SSIM", "ssim", 3), ("changed", "changed", 3))
"""Columns of a build's sets: heading, field, decimals."""


def _print_sets(sets: Sequence[Mapping[str, Any]], columns: Iterable[tuple[str, Sequence[str]]]) -> None:
    from rich.table import Table

    table = Table(f"set ({len(sets)})", "role", "aliases", box=None, pad_edge=False)
    cells = []
    for heading, column in columns:
        table.add_column(heading, justify="left" if heading == "stages" else "right")
        cells.append(column)
    for one, *last in zip(sets, *cells, strict=True):
        table.add_row(one["id"], one["role"], ", ".join(one["aliases"]), *last)
    put_table(table)


def _metric(one: Mapping[str, Any], key: str, digits: int) -> str:
    """Return a set's metric; ``-`` where it has none: an infinite PSNR, another shape, or nothing measured."""
    found = one["metrics"][key] if one["metrics"] else None
    return "-" if found is None else f"{found:.{digits}f}"
