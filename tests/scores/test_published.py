"""What papers published agrees with the corruptions and recipes that corruptset ships."""

from __future__ import annotations

import pytest
import unbuilt

from corruptset.corruptions.registry import get_corruption
from corruptset.generate.recipes.recipe import load_recipe, recipe_names
from corruptset.scores.published import (
    EXTRA,
    FAMILY_OF,
    FIFTEEN,
    IMAGENET_C,
    benchmark,
    definition,
    encoding_of,
    published,
)


def test_the_fifteen_and_the_four():
    assert len(FIFTEEN) == 15
    assert set(published()["alexnet"]) == {*FIFTEEN, "clean"}
    for name, family in FAMILY_OF.items():
        corruption = get_corruption(name)
        assert corruption.role == ("validation" if name in EXTRA else "test")
        # brightness and the like stand in one family in the paper's tables and in the code's folders
        assert corruption.family == family


@pytest.mark.parametrize("name", ["imagenet-c", "imagenet-c-all"])
def test_the_definition_is_that_of_the_shipped_recipe(name, tmp_path):
    assert definition(unbuilt.data_set(tmp_path, name).manifest) == IMAGENET_C


@pytest.mark.parametrize("name", ["imagenet-c-299", "tiny-imagenet-c", "cifar10-c", "two-factor-69"])
def test_the_definition_is_of_no_other_recipe(name, tmp_path):
    assert definition(unbuilt.data_set(tmp_path, name).manifest) != IMAGENET_C


def test_the_definition_is_of_parameters_scale_preprocessing_and_encoding(tmp_path):
    data = unbuilt.data_set(tmp_path, "imagenet-c")
    manifest = data.manifest
    smaller = {**manifest.preprocessing, "crop": 96}
    png = {"format": "png", "containers": ["folder"]}
    recipe = {**manifest.recipe, "sets": manifest.recipe["sets"][:-1]}
    for change in ({"scale": "side"}, {"preprocessing": smaller}, {"encoding": png}, {"recipe": recipe}):
        assert definition(manifest.model_copy(update=change)) != IMAGENET_C
    optimized = {**manifest.encoding, "optimize": True, "containers": ["hdf5"]}
    for change in ({"seed": 7}, {"encoding": optimized}, {"sets": manifest.sets[:3]}):
        assert definition(manifest.model_copy(update=change)) == IMAGENET_C


@pytest.mark.parametrize("name", sorted(published()["benchmarks"]))
def test_benchmarks_are_as_their_recipes(name, tmp_path):
    assert name in recipe_names()
    recipe, found = load_recipe(name), benchmark(name)
    assert (found.versions[-1], found.calibration) == (recipe.version, recipe.calibration)
    assert found.encoding == encoding_of(unbuilt.data_set(tmp_path, name).manifest)
    if found.images is not None:
        assert recipe.published is not None
        assert found.images == recipe.published.images
