"""Test loaded models: their classes, gradients, checks, and how they are passed to other processes."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from surrogates import NORMAL, digits_model, seeded_network, smooth_network_file, write_file, write_model

import corruptset
from corruptset.corruptions.models.model_file import ModelFile
from corruptset.corruptions.models.surrogate import Surrogate
from corruptset.errors import ModelError, ParameterError
from example_images import photograph, synthetic_image

FOLDERS = tuple("abcdefghij")


def unloaded_surrogate(**changes) -> Surrogate:
    """Return a surrogate whose network is never used, so that PyTorch is not needed."""
    values = {
        "name": "net",
        "factory": "a:b",
        "weights": "w.pt",
        "input": {"size": 8, "channels": "grey"} | NORMAL["grey"],
    }
    order = ("b", "c", "a", *"defghij") if "classes" in changes else None
    return Surrogate(Path("model.toml"), ModelFile.model_validate(values | changes), "sha256:0", "cpu", 1, 10, order)


def test_outputs_follow_dataset_classes_by_order_or_name():
    assert unloaded_surrogate().for_classes(FOLDERS).columns == tuple(range(10))
    for folders in (FOLDERS[:9], (*FOLDERS, "k")):
        with pytest.raises(
            ModelError, match=rf"has 10 outputs, but the dataset has {len(folders)} classes\. With classes = 'index'"
        ):
            unloaded_surrogate().for_classes(folders)
    assert unloaded_surrogate(classes="folders.txt").for_classes(("a", "b", "j")).columns == (2, 0, 9)
    with pytest.raises(ModelError, match=r"(?s)has no output for 2 of the 4 classes of the dataset.*\n  x\n  y"):
        unloaded_surrogate(classes="folders.txt").for_classes(("a", "x", "b", "y"))


def test_labels_and_images_of_other_kinds_are_rejected():
    model, few = unloaded_surrogate(), unloaded_surrogate(classes="folders.txt").for_classes(("a", "b", "j"))
    rgb, images = unloaded_surrogate(input={"size": 8} | NORMAL["rgb"]), np.zeros((2, 8, 8, 1), np.float32)
    for surrogate, labels, message in (
        (model, [0, 10], "has classes 0 to 9, but some labels are outside this range: 10"),
        (model, [-1, 3], "outside this range: -1"),
        (few, [3, 0], "has classes 0 to 2, but some labels are outside this range: 3"),
        (rgb, [0, 1], "expects RGB images .* these are grey"),
    ):
        with pytest.raises(ModelError, match=message):
            surrogate.gradient(images, np.array(labels))
    with pytest.raises(ModelError, match=r"expects grey images of 8x8 \(height x width\), but these are grey, 8x9"):
        model.logits(np.zeros((1, 8, 9, 1), np.uint8))
    for value in (0, 1.5, True):
        with pytest.raises((ModelError, ParameterError), match=r"batch is .*; expected a whole number"):
            corruptset.load_surrogate("none.toml", batch=value)


@pytest.mark.ci
@pytest.mark.parametrize("channels", ["rgb", "bgr"])
def test_gradient_is_with_respect_to_pixels(channels, tmp_path):
    """Compare the gradient with finite differences of the loss."""
    from small_nets import Smooth

    options = {"size": 8, "channels": channels} | NORMAL["rgb"]
    model = corruptset.load_surrogate(
        write_model(tmp_path, seeded_network(Smooth), 8, "small_nets:Smooth", input=options)
    )
    images, labels = np.random.default_rng(1).uniform(0, 255, (2, 8, 8, 3)), np.array([4, 7])
    gradient = model.gradient(images, labels)
    assert (gradient.dtype, gradient.shape) == (np.float32, images.shape)

    def losses(images):
        logits = model.logits(images).astype(float)
        return np.log(np.exp(logits).sum(axis=1)) - logits[[0, 1], labels]

    for at in [(0, 0, 0), (3, 4, 1), (7, 7, 2)]:
        step = np.zeros_like(images)
        step[(slice(None), *at)] = 8
        change = losses(images + step) - losses(images - step)
        np.testing.assert_allclose(gradient[(slice(None), *at)], change / 16, rtol=0.03, atol=2e-6)


@pytest.mark.ci
def test_single_images_batches_and_manifest_agree():
    images, labels = np.random.default_rng(1).integers(0, 256, (7, 12, 9, 3)).astype(np.uint8), np.arange(7)
    one, three = (corruptset.load_surrogate(smooth_network_file(12, 9), batch=batch) for batch in (1, 3))
    logits = one.logits(images)
    np.testing.assert_allclose(logits, three.logits(images), atol=1e-5)
    np.testing.assert_array_equal(logits[4:5], one.logits(images[4:5]))
    gradient = one.gradient(images.astype(np.float32), labels)
    np.testing.assert_array_equal(gradient[4:5], one.gradient(images[4:5].astype(np.float32), labels[4:5]))
    np.testing.assert_allclose(gradient, three.gradient(images.astype(np.float32), labels), atol=1e-5)
    assert one.logits(images[:0]).shape == (0, 10)
    record = three.record()
    assert record.pop("torch").count(".") >= 2
    assert record == {
        "name": "small",
        "factory": "small_nets:Smooth",
        "arguments": {"channels": 3, "classes": 10},
        "weights": three.sha256,
        "input": {"size": [12, 9], "mean": [0.5, 0.45, 0.4], "std": [0.25, 0.2, 0.3], "channels": "rgb"},
        "outputs": "logits",
        "classes": "index",
        "device": "cpu",
        "batch": 3,
        "threads": 1,
    }


@pytest.mark.ci
def test_columns_follow_dataset_classes_and_minimum_accuracy_is_required(tmp_path):
    trained = digits_model()
    folders = [f"digit {i}" for i in range(10)]

    def loaded(text, **more):
        (tmp_path / "folders.txt").write_text("\n".join(text))
        options = {"channels": "grey", "least_accuracy": 0.9} | more
        return corruptset.load_surrogate(write_model(tmp_path, trained.network, 8, "small_nets:Plain", **options))

    model = loaded(folders, classes="folders.txt")
    some, images = model.for_classes(["digit 3", "digit 0"]), trained.images[:5]
    np.testing.assert_array_equal(some.logits(images), model.logits(images)[:, [3, 0]])
    gradients = (
        surrogate.gradient(images[:2].astype(np.float32), np.array(of))
        for surrogate, of in ((some, [0, 1]), (model, [3, 0]))
    )
    np.testing.assert_array_equal(*gradients)
    turned = (trained.labels + 3) % 10  # The classes of the dataset begin with digit 7.
    mended = model.for_classes([folders[(i - 3) % 10] for i in range(10)])
    assert mended.check_accuracy(trained.images, turned) > 0.95
    with pytest.raises(ModelError, match=r"images correctly, but .* requires at least 90\.0% \(least_accuracy\)\."):
        loaded(folders).check_accuracy(trained.images, turned)
    for name, message in (("folders.txt", r"10 outputs, but folders\.txt has 2 class"), ("none.txt", "cannot be read")):
        with pytest.raises(ModelError, match=message):
            loaded(["a", "b"], classes=name)


@pytest.mark.ci
def test_model_can_be_pickled_and_changed_weights_are_rejected(tmp_path):
    from small_nets import Smooth

    def write(seed):
        return write_model(tmp_path, seeded_network(Smooth, seed), (12, 9), "small_nets:Smooth")

    model = replace(corruptset.load_surrogate(write(1)), columns=tuple(range(10)))
    images = np.random.default_rng(1).integers(0, 256, (2, 12, 9, 3)).astype(np.float32)
    data = pickle.dumps(model)
    assert len(data) < 3000, "no weights, no network"
    assert pickle.loads(data) == model
    code = (
        "import pickle, sys, numpy as np;model = pickle.loads(bytes.fromhex(sys.argv[1])); assert 'torch' not in "
        "sys.modules;images = np.random.default_rng(1).integers(0, 256, (2, 12, 9, 3)).astype(np.float32);"
        "np.save(sys.argv[2], model.gradient(images, np.array([1, 2])))"
    )
    another_process = [sys.executable, "-c", code, data.hex(), tmp_path / "out.npy"]
    subprocess.run(another_process, check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), model.gradient(images, np.array([1, 2])))
    write(2)
    result = subprocess.run(another_process, capture_output=True, text=True)
    message = f"ModelError: The weights {tmp_path / 'weights.safetensors'} have changed. Their digest is sha256:"
    assert message in result.stderr
    assert f"{model.sha256} was expected" in result.stderr


# --- the check before it is used --------------------------------------------------------------------------------------

NETS = """
import torch
from small_nets import Smooth


