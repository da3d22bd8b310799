"""Create and use an installation without the extra `build`."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

import corruptset

ROOT = Path(__file__).parents[1]
MAX_MB = 200


def required_packages(requirements: list[str]) -> Iterator[str]:
    """Yield the names of required packages and of their dependencies."""
    visited: set[str] = set()
    while requirements:
        expected = Requirement(requirements.pop())
        if expected.name not in visited and (expected.marker is None or expected.marker.evaluate({"extra": ""})):
            visited.add(expected.name)
            yield expected.name
            requirements += distribution(expected.name).requires or []


def light_python(folder: Path) -> Path:
    """Return the Python of a new environment with the required packages only, which are links to those of this one."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    size = 0
    for name in required_packages(
        list(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"])
    ):
        loaded = distribution(name)
        for file in loaded.files or []:
            size += Path(file.locate()).stat().st_size if Path(file.locate()).is_file() else 0
            target = site / file.parts[0]
            if file.parts[0] != ".." and not target.exists():
                target.symlink_to(Path(loaded.locate_file(file.parts[0])))
    package = Path(corruptset.__file__).parent
    (site / "corruptset").symlink_to(package)
    own = distribution("corruptset").locate_file(f"corruptset-{corruptset.__version__}.dist-info")
    (site / Path(str(own)).name).symlink_to(Path(str(own)))
    size += sum(file.stat().st_size for file in package.rglob("*") if file.is_file())
    print(f"a light installation has {size / 1e6:.0f} MB")
    assert size < MAX_MB * 1e6
    return folder / "bin/python"


def run_python(python: str | Path, *arguments: object, code: int = 0) -> str:
    """Run the command line, and return its output."""
    result = subprocess.run(
        [python, "-c", "from corruptset.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    assert result.returncode == code, result.stderr
    return result.stdout + result.stderr
