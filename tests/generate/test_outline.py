"""What the shipped recipes are made from, and how large they are."""

from __future__ import annotations

from corruptset.generate.catalogue import outline
from corruptset.generate.recipes.recipe import load_recipe, recipe_names


def test_it_is_said_of_every_shipped_recipe_what_it_is_made_from() -> None:
    for name in recipe_names():
        found = outline(load_recipe(name))
        assert found.source
        # The size of a model is not known before the model is.
        assert (found.size is None) == (found.bytes_per_sample is None)
        assert (found.images is None) == (found.samples is None) == (found.bytes is None)


def test_published_sizes() -> None:
    """Raw shards are as long as their pixels: CIFAR-10-C's 960,000 images of 32x32, MNIST-C's grey ones of 28x28."""
    assert outline(load_recipe("cifar10-c")).bytes == 960_000 * 32 * 32 * 3
    assert outline(load_recipe("mnist-c")).bytes == 16 * 10_000 * 28 * 28
