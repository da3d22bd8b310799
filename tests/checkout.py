"""List and copy the files of this checkout, or of an unpacked source archive."""

from __future__ import annotations

import fnmatch
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ADDED = {"PKG-INFO", "setup.cfg"}
"""Names of files that setuptools adds to source archives."""


def checkout_files(root: Path = ROOT) -> list[str]:
    """Return the sorted paths of all files except those that .gitignore excludes."""
    if (root / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        output = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode().split("\0")
        return sorted(path for path in filter(None, output) if (root / path).is_file())
    ignored = [line.rstrip("/") for line in (root / ".gitignore").read_text("utf-8").split()]
    results = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not _matches(name, ignored)]
        results += [Path(folder, name).relative_to(root).as_posix() for name in names if not _matches(name, ignored)]
    return sorted(set(results) - ADDED)


def copy_checkout(target: Path) -> None:
    """Copy the files of the checkout, because setuptools leaves a build folder in the tree that it packages."""
    for path in checkout_files():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, target / path)


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
