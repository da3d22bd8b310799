"""Wrong variants of the add-ons: ``plugins/*/tests/variants.txt``, written as ``tests/mutations/rooms.txt``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mutations.rooms import Mistake, read

PLUGINS = Path(__file__).resolve().parents[1]
VARIANTS = [
    (plugin.parent.parent, variant)
    for plugin in sorted(PLUGINS.glob("*/tests/variants.txt"))
    for variant in read(plugin)
]


def files_of(plugin: Path, variant: Mistake) -> list[Path]:
    return [plugin / f"tests/test_{name}.py" for name in variant.tests.split()]


def test_every_variant_applies() -> None:
    for plugin, variant in VARIANTS:
        assert (plugin / variant.file).read_text("utf-8").count(variant.right) == 1, (
            f"{variant.id}: bring this variant up to date"
        )
        assert all(file.is_file() for file in files_of(plugin, variant)), variant.id


@pytest.mark.long
@pytest.mark.parametrize(
    ("plugin", "variant"), VARIANTS, ids=lambda one: one.id if isinstance(one, Mistake) else one.name
)
def test_a_wrong_variant_is_caught(plugin: Path, variant: Mistake, tmp_path: Path) -> None:
    package = variant.file.partition("/")[0]
    shutil.copytree(plugin / package, tmp_path / package)
    file = tmp_path / variant.file
    file.write_text(file.read_text("utf-8").replace(variant.right, variant.wrong), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files_of(plugin, variant)],
        cwd=PLUGINS.parent,
        env=os.environ
        | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1", "CORRUPTSET_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout[-2000:]
    assert not any(error in done.stdout for error in ("NameError", "SyntaxError", "ImportError")), done.stdout[-2000:]
