"""Small image folders, recipes and builds for tests."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from example_images import photograph

PHOTOGRAPHS = ["astronaut", "coffee", "chelsea", "rocket"]

RECIPE = """
name = "{name}"
version = "{version}"
title = "Small"
calibration = "{calibration}"

[preprocessing]
kind = "none"
channels = "{channels}"

[encoding]
format = "{encoding}"

[storage]
container = "both"

[[sets]]
corruptions = ["contrast", "brightness"]

[[sets]]
clean = true

[[sets]]
chain = ["contrast-3", "brightness-2"]
"""
CONTRAST_SETS = '[[sets]]\ncorruptions = ["contrast"]\n\n[[sets]]\nclean = true\n'
PLAIN_PATTERNS = ["contrast/*", "brightness/*"]
CHAIN_PATTERNS = [
    "clean",
    "sp010*",
    "ro-30*",
    "contrast-3+brightness-5",
    "brightness-5+contrast-3",
    "black_lines/*",
    "contrast/*",
]
"""Patterns of sets of the build `chains` in tests/generate/exports/conftest.py."""
GENERAL_VIEWS = ["webdataset", "imagefolder", "openood", "croissant", "source-tree"]
"""The views that accept any set."""


def write_crops(root: Path, *, classes: int = 10, each: int = 2, side: int = 32, mode: str = "RGB") -> Path:
    """Write an image folder with PNG crops of photographs, whose names contain dots, and return it."""
    for c in range(classes):
        image = photograph(PHOTOGRAPHS[c % len(PHOTOGRAPHS)], 224)
        folder = root / f"{c:02d}_class"
        folder.mkdir(parents=True)
        for i in range(each):
            y, x = (c * 37 + i * 61) % (224 - side), (c * 53 + i * 43) % (224 - side)
            Image.fromarray(image[y : y + side, x : x + side]).convert(mode).save(folder / f"im.{i}.png")
    return root


def write_recipe(
    folder: Path,
    *,
    name: str = "small-c",
    version: str = "1.0.0",
    encoding: str = "png",
    channels: str = "rgb",
    calibration: str = "cifar",
    more: str = "",
) -> Path:
    """Write a recipe with two corruptions at five severities, clean images and a chain.

    `more` replaces the sets of the recipe.
    """
    text = RECIPE.format(name=name, version=version, encoding=encoding, channels=channels, calibration=calibration)
    if more:
        text = text.partition("[[sets]]")[0] + more
    path = folder / f"{name}-{encoding}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def build_dataset(recipe: Path, source: Path, out: Path, **options: Any) -> Path:
    """Build all sets of a recipe in this process, without a page, and return the directory of the dataset."""
    from corruptset.generate.build import build

    options = {"jobs": 1, "metrics": 0, "sets": ["*"], "any_shape": True, "page": False, **options}
    return build(recipe, f"folder:{source}", out, **options).directory


def export(view: str, directory: Path, out: Path, **options: Any) -> Any:
    """Export a dataset of small crops, although the view may expect larger images."""
    from corruptset.generate.exports.export import export

    return export(view, directory, out, any_shape=True, **options)


def tar_members(tar: Path) -> dict[str, bytes]:
    """Return name -> content of every file in a tar archive."""
    with tarfile.open(tar) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive.getmembers()}  # type: ignore[union-attr]


def decode_image(data: bytes) -> np.ndarray:
    """Return the pixels of an encoded image."""
    return np.array(Image.open(io.BytesIO(data)))


class Files(dict[str, bytes]):
    """The contents of files by path, with a short representation.

    pytest compares the representations of unequal values line by line, so each file has one line with a hash.
    """

    def __repr__(self) -> str:
        return "\n".join(
            f"{path}: {len(data)} bytes, {hashlib.sha256(data).hexdigest()[:16]}" for path, data in self.items()
        )


def read_files(directory: Path) -> Files:
    """Return the contents of all files below a directory."""
    return Files(
        (p.relative_to(directory).as_posix(), p.read_bytes()) for p in sorted(directory.rglob("*")) if p.is_file()
    )


class SharedData:
    """Image folders, recipes and builds, each of which is created once. Tests must copy what they change."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: dict[str, Path] = {}

    def crops(self, **options: Any) -> Path:
        """Return the image folder that `write_crops` creates with these options."""
        return self._once("crops", options, lambda folder: write_crops(folder / "crops", **options))

    def recipe(self, **options: Any) -> Path:
        """Return the recipe that `write_recipe` creates with these options."""
        return self._once("recipe", options, lambda folder: write_recipe(folder, **options))

    def build(
        self, *, crops: Mapping[str, Any] | None = None, recipe: Mapping[str, Any] | None = None, **options: Any
    ) -> Path:
        """Return the directory of a build of a recipe and an image folder. Other options are those of `build`."""
        source, file = self.crops(**crops or {}), self.recipe(**recipe or {})
        key = {"crops": crops, "recipe": recipe, **options}
        return self._once("build", key, lambda folder: build_dataset(file, source, folder / "out", **options))

    def _once(self, kind: str, options: Mapping[str, Any], write: Callable[[Path], Path]) -> Path:
        key = f"{kind} {sorted(options.items())}"
        if key not in self._written:
            folder = self._folder / f"{kind}-{len(self._written)}"
            folder.mkdir()
            self._written[key] = write(folder)
        return self._written[key]
