"""Test the option `--maps` of `corruptset score`, which draws maps of regions at every position."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image
from reference_regions import EXHAUSTIVE, SAMPLED, small_images, write_recipe, write_rows

import corruptset


@pytest.fixture
def score_command(run, tmp_path):
    """Build regions, write predictions for them, and return the command line of score."""

    def make(regions):
        source = write_rows(tmp_path / "rows", small_images(2))
        build = corruptset.build(write_recipe(tmp_path, regions), source, tmp_path, jobs=1, metrics=0, store="images")
        data = corruptset.open(build.directory)
        (tmp_path / "p").mkdir()
        logits = np.random.default_rng(0).normal(size=(len(data.samples), len(data.classes)))
        np.savez(tmp_path / "p/clean.npz", logits=logits.astype(np.float32))
        (tmp_path / "p/predictions.json").write_text(json.dumps({"model": "dice", "digest": data.digest}))
        return f"score {data.path} p --maps 1"

    return make


def test_maps_of_first_images_are_written(score_command, run, tmp_path):
    assert "maps of 1 image" in run.succeeds(score_command(EXHAUSTIVE), "--out", "s").out
    (file,) = (tmp_path / "s/maps").rglob("*.png")
    with Image.open(file) as image:
        assert image.size[0] >= 640
    scores = json.loads((tmp_path / "s/scores.json").read_text())["scores"]
    fragile = {score["name"]: score["value"] for score in scores if score["name"].startswith("fragile.")}
    assert {name.split(".")[1] for name in fragile} == {"s26", "s29"}
    assert 0 < fragile["fragile.s26.loose_shift"] <= 1


def test_maps_that_cannot_be_drawn_are_rejected(score_command, run):
    line = score_command(SAMPLED)
    run.fails("--maps needs --out FOLDER", line)
    run.fails("Maps need an anchor at every position", line, "--out", "s")
