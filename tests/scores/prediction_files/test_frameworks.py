"""Test that the code for each framework in docs/evaluate.md writes the predictions of a small network."""

from __future__ import annotations

import re

import numpy as np
import pytest
import record_datasets
from doc_pages import EVALUATE, blocks, run_snippet
from torchvision_cpu import let_torchvision_be_imported

import corruptset
from corruptset.scores.prediction_files import read_predictions

# These libraries emit warnings about themselves.
pytestmark = pytest.mark.filterwarnings("ignore")
SETS = ["brightness/1", "clean", "contrast-3+brightness-2"]
SHARED, *FRAMEWORKS = [text for kind, text in blocks(EVALUATE) if kind == "python"]
WEIGHTS = np.random.default_rng(0).standard_normal((32 * 32 * 3, 10)) / 50


def lines(word):
    (text,) = (text for text in FRAMEWORKS if word in text)
    return text


@pytest.fixture
def shared_names(shared_data, tmp_path, monkeypatch):
    """Return the names that the code of all frameworks uses, next to a build."""
    (tmp_path / "imagenet-c-1.1.0").symlink_to(shared_data.build(sets=SETS))
    monkeypatch.chdir(tmp_path)
    return run_snippet(SHARED)


def check(logits):
    """Compare the files that a framework's code wrote with the logits of the images of a set."""
    data = corruptset.open("imagenet-c-1.1.0")
    result = read_predictions("predictions", data)
    assert (result.model, result.digest, list(result.outcomes)) == ("ResNet-50", data.digest, SETS)
    for name, outcome in result.outcomes.items():
        with np.load(f"predictions/{name}.npz") as arrays:
            written = arrays["logits"]
        assert written.dtype == np.float16
        np.testing.assert_allclose(written, logits(data[name].array()), rtol=2e-3, atol=2e-3)
        np.testing.assert_array_equal(outcome.predicted, written.astype(float).argmax(axis=1))
        assert len(set(outcome.rank.tolist())) > 1


def reference_logits(images):
    """Return the logits of a network without a framework."""
    return (images.reshape(len(images), -1) / 255.0) @ WEIGHTS


def test_shared_lines_run(shared_names):
    for name in shared_names["data"]:
        shared_names["write"](name, np.concatenate([reference_logits(x) for x in shared_names["batches"](name, 7)]))
    check(reference_logits)


def test_documented_csv_is_read(tmp_path):
    rows = [{"id": f"ILSVRC2012_val_{number:08d}"} for number in (1, 2)]
    options = {"classes": 1000, "only": "fog/3".__eq__, "clean": False}
    data = record_datasets.records_dataset(tmp_path, "imagenet-c", 2, samples=rows, **options)
    (text,) = re.findall(r"```csv\n(.*?)```", EVALUATE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "p.csv").write_text(text)
    assert read_predictions(tmp_path / "p.csv", data).outcomes["fog/3"].predicted.tolist() == [65, 970]


MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def check_torch(model):
    """Compare the written predictions with a PyTorch network that receives normalised images."""
    import torch

    def logits(images):
        with torch.inference_mode():
            normal = ((images / 255.0 - MEAN) / STD).astype(np.float32)
            return model(torch.from_numpy(normal).permute(0, 3, 1, 2)).numpy()

    check(logits)


@pytest.mark.ci
def test_pytorch_example_runs(shared_names):
    import torch
    from small_nets import Plain

    torch.manual_seed(0)
    text = lines("from torchvision").replace("from torchvision.models import resnet50\n", "")
    net = Plain(channels=3, classes=10, side=32)
    check_torch(run_snippet(text.replace('resnet50(weights="DEFAULT")', "net"), **shared_names, net=net)["model"])


@pytest.mark.long
@pytest.mark.parametrize(
    ("word", "pretrained"), [("from torchvision", 'weights="DEFAULT"'), ("import timm", "pretrained=True")]
)
def test_torchvision_and_timm_examples_run(shared_names, word, pretrained):
    libraries = let_torchvision_be_imported()
    check_torch(run_snippet(lines(word).replace(pretrained, "num_classes=10"), **shared_names)["model"])
    del libraries


@pytest.mark.long
def test_keras_example_runs(shared_names):
    """Test Keras, which needs the extra ``frameworks``."""
    text = lines("import keras").replace("ResNet50(", "ResNet50(weights=None, classes=10, input_shape=(32, 32, 3), ")
    names = run_snippet(text, **shared_names)
    caffe = np.array([103.939, 116.779, 123.68], np.float32)  # This is the mean in BGR order, as in its networks.
    check(lambda images: np.asarray(names["model"](images[..., ::-1].astype(np.float32) - caffe)))


@pytest.mark.long
def test_jax_example_runs(shared_names):
    """Test JAX, which needs the extra ``frameworks``."""
    extra = {
        "params": WEIGHTS.astype(np.float32),
        "apply": lambda params, images: images.reshape(len(images), -1) @ params,
    }
    run_snippet(lines("import jax"), **shared_names, **extra)
    check(reference_logits)


@pytest.mark.long
def test_transformers_example_runs(shared_names, tmp_path):
    """Test transformers, which needs the extra ``frameworks``. The name of the checkpoint is that of a local folder."""
    libraries = let_torchvision_be_imported()
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessor

    torch.manual_seed(0)
    config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=10)
    folder = tmp_path / "microsoft/resnet-50"
    ResNetForImageClassification(config).save_pretrained(folder)
    ViTImageProcessor(image_mean=MEAN.tolist(), image_std=STD.tolist()).save_pretrained(folder)
    names = run_snippet(lines("from transformers"), **shared_names)
    check_torch(lambda x: names["model"](x).logits)
    del libraries
