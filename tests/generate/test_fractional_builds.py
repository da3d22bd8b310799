"""Test fractional severities as sets of a build: ids, manifest, page, virtual dataset and scores."""

from __future__ import annotations

import json

import numpy as np
import pytest
from custom_recipes import HEAD, parse_sets

import corruptset
from corruptset.errors import RecipeError
from corruptset.generate.build import build
from corruptset.generate.preview import preview

SETS = """
[[sets]]
corruptions = ["fog", "brightness"]
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


def test_fractional_severities_have_ids_manifest_images_and_scores(tmp_path):
    options = {"samples": 2, "jobs": 1, "sets": ["clean", "*"], "metrics": 0, "page": False}
    head = HEAD.replace('"none"', '"resize-crop"\nresize = 72\ncrop = 64')
    result = build(parse_sets(SETS, head), "sample", tmp_path / "out", **options)
    stages = {s.id: [(t.corruption, t.severity) for t in s.stages] for s in result.manifest.sets}
    assert stages["fog/2p25"] == [("fog", 2.25)]
    assert stages["gaussian_noise-2p5+contrast-0p75"] == [("gaussian_noise", 2.5), ("contrast", 0.75)]
    assert stages["frost/1p75"] == [("frost", 1.75)], "a stage of severity 0 is absent"
    assert {"fog-0p5+jpeg_compression-0p5", "fog-0p5+jpeg_compression-3", "fog-3+jpeg_compression-0p5"} <= stages.keys()
    text = (result.directory / "manifest.json").read_text().replace(" ", "")
    assert '"severity":2.25' in text
    assert '"severity":2,' in text.replace("}", ","), "a whole one stays whole"
    data = corruptset.open(result.directory)
    assert list(data.severities("fog")) == [0.25, 1, 2, 2.25, 3, 4, 5]
    repeated = corruptset.corrupt(data["clean"].image(0), "fog-2.25", calibration="imagenet", key=data.samples[0].id)
    np.testing.assert_array_equal(repeated, data["fog/2p25"].image(0))
    folder = tmp_path / "predictions"
    for name in data.set_ids:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        np.savez(folder / f"{name}.npz", top=np.zeros((2, 1), np.int64))
    (folder / "predictions.json").write_text(json.dumps({"model": "zero", "digest": result.digest}))
    scores = corruptset.score(result.directory, folder)
    assert {"fog/2p25", "fog-0p5+jpeg_compression-3"} <= scores.sets.keys()
    assert set(scores.values("aude")) == {"fog", "brightness"}, "the five whole severities alone"


def test_sets_are_selected_with_dot_or_p():
    sets = ["fog/2.25", "fog-0.5+jpeg_compression-3", "contrast/0p25", "brightness/1"]
    result = preview("sample:astronaut", "imagenet-c", sets=sets)
    assert set(result.images) == {"fog/2p25", "fog-0p5+jpeg_compression-3", "contrast/0p25", "brightness/1"}


def test_recipe_rejects_other_severities():
    message = "expected a severity from 1 to 5, or a fraction with at most two decimals"
    for value in ("-1", "5.25", "2.125", "true", '"2"'):
        with pytest.raises(RecipeError, match=message):
            parse_sets(f'[[sets]]\ncorruptions = ["fog"]\nseverities = [{value}]\n')
