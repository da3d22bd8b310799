"""A dataset as a mapping of sets, and selections of sets."""

import pickle
from collections.abc import Mapping
from itertools import product
from typing import get_args

import pytest
import record_datasets

import corruptset
from corruptset.corruptions.registry import PLUGIN, corruption_names, family_of, get_corruption
from corruptset.errors import UnknownCorruption, UnknownSet
from corruptset.manifests.reader import Dataset
from corruptset.manifests.reading.corruption_names import CorruptionName
from corruptset.manifests.reading.image_set import ImageSet
from corruptset.manifests.reading.set_group import group_by_corruption


@pytest.fixture(scope="module")
def singles(tmp_path_factory):
    return record_datasets.records_dataset(tmp_path_factory.mktemp("singles"), "imagenet-c-all", 4)


@pytest.fixture(scope="module")
def levels(tmp_path_factory):
    return record_datasets.records_dataset(tmp_path_factory.mktemp("levels"), "image-degrade-30", 4)


@pytest.fixture
def chains(templates):
    """A dataset with clean images, fog 3, and noise 5 after fog 3."""
    return corruptset.open(templates())


def test_set_group_is_mapping_of_sets(singles, levels, chains):
    assert isinstance(singles, Mapping)
    result = dict(singles)
    assert list(result) == list(singles) == singles.set_ids
    assert all(isinstance(images, ImageSet) and images.id == key for key, images in result.items())
    assert singles.get("fog/9") is None
    assert (singles == singles, singles != corruptset.open(singles.path), singles in {singles}) == (True, True, True)
    for data in (singles, levels, chains):
        for name in [*data, *data.aliases, *corruption_names(), "fog-3", "clean", "", 3, None]:
            assert (name in data) == (data.get(name) is not None)
    keys = singles._ipython_key_completions_()
    assert {*singles, *singles.aliases, "fog"} <= set(keys)
    assert all(key in singles for key in keys)


def test_corruption_is_mapping_of_severities_or_levels(singles, levels, chains):
    fog = singles["fog"]
    assert [(key, images.id) for key, images in fog.items()] == [(s, f"fog/{s}") for s in range(1, 6)]
    assert list(singles.severities("speckle_noise")) == fog._ipython_key_completions_()
    lines = levels.severities("black_lines")
    assert [lines[level].id for level in lines] == [f"black_lines/{level:02d}" for level in range(1, 31)]
    assert list(chains.severities("fog")) == [3]
    assert group_by_corruption(record for record in chains.manifest.sets if len(record.stages) > 1) == {}
    assert repr(fog) == "<SetGroup fog of imagenet-c-all: 5 sets, 1, 2, 3, 4, 5>"
    assert fog.get(6) is None
    refusals = [
        (lambda: fog[6], r"fog of imagenet-c-all has no set 6\. Its sets are 1, 2, 3, 4, 5\."),
        (lambda: fog["3"], r"has no set '3'\. Pass it as a number: 3\. Its sets are 1"),
        (lambda: chains.severities("clean"), r"'clean' is a set, not a corruption. Use data\['clean'\]"),
        (lambda: singles.severities("fogg"), f"^{singles.name} has no set 'fogg'"),
        (lambda: chains.severities("gaussian_noise"), "no set 'gaussian_noise'"),
        (lambda: singles["fogg"], "Did you mean 'fog'"),
        (lambda: singles["fog/33"], "Did you mean 'fog/3'"),
        (lambda: singles.torch("fog"), r"'fog' is a corruption.*such as 'fog/1'"),
    ]
    for ask, message in refusals:
        with pytest.raises(UnknownSet, match=message):
            ask()


def test_selection_contains_sets_that_match_all_conditions(singles, levels, chains):
    """All conditions on stages must be met by the same stage of a chain."""
    command = [
        {"corruption": [None, ["fog"], ["fog", "gaussian_noise"]], "severity": [None, [3], [3, 5]]},
        {"family": [None, ["weather", "noise"]], "severity": [None, [3]]},
    ]
    for data, choices in product((singles, chains), command):
        for values in product(*choices.values()):
            of_stage = {name: value for name, value in zip(choices, values, strict=True) if value is not None}
            expected = []
            for record in data.manifest.sets:
                stage_fields = [vars(stage) | {"family": family_of(stage.corruption)} for stage in record.stages]
                if not of_stage or any(all(s[name] in value for name, value in of_stage.items()) for s in stage_fields):
                    expected.append(record.id)
            result = data.select(**of_stage)
            assert list(result) == [images.id for images in result.values()] == expected
    validation = [f"{name}/2" for name in ("gaussian_blur", "saturate", "spatter", "speckle_noise")]
    assert list(singles.select(role="validation", severity=range(2, 3))) == validation
    assert list(chains.select(stages=0)) == ["clean"]
    assert list(chains.select(stages=[1], role="test", corruption="fog")) == ["fog/3"]
    assert list(chains.select(corruption="fog", severity=5)) == []
    assert list(chains.select(corruption="fog", severity=3)) == ["fog-3+gaussian_noise-5", "fog/3"]
    assert list(levels.select(corruption="black_lines", level=(1, 30))) == ["black_lines/01", "black_lines/30"]
    with pytest.raises(UnknownCorruption) as exc_info:
        singles.select(corruption=["fogg", "fog"], severity=[6, "3"], level=1, family="wether", role="tests", stages=2)
    near = {"fogg": "fog", "wether": "weather", "tests": "test"}
    numbers = ("severity 6", "severity '3'. Pass it as a number: 3.", "level 1. Known values: none.", "stages 2")
    for message in (*numbers, *(f"{name!r}. Did you mean {other!r}" for name, other in near.items())):
        assert message in str(exc_info.value)


def test_families_match_registry_and_survive_pickling(singles):
    assert all(family_of(name) == get_corruption(name).family for name in corruption_names())
    assert family_of("nobody_s") == "other"
    copy = pickle.loads(pickle.dumps(singles))
    assert list(copy.select(family="blur", severity=1)) == list(singles.select(family="blur", severity=1)) != []
    assert list(pickle.loads(pickle.dumps(singles["fog"]))) == [1, 2, 3, 4, 5]
    assert list(Dataset(singles.path).select(family="blur", severity=1)) == list(copy.select(family="blur", severity=1))


def test_name_type_lists_corruptions_of_this_release():
    shipped = {name for name in corruption_names() if family_of(name) != PLUGIN}
    assert set(get_args(CorruptionName)) == shipped
