"""Small builds of the sample source, and functions to compare them."""

from __future__ import annotations

import pytest
from PIL import Image
from reference_regions import EMBED, EXHAUSTIVE, FOGGED, PHOTOS, SAMPLED, SIZES, photograph
from reference_regions import write_recipe as write_region_recipe
from small_builds import read_files

from corruptset.generate.build import build

SMALL = """
name = "small"
version = "1.0.0"
title = "Small"
calibration = "tiny"

[preprocessing]
kind = "resize-crop"
resize = 72
crop = 64

[encoding]
{encoding}

[storage]
container = "both"

[[sets]]
corruptions = ["gaussian_noise", "contrast", "brightness"]
severities = [1, 3]

[[sets]]
chain = ["contrast-3", "gaussian_noise-1"]

[[sets]]
chain = ["contrast-3", "brightness-1"]

[[sets]]
chain = [{{corruption = "gaussian_noise", parameters = {{sigma = 0.3}}}}, "contrast-1"]
id = "gn300+contrast-1"
aliases = ["Noise 0.3"]
"""
SMALL_SETS = {
    "gaussian_noise/1", "gaussian_noise/3", "contrast/1", "contrast/3", "brightness/1", "brightness/3",
    "contrast-3+gaussian_noise-1", "contrast-3+brightness-1", "gn300+contrast-1",
}  # fmt: skip
REGIONS = {"plain": PHOTOS, "sampled": SAMPLED, "exhaustive": EXHAUSTIVE, "embed": EMBED}


def write_recipe(folder, encoding='format = "jpeg"'):
    """Write the small recipe and return its path."""
    path = folder / "small.toml"
    path.write_text(SMALL.format(encoding=encoding), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def files():
    return read_files


@pytest.fixture(scope="session")
def small_recipe(tmp_path_factory):
    return write_recipe(tmp_path_factory.mktemp("recipe"))


@pytest.fixture(scope="session")
def lossless_recipe(tmp_path_factory):
    return write_recipe(tmp_path_factory.mktemp("lossless"), 'format = "png"')


@pytest.fixture(scope="session")
def small_sets():
    return SMALL_SETS


@pytest.fixture(scope="session")
def whole_build(small_recipe, tmp_path_factory):
    """Build all sets of the small recipe in this process."""
    return build(small_recipe, "sample", tmp_path_factory.mktemp("whole"), jobs=1)


@pytest.fixture(scope="session")
def lossless_build(lossless_recipe, tmp_path_factory):
    """Build all sets of the small recipe and clean, as PNG files and shards of raw pixels."""
    out = tmp_path_factory.mktemp("whole")
    return build(lossless_recipe, "sample", out, jobs=1, sets=["*", "clean"], storage="both")


@pytest.fixture
def make(small_recipe, tmp_path):
    """Build the small recipe into the folder of the test."""

    def run(**options):
        return build(small_recipe, "sample", tmp_path, **({"jobs": 1} | options))

    return run


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """Write an image folder of three photographs of different sizes, the last of which is a grey JPEG."""
    root = tmp_path_factory.mktemp("photos")
    for name, (width, height) in SIZES.items():
        (root / name).parent.mkdir(exist_ok=True)
        image = Image.fromarray(photograph(width, height))
        image.convert("L").save(root / f"{name}.jpg") if name == "b/x" else image.save(root / f"{name}.png")
    return root


@pytest.fixture(scope="session")
def recipes(tmp_path_factory):
    root = tmp_path_factory.mktemp("recipes")
    recipe_files = {name: write_region_recipe(root / name, regions) for name, regions in REGIONS.items()}
    return recipe_files | {"photos": write_region_recipe(root / "photos", PHOTOS, FOGGED)}


@pytest.fixture(scope="session")
def region_build(photos, recipes, tmp_path_factory):
    """Build regions of photographs, clean and in two chains, in folders and shards."""
    return build(recipes["photos"], f"folder:{photos}", tmp_path_factory.mktemp("made"), jobs=1, storage="both")


@pytest.fixture(scope="session")
def table_build(photos, recipes, tmp_path_factory):
    """Build whole photographs with a table of the same regions."""
    return build(recipes["plain"], f"folder:{photos}", tmp_path_factory.mktemp("table"), jobs=1, store="table")
