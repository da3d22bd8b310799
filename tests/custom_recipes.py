"""Parse custom recipes in tests."""

from __future__ import annotations

import pytest

from corruptset.errors import RecipeError
from corruptset.generate.recipes.recipe import Recipe, parse_recipe

HEAD = """
name = "mine"
version = "0.1"
calibration = "imagenet"
[preprocessing]
kind = "none"
[encoding]
format = "png"
"""
NAMED_STAGES = """
[stages.gn010]
corruption = "gaussian_noise"
parameters = {sigma = 0.1}
[stages.dark]
corruption = "fade_black"
level = 4
"""


def parse_sets(sets: str, head: str = HEAD) -> Recipe:
    """Return a recipe with these sets."""
    return parse_recipe(head + sets, "The recipe")


def recipe_errors(text: str) -> list[str]:
    """Return the lines of the error message for a recipe."""
    with pytest.raises(RecipeError) as error:
        parse_recipe(text, "The recipe")
    first, *lines = str(error.value).split("\n")
    assert first == f"The recipe contains {len(lines)} error{'s' * (len(lines) > 1)}:"
    return lines
