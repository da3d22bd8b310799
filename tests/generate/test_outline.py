"""Test the sources and sizes in the descriptions of the shipped recipes."""

from __future__ import annotations

from corruptset.generate.catalogue import outline
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.recipes.recipe_files import recipe_names


def test_outline_describes_source_and_size_of_every_shipped_recipe():
    recipe = {name: outline(load_recipe(name)) for name in recipe_names()}
    for item in recipe.values():
        assert item.source
        # the size of a model is not known before the model is
        assert (item.size is None) == (item.bytes_per_sample is None)
        assert (item.images is None) == (item.samples is None) == (item.bytes is None)
    # raw shards are as long as their pixels: 960,000 images of 32x32, grey ones of 28x28
    assert recipe["cifar10-c"].bytes == 960_000 * 32 * 32 * 3
    assert recipe["mnist-c"].bytes == 16 * 10_000 * 28 * 28
