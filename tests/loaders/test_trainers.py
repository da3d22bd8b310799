"""Lightning, fastai and mmpretrain (extra ``trainers``) run the snippets of the page on its builds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doc_pages import run_snippet, snippets
from torchvision_cpu import let_torchvision_be_imported

import corruptset

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True, scope="module")
def torchvision_with_cpu_torch() -> object:
    return let_torchvision_be_imported()


@pytest.fixture
def net() -> Any:
    """A network that predicts label 1 if the mean of an image exceeds one half, and label 0 otherwise."""
    import torch

    class Bright(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = torch.nn.Parameter(torch.ones(1))  # fastai gets the device from the parameters of a network

        def forward(self, images: Any) -> Any:
            bright = images.mean((1, 2, 3)) > 0.5
            return torch.nn.functional.one_hot(bright.long(), 3) * self.one

    return Bright()


def test_lightning_reads_documented_loader(in_page_dir: Path, net: Any) -> None:
    (text,) = snippets("import lightning")
    result = run_snippet(text, model=net)
    data = corruptset.open("imagenet-c-1.1.0")
    assert list(result["accuracy"]) == [f"contrast/{s}" for s in range(1, 6)]
    for name, value in result["accuracy"].items():
        bright = data[name].array().mean((1, 2, 3)) / 255 > 0.5
        assert value == pytest.approx((bright == data[name].labels).mean())


def test_fastai_reads_documented_loader(in_page_dir: Path, net: Any) -> None:
    from fastai.vision import all as fastai

    images = corruptset.open("imagenet-c-1.1.0")["contrast/3"]
    labels = fastai.CategoryBlock(vocab=sorted(path.name for path in Path("val").iterdir()))
    getters = {
        "get_items": fastai.get_image_files,
        "get_y": fastai.parent_label,
        "splitter": fastai.RandomSplitter(0.5),
    }
    loaders = fastai.DataBlock((fastai.ImageBlock, labels), **getters).dataloaders(
        "data-in/ImageNet-C/brightness/1", bs=1
    )
    learner = fastai.Learner(loaders, net, loss_func=fastai.CrossEntropyLossFlat(), metrics=fastai.accuracy)
    (text,) = snippets("from fastai")
    result = run_snippet(text, learner=learner)
    bright = images.array().mean((1, 2, 3)) / 255 > 0.5
    assert result["accuracy"] == pytest.approx((bright == images.labels).mean())


def test_mmpretrain_reads_documented_loader(in_page_dir: Path) -> None:
    data = corruptset.open("imagenet-c-1.1.0")
    images = data["contrast/3"]
    folders, lists = snippets("from mmpretrain")
    for text in (folders, lists):
        dataset = run_snippet(text)["dataset"]
        assert len(dataset) == len(data.samples)
        by_name = {s.id: s.index for s in data.samples}
        for item in dataset:
            index = by_name[Path(item["img_path"]).stem]
            np.testing.assert_array_equal(item["img"][..., ::-1], images.image(index))
            assert item["gt_label"] == images.label(index)
