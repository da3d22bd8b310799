"""A user's own frost textures, from the command line: noted where they are unlike the published ones, refused where
they are too small.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import corruptset
from corruptset.errors import BuildError
from corruptset.generate.planning import plan


def ice(folder: Path, side: int) -> Path:
    folder.mkdir()
    grain = np.random.default_rng(0).integers(90, 160, (side, side + 1, 3))
    Image.fromarray((grain + np.array([0, 10, 30])).astype(np.uint8)).save(folder / "ice.png")
    return folder


def test_plan_and_build_say_that_they_are_not_the_published_ones(run, tmp_path):
    folder = ice(tmp_path / "ice", 260)
    for command in ("plan", "build --metrics 0 --no-page --out x"):
        line = f"{command} imagenet-c --samples 1 --jobs 1 --frost-textures {folder} --sets"
        said = run(f"{line} frost/1")
        assert said.code == 0
        assert "Note: The frost textures are not the published ones" in said.out
        assert "different pictures to draw from: 1; the published sets have 4" in said.out
        # also of what was built before
        assert run(f"{line} frost/1 --json").json["notes"][0].startswith("The frost textures are not the published")
        assert command != "plan" or "Note:" not in run(f"{line} fog/1").out


def test_too_small_ones_are_refused_before_anything_is_written(run, tmp_path):
    folder = ice(tmp_path / "ice", 223)
    out = tmp_path / "out"
    told = run("build imagenet-c --samples 1 --frost-textures", folder, "--out", out)
    assert told.code == 2
    assert "ice.png: 223x224, at the texture scale 1, does not cover an image of 224x224" in told.err
    assert not out.exists()
    # the scale is the set's, and sets without frost need no textures
    assert plan("imagenet-c", "sample", sets=["fog/1"], samples=1, frost_textures=folder).notes == ()


def test_images_of_several_sizes_are_all_looked_at(tmp_path):
    """A plan looks at eight images; the check of the source sees the one that is larger."""
    folder = ice(tmp_path / "ice", 120)
    (tmp_path / "photos/one").mkdir(parents=True)
    for i in range(40):
        side = 130 if i == 1 else 60
        Image.fromarray(np.full((side, side, 3), 128, np.uint8)).save(tmp_path / f"photos/one/{i:02d}.png")
    recipe = tmp_path / "own.toml"
    recipe.write_text(
        'name = "own"\nversion = "1.0.0"\ncalibration = "imagenet"\n[preprocessing]\nkind = '
        '"none"\n[encoding]\nformat = "png"\n'
        '[[sets]]\ncorruptions = ["frost"]\nseverities = [1]\n'
    )
    with pytest.raises(BuildError, match="does not cover an image of 130x130"):
        corruptset.build(recipe, f"folder:{tmp_path / 'photos'}", tmp_path / "out", frost_textures=folder, jobs=1)
    assert not (tmp_path / "out").exists()
