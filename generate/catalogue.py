"""What there is to name: corruptions, recipes, sources and calibrations, each in short."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ..corruptions.add_ons import installed_files
from ..corruptions.calibrations import SHIPPED, Calibration, get_calibration
from ..corruptions.plugins import load_installed, load_plugins
from ..corruptions.registry import Corruption, corruption_names, get_corruption
from ..corruptions.rows import Row
from ..errors import ParameterError, suggest
from .plan.outline import Outline, outline
from .recipes.recipe import load_recipe, recipe_names
from .sources.source import SCHEMES

Kind = Literal["corruptions", "recipes", "sources", "calibrations"]


def names(
    what: Kind = "corruptions",
    *,
    family: str | None = None,
    role: str | None = None,
    plugins: Sequence[str | Path] | None = None,
) -> list[str]:
    """Return the names of all corruptions, or of all recipes, sources or calibrations.

    Parameters
    ----------
    what : {"corruptions", "recipes", "sources", "calibrations"}
    family : str, optional
        Only corruptions of this family: noise, blur, weather, digital, shape, gradual, adversarial, plugin.
    role : {"test", "validation", "train"}, optional
        Only corruptions with this role; ``validation`` are the published extra four, by which methods are tuned.
    plugins : sequence of str or path, optional
        Modules with corruptions of your own, or their files; plugins that are installed are found by themselves.

    Returns
    -------
    list of str
        Corruptions by family; those of plugins come last.

    Raises
    ------
    ParameterError
        There are no names of that kind, no such family or no such role.

    Examples
    --------
    >>> names(family="weather")
    ['brightness', 'fog', 'frost', 'snow', 'spatter']
    """
    load_plugins(plugins or ())
    load_installed()
    known: dict[str, Iterable[str]] = {
        "corruptions": corruption_names(),
        "recipes": recipe_names(),
        "sources": SCHEMES,
        "calibrations": (*SHIPPED, *installed_files("tables")),
    }
    if what not in known:
        raise ParameterError(f"There are no names of {what!r}.{suggest(what, known)} Known: {', '.join(known)}.")
    if family is None and role is None:
        return list(known[what])
    if what != "corruptions":
        raise ParameterError(f"Only corruptions have a family and a role; names of {what} are asked for.")
    declared = [get_corruption(name) for name in corruption_names()]
    for word, given, there in (("family", family, {d.family for d in declared}), ("role", role, {d.role for d in declared})):
        if given is not None and given not in there:
            raise ParameterError(f"There is no {word} {given!r}.{suggest(given, there)} Known: {', '.join(sorted(there))}.")
    return [d.name for d in declared if family in (None, d.family) and role in (None, d.role)]


def recipes() -> list[Outline]:
    """Return every shipped recipe in short: what it makes, from what, and how large that is."""
    return [outline(load_recipe(name)) for name in recipe_names()]


def catalogue(what: Kind, *, plugins: Sequence[str | Path] | None = None) -> list[dict[str, Any]]:
    """Return what `corruptset list` says of each thing, as JSON values."""
    load_plugins(plugins or ())
    if what == "corruptions":
        load_installed()
        tables = [get_calibration(name).rows for name in SHIPPED]
        return [_corruption(get_corruption(name), tables) for name in corruption_names()]
    if what == "sources":
        return [{"source": name, "about": scheme.about} for name, scheme in SCHEMES.items()]
    if what == "calibrations":
        return [_calibration(get_calibration(name)) for name in (*SHIPPED, *installed_files("tables"))]
    return [one.as_json() for one in recipes()]


def _corruption(corruption: Corruption, tables: Sequence[Mapping[str, Mapping[int, Row]]]) -> dict[str, Any]:
    """Return a corruption in short."""
    return {
        **{field: getattr(corruption, field) for field in ("name", "family", "role", "revision")},
        # those of the shipped calibrations
        "severities": sorted({severity for rows in tables for severity in rows.get(corruption.name, {})}),
        # the last level of a gradual degradation
        "levels": None if corruption.gradual is None else corruption.gradual.most,
        "parameters": [p.name for p in corruption.columns],
        "options": {p.name: p.default for p in corruption.options},
        "draws": [d.name for d in corruption.draws],
        "deterministic": corruption.deterministic,
        "preserves_geometry": corruption.preserves_geometry,
    }


def _calibration(table: Calibration) -> dict[str, Any]:
    """Return a calibration in short: the short side that it is made for, and who published its rows."""
    cited = {row.source.split(",")[0] for by_severity in table.rows.values() for row in by_severity.values()}
    return {"name": table.name, "side": table.side, "corruptions": len(table.rows), "sources": sorted(cited)}
