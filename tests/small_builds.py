"""Small labelled crops of photographs and builds of them, for views and loaders."""

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
"""Of the build `chains` of tests/generate/exports/conftest.py."""
GENERAL_VIEWS = ["webdataset", "imagefolder", "openood", "croissant", "source-tree"]
"""The views of any set."""


def write_crops(root: Path, *, classes: int = 10, each: int = 2, side: int = 32, mode: str = "RGB") -> Path:
    """Write an image folder of PNG crops; names have dots, as real ones do. Returns it."""
    for c in range(classes):
        picture = photograph(PHOTOGRAPHS[c % len(PHOTOGRAPHS)], 224)
        folder = root / f"{c:02d}_class"
        folder.mkdir(parents=True)
        for i in range(each):
            y, x = (c * 37 + i * 61) % (224 - side), (c * 53 + i * 43) % (224 - side)
            Image.fromarray(picture[y : y + side, x : x + side]).convert(mode).save(folder / f"im.{i}.png")
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
    """Write a recipe of two corruptions at five severities, clean, and a chain; `more` replaces what follows the
    encoding.
    """
    text = RECIPE.format(name=name, version=version, encoding=encoding, channels=channels, calibration=calibration)
    if more:
        text = text.partition("[[sets]]")[0] + more
    path = folder / f"{name}-{encoding}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def build_dataset(recipe: Path, source: Path, out: Path, **options: Any) -> Path:
    """Build all sets in this process, straight into any view and without a page, and return the data set's
    directory.
    """
    from corruptset.generate.build import build

    options = {"jobs": 1, "metrics": 0, "sets": ["*"], "any_shape": True, "page": False, **options}
    return build(recipe, f"folder:{source}", out, **options).directory


def export(view: str, directory: Path, out: Path, **options: Any) -> Any:
    """Export small crops into any view; what images a view expects is tests/generate/test_expecting.py's."""
    from corruptset.generate.exports.export import export

    return export(view, directory, out, any_shape=True, **options)


def tar_members(tar: Path) -> dict[str, bytes]:
    """Return every file in a tar."""
    with tarfile.open(tar) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive.getmembers()}  # type: ignore[union-attr]


def decode_image(data: bytes) -> np.ndarray:
    """Return the pixels of an image file's bytes."""
    return np.array(Image.open(io.BytesIO(data)))


class Files(dict[str, bytes]):
    """Files by path. Where two are unequal pytest compares their texts line by line: of these a line a file, not a
    million bytes.
    """

    def __repr__(self) -> str:
        return "\n".join(
            f"{path}: {len(data)} bytes, {hashlib.sha256(data).hexdigest()[:16]}" for path, data in self.items()
        )


def read_files(directory: Path) -> Files:
    """Return every file below a directory."""
    return Files(
        (p.relative_to(directory).as_posix(), p.read_bytes()) for p in sorted(directory.rglob("*")) if p.is_file()
    )


class SharedData:
    """Crops, recipes and builds of them, each written once in a run of the tests: a test copies what it changes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: dict[str, Path] = {}

    def crops(self, **options: Any) -> Path:
        """Return the image folder that `write_crops` writes with these options."""
        return self._once("crops", options, lambda folder: write_crops(folder / "crops", **options))

    def recipe(self, **options: Any) -> Path:
        """Return the recipe that `write_recipe` writes with these options."""
        return self._once("recipe", options, lambda folder: write_recipe(folder, **options))

    def build(
        self, *, crops: Mapping[str, Any] | None = None, recipe: Mapping[str, Any] | None = None, **options: Any
    ) -> Path:
        """Return the directory of a build of such a recipe and such crops; other options are those of a build."""
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
