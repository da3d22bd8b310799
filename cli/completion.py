"""What a shell completes: names of corruptions, recipes, calibrations, sources, layouts and sets.

A mistake in a command that is still being typed completes to nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from ..errors import CorruptsetError

MOST = 2000
"""Names that are offered."""


def corruptions(incomplete: str) -> list[str]:
    """Complete a corruption, and behind ``fog/`` its severities; in a list the last one."""
    from ..corruptions.registry import corruption_names

    names = corruption_names()
    behind = incomplete.rpartition(",")[2].partition("/")
    return _last(
        incomplete,
        [f"{behind[0]}/{severity}" for severity in range(1, 6)] if behind[1] and behind[0] in names else names,
    )


def recipes(incomplete: str) -> list[str]:
    """Complete a recipe, ``pairs`` among them."""
    from ..generate.recipes.recipe_files import recipe_aliases, recipe_names

    return _beginning(incomplete, [*recipe_names(), *recipe_aliases(), "pairs"])


def calibrations(incomplete: str) -> list[str]:
    """Complete a calibration."""
    from ..corruptions.calibrations import SHIPPED

    return _beginning(incomplete, SHIPPED)


def shown(incomplete: str) -> list[str]:
    """Complete what `corruptset show` takes by name."""
    return [*corruptions(incomplete), *recipes(incomplete), *calibrations(incomplete)]


def sources(incomplete: str) -> list[str]:
    """Complete a kind of source."""
    from ..generate.sources.source import SCHEMES

    return _beginning(incomplete, [name if name == "sample" else f"{name}:" for name in SCHEMES])


def layouts(incomplete: str) -> list[str]:
    """Complete the name of a layout."""
    from ..generate.exports.layouts import LAYOUTS

    return _beginning(incomplete, LAYOUTS)


def sets(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a set of the command's data set or recipe.

    In a list the last one is completed.
    """
    with suppress(CorruptsetError, OSError, ValueError, KeyError, TypeError):
        return _last(incomplete, _sets(ctx.params))
    return []


def _sets(given: dict[str, Any]) -> list[str]:
    from ..manifests.paths import MANIFEST

    place = given.get("directory") or given.get("manifest")
    if place is not None:
        path = Path(place) / MANIFEST if Path(place).is_dir() else Path(place)
        return [entry["id"] for entry in json.loads(path.read_bytes())["sets"]]
    from ..generate.recipes.recipe import load_recipe

    resolved = load_recipe(given.get("recipe") or "imagenet-c-all").resolve()
    return [spec.id for spec in resolved.sets]


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))[:MOST]


def _last(incomplete: str, names: Iterable[str]) -> list[str]:
    """Complete the last name of a list whose names are separated by commas."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _beginning(last, names)]
