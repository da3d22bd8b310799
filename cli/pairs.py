"""Recipes that the command line itself makes: ``pairs``, and other severities of a recipe's pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from ..errors import RecipeError
from .options import numbers, split_globs

if TYPE_CHECKING:
    from ..generate.recipes.recipe import Recipe

PAIRS = "pairs"
"""The name of the recipe that is made of ``--first`` and ``--second``; a test compares it with that of the recipe."""


def first_samples(given: Mapping[str, Any]) -> int | None:
    """Return the number of samples that ``--first`` asks for, if it is one."""
    words = split_globs(given["first"]) or []
    counts = [w for w in words if w.isascii() and w.isdigit()]
    if len(counts) > 1 or any(int(c) < 1 for c in counts):
        raise typer.BadParameter(f"{','.join(words)!r}: one number of samples, at least 1.", param_hint="'--first'")
    return int(counts[0]) if counts else None


def chosen_recipe(recipe: str, given: Mapping[str, Any]) -> str | Recipe:
    """Return the recipe that a command means: by name, with other severities, or made of ``--first`` and ``--second``.

    Raises
    ------
    RecipeError
        Options of pairs without pairs, or pairs without stages.
    """
    first = [w for w in split_globs(given["first"]) or [] if not (w.isascii() and w.isdigit())]
    second = split_globs(given["second"]) or []
    severities, levels = numbers(given["severities"], "--severities"), numbers(given["levels"], "--levels")
    if recipe == PAIRS:
        if not first or not second:
            raise RecipeError(
                "The recipe 'pairs' is made of --first and --second, as in: corruptset build pairs --first fog,rotate "
                "--second gaussian_noise --severities 1,3,5 --orders both"
            )
        from ..generate.recipes.two_factor import calibration_for, pairs

        options: dict[str, Any] = {"calibration": given["calibration"] or calibration_for(given["source"].partition(":")[0])}
        options |= {"severities": severities} if severities else {}
        options |= {"levels": levels} if levels else {}
        options |= {"orders": given["orders"]} if given["orders"] else {}
        return pairs(first, second, **options)
    misplaced = [f"--first {','.join(first)}"] * bool(first) + ["--second"] * bool(second) + ["--levels"] * bool(levels)
    misplaced += ["--orders"] * (given["orders"] is not None)
    if misplaced:
        raise RecipeError(f"{' and '.join(misplaced)}: only with the recipe 'pairs'; the recipe here is {recipe!r}.")
    if severities is None:
        return recipe
    from ..generate.recipes.recipe import load_recipe
    from ..generate.recipes.two_factor import with_severities

    return with_severities(load_recipe(recipe), severities)
