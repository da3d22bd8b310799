"""torchvision, timm and RobustBench themselves; RobustBench on 10,000 images, as it slices by that number."""

from __future__ import annotations

from pathlib import Path

import layouts
import numpy as np
import pytest
from pages import run, snippets
from PIL import Image

import corruptset
from corruptset.generate.views.exporting import export

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True, scope="module")
def torchvision_without_its_operators() -> object:
    """Let torchvision be imported beside a CPU build of torch.

    PyPI's torchvision is compiled for CUDA builds: its library of operators does not load, and its import then fails on the names of
    two of them (nms and qnms, for detection). Naming them is enough; what reads images is Python.
    """
    import torch

    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return library


@pytest.mark.parametrize("name", ["torchvision", "timm"])
def test_class_folders(inside: Path, name: str) -> None:
    data = corruptset.open("imagenet-c-1.0.0")
    (text,) = snippets(f"from {name}")
    dataset = run(text)["dataset"]
    assert len(dataset) == len(data.samples)
    for index, sample in enumerate(data.samples):
        image, label = dataset[index]
        np.testing.assert_array_equal(np.array(image), data["contrast/3"][sample.index])
        assert label == sample.label


def test_torchvision_takes_the_5k_folders(inside: Path) -> None:
    from torchvision import datasets as folders

    data = corruptset.open("imagenet-c-1.0.0")
    dataset = folders.ImageFolder("data5k/ImageNet-C/contrast/3")
    assert dataset.classes == [c.folder for c in data.classes]


def test_robustbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crops = layouts.write_crops(tmp_path / "crops", each=1)
    for c, folder in enumerate(sorted((tmp_path / "crops").iterdir())):
        base = np.array(Image.open(next(folder.iterdir())))
        for i in range(999):
            Image.fromarray(np.roll(base, (i % 32, i // 32, c), axis=(0, 1, 2))).save(folder / f"x{i:04d}.png", compress_level=1)
    recipe = layouts.write_recipe(tmp_path, name="cifar10-c", more='[[sets]]\ncorruptions = ["contrast"]\n')
    built = layouts.make(recipe, crops, tmp_path, format="hdf5")
    export("cifar-c", built, tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    names = run(snippets("robustbench")[0])
    data = corruptset.open(built)
    x, y = names["x"].numpy(), names["y"].numpy()
    assert x.shape == (10000, 3, 32, 32)
    np.testing.assert_array_equal(y, data["contrast/3"].labels)
    np.testing.assert_array_equal(np.round(x * 255).astype(np.uint8).transpose(0, 2, 3, 1), data["contrast/3"].array())
