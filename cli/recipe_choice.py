"""The recipe of `plan` and `build`: a name or a file, with other severities if given, or pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..errors import RecipeError
from . import completion
from .hints import command_with_source, is_source

if TYPE_CHECKING:
    from ..generate.recipes.recipe import Recipe

RecipeName = Annotated[
    str | None,
    typer.Argument(
        metavar="RECIPE",
        autocompletion=completion.recipes,
        help="A recipe (`corruptset list recipes`), a recipe file (.toml), or pairs.",
    ),
]
PAIRS = "pairs"
"""The recipe that is made of ``--first-stages`` and ``--second-stages``; a test compares it with the recipe's."""
EXAMPLE = "corruptset build pairs --first-stages fog,rotate --second-stages gaussian_noise --severities 1,3,5"
SAMPLE = "sample"
"""The source of a command without ``--source``."""


def source_notes(source: str | None) -> list[str]:
    """Return the note of a command without a source."""
    if source is not None:
        return []
    return [
        "No --source was given, so the images are the sample photographs that come with scikit-image. Name your own "
        "images with --source, such as --source folder:PATH."
    ]


def chosen_recipe(
    recipe: str | None,
    source: str,
    *,
    first_stages: Sequence[str] | None,
    second_stages: Sequence[str] | None,
    severities: Sequence[int] | None,
    levels: Sequence[int] | None,
    orders: Literal["both", "given"] | None,
    calibration: str | None,
    plugins: Sequence[str] | None,
) -> tuple[str | Recipe, list[str]]:
    """Return the recipe of a command, and notes about what was chosen for the user.

    Plugins are loaded first, because pairs may contain their corruptions.

    Raises
    ------
    RecipeError
        There is no recipe, options of pairs are given without pairs, or pairs without stages.
    """
    if plugins:
        from ..corruptions.plugins import load_plugins

        load_plugins(plugins)
    if recipe is None:
        from ..generate.catalogue import catalogue

        rows = [f"  {row['name']:28}{row['title']}" for row in catalogue("recipes")]
        text = (
            "No recipe was named. Give one of these, `pairs`, or the path of a recipe file (.toml) after the command:"
        )
        raise RecipeError("\n".join([text, *rows]))
    if recipe == PAIRS:
        if not first_stages or not second_stages:
            raise RecipeError(f"The recipe pairs needs --first-stages and --second-stages, as in: {EXAMPLE}")
        from ..generate.recipes.two_factor import calibration_for, calibration_note, pairs

        scheme = source.partition(":")[0]
        table = calibration or calibration_for(scheme)
        made = pairs(
            first_stages,
            second_stages,
            severities=severities or (1, 2, 3, 4, 5),
            levels=levels or (),
            orders=orders or "both",
            calibration=table,
        )
        return made, [] if calibration else [calibration_note(scheme, made)]
    given = {"first-stages": first_stages, "second-stages": second_stages, "levels": levels, "orders": orders}
    if misplaced := [f"--{name}" for name, value in given.items() if value]:
        raise RecipeError(f"{' and '.join(misplaced)}: only with the recipe 'pairs'; the recipe here is {recipe!r}.")
    if is_source(recipe):
        raise RecipeError(
            f"{recipe!r} is a source of images, and the first argument is a recipe. Name the source with --source, and "
            f"a recipe of `corruptset list recipes`:\n  {command_with_source(recipe, recipe='imagenet-c')}"
        )
    if severities is None:
        return recipe, []
    from ..generate.recipes.recipe import load_recipe
    from ..generate.recipes.two_factor import with_severities

    return with_severities(load_recipe(recipe), severities), []
