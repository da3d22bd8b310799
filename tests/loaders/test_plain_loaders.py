"""Loaders that need nothing beyond corruptset's own dependencies, and the page's commands."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from pages import BLOCKS, run, snippets
from PIL import Image

import corruptset

pytestmark = pytest.mark.ci
TESTED = (
    "corruptset.open",
    "h5py",
    "numpy",
    "robustbench",
    "pyautoattack",
    "torchvision",
    "timm",
    "webdataset",
    "datasets",
    "mlcroissant",
    "pathlib",
)


def test_every_snippet_of_the_page_belongs_to_a_test() -> None:
    assert all(any(word in text for word in TESTED) for kind, text in BLOCKS if kind == "python")


def test_arrays_h5py_and_lists(inside: Path) -> None:
    data = corruptset.open("cifar10-c-1.0.0")
    cifar, mnist = snippets("import numpy")
    names = run(cifar)
    np.testing.assert_array_equal(names["images"], data["contrast/3"].array())
    np.testing.assert_array_equal(names["labels"], data["contrast/3"].labels)
    assert names["labels"].dtype == np.uint8
    names = run(mnist)
    digits = corruptset.open("mnist-c-1.0.0")
    np.testing.assert_array_equal(names["images"], digits["contrast/3"].array())
    np.testing.assert_array_equal(names["clean"], digits["clean"].array())
    np.testing.assert_array_equal(names["labels"], digits["clean"].labels)
    (shard,) = snippets("import h5py")
    names = run(shard)
    assert isinstance(h5py.__version__, str)
    np.testing.assert_array_equal(names["images"], data["contrast/3"].array()[: len(names["images"])])
    np.testing.assert_array_equal(names["labels"], data["contrast/3"].labels[: len(names["labels"])])
    run(snippets("corruptset.open")[0])
    run(snippets("from pathlib")[0])
    assert corruptset.open("built/cifar10-c-1.0.0").digest == data.digest
    published = corruptset.open("built/mnist-c-1.0.0")
    counts = {split: sum(s.split == split for s in published.samples) for split in ("test", "train")}
    assert counts == {"test": 12, "train": 8}
    found = {p: len(np.load(p)) for p in Path("built/mnist-c-1.0.0/mnist_c").rglob("*.npy")}
    assert len(found) == 16 * 4
    assert all(rows == counts[path.name.partition("_")[0]] for path, rows in found.items())


def test_the_documented_rules_of_class_folders(inside: Path) -> None:
    """ImageFolder's: sorted class folders, files walked in sorted order; restated here where torchvision is not installed."""
    photographs = corruptset.open("imagenet-c-1.0.0")
    root = Path("data-in/ImageNet-C/contrast/3")
    classes = sorted(p.name for p in root.iterdir() if p.is_dir())
    found = [(p, classes.index(c)) for c in classes for p in sorted((root / c).rglob("*"))]
    by_id = {s.id: s for s in photographs.samples}
    for path, label in found:
        sample = by_id[path.relative_to(root).with_suffix("").as_posix()]
        assert label == sample.label
        np.testing.assert_array_equal(np.array(Image.open(path)), photographs["contrast/3"].image(sample.index))
    assert len(found) == len(by_id)
