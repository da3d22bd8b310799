"""`corruptset show NAME`: one corruption, recipe, calibration or finished build."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import ParameterError
from ..manifests.records.report import printable
from .options import AsJson
from .output import chain, first_few, put, put_json, put_rows, settings, size, value

if TYPE_CHECKING:
    from ..corruptions.rows import Row

METRICS = {"PSNR": ("psnr", 2), "SSIM": ("ssim", 3), "changed": ("changed", 3)}
"""Columns of a build's sets: heading -> field, decimals."""
PARAMETER_FIELDS = ("low", "high", "length", "option", "default", "about")


def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A corruption, recipe (or recipe file), calibration, or the directory of a build.")
    ],
    ladder: Annotated[
        Literal["evaluated", "text"] | None,
        typer.Option(
            "--ladder",
            help="Of a gradual degradation: whose parameters the table of its levels has, those of the results of Swingler 2022 "
            "or of its text; by default evaluated.",
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
    from ..generate.recipes.recipe import recipe_aliases, recipe_names

    make: Callable[[], dict[str, Any]]
    if name in corruption_names() and get_corruption(name).gradual is not None:
        make, put_out = partial(gradual_json, name, ladder or "evaluated"), _put_gradual
    elif name in corruption_names():
        make, put_out = partial(corruption_json, name), _put_corruption
    elif name in SHIPPED:
        make, put_out = partial(calibration_json, name), _put_calibration
    elif Path(name).is_dir():
        make, put_out = partial(build_json, Path(name)), _put_build
    elif name.endswith(".toml") or name in (*recipe_names(), *recipe_aliases()):
        make, put_out = partial(recipe_json, name), _put_recipe
    else:
        known = [*corruption_names(), *recipe_names(), *SHIPPED]
        raise UnknownCorruption(
            f"{name!r} is no corruption, recipe or calibration, and no directory or recipe file (.toml) is there.{suggest(name, known)} "
            "`corruptset list`, `corruptset list recipes` and `corruptset list calibrations` name them."
        )
    if ladder is not None and put_out is not _put_gradual:
        raise ParameterError(f"--ladder goes with a gradual degradation, which has levels; {name!r} has none.")
    record = make()
    if as_json:
        put_json(record)
    else:
        put_out(record)


def corruption_json(name: str) -> dict[str, Any]:
    """Return what is known of a corruption: declaration, documentation, and its rows in every calibration."""
    from ..corruptions.calibrations import SHIPPED, get_calibration
    from ..corruptions.registry import get_corruption

    declared = get_corruption(name)
    tables = {calibration: get_calibration(calibration).rows.get(name, {}) for calibration in SHIPPED}
    fields = ("family", "role", "revision", "preserves_geometry", "deterministic", "reference")
    return {
        "corruption": name,
        **{field: getattr(declared, field) for field in fields},
        "documentation": inspect.cleandoc(declared.function.__doc__ or ""),
        "parameters": {
            p.name: {"kind": p.kind.__name__, **{field: getattr(p, field) for field in PARAMETER_FIELDS}} for p in declared.parameters
        },
        "draws": {d.name: d.about for d in declared.draws},
        "tables": {calibration: _row_parameters(rows) for calibration, rows in tables.items() if rows},
        "sources": sorted({row.source for rows in tables.values() for row in rows.values()}),
    }


def _row_parameters(rows: Mapping[int, Row]) -> dict[str, dict[str, Any]]:
    return {str(severity): dict(row.parameters) for severity, row in sorted(rows.items())}


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
        # What a model's gradient changes depends on the model: `change_table` takes one, from Python.
        "changes": [] if get_corruption(name).needs_model else [row.as_json() for row in change_table(name, ladder=which)],
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
    rows = {corruption: _row_parameters(rows) for corruption, rows in table.rows.items()}
    cited = {row.source for by_severity in table.rows.values() for row in by_severity.values()}
    return {"calibration": table.name, "side": table.side, "rows": rows, "sources": sorted(cited)}


def build_json(directory: Path) -> dict[str, Any]:
    """Return what a finished build's manifest says, in short."""
    from ..manifests.manifest_file import load_manifest

    manifest = load_manifest(directory)
    record = manifest.as_json()
    fields = ("version", "digest", "seed", "coupling", "scale", "source", "preprocessing", "encoding")
    return {
        "build": manifest.name,
        **{field: record[field] for field in fields},
        "classes": len(manifest.classes),
        "samples": max((s.count for s in manifest.sets), default=0),
        "excluded": record["excluded"],
        "images": sum(s.count for s in manifest.sets),
        "bytes": sum(s.bytes for s in manifest.sets),
        "sets": [{field: entry[field] for field in ("id", "aliases", "role", "count", "bytes", "metrics")} for entry in record["sets"]],
        "environment": manifest.environment,
    }


def _put_corruption(record: Mapping[str, Any]) -> None:
    _put_heading(record)
    for calibration, rows in record["tables"].items():
        put(f"calibration {calibration}", style="bold")
        _put_parameters("severity", rows)
    if not record["tables"]:
        put("No severities were published: its parameters are always given.\n")
    _put_facts(record)


def _put_gradual(record: Mapping[str, Any]) -> None:
    _put_heading(record)
    put(f"Levels 1 to {record['levels']}, {'each from the one before' if record['accumulates'] else 'each from the clean image'}\n")
    if any(record["ladders"].values()):
        _put_parameters("ladder", record["ladders"])
    if record["changes"]:
        put(f"ladder {record['ladder']}: means over the sample source's photographs at 224x224, seed 0", style="bold")
        numbers = ("changed", "mean", "colours")
        rows = ([str(row["level"]), row["change"], *(f"{row[key]:.1f}" for key in numbers)] for row in record["changes"])
        put_rows(["level", "change", "changed %", "mean", "colours"], rows, right=("changed %", "mean", "colours"))
    else:
        put("What a level changes depends on the model: from Python, corruptset.generate.level_effects.change_table measures it.")
    put()
    _put_facts(record)


def _put_heading(record: Mapping[str, Any]) -> None:
    put(f"{record['corruption']} ({record['family']}, {record['role']}, revision {record['revision']})\n", style="bold")
    put(record["documentation"] + "\n")


def _put_facts(record: Mapping[str, Any]) -> None:
    """Print what stands below the tables."""
    draws = "; ".join(f"{name} ({about})" if about else name for name, about in record["draws"].items())
    put("Draws at random: " + ("nothing" if record["deterministic"] else draws or "values for each pixel only"))
    options = [f"{n} ({p['about']}; default {value(p['default'])})" for n, p in record["parameters"].items() if p["option"]]
    if options:
        put("Options: " + "; ".join(options))
    put(f"Reference: {record['reference']}")
    for source in record["sources"]:
        put(f"Tables: {source}")


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
    put_rows([first, *columns], ([name, *(value(row.get(c, "")) for c in columns)] for name, row in rows.items()))
    put()


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
    _put_sets(sets, ["stages"], [[chain(s["stages"])] for s in sets])


def _put_build(record: Mapping[str, Any]) -> None:
    record = _printable(dict(record))
    sets = record["sets"]
    put(f"{record['build']} {record['version']}", style="bold")
    put(f"Digest: {record['digest']}")
    put(f"Seed {record['seed']}, coupling {record['coupling']}, scale {record['scale']}")
    put(f"Source: {record['source']['name']} ({record['source']['digest']}; licence: {record['source']['license'] or 'not stated'})")
    put(f"Preprocessing: {settings(record['preprocessing'])}")
    put(f"Encoding: {settings(record['encoding'])}")
    samples = f"{record['samples']} samples in {record['classes']} classes"
    put(f"{len(sets)} sets of {samples}: {record['images']} images, {size(record['bytes'])}")
    if record["excluded"]:
        put(f"{len(record['excluded'])} bad images of the source were left out")
    put()
    columns = ["bytes", *METRICS]
    _put_sets(sets, columns, [[size(s["bytes"]), *_metrics(s["metrics"])] for s in sets], right=columns)
    counts = sorted({s["metrics"]["images"] for s in sets if s["metrics"]})
    if counts:
        put(f"\nPSNR, SSIM and the fraction of pixels changed are means over {', '.join(map(str, counts))} images of a set.")


def _printable(value: Any) -> Any:
    """Return JSON values of a stranger's file with every string on one line."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(key): _printable(inner) for key, inner in value.items()}
    return [_printable(inner) for inner in value] if isinstance(value, list) else value


def _metrics(metrics: Mapping[str, Any] | None) -> list[str]:
    """Return a set's metrics; ``-`` for one that it lacks: an infinite PSNR, another shape, or nothing measured."""
    values = [(None if metrics is None else metrics[field], digits) for field, digits in METRICS.values()]
    return ["-" if measured is None else f"{measured:.{digits}f}" for measured, digits in values]


def _put_sets(sets: Sequence[Mapping[str, Any]], columns: Sequence[str], cells: Iterable[Sequence[str]], right: Sequence[str] = ()) -> None:
    rows = ([entry["id"], entry["role"], ", ".join(entry["aliases"]), *row] for entry, row in zip(sets, cells, strict=True))
    put_rows([f"set ({len(sets)})", "role", "aliases", *columns], rows, right=right)
