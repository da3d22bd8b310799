"""Test the option --frost-textures. Textures other than the published ones are noted, and small ones are refused."""

from __future__ import annotations

import numpy as np
import small_builds
from PIL import Image


def write_texture(folder, side):
    folder.mkdir()
    grain = np.random.default_rng(0).integers(90, 160, (side, side + 1, 3))
    Image.fromarray((grain + np.array([0, 10, 30])).astype(np.uint8)).save(folder / "ice.png")
    return folder


def test_plan_and_build_state_that_textures_are_custom(run, tmp_path):
    write_texture(tmp_path / "ice", 260)
    for command in ("plan", "build --metrics 0 --no-page --out x"):
        line = f"{command} imagenet-c --samples 1 --jobs 1 --frost-textures ice --sets"
        output = run.succeeds(f"{line} frost/1").out
        assert "Note: The frost textures are not the published ones" in output
        # The note is also printed for a finished build.
        assert (
            run.succeeds(f"{line} frost/1 --json")
            .json["notes"][0]
            .startswith("The frost textures are not the published")
        )
    assert (
        "Note:" not in run.succeeds("plan imagenet-c --source sample --samples 1 --frost-textures ice --sets fog/1").out
    )


def test_too_small_textures_are_rejected_before_anything_is_written(run, tmp_path):
    write_texture(tmp_path / "ice", 223)
    message = "ice.png: 223x224, at the texture scale 1, does not cover an image of 224x224"
    run.fails(message, "build imagenet-c --samples 1 --frost-textures ice --out out")


def test_images_of_several_sizes_are_all_checked(run, tmp_path):
    """A plan looks at eight images, but the check of the source also sees the larger one."""
    write_texture(tmp_path / "ice", 120)
    (tmp_path / "photos/one").mkdir(parents=True)
    for i in range(40):
        side = 130 if i == 1 else 60
        Image.new("RGB", (side, side)).save(tmp_path / f"photos/one/{i:02d}.png")
    frost = '[[sets]]\ncorruptions = ["frost"]\nseverities = [1]\n'
    recipe = small_builds.write_recipe(tmp_path, calibration="imagenet", more=frost)
    line = "--source folder:photos --out out --frost-textures ice --jobs 1 --any-shape"
    run.fails("does not cover an image of 130x130", "build", recipe, *line.split())
