"""Test that the published facts agree with the corruptions and recipes of corruptset."""

from __future__ import annotations

import record_datasets

from corruptset.corruptions.registry import get_corruption
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.recipes.recipe_files import recipe_names
from corruptset.scores.published import (
    EXTRA,
    FAMILY_OF,
    FIFTEEN,
    IMAGENET_C,
    benchmark,
    definition,
    encoding_of,
    load_published,
)


def test_benchmark_has_fifteen_test_and_four_extra_corruptions():
    assert len(FIFTEEN) == 15
    assert set(load_published()["alexnet"]) == {*FIFTEEN, "clean"}
    for name, family in FAMILY_OF.items():
        corruption = get_corruption(name)
        assert corruption.role == ("validation" if name in EXTRA else "test")
        # The paper's tables and the folders of the code assign brightness and others to the same family.
        assert corruption.family == family


def test_definition_covers_parameters_scale_preprocessing_and_encoding(tmp_path):
    for name in ("imagenet-c-299", "tiny-imagenet-c", "cifar10-c", "imagenet-c-all", "imagenet-c"):
        manifest = record_datasets.records_dataset(tmp_path / name, name).manifest
        assert (definition(manifest) == IMAGENET_C) == (name in ("imagenet-c", "imagenet-c-all")), name
    smaller = {**manifest.preprocessing, "crop": 96}
    png = {"format": "png"}
    recipe = {**manifest.recipe, "sets": manifest.recipe["sets"][:-1]}
    for change in ({"scale": "side"}, {"preprocessing": smaller}, {"encoding": png}, {"recipe": recipe}):
        assert definition(manifest.model_copy(update=change)) != IMAGENET_C
    optimized = {**manifest.encoding, "optimize": True}
    for change in ({"seed": 7}, {"encoding": optimized}, {"sets": manifest.sets[:3]}):
        assert definition(manifest.model_copy(update=change)) == IMAGENET_C


def test_benchmarks_match_recipes(tmp_path):
    assert load_published()["benchmarks"].keys() <= set(recipe_names())
    for name in load_published()["benchmarks"]:
        recipe, result = load_recipe(name), benchmark(name)
        assert (result.versions[-1], result.calibration) == (recipe.version, recipe.calibration), name
        assert result.encoding == encoding_of(record_datasets.records_dataset(tmp_path / name, name).manifest), name
        assert result.images in (None, recipe.published and recipe.published.images), name
