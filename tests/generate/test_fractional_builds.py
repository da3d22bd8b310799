"""Fractional severities as sets of a build: ids, manifest, page, the virtual data set, scores."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from own_recipes import recipe

import corruptset
from corruptset.errors import RecipeError
from corruptset.generate.build import Built, build
from corruptset.generate.preview import preview

SETS = """
[[sets]]
corruptions = ["fog", "glass_blur"]
severities = [0.25, 1, 2, 2.25, 3, 4, 5]
[[sets]]
chain = ["gaussian_noise-2.50", {corruption = "contrast", severity = 0.75}]
[[sets]]
chain = ["snow-0", "frost-1.75"]
[[pairs]]
first = ["fog"]
second = ["jpeg_compression"]
severities = [0.5, 3]
orders = "given"
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """All of them but pairs of glass blur, of two photographs."""
    return build(
        recipe(SETS),
        "sample",
        tmp_path_factory.mktemp("fractions"),
        samples=2,
        jobs=1,
        sets=["clean", "f*", "g*"],
        metrics=1,
    )


def test_ids_and_manifest(built: Built) -> None:
    stages = {s.id: [(t.corruption, t.severity) for t in s.stages] for s in built.manifest.sets}
    assert stages["fog/2p25"] == [("fog", 2.25)]
    assert stages["gaussian_noise-2p5+contrast-0p75"] == [("gaussian_noise", 2.5), ("contrast", 0.75)]
    assert stages["frost/1p75"] == [("frost", 1.75)], "a stage of severity 0 is absent"
    assert {"fog-0p5+jpeg_compression-0p5", "fog-0p5+jpeg_compression-3", "fog-3+jpeg_compression-0p5"} <= stages.keys()
    text = (built.directory / "manifest.json").read_text()
    assert '"severity":2.25' in text.replace(" ", "")
    assert '"severity":2,' in text.replace(" ", "").replace("}", ","), "a whole one stays whole"
    data = corruptset.open(built.directory)
    assert list(data.severities("fog")) == [0.25, 1, 2, 2.25, 3, 4, 5]
    key = data.samples[0].id
    clean, stored = data["clean"][0], data["fog/2p25"][0]
    np.testing.assert_array_equal(
        corruptset.corrupt(np.asarray(clean[0]), "fog-2.25", calibration="imagenet", key=key), np.asarray(stored[0])
    )


def test_scores_know_them(built: Built, tmp_path: Path) -> None:
    data = corruptset.open(built.directory)
    for name in data.set_ids:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        np.savez(tmp_path / f"{name}.npz", top=np.zeros((2, 1), np.int64))
    (tmp_path / "predictions.json").write_text(json.dumps({"model": "zero", "digest": built.digest}))
    scores = corruptset.score(built.directory, tmp_path)
    assert {"fog/2p25", "fog-0p5+jpeg_compression-3"} <= scores.sets.keys()
    assert set(scores.aude) == {"fog", "glass_blur"}, "the five whole severities alone"


def test_sets_are_chosen_with_a_dot_or_a_p() -> None:
    shown = preview(
        "sample:astronaut",
        "imagenet-c",
        sets=["fog/2.25", "fog-0.5+jpeg_compression-3", "contrast/0p25", "brightness/1"],
    )
    assert set(shown.images) == {"fog/2p25", "fog-0p5+jpeg_compression-3", "contrast/0p25", "brightness/1"}


def test_a_recipe_refuses_other_severities() -> None:
    for wrong in ("-1", "5.25", "2.125", "true", '"2"'):
        with pytest.raises(
            RecipeError, match="expected a severity from 1 to 5, or a fraction with at most two decimals"
        ):
            recipe(f'[[sets]]\ncorruptions = ["fog"]\nseverities = [{wrong}]\n')
