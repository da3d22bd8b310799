"""Test scores against the corruption metrics of RobustBench and the accuracy of timm, if these are installed.

RobustBench evaluates a model on images. Here each image is its number, and the model returns the stored logits of the
set.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
import record_datasets
import reference_scores
from predictions import write_folder
from torchvision_cpu import let_torchvision_be_imported

import corruptset

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True, scope="module")
def torchvision_with_cpu_torch():
    return let_torchvision_be_imported()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return record_datasets.records_dataset(tmp_path_factory.mktemp("data"), "imagenet-c", count=200)


def write_logits(data, folder, seed):
    """Write logits of every set, in which the true class is raised by an amount, and return them."""
    rng = np.random.default_rng(seed)
    logits = {}
    for name in data:
        logits[name] = rng.normal(size=(len(data.samples), len(data.classes))).astype(np.float32)
        logits[name][np.arange(len(data.samples)), data[name].labels] += rng.uniform(0, 3)
    write_folder(folder, {name: {"logits": values} for name, values in logits.items()})
    return logits


def test_scores_match_robustbench(data, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    # The installed package imports autoattack, which its requirements install under another name (docs/use-it-with.md).
    monkeypatch.setitem(sys.modules, "autoattack", pytest.importorskip("pyautoattack"))
    monkeypatch.setitem(sys.modules, "autoattack.state", pytest.importorskip("pyautoattack.state"))
    import pandas
    from robustbench import eval as bench
    from robustbench.model_zoo.enums import BenchmarkDataset, ThreatModel

    mine, other = (write_logits(data, tmp_path / name, seed) for seed, name in enumerate(("mine", "other")))
    labels = torch.from_numpy(data["clean"].labels)
    numbers = {name: number for number, name in enumerate(data)}

    def load(count, severity, data_dir, shuffle, corruptions, prepr):
        number = numbers[f"{corruptions[0]}/{severity}"]
        return torch.tensor([[number, row] for row in range(len(labels))]), labels

    def model(images):
        all_logits = np.stack([mine[name] for name in numbers])
        return torch.from_numpy(all_logits[images[:, 0], images[:, 1]])

    places = (BenchmarkDataset.imagenet, ThreatModel.corruptions)
    monkeypatch.setitem(bench.CORRUPTION_DATASET_LOADERS[places[0]], places[1], load)
    # The baseline is in a file of its repository.
    columns = pandas.MultiIndex.from_tuples([(c, s) for c in reference_scores.FIFTEEN for s in range(1, 6)])
    correct = [(other[f"{c}/{s}"].argmax(axis=1) == data["clean"].labels).mean() for c, s in columns]
    folder = tmp_path / "model_info/imagenet/corruptions"
    folder.mkdir(parents=True)
    pandas.DataFrame([correct], index=["AlexNet"], columns=columns).to_csv(folder / "unaggregated_results.csv")
    monkeypatch.chdir(tmp_path)
    accuracy, mce = bench.corruptions_evaluation(50, "", *places, torch.device("cpu"), model, 200, False, None, "mine")
    scores = corruptset.score(data, tmp_path / "mine", baseline=tmp_path / "other")
    assert scores.get("mean_accuracy") == pytest.approx(accuracy, abs=1e-9)
    assert scores.get("mce") == pytest.approx(mce, abs=1e-9)


def test_scores_match_timm(data, tmp_path):
    torch = pytest.importorskip("torch")
    accuracy = pytest.importorskip("timm.utils").accuracy
    logits = write_logits(data, tmp_path / "mine", 0)
    scores = corruptset.score(data, tmp_path / "mine")
    labels = torch.from_numpy(data["clean"].labels)
    for name, values in logits.items():
        top1, top5 = accuracy(torch.from_numpy(values), labels, topk=(1, 5))
        assert scores.sets[name].accuracy == pytest.approx(float(top1) / 100, abs=1e-6)
        assert scores.sets[name].top5 == pytest.approx(float(top5) / 100, abs=1e-6)
