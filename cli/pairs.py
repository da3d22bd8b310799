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
"""The name of the recipe that is made of ``--first-stages`` and ``--second-stages``; a test compares it with that of the recipe."""
EXAMPLE = "corruptset build pairs --first-stages fog,rotate --second-stages gaussian_noise --severities 1,3,5"


def first_samples(given: Mapping[str, Any]) -> int | None:
    """Return the number of samples that ``--first`` asks for."""
    text = given["first"]
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and int(text)):
        pairs = f" The corruptions that come first in pairs are given by --first-stages: {EXAMPLE}" if text[:1].isalpha() else ""
        raise typer.BadParameter(f"{text!r}: expected one number of samples, at least 1.{pairs}", param_hint="'--first'")
    return int(text)


def chosen_recipe(recipe: str, given: Mapping[str, Any]) -> str | Recipe:
    """Return the recipe that a command means: by name, with other severities, or made of ``--first-stages`` and ``--second-stages``.

    Raises
    ------
    RecipeError
        Options of pairs without pairs, or pairs without stages.
    """
    first, second = (split_globs(given[name]) or [] for name in ("first_stages", "second_stages"))
    severities, levels = numbers(given["severities"], "--severities"), numbers(given["levels"], "--levels")
    if recipe == PAIRS:
        if not first or not second:
            raise RecipeError(f"The recipe 'pairs' is made of --first-stages and --second-stages, as in: {EXAMPLE}")
        from ..generate.recipes.two_factor import calibration_for, pairs

        options: dict[str, Any] = {"calibration": given["calibration"] or calibration_for(given["source"].partition(":")[0])}
        options |= {"severities": severities} if severities else {}
        options |= {"levels": levels} if levels else {}
        options |= {"orders": given["orders"]} if given["orders"] else {}
        return pairs(first, second, **options)
    misplaced = ["--first-stages"] * bool(first) + ["--second-stages"] * bool(second) + ["--levels"] * bool(levels)
    misplaced += ["--orders"] * (given["orders"] is not None)
    if misplaced:
        raise RecipeError(f"{' and '.join(misplaced)}: only with the recipe 'pairs'; the recipe here is {recipe!r}.")
    if severities is None:
        return recipe
    from ..generate.recipes.recipe import load_recipe
    from ..generate.recipes.two_factor import with_severities

    return with_severities(load_recipe(recipe), severities)
