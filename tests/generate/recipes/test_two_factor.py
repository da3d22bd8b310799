"""The sets of the two-factor paper: 69 names, 53 distinct conditions, in both orders."""

from __future__ import annotations

import re
from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import small_builds
import source_archives as a
from custom_recipes import parse_sets as own_recipe

import corruptset
from corruptset.corruptions.stages import parse_chain
from corruptset.errors import BuildError
from corruptset.generate.build import build
from corruptset.generate.planning import plan
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.recipes.two_factor import with_severities

COUNT = 24
OPTIONS: dict[str, Any] = {"jobs": 1, "storage": "hdf5", "metrics": 0}


@pytest.fixture(scope="module")
def crops(tmp_path_factory):
    """Write crops of photographs as a test batch of CIFAR-10, with a few more images than the recipe uses."""
    root = tmp_path_factory.mktemp("cifar")
    a.write_tar(root / "cifar-10-python.tar.gz", a.cifar10_python(a.random_crops(COUNT + 20)), "w:gz")
    return f"cifar10:{root / 'cifar-10-python.tar.gz'}"


@pytest.fixture(scope="module")
def full_build(crops, tmp_path_factory):
    return build("two-factor-69", crops, tmp_path_factory.mktemp("69"), samples=COUNT, **OPTIONS)


def test_table_4_is_numbered_as_published():
    """Some values of each block of Table 4 in the paper."""
    sets = load_recipe("two-factor-69").resolve().sets
    by_alias = {alias: s.id for s in sets for alias in s.aliases}
    assert [by_alias[f"type {n}"] for n in range(1, 9)] == [
        "clean", "ga010", "ga015", "ga020", "sp010", "sp010+ga010", "sp010+ga015", "sp010+ga020",
    ]  # fmt: skip
    for number, name in {
        13: "SP0.2GA0", 18: "GA0SP0.15", 20: "GA0.15SP0", 25: "GA0.1SP0.1", 31: "GA0.2SP0.2", 33: "SP0RR60",
        34: "SP0.1RR30",
        39: "SP0.2RR60", 41: "SP0RL60", 42: "SP0.1RO0", 44: "SP0.1RL60", 50: "SP0.2RL60", 51: "RR30SP0.1",
        54: "RR30SP0", 59: "RO0SP0.1",
        62: "RL30SP0", 69: "RL60SP0.2",
    }.items():  # fmt: skip
        assert by_alias[f"type {number}"] == by_alias[name], name
    assert by_alias["RL30SP0.1"] == by_alias["RO-30SP0.1"] == "ro-30+sp010"
    assert by_alias["SP0.15RR60"] == by_alias["SP0.15RO60"] == "sp015+ro060"
    training, test = load_recipe("two-factor-train").resolve().sets, {s.id: s.stages for s in sets}
    names = ["SP0.1", "GA0.1", "SP0.1GA0.1", "GA0.1SP0.1", "RR30", "RL30", "SP0.1RR30", "SP0.1RL30"]
    assert [s.aliases[0] for s in training] == names
    assert {s.role for s in training} == {"train"}
    assert all(s.stages == test[s.id] for s in training)


def test_69_names_cover_53_conditions(full_build):
    sets = {s.id: s for s in full_build.manifest.sets}
    digests = {name: s.id for s in sets.values() for name in (s.id, *s.aliases)}
    types = [n for n in digests if re.fullmatch(r"type \d+", n)]
    assert sorted(int(t.split()[1]) for t in types) == list(range(1, 70))
    assert len(sets) == len({s.pixel_digest for s in sets.values()}) == 53
    assert {s.count for s in sets.values()} == {COUNT}
    assert Counter(len(sets[digests[t]].stages) for t in types) == {2: 42, 1: 26, 0: 1}
    assert digests["SP0.1GA0.2"] != digests["GA0.2SP0.1"]
    aliases = ["SP0GA0.1", "type 2", "sp000+ga010", "ga010+sp000", "GA0.1SP0", "type 24"]
    assert sets["ga010"].aliases == aliases


