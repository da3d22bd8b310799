"""The public function `show`, which returns a detailed description of a corruption, recipe, calibration or build."""

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
from .recipes.two_factor import vertical_notes

PARAMETER_FIELDS = ("low", "high", "length", "option", "default", "about")


@dataclass(frozen=True, repr=False)
class Shown:
    """The description of a corruption, recipe, calibration or build."""

    kind: Literal["corruption", "gradual", "recipe", "calibration", "build"]
    name: str
    record: Mapping[str, Any]
    """The description as JSON values. `corruptset show --json` prints it."""

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name!r}: {', '.join(self.record)}>"

    def __getitem__(self, key: str) -> Any:
        return self.record[key]


def show(
    name: str | Path, *, ladder: Literal["evaluated", "text"] | None = None, plugins: Sequence[str | Path] | None = None
) -> Shown:
    """Return a detailed description of a corruption, a recipe, a calibration, or a finished build.

    Parameters
    ----------
    name : str or path
        The name of a corruption, recipe or calibration, the path of a recipe file (.toml), or the directory of a build.
    ladder : {"evaluated", "text"}, optional
        For a gradual degradation, the parameter set with which to measure the effect of each level. The default is
        ``evaluated``.
    plugins : sequence of str or path, optional
        Python modules or files that define further corruptions.

    Returns
    -------
    Shown
        For a corruption: its documentation, its parameters, its severities in every calibration, and its reference. For
        a gradual degradation: also the effect of each level on sample photographs, which this call measures. For a
        recipe: its settings and its sets. For a calibration: its severity table. For a build: a summary of its
        manifest.

    Raises
    ------
    UnknownCorruption
        The name is unknown. The message suggests similar names.
    RecipeError
        The recipe file contains errors.
    IncompleteBuild, VerificationError
        The directory does not contain a finished build.
    ParameterError
        `ladder` is given, but `name` does not name a gradual degradation.

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
    describe: Callable[[str], dict[str, Any]]
    if is_corruption(name):
        kind, describe = "corruption", _corruption
    elif name in calibration_names():
        kind, describe = "calibration", _calibration
    elif Path(name).is_dir() or url_of(name) is not None:
        kind, describe = "build", _build
    elif text.endswith(".toml") or name in (*recipe_names(), *recipe_aliases()):
        kind, describe = "recipe", _recipe
    else:
        similar = suggest(text, [*corruption_names(), *recipe_names(), *calibration_names()])
        hint = f"{similar} `corruptset list [corruptions|recipes|calibrations]` lists all names."
        raise UnknownCorruption(
            f"{text!r} is not a corruption, recipe or calibration, and there is no directory or recipe file (.toml) "
            f"of this name.{install_hint(text) or hint}"
        )
    if ladder is not None:
        raise ParameterError(
            f"--ladder selects the parameters of a gradual degradation, but {text!r} has no levels. Leave it out."
        )
    return Shown(kind, text, describe(text))


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
    """Return, for each source, a mapping from calibrations to the severities that cite the source.

    A source is a citation, in a severity table, of the origin of the parameters.
    """
    by_source: dict[str, dict[str, list[int]]] = {}
    for calibration, rows in tables.items():
        for severity, row in sorted(rows.items()):
            by_source.setdefault(row.source, {}).setdefault(calibration, []).append(severity)
    return dict(sorted(by_source.items()))


def of_severities(rows: Mapping[str, Sequence[int]], tables: Mapping[str, Sized]) -> str:
    """Return a prefix that names the severities to which a source applies. It is empty if the source applies to all.

    `rows` maps calibrations to the severities that cite the source. `tables` maps calibrations to all severities.

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


def _gradual(name: str, parameter_set: str) -> dict[str, Any]:
    """Return the description of a gradual degradation, with its parameter sets and the effect of each level."""
    declared = get_corruption(name)
    gradual = declared.gradual
    assert gradual is not None
    # Corruptions from plugins have no ladders (parameter sets).
    ladders = {other: ladder(other)[name] for other in LADDERS if name in ladder(other)}
    measurable = not declared.needs_model and ladders
    record = _corruption(name)
    del record["tables"], record["source_rows"]
    return record | {
        "sources": [row.source for row in ladders.values()],
        "levels": gradual.most,
        "accumulates": gradual.accumulates,
        "ladders": {other: dict(row.parameters) for other, row in ladders.items()},
        "ladder": parameter_set,
        # The effect of a corruption that needs a model depends on the model, so it is not measured.
        "changes": [row.as_json() for row in change_table(name, parameter_set)] if measurable else [],
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
        **{field: manifest.recipe.get(field) for field in ("calibration", "calibration_side")},
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
        "notes": vertical_notes(stage for entry in manifest.sets for stage in entry.stages),
    }
