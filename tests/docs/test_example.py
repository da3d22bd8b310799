"""The example package of docs/examples installs, is found by its entry point, keeps the contract, and builds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import COMMAND

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "corruptset_vignette"
PIP = "-m pip install -q --no-deps --no-build-isolation --no-index --target site ./source"


@pytest.mark.ci
def test_example_is_found_verified_and_used_in_build(tmp_path):
    shutil.copytree(EXAMPLE, tmp_path / "source")
    subprocess.run([sys.executable, *PIP.split()], cwd=tmp_path, check=True)

    def run(line, code=0, site="site"):
        environment = {**os.environ, "PYTHONPATH": site and str(tmp_path / site)}
        result = subprocess.run([COMMAND, *line.split()], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert result.returncode == code, result.stderr
        return result

    assert sorted(json.loads(run("show film_grain --json").stdout)["tables"]) == ["cifar", "imagenet"]
    for name in ("vignette", "film_grain"):
        run(f"check-corruption {name} --no-large")
    choice = "--samples 2 --sets vignette/3,film_grain/5 --jobs 1 --no-page --json"
    directory = json.loads(run(f"build source/vignette.toml {choice}").stdout)["directory"]
    (record,) = json.loads((tmp_path / directory / "manifest.json").read_text())["plugins"]
    expected = {"module": "corruptset_vignette", "version": "1.0.0", "corruptions": ["film_grain", "vignette"]}
    assert record.items() >= expected.items()
    run(f"verify {directory} --rederive 1")
    without = run(f"verify {directory} --rederive 1", code=1, site="")
    assert "corruptset_vignette 1.0.0 (film_grain, vignette): is not loaded" in without.stderr
    run(f"verify {directory}", site="")
