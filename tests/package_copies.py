"""Copy the package, for tests that edit its files."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path

import corruptset

PACKAGES = ("corruptions", "pages", "manifests", "generate", "audits", "scores", "cli")


def copy_package(site: Path, packages: tuple[str, ...] = PACKAGES) -> None:
    """Copy corruptset into a folder, with some of its sub-packages, as an installation would."""
    unneeded = shutil.ignore_patterns("__pycache__", *PACKAGES)
    shutil.copytree(Path(corruptset.__file__).parent, site / "corruptset", ignore=unneeded)
    for package in packages:  # in an editable installation, these folders are not below corruptset
        folder = Path(str(importlib.import_module(f"corruptset.{package}").__file__)).parent
        shutil.copytree(folder, site / "corruptset" / package, ignore=shutil.ignore_patterns("__pycache__"))
