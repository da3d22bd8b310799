"""Small builds of the sample source, and what to compare them by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from layouts import files_of
from PIL import Image
from slow_regions import EMBED, EXHAUSTIVE, FOGGED, PHOTOS, SAMPLED, SIZES, photograph
from slow_regions import write_recipe as write_region_recipe

from corruptset.generate.build import Built, build

SMALL = """
name = "small"
version = "1.0.0"
title = "Small"
calibration = "tiny"

[preprocessing]
kind = "resize-crop"
resize = 72
crop = {crop}

[encoding]
{encoding}

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


def write_recipe(folder: Path, *, encoding: str = 'format = "jpeg"', crop: int = 64) -> Path:
    """Write the small recipe and return its path."""
    path = folder / "small.toml"
    path.write_text(SMALL.format(encoding=encoding, crop=crop), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def files() -> Callable[[Path], dict[str, bytes]]:
    return files_of


@pytest.fixture(scope="session")
def small_recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recipe(tmp_path_factory.mktemp("recipe"))


@pytest.fixture(scope="session")
def lossless_recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recipe(tmp_path_factory.mktemp("lossless"), encoding='format = "png"')


@pytest.fixture(scope="session")
def small_sets() -> set[str]:
    return SMALL_SETS


@pytest.fixture(scope="session")
def whole(small_recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """All sets of the small recipe, built in process."""
    return build(small_recipe, "sample", tmp_path_factory.mktemp("whole"), jobs=1)


@pytest.fixture(scope="session")
def lossless(lossless_recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """All sets of the small recipe and clean, stored as PNG and as raw shards."""
    return build(
        lossless_recipe, "sample", tmp_path_factory.mktemp("whole"), jobs=1, sets=["*", "clean"], format="both"
    )


@pytest.fixture
def make(small_recipe: Path, tmp_path: Path) -> Callable[..., Built]:
    """Build the small recipe into this test's folder."""

    def run(**options: Any) -> Built:
        return build(small_recipe, "sample", tmp_path, **({"jobs": 1} | options))

    return run


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An image folder of three photographs of three sizes; the last is grey, as JPEG."""
    root = tmp_path_factory.mktemp("photos")
    for name, (width, height) in SIZES.items():
        (root / name).parent.mkdir(exist_ok=True)
        picture = Image.fromarray(photograph(width, height))
        picture.convert("L").save(root / f"{name}.jpg") if name == "b/x" else picture.save(root / f"{name}.png")
    return root


@pytest.fixture(scope="session")
def recipes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("recipes")
    return {
        "photos": write_region_recipe(root / "photos", PHOTOS, FOGGED),
        "plain": write_region_recipe(root / "plain", PHOTOS),
        "sampled": write_region_recipe(root / "sampled", SAMPLED),
        "exhaustive": write_region_recipe(root / "exhaustive", EXHAUSTIVE),
        "embed": write_region_recipe(root / "embed", EMBED),
    }


@pytest.fixture(scope="session")
def made(photos: Path, recipes: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Regions of photographs, clean and under two chains, in folders and shards."""
    return build(recipes["photos"], f"folder:{photos}", tmp_path_factory.mktemp("made"), jobs=1, format="both")


@pytest.fixture(scope="session")
def table(photos: Path, recipes: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Whole photographs and a table of the same regions."""
    return build(recipes["plain"], f"folder:{photos}", tmp_path_factory.mktemp("table"), jobs=1, store="table")
