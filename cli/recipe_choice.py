"""Select the recipe for `plan` and `build`: a name, a file or ``pairs``, optionally with different severities."""

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
        help="A recipe (see `corruptset list recipes`) or a recipe file (.toml). To build pairs of corruptions, give "
        "the name `pairs` (see --first-stages).",
    ),
]
PAIRS = "pairs"
"""The name of the recipe that combines ``--first-stages`` with ``--second-stages``."""
EXAMPLE = "corruptset build pairs --first-stages fog,rotate --second-stages gaussian_noise --severities 1,3,5"
SAMPLE = "sample"
"""The source that commands use without ``--source``."""


def source_notes(source: str | None) -> list[str]:
    """Return a note if no source was given."""
    if source is not None:
        return []
    return [
        "No --source was given, so the images are the sample photographs that come with scikit-image. To use your own "
        "images, pass --source, such as --source folder:PATH."
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
    """Return the recipe that a command uses, and notes on choices that were made for the user.

    Plugins are loaded first, because the recipe ``pairs`` may use corruptions that they define.

    Raises
    ------
    RecipeError
        If no recipe is given, if options for ``pairs`` are given with a different recipe, or if ``pairs`` is given
        without stages.
    """
    if plugins:
        from ..corruptions.plugins import load_plugins

        load_plugins(plugins)
    if recipe is None:
        from ..generate.catalogue import catalogue

        rows = [f"  {row['name']:28}{row['title']}" for row in catalogue("recipes")]
        text = (
            "No recipe was given. After the command, pass one of these, `pairs`, or the path of a recipe file (.toml):"
        )
        raise RecipeError("\n".join([text, *rows]))
    if recipe == PAIRS:
        if not first_stages or not second_stages:
            raise RecipeError(f"The recipe 'pairs' needs --first-stages and --second-stages, as in: {EXAMPLE}")
        from ..generate.recipes.two_factor import calibration_for, calibration_note, pairs, vertical_notes

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
        notes = [] if calibration else [calibration_note(scheme)]
        return made, [*notes, *vertical_notes(stage for spec in made.resolve().sets for stage in spec.stages)]
    given = {"first-stages": first_stages, "second-stages": second_stages, "levels": levels, "orders": orders}
    if misplaced := [f"--{name}" for name, value in given.items() if value]:
        raise RecipeError(
            f"{' and '.join(misplaced)} can only be used with the recipe 'pairs', but the recipe is {recipe!r}. Leave "
            f"the {'options' if len(misplaced) > 1 else 'option'} out, or use the recipe 'pairs'."
        )
    if is_source(recipe):
        raise RecipeError(
            f"{recipe!r} is a source of images, but the first argument must be a recipe. Pass the source as --source, "
            f"and a recipe from `corruptset list recipes`:\n  {command_with_source(recipe, recipe='imagenet-c')}"
        )
    if severities is None:
        return recipe, []
    from ..generate.recipes.recipe import load_recipe
    from ..generate.recipes.two_factor import with_severities

    return with_severities(load_recipe(recipe), severities), []
