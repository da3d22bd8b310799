"""tensorflow_datasets (extra ``tensorflow``) reads exports of both splits offline, with the snippets of the page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import source_archives
from doc_pages import lines, run_snippet, shell, snippets

import corruptset

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]
NAMES = {"mnist_c.zip", "CIFAR-10-C.tar"}


@pytest.fixture
def published_checksums() -> Iterator[None]:
    """Restore the installed package, to which ``register_checksums`` writes, as the page explains."""
    import tensorflow_datasets

    folder = Path(tensorflow_datasets.__file__).parent / "url_checksums"
    before = {path: path.read_bytes() for path in (folder / "cifar10_corrupted.txt", folder / "mnist_corrupted.txt")}
    yield
    changed = [path.name for path, data in before.items() if path.read_bytes() != data]
    for path, data in before.items():
        path.write_bytes(data)
    assert changed == ["cifar10_corrupted.txt", "mnist_corrupted.txt"]


@pytest.fixture
def exports_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the commands of the page were run with few sets, from archives like the published ones."""
    images, labels = source_archives.random_crops(20)
    source_archives.write_tar(
        tmp_path / "cifar-10-python.tar.gz", source_archives.cifar10_python((images, labels)), "w:gz"
    )
    grey = images.mean(axis=3).astype(np.uint8)[:, 2:30, 2:30]
    for split, rows in (("t10k", slice(0, 12)), ("train", slice(12, 20))):
        files = {
            f"{split}-images-idx3-ubyte": source_archives.idx_bytes(grey[rows]),
            f"{split}-labels-idx1-ubyte": source_archives.idx_bytes(labels[rows]),
        }
        source_archives.write_files(tmp_path / "MNIST/raw", files)
    monkeypatch.chdir(tmp_path)
    for line in (*lines("build cifar10-c")[:1], *lines("build mnist-c")[:1]):
        shell(f"{line} --sets {'contrast/*,elastic_transform/*' if 'cifar' in line else 'stripe'} --jobs 1", tmp_path)
    for line in (*lines("export cifar-c"), *lines("export mnist-c"), *lines("manual")):
        shell(line, tmp_path)
    assert {p.name for p in (tmp_path / "manual").iterdir()} == NAMES
    return tmp_path


def rows(dataset: Any) -> list[tuple[bytes, int]]:
    return sorted((row["image"].numpy().tobytes(), int(row["label"])) for row in dataset)


def stored_rows(images: np.ndarray, labels: np.ndarray) -> list[tuple[bytes, int]]:
    return sorted((image.tobytes(), int(label)) for image, label in zip(images, labels, strict=True))


def test_documented_lines_run(exports_dir: Path, published_checksums: None) -> None:
    import tensorflow_datasets as tfds

    (text,) = snippets("tensorflow_datasets")
    names = run_snippet(text)
    data = corruptset.open("cifar10-c-1.1.0")
    assert rows(names["cifar"]) == stored_rows(data["contrast/3"].array(), data["contrast/3"].labels)
    digits = corruptset.open("mnist-c-1.0.0")
    assert {split: len(result) for split, result in names["mnist"].items()} == {"train": 8, "test": 12}
    pixels, labels = digits["stripe"].array(), digits["stripe"].labels
    for split, result in names["mnist"].items():
        chosen = [s.index for s in digits.samples if s.split == split]
        assert rows(result) == stored_rows(pixels[chosen], labels[chosen])
    # another name, and the arrays that were extracted before
    elastic = tfds.load("cifar10_corrupted/elastic_5", split="test", **names["options"])
    assert rows(elastic) == stored_rows(data["elastic_transform/5"].array(), data["contrast/3"].labels)


def test_imagenet2012_corrupted_uses_its_own_module() -> None:
    """The page explains that ``imagenet2012_corrupted`` reads ImageNet, and has its corruptions in another module."""
    import tensorflow_datasets as tfds

    builder = sys.modules[tfds.builder_cls("imagenet2012_corrupted").__module__]
    assert builder.corruptions.__name__ == "tensorflow_datasets.image_classification.corruptions"
