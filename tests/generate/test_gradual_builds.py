"""Ladders of levels as sets of a build: one pass, the same alone, resumed, with other workers; the fraction changed is
recorded.
"""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corruptset
from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.generate.build import Built, build
from corruptset.generate.planning import plan
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.reproduction.verify import verify

OPERATORS = ["black_lines", "random_boxes", "pixel_swap", "fade_grey", "posterize"]
GLOBS = [f"{o}/*" for o in OPERATORS]


@pytest.fixture(scope="module")
def ladders(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Five operators at all levels, and clean, of two photographs."""
    return build(
        "image-degrade-30",
        "sample",
        tmp_path_factory.mktemp("ladders"),
        samples=2,
        jobs=1,
        format="hdf5",
        sets=["clean", *GLOBS],
    )


def test_the_recipes_hold_every_gradual_operator_at_thirty_levels_and_level_0() -> None:
    gradual = [
        c for c in corruption_names() if get_corruption(c).gradual is not None and not get_corruption(c).needs_model
    ]
    for name, ladder in (
        ("image-degrade-30", "evaluated"),
        ("image-degrade-30-299", "evaluated"),
        ("image-degrade-30-text", "text"),
    ):
        recipe = load_recipe(name)
        assert recipe.table().ladder == ladder
        ids = [s.id for s in recipe.resolve().sets]
        assert ids[0] == "clean"
        assert sorted(ids[1:]) == sorted(f"{o}/{level:02d}" for o in gradual for level in range(1, 31))
    boxes = {
        n: load_recipe(n).table().rung("random_boxes", 1).parameters
        for n in ("image-degrade-30", "image-degrade-30-text")
    }
    assert boxes["image-degrade-30"] != boxes["image-degrade-30-text"]


def test_a_ladder_is_planned_as_one_pass() -> None:
    planned = plan("image-degrade-30", "sample", jobs=1)
    assert planned.images == 8 * (14 * 30 + 1)
    # twelve operators continue, posterize and jpeg start from the clean image
    assert planned.stages_applied == 14 * 30
    assert planned.stages_naive == 12 * sum(range(1, 31)) + 2 * 30


def test_a_level_alone_is_the_level_of_the_thirty(ladders: Built, tmp_path: Path) -> None:
    sets = [f"{operator}/17" for operator in OPERATORS]
    alone = build("image-degrade-30", "sample", tmp_path, samples=2, jobs=1, format="hdf5", sets=sets, metrics=0)
    known = {s.id: s.pixel_digest for s in ladders.manifest.sets}
    assert {one.id: one.pixel_digest for one in alone.manifest.sets}.items() <= known.items()
    data = corruptset.open(ladders.directory)
    for operator, sample in product(OPERATORS, data.samples):
        clean, level = data["clean"].image(sample.index), data[f"{operator}/17"].image(sample.index)
        assert np.array_equal(corruptset.corrupt(clean, operator, level=17, key=sample.id), level), operator


def test_the_fraction_changed_at_each_level_is_in_the_manifest(ladders: Built) -> None:
    changed = {s.id: s.metrics.changed for s in ladders.manifest.sets if s.metrics is not None}
    assert changed["clean"] == 0
    for operator in ("black_lines", "random_boxes", "pixel_swap"):
        by_level: Any = [changed[f"{operator}/{level:02d}"] for level in range(1, 31)]
        assert all(a < b for a, b in pairwise(by_level)), operator
    assert changed["random_boxes/02"] == pytest.approx(0.034, abs=0.01)
    stage = next(s for s in ladders.manifest.sets if s.id == "black_lines/07").stages[0]
    assert (stage.level, stage.severity) == (7, None)


def test_it_verifies_and_is_made_again(ladders: Built) -> None:
    report = verify(ladders.directory, rederive="all", jobs=1)
    assert report.problems == []
    assert report.checked["rederived"] == 2
