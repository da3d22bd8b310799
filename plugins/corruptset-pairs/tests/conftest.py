"""Small data sets of regions and of levels, and what a model made of the regions."""

from __future__ import annotations

from pathlib import Path

import layouts
import numpy as np
import pytest
from corruptset_pairs.sheet import Sheet, pairs_sheet
from slow_regions import small_images, write_recipe, write_rows

import corruptset
from corruptset.generate.build import build
from corruptset.manifests.reader import DataSet

LEVELS = '[[sets]]\ncorruptions = ["black_lines", "posterize"]\nlevels = [1, 2, 4]\n\n[[sets]]\nclean = true\n'


@pytest.fixture(scope="session")
def regions(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    """Regions of twenty images of ten classes: of two sides, one block of each."""
    folder = tmp_path_factory.mktemp("regions")
    recipe = write_recipe(folder / "recipe", "sides = [12, 16]\nblocks = 1\nout = 16")
    made = build(
        recipe, write_rows(folder / "rows", small_images(20)), folder / "out", jobs=1, metrics=0, format="hdf5"
    )
    return corruptset.open(made.directory)


@pytest.fixture(scope="session")
def predictions(regions: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a model made of the regions: about two thirds are right; the true class is always among the first five."""
    folder = tmp_path_factory.mktemp("net")
    labels = regions["clean"].labels
    right = np.random.default_rng(4).random(len(labels)) < 0.67
    top = (labels[:, None] + np.arange(5) + ~right[:, None]) % 10
    top[:, 4] = np.where(right, top[:, 4], labels)
    np.savez(folder / "clean.npz", top=top)
    return folder


@pytest.fixture(scope="session")
def levels(shared: layouts.Shared) -> DataSet:
    """Twenty crops of ten classes, clean and under three levels of two gradual degradations."""
    return corruptset.open(shared.build(recipe={"name": "levels", "more": LEVELS}, format="folder"))


@pytest.fixture(scope="session")
def pairs_of_model(regions: DataSet, predictions: Path, tmp_path_factory: pytest.TempPathFactory) -> Sheet:
    """A sheet of ten pairs that are fragile for the model."""
    return pairs_sheet(regions, tmp_path_factory.mktemp("sheet") / "pairs.html", n=10, predictions=predictions)


@pytest.fixture(scope="session")
def levels_sheet(levels: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Sheet:
    """A sheet of twenty images at four levels."""
    return pairs_sheet(levels, tmp_path_factory.mktemp("sheet") / "levels.html", n=20)
