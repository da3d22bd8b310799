"""docs/adding-an-export.md, followed literally in a copy of the package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from package_copies import copy_package

PAGE = (Path(__file__).parents[2] / "docs/adding-an-export.md").read_text("utf-8")


@pytest.mark.ci
def test_instructions_work_literally(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    copy_package(site)
    (table,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    layouts = site / "corruptset/generate/exports/layouts.toml"
    layouts.write_text(f"{layouts.read_text()}\n{table}")
    environment = os.environ | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    for line in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)[0].splitlines():
        command = line.replace("corruptset ", f"{sys.executable} -m corruptset ", 1)
        result = subprocess.run(command.split(), cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, f"{line}\n{result.stdout}{result.stderr}"
    top = tmp_path / "exported/imagenet-c-1.1.0"
    rows = [line.split(",") for line in (top / "fog/5.csv").read_text().splitlines()]
    assert [label for _, label in rows] == [str(i) for i in range(8)]
    source_dir = tmp_path / "corruptset-out/imagenet-c-1.1.0/images/fog/5"
    assert sorted((top / name).read_bytes() for name, _ in rows) == sorted(
        file.read_bytes() for file in source_dir.rglob("*.JPEG")
    )
