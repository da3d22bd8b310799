"""Complete the names of corruptions, recipes, calibrations, sources, layouts and sets in a shell.

Typer itself completes commands, options, their choices and files. If the unfinished command contains a mistake, no
names are offered.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import typer

from ..errors import CorruptsetError

MAX_COMPLETIONS = 2000
"""The maximum number of names that are offered."""


def corruptions(incomplete: str) -> list[str]:
    """Complete the name of a corruption, or its severities after ``fog/``. In a list, the last item is completed."""
    from ..corruptions.registry import corruption_names

    names = corruption_names()
    name, slash, _ = incomplete.rpartition(",")[2].partition("/")
    severities = [f"{name}/{severity}" for severity in range(1, 6)]
    return _last(incomplete, severities if slash and name in names else names)


def recipes(incomplete: str) -> list[str]:
    """Complete the name of a recipe, including ``pairs``."""
    from ..generate.recipes.recipe_files import recipe_aliases, recipe_names

    return _beginning(incomplete, [*recipe_names(), *recipe_aliases(), "pairs"])


def calibrations(incomplete: str) -> list[str]:
    """Complete the name of a calibration."""
    from ..corruptions.calibrations import SHIPPED

    return _beginning(incomplete, SHIPPED)


def shown(incomplete: str) -> list[str]:
    """Complete the names that `corruptset show` accepts."""
    return [*corruptions(incomplete), *recipes(incomplete), *calibrations(incomplete)]


def sources(incomplete: str) -> list[str]:
    """Complete the scheme of a source."""
    from ..generate.sources.source import schemes

    return _beginning(incomplete, [name if name == "sample" else f"{name}:" for name in schemes()])


def layouts(incomplete: str) -> list[str]:
    """Complete the name of an export layout."""
    from ..corruptions.add_ons import find_add_ons
    from ..generate.exports.layouts import LAYOUTS

    return _beginning(incomplete, [*LAYOUTS, *find_add_ons("exports")])


def sets(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the id of a set in the command's dataset or recipe. In a list, the last item is completed."""
    from ..generate.recipes.recipe import load_recipe
    from ..manifests.paths import MANIFEST

    place = ctx.params.get("directory") or ctx.params.get("manifest")
    with suppress(CorruptsetError, OSError, ValueError, KeyError, TypeError):
        if place is None:
            recipe = load_recipe(ctx.params.get("recipe") or "imagenet-c-all")
            return _last(incomplete, [spec.id for spec in recipe.resolve().sets])
        path = Path(place) / MANIFEST if Path(place).is_dir() else Path(place)
        return _last(incomplete, [entry["id"] for entry in json.loads(path.read_bytes())["sets"]])
    return []


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin with the incomplete name."""
    return sorted(name for name in names if name.startswith(incomplete))[:MAX_COMPLETIONS]


def _last(incomplete: str, names: Iterable[str]) -> list[str]:
    """Complete the last item of a comma-separated list."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _beginning(last, names)]
