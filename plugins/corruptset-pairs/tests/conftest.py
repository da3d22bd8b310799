"""Provide small datasets of regions and of gradual degradations, predictions of a model, and sheets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import small_builds
from corruptset_pairs.sheet import Sheet, pairs_sheet
from reference_regions import small_images, write_recipe, write_rows

import corruptset
from corruptset.generate.build import build
from corruptset.manifests.reader import Dataset

LEVELS = '[[sets]]\ncorruptions = ["black_lines", "posterize"]\nlevels = [1, 2, 4]\n\n[[sets]]\nclean = true\n'


@pytest.fixture(scope="session")
def regions(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Build regions of twenty images from ten classes, with two sides and one block per side."""
    folder = tmp_path_factory.mktemp("regions")
    recipe = write_recipe(folder / "recipe", "sides = [12, 16]\nblocks = 1\nout = 16")
    result = build(
        recipe, write_rows(folder / "rows", small_images(20)), folder / "out", jobs=1, metrics=0, storage="hdf5"
    )
    return corruptset.open(result.directory)


@pytest.fixture(scope="session")
def predictions(regions: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write predictions with about two thirds correct, in which the true class is always among the top five."""
    folder = tmp_path_factory.mktemp("net")
    labels = regions["clean"].labels
    correct = np.random.default_rng(4).random(len(labels)) < 0.67
    top = (labels[:, None] + np.arange(5) + ~correct[:, None]) % 10
    top[:, 4] = np.where(correct, top[:, 4], labels)
    np.savez(folder / "clean.npz", top=top)
    return folder


@pytest.fixture(scope="session")
def levels(shared_data: small_builds.SharedData) -> Dataset:
    """Build twenty crops from ten classes, clean and at three levels of two gradual degradations."""
    return corruptset.open(shared_data.build(recipe={"name": "levels", "more": LEVELS}, storage="folder"))


@pytest.fixture(scope="session")
def pairs_of_model(regions: Dataset, predictions: Path, tmp_path_factory: pytest.TempPathFactory) -> Sheet:
    """Write a sheet of ten pairs that are fragile for the model."""
    return pairs_sheet(regions, tmp_path_factory.mktemp("sheet") / "pairs.html", n=10, predictions=predictions)


@pytest.fixture(scope="session")
def levels_sheet(levels: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Sheet:
    """Write a sheet of twenty images at four levels."""
    return pairs_sheet(levels, tmp_path_factory.mktemp("sheet") / "levels.html", n=20)
