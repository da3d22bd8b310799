"""The example package of docs/examples installs, is found by its entry point, keeps the contract, and builds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import COMMAND

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "corruptset_vignette"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package in a folder of its own, as pip installs it."""
    folder = tmp_path_factory.mktemp("example")
    shutil.copytree(EXAMPLE, folder / "source")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--target",
        "site",
        "./source",
    ]
    subprocess.run(pip, cwd=folder, check=True)
    return folder


@pytest.mark.ci
def test_the_example_is_found_checked_and_built_with(installed: Path) -> None:
    def run(*arguments: str, site: bool = True) -> Any:
        environment = {**os.environ, "PYTHONPATH": str(installed / "site") if site else ""}
        return subprocess.run([COMMAND, *arguments], cwd=installed, env=environment, capture_output=True, text=True)

    shown = run("show", "film_grain", "--json")
    assert sorted(json.loads(shown.stdout)["tables"]) == ["cifar", "imagenet"], shown.stderr
    for name in ("vignette", "film_grain"):
        checked = run("check-corruption", name, "--no-large")
        assert checked.returncode == 0, checked.stderr
    recipe = str(installed / "source" / "vignette.toml")
    built = run(
        "build", recipe, "--samples", "2", "--sets", "vignette/3,film_grain/5", "--jobs", "1", "--no-page", "--json"
    )
    assert built.returncode == 0, built.stderr
    directory = installed / json.loads(built.stdout)["directory"]
    (record,) = json.loads((directory / "manifest.json").read_text())["plugins"]
    assert (record["module"], record["version"], record["corruptions"]) == (
        "corruptset_vignette",
        "1.0.0",
        ["film_grain", "vignette"],
    )
    assert run("verify", str(directory), "--rederive", "1").returncode == 0
    without = run("verify", str(directory), "--rederive", "1", site=False)
    assert without.returncode == 1
    assert "corruptset_vignette 1.0.0 (film_grain, vignette): is not loaded" in without.stderr
    assert run("verify", str(directory), site=False).returncode == 0
