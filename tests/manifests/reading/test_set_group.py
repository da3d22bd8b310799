"""A data set as a mapping of its sets, and selections of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import unbuilt

import corruptset
from corruptset.corruptions.registry import corruption_names, family_of, get_corruption
from corruptset.errors import UnknownCorruption, UnknownSet
from corruptset.manifests.reader import DataSet
from corruptset.manifests.reading.image_set import ImageSet
from corruptset.manifests.reading.set_group import by_corruption
from corruptset.manifests.records.models import SetRecord


@pytest.fixture(scope="module")
def singles(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    return unbuilt.data_set(tmp_path_factory.mktemp("singles"), "imagenet-c-all", 4)


@pytest.fixture(scope="module")
def levels(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    return unbuilt.data_set(tmp_path_factory.mktemp("levels"), "image-degrade-30", 4)


@pytest.fixture
def chains(tmp_path: Path, templates: Callable[..., Path]) -> DataSet:
    """Clean, fog at 3, and noise at 5 after fog at 3."""
    return corruptset.open(templates())


def test_it_is_a_mapping_of_sets(singles: DataSet) -> None:
    assert isinstance(singles, Mapping)
    assert list(singles.keys()) == list(singles) == singles.set_ids
    assert [s.id for s in singles.values()] == singles.set_ids
    found = dict(singles)
    assert list(found) == [key for key, _ in singles.items()] == singles.set_ids
    assert all(isinstance(images, ImageSet) and images.id == key for key, images in found.items())
    assert singles.get("fog/3") is not None
    assert singles.get("fog/9") is None
    assert singles == singles
    assert singles != corruptset.open(singles.path)
    assert singles in {singles}
    with pytest.raises(KeyError):
        singles["fog/9"]


def test_whatever_is_in_it_can_be_taken_from_it(singles: DataSet, levels: DataSet, chains: DataSet) -> None:
    for data in (singles, levels, chains):
        names = [*data, *data.aliases, *corruption_names(), "fog-3", "clean", "", 3, None]
        for name in names:
            assert (name in data) == (data.get(name) is not None)  # type: ignore[call-overload]


def test_a_corruption_is_its_severities_or_levels(singles: DataSet, levels: DataSet, chains: DataSet) -> None:
    assert list(singles.severities("fog")) == list(singles.severities("speckle_noise")) == [1, 2, 3, 4, 5]
    assert [images.id for images in singles["fog"].values()] == [f"fog/{s}" for s in range(1, 6)]  # type: ignore[attr-defined]
    lines = levels.severities("black_lines")
    assert [(key, images.id) for key, images in lines.items()] == [(k, f"black_lines/{k:02d}") for k in range(1, 31)]
    assert list(chains.severities("fog")) == [3]
    assert by_corruption(r for r in chains.manifest.sets if len(r.stages) > 1) == {}
    assert repr(singles["fog"]) == "<SetGroup fog of imagenet-c-all: 5 sets, 1, 2, 3, 4, 5>"
    with pytest.raises(UnknownSet, match=r"fog of imagenet-c-all has no set 6\. It has 1, 2, 3, 4, 5\."):
        singles["fog"][6]
    for data, name in ((singles, "fogg"), (chains, "gaussian_noise"), (chains, "fogg"), (levels, "black_line")):
        with pytest.raises(UnknownSet, match=f"no set {name!r}"):
            data.severities(name)
    with pytest.raises(UnknownSet, match="Did you mean 'fog'"):
        singles["fogg"]
    with pytest.raises(UnknownSet, match=r"'fog' is a corruption.*such as 'fog/1'"):
        singles.torch("fog")


def plainly(record: SetRecord, role: Any, stages: Any, **of_stage: Any) -> bool:
    """Say whether a set fits, the slow way; values are lists or None."""
    read = {
        "corruption": lambda s: s.corruption,
        "severity": lambda s: s.severity,
        "family": lambda s: get_corruption(s.corruption).family,
    }
    asked = {name: values for name, values in of_stage.items() if values is not None}
    one = not asked or any(
        all(read[name](stage) in values for name, values in asked.items()) for stage in record.stages
    )
    return one and (role is None or record.role in role) and (stages is None or len(record.stages) in stages)


def test_a_selection_is_what_fits_all_of_it(singles: DataSet, chains: DataSet) -> None:
    for data in (singles, chains):
        noises = ["fog", "gaussian_noise"]
        severities = [3, 5]
        for corruption, severity, role, family, stages in product(
            [None, ["fog"], noises],
            [None, [3], severities],
            [None, ["test"]],
            [None, ["noise"], ["weather", "noise"]],
            [None, [1]],
        ):
            found = data.select(corruption=corruption, severity=severity, role=role, family=family, stages=stages)
            of_stage = {"corruption": corruption, "severity": severity, "family": family}
            expected = [r.id for r in data.manifest.sets if plainly(r, role, stages, **of_stage)]
            assert list(found) == expected
            assert [images.id for images in found.values()] == expected
    assert list(singles.select(role="validation", severity=range(2, 3))) == [
        "gaussian_blur/2", "saturate/2", "spatter/2", "speckle_noise/2",
    ]  # fmt: skip
    assert list(chains.select(stages=0)) == ["clean"]
    assert list(chains.select(corruption="fog", severity=5)) == []
    assert list(chains.select(corruption="fog", severity=3)) == ["fog-3+gaussian_noise-5", "fog/3"]


def test_levels_are_selected(levels: DataSet) -> None:
    assert list(levels.select(corruption="black_lines", level=(1, 30))) == ["black_lines/01", "black_lines/30"]
    assert {images.record.stages[0].level for images in levels.select(level=7).values()} == {7}


def test_values_that_no_set_has_are_refused_all_at_once(singles: DataSet) -> None:
    with pytest.raises(UnknownCorruption) as caught:
        singles.select(corruption=["fogg", "fog"], severity=6, family="wether", role="tests", stages=2)
    text = str(caught.value)
    near = {"fogg": "fog", "wether": "weather", "tests": "test"}
    for said in ("severity 6", "stages 2", *(f"{name!r}. Did you mean {other!r}" for name, other in near.items())):
        assert said in text


def test_families_are_those_of_the_registry_and_travel(singles: DataSet) -> None:
    assert all(family_of(name) == get_corruption(name).family for name in corruption_names())
    assert family_of("nobody_s") == "other"
    copy = pickle.loads(pickle.dumps(singles))
    assert list(copy.select(family="blur", severity=1)) == list(singles.select(family="blur", severity=1)) != []
    with pytest.raises(ValueError, match=r"Open it with corruptset\.open"):
        DataSet(singles.path).select(family="blur")


def test_keys_are_completed(singles: DataSet) -> None:
    keys = singles._ipython_key_completions_()
    assert {*singles, *singles.aliases, "fog"} <= set(keys)
    assert all(key in singles for key in keys)
    assert singles.severities("fog")._ipython_key_completions_() == [1, 2, 3, 4, 5]