def test_sets_with_same_first_stage_share_its_computation_and_pixels(full_build, crops):
    """The second factor, applied to the stored images of the first, gives the stored images of both factors, because
    the first factor draws the same random numbers in both sets.
    """
    build_plan = plan("two-factor-69", crops, samples=COUNT, jobs=1)
    assert (build_plan.stages_applied, build_plan.stages_naive) == (52, 110)
    data, rows = corruptset.open(full_build.directory), range(0, COUNT, 3)
    by_id = {s.id: s for s in load_recipe("two-factor-69").resolve().sets}
    keys = [data.samples[i].id for i in rows]
    for first, second in [("sp010", "ro030"), ("sp020", "ro-60"), ("ga010", "sp010"), ("ro030", "sp015")]:
        stages = by_id[f"{first}+{second}"].stages
        assert stages[:1] == by_id[first].stages
        stored, both = (np.stack([data[name].image(i) for i in rows]) for name in (first, f"{first}+{second}"))
        if second.startswith("ro"):  # the stage is deterministic, so it can be applied directly
            assert np.array_equal(corruptset.corrupt(stored, [stages[1]], key=keys), both)
        else:  # salt and pepper noise does not change most values of the first stage
            unclipped = (both != 0) & (both != 255)
            assert unclipped.mean() > 0.3  # a large part of a rotated image is black
            assert np.array_equal(both[unclipped], stored[unclipped])


def test_subset_of_69_sets_has_same_results(full_build, crops, tmp_path):
    digests, data = {s.id: s for s in full_build.manifest.sets}, corruptset.open(full_build.directory)
    alone = build("two-factor-69", crops, tmp_path, samples=COUNT, sets=["SP0.15GA0.2", "RL60SP0.1"], **OPTIONS)
    assert [s.id for s in alone.manifest.sets] == ["ro-60+sp010", "sp015+ga020"]
    for spec in alone.manifest.sets:
        assert (spec.pixel_digest, spec.aliases) == (digests[spec.id].pixel_digest, digests[spec.id].aliases)
    # a build of fewer samples contains the same images
    result = build("two-factor-69", crops, tmp_path / "few", samples=10, sets=["sp010+ga020"], **OPTIONS)
    few, rows = corruptset.open(result.directory), {s.id: s.index for s in data.samples}
    shared_data = [s for s in few.samples if s.id in rows]
    assert shared_data
    for sample in shared_data:
        assert np.array_equal(few["sp010+ga020"].image(sample.index), data["sp010+ga020"].image(rows[sample.id]))


def test_training_samples_must_not_be_test_samples(full_build, tmp_path):
    test, own = a.random_crops(COUNT + 20), a.random_crops(16, seed=5)
    train = [tuple(np.concatenate([mine[:4], others]) for mine, others in zip(test, own, strict=True))]
    a.write_tar(tmp_path / "cifar-10-python.tar.gz", a.cifar10_python(a.random_crops(20, seed=6), train), "w:gz")
    training = f"cifar10:{tmp_path / 'cifar-10-python.tar.gz'}"
    options = {"split": "train", "disjoint_from": str(full_build.directory), "jobs": 1}
    with pytest.raises(BuildError) as error:
        build("two-factor-train", training, tmp_path, **options)
    message = r"\d of the 20 samples are also samples of two-factor-69 in .*\n  train/0000\d is its sample test/0000\d"
    assert re.search(message, str(error.value))
    assert not (tmp_path / "two-factor-train-1.0.0").exists()
    ids = [f"train/{i:05d}" for i in range(4, 20)]
    result = build("two-factor-train", training, tmp_path, ids=ids, metrics=0, **options)
    assert {(s.role, s.count) for s in result.manifest.sets} == {("train", 16)}


def test_two_factor_imagenet_c_contains_all_pairs():
    recipe = load_recipe("two-factor-imagenet-c")
    sets = recipe.resolve().sets
    fifteen = {t.corruption for s in load_recipe("imagenet-c").resolve().sets for t in s.stages}
    assert {tuple(t.corruption for t in s.stages) for s in sets} == set(permutations(fifteen, 2))
    assert len(sets) == 210
    assert {tuple(t.severity for t in s.stages) for s in sets} == {(3, 3)}
    assert all(s.stages == parse_chain(s.id, recipe.table()) for s in sets)
    all_sets = with_severities(recipe, range(1, 6)).resolve().sets
    assert len(all_sets) == len({s.id for s in all_sets}) == 5250
    sides = own_recipe('[[pairs]]\nfirst = ["fog"]\nsecond = ["snow"]\nfirst_severities = [1]\nsecond_severities = [2]')
    assert [s.id for s in with_severities(sides, [3]).resolve().sets] == ["fog-3+snow-3", "snow-3+fog-3"]


def test_images_of_several_sizes_require_folders(tmp_path):
    """The recipe keeps the sizes of the source, but an HDF5 array needs images of one size."""
    for side in (32, 40):
        small_builds.write_crops(tmp_path / str(side), classes=1, each=1, side=side)
    with pytest.raises(BuildError, match="Use --storage folder"):
        plan("two-factor-69", f"folder:{tmp_path}", jobs=1, any_shape=True)
    assert plan("two-factor-69", f"folder:{tmp_path}", jobs=1, any_shape=True, storage="folder").storage == "folder"
