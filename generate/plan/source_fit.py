"""A source, a recipe and a view held against each other: what does not fit is refused, with the recipe or view that does."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import BuildError, SourceError
from ..pixels.preprocessing import Preprocessing
from ..recipes.expectations import Named, refusal
from ..recipes.recipe import Recipe, load_recipe, recipe_names
from ..recipes.two_factor import BASES
from ..recipes.two_factor import NAME as PAIRS
from ..views.registry import unexpected


def refuse_other_source(recipe: Recipe, view: str | None, images: Sequence[Named], *, all_seen: bool) -> None:
    """Raise if the recipe, or the view that is to be built, is made for other images than a source has.

    Parameters
    ----------
    recipe : Recipe
    view : str or None
    images : sequence of (name, (width, height, channels))
        As they are in the source.
    all_seen : bool
        Whether these are all images; if not, only what they say whatever the others are counts.

    Raises
    ------
    SourceError
        The recipe expects others.
    BuildError
        The view expects others.
    """
    if recipe.expects is not None:
        expects = recipe.expects if all_seen else recipe.expects.of_each
        problems = expects.problems(images)
        if problems:
            text = refusal(f"The recipe {recipe.name}", recipe.expects, problems, _instead(recipe, images))
            raise SourceError(f"{text} Nothing was written.")
    if view is not None:
        problem = unexpected(view, clean_shapes(recipe.preprocessing, images), all_seen=all_seen)
        if problem is not None:
            raise BuildError(f"{problem} Nothing was written.")


def clean_shapes(preprocessing: Preprocessing, images: Sequence[Named]) -> list[Named]:
    """Return the images as preprocessing makes them."""
    colour = preprocessing.channels == "rgb"
    return [(name, (*preprocessing.size(w, h), 3 if colour else c)) for name, (w, h, c) in images]


def _instead(recipe: Recipe, images: Sequence[Named]) -> str:
    """Return which recipe to take: of those that fit, what has the most sets' corruptions in common with the one that was asked for."""
    if recipe.name == PAIRS:
        tables = [table for table, base in BASES.items() if _fits(load_recipe(base), images)]
        return f"Pairs that fit: --calibration {' or '.join(tables)}." if tables else "No calibration's recipe fits."
    others = [load_recipe(name) for name in recipe_names() if name != recipe.name]
    fitting = {one.name: _likeness(one, recipe) for one in others if _fits(one, images)}
    most = max(fitting.values(), default=0)
    names = [name for name, likeness in fitting.items() if likeness == most]
    return f"{_listed('Recipe', names)}." if names else "No recipe that comes with corruptset fits."


def _fits(recipe: Recipe, images: Sequence[Named]) -> bool:
    return recipe.expects is not None and not recipe.expects.problems(images)


def _likeness(one: Recipe, other: Recipe) -> float:
    """Return how much of the corruptions of two recipes together both have."""
    mine, theirs = ({t.corruption for s in r.resolve().sets for t in s.stages} for r in (one, other))
    return len(mine & theirs) / len(mine | theirs)


def _listed(what: str, names: Sequence[str]) -> str:
    return f"{what}{'s' * (len(names) > 1)} that fit{'s' * (len(names) == 1)}: {', '.join(names)}"
