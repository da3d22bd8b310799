"""Small datasets for the tests of exports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import small_builds
import source_archives

from corruptset.generate.build import build
from corruptset.generate.exports.export import export

CHAINS = """
[[sets]]
clean = true
aliases = ["CLEAN"]

[[sets]]
chain = ["sp010"]
aliases = ["SP0.1GA0"]

[[sets]]
chain = ["ro-30"]

[[sets]]
chain = ["sp010", "ro-30"]
aliases = ["SP0.1RL30", "type 43"]

[[sets]]
chain = ["ro-30", "sp010"]

[[pairs]]
first = ["contrast"]
second = ["brightness"]
severities = [1, 2, 3, 4, 5]
orders = "both"

[[sets]]
corruptions = ["black_lines"]
levels = 7

[[sets]]
chain = ["contrast-2"]
id = "dull"

[[sets]]
corruptions = ["contrast"]

[stages]
sp010 = {corruption = "salt_pepper", parameters = {density = 0.1}}
ro-30 = {corruption = "rotate", parameters = {angle_deg = 30, direction = "counterclockwise", canvas = "loose"}}
"""
"""Sets that are not one corruption at severities 1 to 5, among some that are."""
NAMED = """
[[sets]]
clean = true

[[sets]]
corruptions = ["contrast"]
severities = [3]

[[sets]]
chain = ["contrast-3", "brightness-2"]
id = "two-factor-train"

[[sets]]
chain = ["brightness-2", "contrast-3"]
id = "__val/latest+dev"
"""
"""Sets whose ids have words that loaders take for splits."""


@pytest.fixture(scope="session")
def png(shared_data: small_builds.SharedData) -> Path:
    return shared_data.build(storage="both")


@pytest.fixture(scope="session")
def jpeg(shared_data: small_builds.SharedData) -> Path:
    return shared_data.build(recipe={"encoding": "jpeg"}, storage="both")


@pytest.fixture(scope="session")
def chains_recipe(shared_data: small_builds.SharedData) -> Path:
    return shared_data.recipe(name="chains", more=CHAINS)


@pytest.fixture(scope="session")
def chains(shared_data: small_builds.SharedData) -> Path:
    return shared_data.build(crops={"classes": 3}, recipe={"name": "chains", "more": CHAINS})


@pytest.fixture(scope="session")
def grey_chains(shared_data: small_builds.SharedData) -> Path:
    grey = {"classes": 3, "side": 28, "mode": "L"}
    return shared_data.build(crops=grey, recipe={"name": "chains", "channels": "keep", "more": CHAINS})


@pytest.fixture(scope="session")
def named_source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return fourteen unordered images of twelve classes, whose folders (03) differ from their names (3)."""
    root = tmp_path_factory.mktemp("arrays")
    np.save(root / "x.npy", source_archives.random_crops(14)[0])
    np.save(root / "y.npy", np.arange(14) * 5 % 12)
    return f"npy:{root / 'x.npy'},{root / 'y.npy'}"


@pytest.fixture(scope="session")
def named_recipe(shared_data: small_builds.SharedData) -> Path:
    return shared_data.recipe(encoding="jpeg", more=NAMED)


@pytest.fixture(scope="session")
def named_dataset(named_source: str, named_recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(named_recipe, named_source, tmp_path_factory.mktemp("named"), jobs=1, metrics=0).directory


@pytest.fixture(scope="session")
def named_exports(named_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that exports `named_dataset` in a layout, once."""
    exports: dict[str, Path] = {}

    def make(layout: str) -> Path:
        if layout not in exports:
            exports[layout] = export(layout, named_dataset, tmp_path_factory.mktemp("export") / layout).path
        return exports[layout]

    return make
