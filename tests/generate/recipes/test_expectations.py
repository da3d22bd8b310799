"""The images that a recipe expects, and mistakes in this table."""

from __future__ import annotations

from pathlib import Path

from custom_recipes import HEAD, recipe_errors

from corruptset.generate.pixels.preprocessing import SurrogateInput
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.recipes.recipe_files import recipe_names


def test_invalid_expectations_are_rejected():
    for expects, message in (
        ("sizes = [[32, 32]]\nleast_side = 32", "expects: has sizes and least_side; give one of them"),
        ("sizes = [[32, 4]]", "expects, sizes, item 1, item 2: Input should be greater than or equal to 8 (given: 4)"),
        ('channels = "gray"', "expects, channels: Input should be 'rgb' or 'grey' (given: 'gray')"),
    ):
        assert recipe_errors(f"{HEAD}[expects]\n{expects}\n[[sets]]\nclean = true\n") == [f"  {message}"]


def test_every_shipped_recipe_states_expected_images():
    page = (Path(__file__).parents[3] / "docs" / "recipes.md").read_text(encoding="utf-8")
    for name in recipe_names():
        expects = load_recipe(name).expects
        # A recipe that resizes images to the size of a model accepts all images.
        assert (expects is None) == isinstance(load_recipe(name).preprocessing, SurrogateInput), name
        assert expects is None or expects.description in page, name
        assert not {"expects", "published"} & load_recipe(name).resolve().record.keys()
