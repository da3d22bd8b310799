"""Test gradual degradations in a build: shared levels, single levels, regenerated levels and recorded changes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import corruptset
from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.generate.build import build
from corruptset.generate.planning import plan
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.reproduction.verify import verify

OPERATORS = ["black_lines", "pixel_swap", "posterize"]
"""Two that continue, and one that starts from the clean image at each level."""
OPTIONS = {"samples": 2, "jobs": 1, "storage": "hdf5", "page": False}


@pytest.fixture(scope="module")
def ladders(tmp_path_factory):
    """Build all levels of three operators and clean images of two photographs."""
    sets, out = ["clean", *(f"{o}/*" for o in OPERATORS)], tmp_path_factory.mktemp("ladders")
    return build("image-degrade-30", "sample", out, sets=sets, metrics=1, **OPTIONS)


def test_recipes_contain_all_gradual_operators_at_thirty_levels_and_clean():
    corruption = map(get_corruption, corruption_names())
    gradual = [c.name for c in corruption if c.gradual is not None and not c.needs_model]
    all_names = sorted(["clean", *(f"{o}/{level:02d}" for o in gradual for level in range(1, 31))])
    for suffix, ladder in (("", "evaluated"), ("-299", "evaluated"), ("-text", "text")):
        recipe = load_recipe(f"image-degrade-30{suffix}")
        assert recipe.table().ladder == ladder
        ids = [s.id for s in recipe.resolve().sets]
        assert (ids[0], sorted(ids)) == ("clean", all_names)


def test_parameter_set_is_planned_as_single_pass(crops):
    sets = ["black_lines/*", "posterize/*"]
    build_plan = plan("image-degrade-30", f"folder:{crops}", first=1, jobs=1, sets=sets, any_shape=True)
    assert (build_plan.images, build_plan.stages_applied) == (2 * 30, 2 * 30)
    assert build_plan.stages_naive == sum(range(1, 31)) + 30


def test_single_level_equals_same_level_of_thirty(ladders, tmp_path):
    sets = [f"{operator}/17" for operator in OPERATORS]
    alone = build("image-degrade-30", "sample", tmp_path, sets=sets, metrics=0, **OPTIONS)
    digests = {s.id: s.pixel_digest for s in ladders.manifest.sets}
    assert {spec.id: spec.pixel_digest for spec in alone.manifest.sets}.items() <= digests.items()
    data = corruptset.open(ladders.directory)
    for operator in OPERATORS:
        result = corruptset.corrupt(data["clean"].image(1), operator, level=17, key=data.samples[1].id)
        assert np.array_equal(result, data[f"{operator}/17"].image(1)), operator


def test_manifest_contains_changed_fraction_of_each_level(ladders):
    changed = {s.id: s.metrics.changed for s in ladders.manifest.sets}
    assert changed["clean"] == 0
    for operator in ("black_lines", "pixel_swap"):
        by_level = [changed[f"{operator}/{level:02d}"] for level in range(1, 31)]
        assert all(a < b for a, b in pairwise(by_level)), operator
    (stage,) = next(s for s in ladders.manifest.sets if s.id == "black_lines/07").stages
    assert (stage.level, stage.severity) == (7, None)


def test_gradual_build_is_verified_and_rederived(ladders):
    report = verify(ladders.directory, rederive=1, jobs=1)
    assert (report.problems, report.checked["rederived"]) == ([], 1)
