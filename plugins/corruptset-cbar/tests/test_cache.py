"""Kernels of the package are kept between runs, and compiled again where any function that they call is another one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import corruptset_cbar

CALL = """
import numpy as np, corruptset
image = np.arange(8 * 8 * 3, dtype=np.uint8).reshape(8, 8, 3)
print(corruptset.corrupt(image, "cocentric_sine_waves", intensity=80.0, key="a").tobytes().hex())
"""


def run(folder: Path, cache: Path) -> str:
    environment = os.environ | {"PYTHONPATH": str(folder), "CORRUPTSET_CACHE": str(cache)}
    return subprocess.run(
        [sys.executable, "-c", CALL], env=environment, check=True, capture_output=True, text=True
    ).stdout


def test_an_edited_callee_in_another_file_changes_the_output(tmp_path: Path) -> None:
    copied = tmp_path / "copied" / "corruptset_cbar"
    shutil.copytree(Path(str(corruptset_cbar.__file__)).parent, copied)
    before = run(copied.parent, tmp_path / "cache")
    kept = sorted(tmp_path.glob("cache/kernels/*/*.kernel"))
    assert kept
    assert run(copied.parent, tmp_path / "cache") == before
    assert sorted(tmp_path.glob("cache/kernels/*/*.kernel")) == kept
    rows = copied / "rows.py"
    rows.write_text(rows.read_text("utf-8").replace("max(value, 0.0)", "max(value + 9.0, 0.0)"), "utf-8")
    assert run(copied.parent, tmp_path / "cache") != before
