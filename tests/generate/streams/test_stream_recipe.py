"""Recipes of streams: the grid's recipe has the sets that the paths need; mistakes are named; the command line."""

from __future__ import annotations

import pytest
from streams import RECIPE, small_stream

from corruptset.errors import RecipeError
from corruptset.generate.recipes.recipe import load_recipe, parse_recipe
from corruptset.generate.streams.accuracies import cells
from corruptset.generate.streams.stream_recipe import cell_id, load_stream, parse_stream


def test_the_grids_recipe_has_the_sets_that_are_needed() -> None:
    recipe = small_stream()
    sets = parse_recipe(recipe.grid_recipe(), "the grid").resolve().sets
    assert {s.id for s in sets} == {cell_id(cell) for cell in cells(recipe)}
    stages = {s.id: s.stages for s in sets}
    for cell in list(cells(recipe))[::97]:
        assert stages[cell_id(cell)] == recipe.stages(cell)
    assert len({cell_id(cell) for cell in cells(load_stream("ccc-hard"))}) == 12 * 400 + 4 * 20


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"pixelate"', '"pixelat"', "Did you mean 'pixelate'"),
        ('"pixelate"', '"contrast"', "corruptions names one twice"),
        ('"pixelate"', '"rotate"', "rotate: severity 0.5 lies between 0 and 1, and there is no row for severity 0"),
        ('"pixelate"', '"black_lines"', "has levels"),
        ("step = 0.5", "step = 0.3", "is 0.3; expected one of 0.25, 0.5, 1"),
        ("speed = 5", "speed = 0", "speed is 0"),
        ("baseline = 35", "baseline = 135", "baseline is 135"),
        ('kind = "resize-crop"\nresize = 48\ncrop = 40', 'kind = "none"', "keeps each image's size"),
        ("tar = 12", "tars = 12", "no such key. Did you mean 'tar'"),
    ],
)
def test_mistakes_are_explained(old: str, new: str, says: str) -> None:
    assert old in RECIPE
    with pytest.raises(RecipeError, match=says):
        parse_stream(RECIPE.replace(old, new), "The recipe")


def test_kinds_of_recipes_are_told_apart() -> None:
    with pytest.raises(RecipeError, match=r"There is no stream 'ccc-hrad'. Did you mean 'ccc-hard'"):
        load_stream("ccc-hrad")
    with pytest.raises(RecipeError, match="is a stream: `corruptset stream"):
        load_recipe("ccc-hard")
    with pytest.raises(RecipeError, match="is a stream: `corruptset stream"):
        parse_recipe(RECIPE, "The recipe")
