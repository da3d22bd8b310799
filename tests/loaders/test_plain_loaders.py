"""Loaders that need only the dependencies of corruptset, and the commands of the page."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest
from doc_pages import BLOCKS, ROOT, run_snippet, snippets

import corruptset

pytestmark = pytest.mark.ci
TESTED = (
    "corruptset.open h5py numpy robustbench pyautoattack torchvision timm tensorflow tensorflow_datasets webdataset "
    "datasets pandas lightning fastai mmpretrain mlcroissant pathlib json"
).split()


def test_every_snippet_on_page_belongs_to_test():
    assert all(any(word in text for word in TESTED) for kind, text in BLOCKS if kind == "python")


def test_page_and_tests_install_same_packages():
    """The ``pip install`` lines of the page and the extras of pyproject.toml name the same packages and limits."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    trainers = dict.fromkeys(["lightning", "fastai", "mmpretrain"], "trainers")
    for word, extra in {"robustbench": "loaders", "tensorflow-datasets": "tensorflow", **trainers}.items():
        (line,) = (
            line
            for kind, text in BLOCKS
            if kind == "sh"
            for line in text.splitlines()
            if line.startswith("pip ") and word in line
        )
        packages = {re.split("[=<>]", item)[0].replace("tensorflow-cpu", "tensorflow"): item for item in extras[extra]}
        for package in shlex.split(line)[2:]:
            name, version, _ = package.partition("<")
            assert name in packages
            assert not version or packages[name] == package


def test_custom_layout_is_read(in_page_dir):
    run_snippet(snippets("by-class")[0])
    data = corruptset.open("imagenet-c-1.1.0")
    links = sorted(Path("by-class").glob("*/*.JPEG"))
    assert len(links) == 2 * len(data.samples)
    fields = {
        data[name].stored(i)[1].stat().st_ino for name in ("contrast/3", "contrast/5") for i in range(len(links) // 2)
    }
    assert {link.stat().st_ino for link in links} == fields


def test_sets_of_dataset_are_read_without_export(in_page_dir):
    data = corruptset.open("imagenet-c-1.1.0")
    names = run_snippet(snippets("corruptset.open")[0])
    images = data["contrast/3"].array()
    assert images.shape[1:] == (224, 224, 3)
    # the snippet ends with the last image of the set
    np.testing.assert_array_equal(names["image"], images[-1])
    assert names["label"] == data["contrast/3"].labels[-1]


def test_shards_are_read_completely_and_in_order(in_page_dir):
    dataset = corruptset.open("sharded/cifar10-c-1.1.0")
    data = dataset["contrast/3"]
    pixels, files = snippets("import h5py")
    assert len(list(Path("sharded/cifar10-c-1.1.0/hdf5/contrast").glob("3-*.h5"))) > 1
    names = run_snippet(pixels)
    np.testing.assert_array_equal(names["images"], data.array())
    np.testing.assert_array_equal(names["labels"], data.labels)
    (classes,) = snippets('["classes"]')
    assert run_snippet(classes, labels=names["labels"])["name"] == dataset.classes[data.labels[0]].name
    photographs = corruptset.open("sharded/imagenet-c-1.1.0")["contrast/3"]
    names = run_snippet(files)
    np.testing.assert_array_equal(names["image"], photographs.array()[-1])
    assert names["label"] == photographs.labels[-1]


def test_records_are_read_by_pandas(in_page_dir):
    data = corruptset.open("imagenet-c-1.1.0")
    table = run_snippet(snippets("import pandas")[0])["table"]
    assert table["id"].tolist() == [s.id for s in data.samples]
    assert table["label"].tolist() == [s.label for s in data.samples]
    assert table["pixels"].tolist() == [row.pixels for row in data["contrast/3"].rows]


def test_arrays_and_lists_are_read(in_page_dir):
    data = corruptset.open("cifar10-c-1.1.0")
    cifar, mnist = (text for text in snippets("np.load"))
    names = run_snippet(cifar)
    np.testing.assert_array_equal(names["images"], data["contrast/3"].array())
    np.testing.assert_array_equal(names["labels"], data["contrast/3"].labels)
    assert names["labels"].dtype == np.uint8
    names = run_snippet(mnist)
    digits = corruptset.open("mnist-c-1.0.0")
    test = [s.index for s in digits.samples if s.split == "test"]
    assert (len(digits.samples), len(test)) == (20, 12)
    np.testing.assert_array_equal(names["images"], digits["stripe"].array()[test])
    np.testing.assert_array_equal(names["clean"], digits["clean"].array()[test])
    np.testing.assert_array_equal(names["labels"], digits["clean"].labels[test])
    run_snippet(snippets("lists/contrast")[0])
    result = {p: len(np.load(p)) for p in Path("data-mnist/mnist_c").rglob("*.npy")}
    assert len(result) == 16 * 4
    assert all(rows == {"test": 12, "train": 8}[path.name.partition("_")[0]] for path, rows in result.items())