class Logits(Smooth):
    def __init__(self, change="logits"):
        super().__init__(1)
        self.change = change

    def forward(self, pixels):
        logits = super().forward(pixels)
        return eval(self.change)
"""
FAULTS = {
    "(logits, 0)": "The model small returns a tuple; expected one tensor of logits",
    "self.convolution(pixels)": "returns an array of shape (1, 8, 8, 8) for 1 image; expected (1, classes)",
    "logits[:, :1]": "returns an array of shape (1, 1) for 1 image; expected (1, classes), with at least two",
    "logits / 0": "returns values that are not finite (NaN or infinity). Check the weights, and the mean and std",
    "logits @ pixels[0, 0]": "The model small fails (check the size and channels of its input): RuntimeError: ",
}


def load(folder, change, **keys):
    from small_nets import Smooth

    (folder / "faulty_nets.py").write_text(NETS)
    options = {"channels": "grey", "arguments": {"change": change}} | keys
    return corruptset.load_surrogate(
        write_model(folder, seeded_network(lambda: Smooth(1)), 8, "faulty_nets:Logits", **options)
    )


@pytest.mark.ci
def test_model_without_finite_logits_is_rejected(tmp_path):
    rgb = {"input": {"size": 8, "channels": "rgb"} | NORMAL["rgb"]}
    for change, keys, message in (
        *((change, {}, message) for change, message in FAULTS.items()),
        ("logits", rgb, "(check the size and channels of its input): RuntimeError: Given groups=1"),
    ):
        with pytest.raises(ModelError) as exc_info:
            load(tmp_path, change, **keys)
        assert message in str(exc_info.value), change


@pytest.mark.ci
def test_model_without_gradient_is_rejected_when_used(tmp_path):
    image = synthetic_image(8, 8, 1)
    for change, message in (
        ("logits.detach()", "RuntimeError: element 0 of tensors does not require grad"),
        (
            "logits + torch.sqrt((pixels - pixels) ** 2).mean()",
            r"gradient is not finite \(NaN or infinity\) for 1",
        ),
    ):
        with pytest.raises(ModelError, match=message):
            corruptset.corrupt(image, "pgd-3", surrogate=load(tmp_path, change), label=1)


@pytest.mark.ci
def test_probabilities_have_gradient_of_logits(tmp_path):
    dropout = "torch.dropout(logits, 0.5, self.training)"
    plain, certain = load(tmp_path, dropout), load(tmp_path, "logits.softmax(1)", outputs="probabilities")
    images, labels = np.random.default_rng(0).integers(0, 256, (4, 8, 8, 1)).astype(np.uint8), np.array([0, 3, 9, 3])
    one, other = (model.gradient(images.astype(np.float32), labels) for model in (plain, certain))
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-8)
    np.testing.assert_allclose(np.exp(certain.logits(images)).sum(axis=1), 1, rtol=1e-5)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("factory", "arguments", "size"),
    [
        ("torchvision.models:resnet50", {}, 224),
        ("torchvision.models:mobilenet_v3_small", {"num_classes": 10}, 64),
        ("timm:create_model", {"model_name": "vit_tiny_patch16_224", "num_classes": 10}, 224),
    ],
)
def test_real_factory_creates_model_with_gradient(factory, arguments, size, tmp_path):
    """Test weights that the factory creates, which are saved and loaded by code that needs a gradient."""
    import importlib

    import torch
    from torchvision_cpu import let_torchvision_be_imported

    let_torchvision_be_imported()
    module, _, name = factory.partition(":")
    network = seeded_network(lambda: getattr(importlib.import_module(module), name)(**arguments))
    torch.save(network.state_dict(), tmp_path / "w.pth")
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    options = {"arguments": arguments, "weights": "w.pth", "input": {"size": size, "mean": mean, "std": std}}
    model = corruptset.load_surrogate(write_file(tmp_path, factory=factory, **options))
    image = photograph("astronaut", size)
    pixels = torch.from_numpy(((image / 255 - mean) / std).astype(np.float32)).permute(2, 0, 1)[None]
    with torch.no_grad():
        expected = network(pixels).numpy()
    np.testing.assert_allclose(model.logits(image[None]), expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())
