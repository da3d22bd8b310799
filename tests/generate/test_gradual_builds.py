"""Ladders of levels as sets of a build: one pass, the same alone, resumed, with other workers; the fraction changed is
recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corruptset
from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.errors import Interrupted
from corruptset.generate.again.rederive import verify
from corruptset.generate.build import Built, ProgressEvent, build
from corruptset.generate.plan.plan import plan
from corruptset.generate.recipes.recipe import load_recipe

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


@pytest.mark.ci
def test_every_set_at_299_is_made_of_that_size(tmp_path: Path) -> None:
    built = build("image-degrade-30-299", "sample", tmp_path, samples=1, jobs=1, metrics=0)
    data = corruptset.open(built.directory)
    (sample,) = data.samples
    assert len(data) == 14 * 30 + 1
    clean = data["clean"].image(sample.index)
    for name in data:
        image = data[name].image(sample.index)
        assert image.shape == (299, 299, 3), name
        operator, _, level = name.partition("/")
        if level in ("01", "30"):
            same = corruptset.corrupt(clean, operator, level=int(level), calibration="inception", key=sample.id)
            assert np.array_equal(image, same), name
            assert not np.array_equal(image, clean), name


def test_a_ladder_is_planned_as_one_pass() -> None:
    planned = plan("image-degrade-30", "sample", jobs=1)
    assert planned.images == 8 * (14 * 30 + 1)
    # twelve operators continue, posterize and jpeg start from the clean image
    assert planned.stages_applied == 14 * 30
    assert planned.stages_naive == 12 * sum(range(1, 31)) + 2 * 30


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_level_alone_is_the_level_of_the_thirty(ladders: Built, operator: str, tmp_path: Path) -> None:
    alone = build(
        "image-degrade-30", "sample", tmp_path, samples=2, jobs=1, format="hdf5", sets=[f"{operator}/17"], metrics=0
    )
    known = {s.id: s.pixel_digest for s in ladders.manifest.sets}
    (one,) = alone.manifest.sets
    assert one.pixel_digest == known[one.id]
    data = corruptset.open(ladders.directory)
    for sample in data.samples:
        clean, level = data["clean"].image(sample.index), data[f"{operator}/17"].image(sample.index)
        assert np.array_equal(corruptset.corrupt(clean, operator, level=17, key=sample.id), level)


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


def test_an_interrupted_ladder_is_resumed(ladders: Built, tmp_path: Path, files: Callable[[Path], Any]) -> None:
    def stop(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done == 2:
            raise KeyboardInterrupt

    options: dict[str, Any] = {"samples": 2, "format": "hdf5", "sets": ["clean", *GLOBS]}
    with pytest.raises(Interrupted):
        build("image-degrade-30", "sample", tmp_path, jobs=1, progress=stop, **options)
    built = build("image-degrade-30", "sample", tmp_path, jobs=1, **options)
    assert files(built.directory) == files(ladders.directory)


@pytest.mark.ci
def test_two_workers_give_the_same(ladders: Built, tmp_path: Path) -> None:
    other = build("image-degrade-30", "sample", tmp_path, samples=2, jobs=2, format="both", sets=["clean", *GLOBS])
    assert other.digest == ladders.digest
