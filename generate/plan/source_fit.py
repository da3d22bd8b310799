"""Whether the images of a source are those that a recipe and a view are made for; the error names a recipe or view that fits."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import BuildError, SourceError
from ..recipes.expectations import Named, refusal
from ..recipes.recipe import Recipe, load_recipe, recipe_names
from ..recipes.two_factor import BASES
from ..recipes.two_factor import NAME as PAIRS
from ..views.fits import unexpected
from ..views.layouts import get_layout

_FOR_ANNOTATED = "detection-c"
"""Takes any image, and is made for those with boxes or masks: it is nothing to offer for classified ones."""


def refuse_other_source(recipe: Recipe, view: str | None, images: Sequence[Named], *, all_seen: bool) -> None:
    """Raise if the recipe, or the view that is to be built, is made for other images than a source has.

    Parameters
    ----------
    recipe : Recipe
    view : str or None
    images : sequence of (name, (width, height, channels))
        As they are in the source.
    all_seen : bool
        Whether these are all images.

    Raises
    ------
    SourceError
        The recipe expects others.
    BuildError
        The view expects others.
    """
    problems = recipe.expects.problems(images, all_seen=all_seen) if recipe.expects is not None else []
    if recipe.expects is not None and problems:
        text = refusal(f"The recipe {recipe.name}", recipe.expects, problems, _alternative(recipe, images))
        raise SourceError(f"{text} Nothing was written.")
    if view is None:
        return
    colour = recipe.preprocessing.channels == "rgb"
    clean = [(name, (*recipe.preprocessing.size(w, h), 3 if colour else c)) for name, (w, h, c) in images]
    problem = unexpected(get_layout(view), clean, all_seen=all_seen)
    if problem is not None:
        raise BuildError(f"{problem} Nothing was written.")


def _alternative(recipe: Recipe, images: Sequence[Named]) -> str:
    """Return which recipe fits: a calibration's own with most of the corruptions that were asked for, or the recipes that share most."""
    if recipe.name == PAIRS:
        tables = [table for table, base in BASES.items() if _fits(load_recipe(base), images)]
        return f"Pairs that fit: --calibration {' or '.join(tables)}." if tables else "No calibration's recipe fits."
    others = [load_recipe(name) for name in recipe_names() if name not in (recipe.name, _FOR_ANNOTATED)]
    shared = {other.name: _shared_part(recipe, other) for other in others if _fits(other, images)}
    names = [name for name, part in shared.items() if part == max(shared.values())]
    if not set(names) & set(BASES.values()):  # of photographs imagenet-c, which has fewer corruptions than cifar10-c, before imagenet-c-all
        names = [name for name in BASES.values() if shared.get(name, 0) > 0.5][:1] or names
    if not names:
        return "No recipe that comes with corruptset fits."
    return f"{'Recipe that fits' if len(names) == 1 else 'Recipes that fit'}: {', '.join(names)}."


def _fits(recipe: Recipe, images: Sequence[Named]) -> bool:
    return recipe.expects is not None and not recipe.expects.problems(images)


def _shared_part(recipe: Recipe, other: Recipe) -> float:
    """Return the share of the corruptions of two recipes that both have; regions count as one, which may stand alone."""
    first, second = (
        {stage.corruption for spec in r.resolve().sets for stage in spec.stages} | ({"regions"} if r.regions is not None else set())
        for r in (recipe, other)
    )
    return len(first & second) / len(first | second) if first or second else 1.0
