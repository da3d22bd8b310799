"""Copies of the package, for tests that edit its files."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path

import corruptset

PACKAGES = ("corruptions", "pages", "manifests", "generate", "audits", "scores", "cli")


def copy_package(site: Path, rooms: tuple[str, ...] = PACKAGES) -> None:
    """Copy corruptset into a folder, with some of its sub-packages, as an installation would."""
    unneeded = shutil.ignore_patterns("__pycache__", *PACKAGES)
    shutil.copytree(Path(corruptset.__file__).parent, site / "corruptset", ignore=unneeded)
    for room in rooms:  # in an editable installation they are not below corruptset
        folder = Path(str(importlib.import_module(f"corruptset.{room}").__file__)).parent
        shutil.copytree(folder, site / "corruptset" / room, ignore=shutil.ignore_patterns("__pycache__"))
