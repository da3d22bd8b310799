"""torchvision's resnet50 and timm's networks by their own factories; their weights are random, saved, and read by the
loading code.
"""

from __future__ import annotations

import resource
import time

import numpy as np
import pytest
from surrogates import seeded, write_file
from torchvision_cpu import let_torchvision_be_imported

import corruptset
from pictures import photograph

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]
IMAGENET = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}


@pytest.fixture(autouse=True, scope="module")
def torchvision_beside_a_cpu_torch() -> object:
    return let_torchvision_be_imported()


def write(folder, factory, arguments, size, weights):
    """Write the weights that the factory itself draws, and a model file."""
    import importlib

    import torch
    from safetensors.torch import save_file

    module, _, name = factory.partition(":")
    network = seeded(lambda: getattr(importlib.import_module(module), name)(**arguments))
    (save_file if weights.endswith("safetensors") else torch.save)(network.state_dict(), folder / weights)
    file = write_file(
        folder, name=name, factory=factory, arguments=arguments, weights=weights, input={"size": size, **IMAGENET}
    )
    return file, network


def loss(logits, label):
    return np.log(np.exp(logits - logits[label]).sum())


@pytest.mark.parametrize(
    ("factory", "arguments", "size", "weights", "outputs"),
    [
        ("torchvision.models:resnet50", {}, 224, "w.safetensors", 1000),
        ("torchvision.models:resnet50", {}, 224, "w.pth", 1000),
        ("torchvision.models:mobilenet_v3_small", {"num_classes": 10}, 64, "w.pt", 10),
        ("timm:create_model", {"model_name": "resnet18"}, 224, "w.safetensors", 1000),
        ("timm:create_model", {"model_name": "vit_tiny_patch16_224", "num_classes": 10}, 224, "w.safetensors", 10),
    ],
)
def test_a_real_factory_makes_one_images_pgd(factory, arguments, size, weights, outputs, tmp_path):
    import torch

    file, network = write(tmp_path, factory, arguments, size, weights)
    started = time.perf_counter()
    model = corruptset.load_surrogate(file)
    loading = time.perf_counter() - started
    assert model.outputs == outputs
    image = photograph("astronaut", size)
    pixels = (
        torch.from_numpy(image.copy()).permute(2, 0, 1)[None] / 255 - torch.tensor(IMAGENET["mean"]).view(3, 1, 1)
    ) / torch.tensor(IMAGENET["std"]).view(3, 1, 1)
    with torch.no_grad():
        want = network(pixels).numpy()
    np.testing.assert_allclose(model.logits(image[None]), want, rtol=1e-3, atol=1e-4 * np.abs(want).max())
    label = int(want.argmin())  # of a class that random weights are certain of the gradient is 0
    started = time.process_time()
    out = corruptset.corrupt(image, "pgd", severity=3, label=label, surrogate=model)
    seconds = time.process_time() - started
    away = np.abs(out.astype(int) - image)
    assert away.max() == 4
    assert (away > 0).mean() > 0.05  # timm begins with branches of weight 0, so that few pixels have a gradient
    # random weights hardly tell two images apart: losses are taken from the logits in float64, and may be equal
    before, after = (loss(model.logits(x[None])[0].astype(float), label) for x in (image, out))
    assert after >= before
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{factory} {arguments}: loaded in {loading:.1f} s; one image's pgd/3, {size}x{size}, {seconds:.1f} s")
    print(f"the process has held {held:.0f} MB")
