"""Lines of docs/evaluate.md for each framework write what a small network says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import layouts
import numpy as np
import pytest
from doc_pages import EVALUATE, blocks, run
from torchvision_cpu import let_torchvision_be_imported

import corruptset
from corruptset.scores.prediction_files import read_predictions

# the libraries warn about themselves
pytestmark = pytest.mark.filterwarnings("ignore")
SETS = ["brightness/1", "clean", "contrast-3+brightness-2"]
PYTHON = [text for kind, text in blocks(EVALUATE) if kind == "python"]
SHARED, *FRAMEWORKS = PYTHON


def lines(word: str) -> str:
    (text,) = (text for text in FRAMEWORKS if word in text)
    return text


@pytest.fixture
def shared_names(shared: layouts.Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of the lines that all frameworks share, beside a build."""
    (tmp_path / "imagenet-c-1.1.0").symlink_to(shared.build(sets=SETS))
    monkeypatch.chdir(tmp_path)
    return run(SHARED)


def check(names: dict[str, Any], logits: Callable[[np.ndarray], np.ndarray]) -> None:
    """Hold what a framework's lines wrote against the logits of a set's images."""
    data = corruptset.open("imagenet-c-1.1.0")
    found = read_predictions("predictions", data)
    assert (found.model, found.digest) == ("ResNet-50", data.digest)
    assert list(found.outcomes) == SETS
    for name, outcome in found.outcomes.items():
        with np.load(f"predictions/{name}.npz") as stored:
            written = stored["logits"]
        assert written.dtype == np.float16
        np.testing.assert_allclose(written, logits(data[name].array()), rtol=2e-3, atol=2e-3)
        np.testing.assert_array_equal(outcome.predicted, written.astype(float).argmax(axis=1))
        assert len(set(outcome.rank.tolist())) > 1


def plain(images: np.ndarray) -> np.ndarray:
    """Return logits of a network without a framework."""
    weights = np.random.default_rng(0).standard_normal((32 * 32 * 3, 10)) / 50
    return (images.reshape(len(images), -1) / 255.0) @ weights


def test_lines_that_all_share(shared_names):
    for name in shared_names["data"]:
        shared_names["write"](name, np.concatenate([plain(x) for x in shared_names["batches"](name, 7)]))
    check(shared_names, plain)


def test_the_table_of_the_page_is_a_csv_that_is_read(tmp_path):
    from score_data import write_data_set

    data = corruptset.open(write_data_set(tmp_path / "data", ["fog/3"], 2, 1000))
    (text,) = re.findall(r"```csv\n(.*?)```", EVALUATE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "p.csv").write_text(text)
    assert read_predictions(tmp_path / "p.csv", data).outcomes["fog/3"].predicted.tolist() == [65, 970]


MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def torch_logits(model: Any) -> Callable[[np.ndarray], np.ndarray]:
    import torch

    def logits(images: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return model(
                torch.from_numpy(((images / 255.0 - MEAN) / STD).astype(np.float32)).permute(0, 3, 1, 2)
            ).numpy()

    return logits


@pytest.mark.ci
def test_pytorch(shared_names):
    import torch
    from small_nets import Plain

    torch.manual_seed(0)
    text = (
        lines("from torchvision")
        .replace("from torchvision.models import resnet50\n", "")
        .replace('resnet50(weights="DEFAULT")', "net")
    )
    names = run(text, **shared_names, net=Plain(channels=3, classes=10, side=32))
    check(shared_names, torch_logits(names["model"]))


@pytest.mark.long
def test_torchvision(shared_names):
    kept = let_torchvision_be_imported()
    names = run(lines("from torchvision").replace('weights="DEFAULT"', "num_classes=10"), **shared_names)
    check(shared_names, torch_logits(names["model"]))
    del kept


@pytest.mark.long
def test_timm(shared_names):
    kept = let_torchvision_be_imported()
    names = run(lines("import timm").replace("pretrained=True", "num_classes=10"), **shared_names)
    check(shared_names, torch_logits(names["model"]))
    del kept


@pytest.mark.long
def test_keras(shared_names):
    """In an environment with the extra ``frameworks``."""
    text = lines("import keras").replace("ResNet50(", "ResNet50(weights=None, classes=10, input_shape=(32, 32, 3), ")
    names = run(text, **shared_names)

    def logits(images: np.ndarray) -> np.ndarray:
        # as caffe's networks have them: BGR, without the mean
        return np.asarray(
            names["model"](images[..., ::-1].astype(np.float32) - np.array([103.939, 116.779, 123.68], np.float32))
        )

    check(shared_names, logits)


@pytest.mark.long
def test_jax(shared_names):
    """In an environment with the extra ``frameworks``."""
    weights = np.random.default_rng(0).standard_normal((32 * 32 * 3, 10)).astype(np.float32) / 50
    run(
        lines("import jax"),
        **shared_names,
        params=weights,
        apply=lambda params, images: images.reshape(len(images), -1) @ params,
    )
    check(shared_names, plain)


@pytest.mark.long
def test_transformers(shared_names, tmp_path):
    """With the extra ``frameworks``; the checkpoint's name is that of a folder here."""
    kept = let_torchvision_be_imported()
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessor

    torch.manual_seed(0)
    config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=10)
    ResNetForImageClassification(config).save_pretrained(tmp_path / "microsoft/resnet-50")
    ViTImageProcessor(image_mean=MEAN.tolist(), image_std=STD.tolist()).save_pretrained(
        tmp_path / "microsoft/resnet-50"
    )
    names = run(lines("from transformers"), **shared_names)
    check(shared_names, torch_logits(lambda x: names["model"](x).logits))
    del kept
