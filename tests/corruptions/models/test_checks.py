"""What a model must do before it is used; and what is said where it does not."""

from __future__ import annotations

import numpy as np
import pytest
from surrogates import NORMAL, digits, seeded, write_file, write_model

import corruptset
from corruptset.errors import ModelError

pytestmark = pytest.mark.ci

NETS = """
import torch
from small_nets import Smooth


class Logits(Smooth):
    def __init__(self):
        super().__init__(1)


class Tuple(Logits):
    def forward(self, pixels):
        return super().forward(pixels), 0


class Map(Logits):
    def forward(self, pixels):
        return self.convolution(pixels)


class One(Logits):
    def forward(self, pixels):
        return super().forward(pixels)[:, :1]


class Whole(Logits):
    def forward(self, pixels):
        return super().forward(pixels).argsort(1)


class Random(Logits):
    def forward(self, pixels):
        return super().forward(pixels + torch.rand(1))


class Counting(Logits):
    calls = 0

    def forward(self, pixels):
        Counting.calls += 1
        return super().forward(pixels) + Counting.calls


class Rounding(Logits):
    def forward(self, pixels):
        return super().forward(pixels.round())


class Detached(Logits):
    def forward(self, pixels):
        return super().forward(pixels).detach()


class Infinite(Logits):
    def forward(self, pixels):
        return super().forward(pixels) / 0


class NoGradient(Logits):
    def forward(self, pixels):
        return super().forward(pixels) + torch.sqrt((pixels - pixels) ** 2).mean(dim=(1, 2, 3))[:, None]


class Sparse(Logits):
    def forward(self, pixels):
        return super().forward(pixels).to_sparse()


class Meta(Logits):
    def forward(self, pixels):
        return super().forward(pixels).to("meta")


class Probabilities(Logits):
    def forward(self, pixels):
        return super().forward(pixels).softmax(1)
"""


def file_of(folder, net, **keys):
    file = write_model(
        folder, seeded(lambda: __import__("small_nets").Smooth(1)), 8, f"faulty_nets:{net}", channels="grey", **keys
    )
    (folder / "faulty_nets.py").write_text(NETS)
    return file


@pytest.mark.parametrize(
    ("net", "keys", "says"),
    [
        ("Tuple", {}, "returns tuple for a batch of shape (1, 1, 8, 8); expected one tensor of floats (1, classes)"),
        (
            "Map",
            {},
            "returns float32 (1, 8, 8, 8) for a batch of shape (1, 1, 8, 8); expected one tensor of floats (1, "
            "classes)",
        ),
        ("One", {}, "returns float32 (1, 1) for a batch"),
        ("Whole", {}, "returns int64 (1, 10) for a batch"),
        ("Sparse", {}, "expected one tensor of floats (1, classes), dense, with two classes or more"),
        ("Meta", {}, "expected one tensor of floats (1, classes), dense, with two classes or more"),
        ("Random", {}, "gives other outputs when it sees the same images again: it draws something at random"),
        ("Counting", {}, "gives other outputs when it sees the same images again"),
        ("Rounding", {}, "The gradient of small by its pixels is 0 everywhere"),
        ("Detached", {}, "has no gradient by its pixels: RuntimeError"),
        ("Infinite", {}, "gives values that are not finite on noise"),
        ("NoGradient", {}, "has a gradient with values that are not finite (NaN or infinity), for 1 of 1 images"),
        ("Probabilities", {}, "has outputs = 'logits', and gives probabilities: values from 0."),
        ("Logits", {"outputs": "probabilities"}, "has outputs = 'probabilities', and gives logits: values from -"),
        (
            "Logits",
            {"input": {"size": 8, "channels": "rgb"} | NORMAL["rgb"]},
            "cannot take a batch of shape (1, 3, 8, 8): RuntimeError: ",
        ),
    ],
)
def test_a_model_that_cannot_be_used_is_refused(net, keys, says, tmp_path):
    with pytest.raises(ModelError) as caught:
        corruptset.load_surrogate(file_of(tmp_path, net, **keys))
    assert says in str(caught.value)


def test_probabilities_have_the_gradient_of_their_logits(tmp_path):
    plain = corruptset.load_surrogate(file_of(tmp_path / "a", "Logits"))
    of_probabilities = corruptset.load_surrogate(file_of(tmp_path / "b", "Probabilities", outputs="probabilities"))
    images = np.random.default_rng(0).integers(0, 256, (4, 8, 8, 1)).astype(np.uint8)
    labels = np.array([0, 3, 9, 3])
    for one, other in zip(
        *(s.gradient(images.astype(np.float32), labels) for s in (plain, of_probabilities)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-8)
    np.testing.assert_allclose(np.exp(of_probabilities.logits(images)).sum(axis=1), 1, rtol=1e-5)


def refused_for(file, images, labels) -> str:
    with pytest.raises(ModelError) as caught:
        corruptset.load_surrogate(file).check_accuracy(images, labels)
    return str(caught.value)


def test_a_model_that_knows_its_images_passes():
    trained = digits()
    accuracy = corruptset.load_surrogate(trained.model).check_accuracy(trained.images, trained.labels)
    assert accuracy > 0.95


def test_a_model_below_its_least_accuracy_is_refused_and_a_file_of_folders_mends_another_order(tmp_path):
    trained = digits()
    folders = [f"digit {i}" for i in range(10)]
    turned = (trained.labels + 3) % 10  # the data set's classes begin with digit 7
    in_order = [folders[(i - 3) % 10] for i in range(10)]
    file = write_model(tmp_path, trained.network, 8, "small_nets:Plain", channels="grey", least_accuracy=0.9)
    text = refused_for(file, trained.images, turned)
    assert (
        f"clean images right; {file} asks for 90.0% or more (least_accuracy). Check mean, std and channels of its input"
        in text
    )
    (tmp_path / "folders.txt").write_text("".join(f"{folder}\n" for folder in folders))
    file = write_model(
        tmp_path, trained.network, 8, "small_nets:Plain", channels="grey", least_accuracy=0.9, classes="folders.txt"
    )
    model = corruptset.load_surrogate(file).for_classes(in_order)
    assert model.check_accuracy(trained.images, turned) > 0.95
    with pytest.raises(ModelError, match="was shown no images"):
        model.check_accuracy(trained.images[:0], turned[:0])


def test_a_class_file_has_a_line_for_each_output(tmp_path):
    (tmp_path / "folders.txt").write_text("a\nb\n")
    file = file_of(tmp_path, "Logits", classes="folders.txt")
    with pytest.raises(ModelError, match=r"has 10 outputs, and folders\.txt has 2 class folders"):
        corruptset.load_surrogate(file)
    with pytest.raises(ModelError, match=r"class folders .*none\.txt cannot be read"):
        corruptset.load_surrogate(
            write_file(
                tmp_path,
                factory="a:b",
                weights="weights.safetensors",
                input={"size": 8} | NORMAL["rgb"],
                classes="none.txt",
            )
        )
