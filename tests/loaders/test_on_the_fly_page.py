"""The blocks of docs/on-the-fly.md run in order, with the libraries that they use."""

from __future__ import annotations

import numpy as np
import pytest
from doc_pages import ROOT, blocks
from PIL import Image
from torchvision_cpu import let_torchvision_be_imported

import corruptset
from example_images import synthetic_image

pytestmark = [pytest.mark.ci, pytest.mark.filterwarnings("ignore")]


def test_documented_blocks_run(monkeypatch):
    libraries = let_torchvision_be_imported()
    import datasets

    monkeypatch.setenv("NO_ALBUMENTATIONS_UPDATE", "1")
    image = synthetic_image(48, 64)
    names = {
        "image": image,
        "picture": Image.fromarray(image),
        "images": [image, image[::-1].copy()],
        "labels": [3, 4],
        "index": 0,
        "dataset": datasets.Dataset.from_dict({"image": [image.tolist(), image[::-1].tolist()]}).with_format(
            "numpy", dtype=np.uint8
        ),
    }
    for kind, text in blocks(ROOT / "docs/on-the-fly.md"):
        assert kind == "python"
        exec(text, names)
    noise = names["noise"]
    np.testing.assert_array_equal(names["noisy"], corruptset.corrupt(image, "gaussian_noise", severity=2))
    ((images, labels),) = names["batches"]
    assert labels.tolist() == [3, 4]
    np.testing.assert_array_equal(images.numpy(), [noise(each, key=i) for i, each in enumerate(names["images"])])
    assert names["tensor"].shape == (3, 32, 32)
    assert names["label"] == 7
    expected = noise(image, key="ILSVRC2012_val_00000001")
    assert any(np.array_equal(names["out"], each) for each in (expected, expected[:, ::-1]))
    for i, each in enumerate(names["images"]):
        np.testing.assert_array_equal(names["mapped"][i]["image"], noise(each))
        np.testing.assert_array_equal(names["keyed"][i]["image"], noise(each, key=i))
    del libraries
