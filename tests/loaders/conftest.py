"""Builds and exports for loaders: everything that docs/use-it-with.md types, in one folder."""

from __future__ import annotations

import os
from pathlib import Path

import archives
import layouts
import numpy as np
import pytest
from pages import BLOCKS, corruptset_runs
from PIL import Image

# Loaders must find everything on this machine, or fail.
os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")


@pytest.fixture(scope="session")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which every ``sh`` line of the page was run; the builds that they start from were made as the page says."""
    root = tmp_path_factory.mktemp("use-it-with")
    crops = layouts.write_crops(root / "crops")
    grey = layouts.write_crops(root / "grey", side=28, mode="L")
    plain = '[[sets]]\ncorruptions = ["contrast", "brightness"]\n'
    cifar = layouts.write_recipe(root, name="cifar10-c", more=plain)
    layouts.make(cifar, crops, root, format="both")
    photographs = layouts.write_crops(root / "photographs", side=160)
    layouts.make(layouts.write_recipe(root, name="imagenet-c", encoding="jpeg", more=plain), photographs, root, format="both")
    digits = layouts.write_recipe(root, name="mnist-c", channels="keep", more=plain + "\n[[sets]]\nclean = true\n")
    layouts.make(digits, grey, root)
    cifar.rename(root / "cifar10-c.toml")
    pictures = np.stack([np.array(Image.open(p)) for p in sorted(grey.rglob("*.png"))])
    for split, rows in (("t10k", pictures[:12]), ("train", pictures[12:])):
        labels = np.arange(len(rows)) % 10
        archives.write(
            root / "MNIST/raw", {f"{split}-images-idx3-ubyte": archives.idx(rows), f"{split}-labels-idx1-ubyte": archives.idx(labels)}
        )
    (root / "imagenet_test_image_ids.txt").write_text("".join(f"{c:02d}_class/im.{c % 2}.JPEG\n" for c in range(10) if c % 4))
    before = Path.cwd()
    os.chdir(root)
    try:
        for kind, text in BLOCKS:
            for line in text.splitlines() if kind == "sh" else ():
                corruptset_runs(line)
    finally:
        os.chdir(before)
    return root


@pytest.fixture
def inside(here: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The same, as the current directory; caches of loaders go elsewhere."""
    monkeypatch.chdir(here)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "hf"))
    monkeypatch.setenv("CROISSANT_CACHE", str(tmp_path / "croissant"))
    return here
