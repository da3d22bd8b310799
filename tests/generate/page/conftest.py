"""Small builds of every kind that a page shows differently."""

from __future__ import annotations

from pathlib import Path

import pytest
import small_builds

from corruptset.manifests.reader import Dataset

TWO_ORDERS = """
[[sets]]
clean = true

[[sets]]
chain = ["contrast-3"]

[[sets]]
chain = ["contrast-3", "brightness-2"]

[[sets]]
chain = ["brightness-2", "contrast-3"]

[[sets]]
chain = ["brightness-2"]
"""
LEVELS = '[[sets]]\nclean = true\n\n[[sets]]\ncorruptions = ["fade_black", "black_lines"]\nlevels = 30\n'


@pytest.fixture(scope="session")
def plain_build(shared_data: small_builds.SharedData) -> Path:
    """Build two corruptions at five severities, clean images and a chain, in both containers, with metrics."""
    return shared_data.build(storage="both", metrics=64, page=True)


@pytest.fixture(scope="session")
def two_orders(shared_data: small_builds.SharedData) -> Path:
    """Build a grid of both orders of two factors."""
    recipe_options = {"name": "orders", "more": TWO_ORDERS}
    return shared_data.build(crops={"classes": 2}, recipe=recipe_options, storage="hdf5", page=True)


@pytest.fixture(scope="session")
def levels(shared_data: small_builds.SharedData) -> Path:
    """Build two gradual degradations of grey images of 28 pixels."""
    recipe_options = {"name": "levels", "more": LEVELS, "channels": "keep", "calibration": "imagenet"}
    return shared_data.build(
        crops={"classes": 2, "side": 28, "mode": "L"}, recipe=recipe_options, storage="hdf5", metrics=64, page=True
    )


@pytest.fixture
def plain_dataset(plain_build: Path) -> Dataset:
    """Open the plain build again, because tests change its manifest."""
    return Dataset(plain_build)
