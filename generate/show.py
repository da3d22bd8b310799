"""`show`: one corruption, recipe, calibration or finished build in full."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..corruptions.add_ons import install_hint
from ..corruptions.calibrations import (
    LADDERS,
    calibration_names,
    calibrations_of,
    check_ladder,
    get_calibration,
    ladder,
)
from ..corruptions.plugins import load_plugins
from ..corruptions.registry import corruption_names, get_corruption, is_corruption
from ..corruptions.rows import Row
from ..errors import ParameterError, UnknownCorruption, suggest
from ..manifests.disk.remote import data_folder, url_of
from ..manifests.disk_size import disk_size
from ..manifests.manifest_file import load_manifest
from ..manifests.paths import PARTIAL
from .level_effects import change_table
from .plan.source_fit import moving_corruptions
from .recipes.recipe import load_recipe
from .recipes.recipe_files import recipe_aliases, recipe_names

PARAMETER_FIELDS = ("low", "high", "length", "option", "default", "about")


@dataclass(frozen=True, repr=False)
class Shown:
    """What is known of one thing."""

    kind: Literal["corruption", "gradual", "recipe", "calibration", "build"]
    name: str
    record: Mapping[str, Any]
    """JSON values, as `corruptset show --json` prints them."""

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name!r}: {', '.join(self.record)}>"

    def __getitem__(self, key: str) -> Any:
        return self.record[key]


def show(
    name: str | Path, *, ladder: Literal["evaluated", "text"] | None = None, plugins: Sequence[str | Path] | None = None
) -> Shown:
    """Return what is known of a corruption, a recipe, a calibration, or a finished build.

    Parameters
    ----------
    name : str or path
        The name of a corruption, recipe or calibration, the path of a recipe file (.toml), or the directory of a build.
    ladder : {"evaluated", "text"}, optional
        Of a gradual degradation: with whose parameters it is measured what each level changes; by default evaluated.
    plugins : sequence of str or path, optional
        Modules with corruptions of your own, or their files.

    Returns
    -------
    Shown
        Of a corruption: its documentation, its parameters, its rows in every calibration, its reference; of a gradual
        degradation also what each level does to the sample source's photographs, measured now; of a recipe its settings
        and its sets; of a calibration its rows; of a build what its manifest says, in short.

    Raises
    ------
    UnknownCorruption
        There is no such thing; the nearest names are suggested.
    RecipeError, IncompleteBuild, VerificationError
        The recipe file has mistakes; the directory holds no finished build.
    ParameterError
        `ladder` is given for what has no levels.

    Examples
    --------
    >>> show("fog")["tables"]["imagenet"]["3"]
    {'weight': 2.5, 'wibble_decay': 1.7}
    """
    load_plugins(plugins or ())
    text = str(name)
    if is_corruption(name) and get_corruption(text).gradual is not None:
        return Shown("gradual", text, _gradual(text, check_ladder(ladder or "evaluated")))
    kind: Literal["corruption", "recipe", "calibration", "build"]
    make: Callable[[str], dict[str, Any]]
    if is_corruption(name):
        kind, make = "corruption", _corruption
    elif name in calibration_names():
        kind, make = "calibration", _calibration
    elif Path(name).is_dir() or url_of(name) is not None:
        kind, make = "build", _build
    elif text.endswith(".toml") or name in (*recipe_names(), *recipe_aliases()):
        kind, make = "recipe", _recipe
    else:
        near = suggest(text, [*corruption_names(), *recipe_names(), *calibration_names()])
        hint = f"{near} `corruptset list`, `corruptset list recipes` and `corruptset list calibrations` name them."
        raise UnknownCorruption(
            f"{text!r} is no corruption, recipe or calibration, and no directory or recipe file (.toml) is there."
            + (install_hint(text) or hint)
        )
    if ladder is not None:
        raise ParameterError(f"--ladder goes with a gradual degradation, which has levels; {text!r} has none.")
    return Shown(kind, text, make(text))


def _corruption(name: str) -> dict[str, Any]:
    declared = get_corruption(name)
    tables = {calibration: get_calibration(calibration).rows[name] for calibration in calibrations_of(name)}
    fields = ("family", "role", "revision", "preserves_geometry", "deterministic", "reference")
    return {
        "corruption": name,
        **{field: getattr(declared, field) for field in fields},
        "documentation": inspect.cleandoc(declared.function.__doc__ or ""),
        "parameters": {
            p.name: {"kind": p.kind.__name__, **{field: getattr(p, field) for field in PARAMETER_FIELDS}}
            for p in declared.parameters
        },
        "draws": {d.name: d.about for d in declared.draws},
        "tables": {calibration: _row_parameters(rows) for calibration, rows in tables.items()},
        "sources": list(source_rows(tables)),
        "source_rows": source_rows(tables),
    }


def source_rows(tables: Mapping[str, Mapping[int, Row]]) -> dict[str, dict[str, list[int]]]:
    """Return source -> calibration -> the severities whose rows it has."""
    found: dict[str, dict[str, list[int]]] = {}
    for calibration, rows in tables.items():
        for severity, row in sorted(rows.items()):
            found.setdefault(row.source, {}).setdefault(calibration, []).append(severity)
    return dict(sorted(found.items()))


def of_severities(rows: Mapping[str, Sequence[int]], tables: Mapping[str, Sized]) -> str:
    """Return which severities a source is of, where others have another; else nothing.

    Examples
    --------
    >>> of_severities({"imagenet": [1, 2, 3]}, {"imagenet": range(5)})
    'severities 1, 2, 3: '
    """
    if all(len(severities) == len(tables[name]) for name, severities in rows.items()):
        return ""
    return (
        "; ".join(dict.fromkeys(f"severities {', '.join(map(str, severities))}" for severities in rows.values())) + ": "
    )


def _row_parameters(rows: Mapping[int, Row]) -> dict[str, dict[str, Any]]:
    return {str(severity): dict(row.parameters) for severity, row in sorted(rows.items())}


def _gradual(name: str, which: str) -> dict[str, Any]:
    """As `_corruption`, with ladders in place of tables, and what each level changes."""
    declared = get_corruption(name)
    gradual = declared.gradual
    assert gradual is not None
    ladders = {other: ladder(other)[name] for other in LADDERS if name in ladder(other)}  # a plugin's is in none
    measurable = not declared.needs_model and ladders
    known = _corruption(name)
    del known["tables"], known["source_rows"]
    return known | {
        "sources": [row.source for row in ladders.values()],
        "levels": gradual.most,
        "accumulates": gradual.accumulates,
        "ladders": {other: dict(row.parameters) for other, row in ladders.items()},
        "ladder": which,
        # what a model's gradient changes depends on the model
        "changes": [row.as_json() for row in change_table(name, which)] if measurable else [],
    }


def _recipe(name: str) -> dict[str, Any]:
    recipe = load_recipe(name)
    sets = recipe.resolve().sets
    record = recipe.model_dump(mode="json", exclude={"sets"})
    return {"recipe": record, "moves_content": moving_corruptions(sets), "sets": [spec.as_json() for spec in sets]}


def _calibration(name: str) -> dict[str, Any]:
    table = get_calibration(name)
    rows = {corruption: _row_parameters(rows) for corruption, rows in table.rows.items()}
    cited = {row.source for by_severity in table.rows.values() for row in by_severity.values()}
    return {"calibration": table.name, "side": table.side, "rows": rows, "sources": sorted(cited)}


def _build(place: str) -> dict[str, Any]:
    directory = data_folder(place)
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
        "bytes": None if (directory / PARTIAL).exists() else disk_size(directory, manifest).bytes,
        "sets": [
            {field: entry[field] for field in ("id", "aliases", "role", "count", "bytes", "metrics")}
            for entry in record["sets"]
        ],
        "environment": manifest.environment,
    }
