"""Test the layouts of arrays: cifar-c stacks five severities, and mnist-c has one set per name and both splits."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import record_datasets
import small_builds
import source_archives as a
from sklearn.datasets import load_digits
from small_builds import PLAIN_PATTERNS, export

import corruptset
from corruptset.generate.build import build
from corruptset.generate.exports.contents import ExportContents, ExportOptions
from corruptset.generate.exports.export import export as strict_export
from corruptset.generate.exports.export_check import check_export, verify_export
from corruptset.generate.exports.layouts import get_layout
from corruptset.generate.exports.placement import Placement
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.sources.source import Sample

PUBLISHED = [
    "identity", "shot_noise", "impulse_noise", "glass_blur", "motion_blur", "shear", "scale", "rotate", "brightness",
    "translate", "stripe", "fog", "spatter", "dotted_line", "zigzag", "canny_edges",
]  # fmt: skip
"""The folders of mnist_c.zip, in the order in which tensorflow_datasets names them."""
CIFAR = [
    "gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "snow",
    "frost", "fog", "brightness", "contrast", "elastic_transform", "pixelate", "jpeg_compression", "speckle_noise",
    "gaussian_blur", "spatter", "saturate",
]  # fmt: skip
"""The arrays of CIFAR-10-C.tar."""
DIGITS = load_digits()
IMAGES = np.pad(
    np.kron((DIGITS.images * 15.9).astype(np.uint8), np.ones((1, 3, 3), np.uint8)), ((0, 0), (2, 2), (2, 2))
)
"""Scanned digits of 8x8, each pixel three times, within a border: 28x28."""
PART = {"test": slice(0, 6), "train": slice(20, 30)}


def test_cifar_c_stacks_five_severities_in_sample_order_with_tiled_labels(png: Path, tmp_path: Path) -> None:
    result = export("cifar-c", png, tmp_path / "data", sets=PLAIN_PATTERNS)
    data, top = corruptset.open(png), tmp_path / "data/CIFAR-10-C"
    assert result.top == top
    assert sorted(p.name for p in top.iterdir()) == ["brightness.npy", "contrast.npy", "labels.npy"]
    for name in ("contrast", "brightness"):
        images = np.load(top / f"{name}.npy")
        assert images.dtype == np.uint8
        np.testing.assert_array_equal(images, np.concatenate([data[f"{name}/{s}"].array() for s in range(1, 6)]))
    # the very bytes that numpy.save writes: the published files are compared by their md5
    labels = io.BytesIO()
    np.save(labels, np.tile([s.label for s in data.samples], 5).astype(np.uint8))  # type: ignore[arg-type]
    assert (top / "labels.npy").read_bytes() == labels.getvalue()
    record = json.loads((tmp_path / "data/VIEW.json").read_text("utf-8"))
    assert (record["digest"], record["layout"], record["top"]) == (data.digest, "cifar-c", "CIFAR-10-C")
    assert [s["row"] for s in record["sets"]] == [*range(0, 100, 20)] * 2
    assert record["notes"] == [*result.notes]
    assert "RobustBench takes 10,000 rows" in record["notes"][0]
    assert "there are 20 here" in record["notes"][0]


def test_hundred_classes_give_cifar_100_c_and_ten_thousand_rows_fit_robustbench(
    shared_data: small_builds.SharedData, tmp_path: Path
) -> None:
    hundred = {"classes": 100, "each": 1, "side": 8}
    directory = shared_data.build(crops=hundred, recipe={"more": '[[sets]]\ncorruptions = ["contrast"]\n'})
    export("cifar-c", directory, tmp_path / "data")
    assert np.load(tmp_path / "data/CIFAR-100-C/labels.npy").tolist() == list(range(100)) * 5
    data = record_datasets.records_dataset(tmp_path / "unbuilt", "cifar10-c", 4, classes=10, clean=False)
    contents = ExportContents.of(data.manifest, data.samples)
    for count, notes in ((10_000, 0), (9_999, 1)):
        samples = [Sample(i, f"test/{i:05d}", i % 10) for i in range(count)]
        placement = Placement(get_layout("cifar-c"), replace(contents, samples=samples), ExportOptions())
        assert len(placement.notes) == notes, count
        assert {images.path for images in placement.slices} == {f"CIFAR-10-C/{name}.npy" for name in CIFAR}


def test_image_names_can_depend_on_the_set(tmp_path: Path) -> None:
    """Test a layout that stores all sets in one folder."""
    data = record_datasets.records_dataset(tmp_path / "unbuilt", "imagenet-c", 2, classes=2, clean=False)
    layout = get_layout("imagenet-c").model_copy(
        update={"place": "{top}", "image": "{class}/{corruption}-{severity}-{index}.{suffix}"}
    )
    placement = Placement(layout, ExportContents.of(data.manifest, data.samples), ExportOptions())
    paths = [path for path in placement.paths() if path.endswith(".JPEG")]
    assert len(set(paths)) == len(paths) == 150
    assert {"ImageNet-C/c0/fog-5-0.JPEG", "ImageNet-C/c1/snow-1-1.JPEG"} <= set(paths)


@pytest.fixture(scope="session")
def mnist(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write digits as the four files of MNIST."""
    names = (("t10k", "test"), ("train", "train"))
    pairs = (("images-idx3", IMAGES), ("labels-idx1", DIGITS.target))
    files = {
        f"{name}-{kind}-ubyte.gz": a.gzip_bytes(a.idx_bytes(array[PART[split]]))
        for name, split in names
        for kind, array in pairs
    }
    return f"mnist:{a.write_files(tmp_path_factory.mktemp('mnist'), files)}"


def published_mnist_c(top: Path, directory: Path) -> None:
    """Read mnist_c.zip in the same way as tensorflow_datasets, and compare it with the build."""
    data = corruptset.open(directory)
    by_alias = {name: s.id for s in data.manifest.sets for name in (s.id, *s.aliases)}
    assert {p.relative_to(top).as_posix() for p in top.rglob("*") if p.is_file()} == {
        f"{name}/{split}_{kind}.npy" for name in PUBLISHED for split in PART for kind in ("images", "labels")
    }
    for split, part in PART.items():
        rows = [s.index for s in data.samples if s.split == split]
        for name in PUBLISHED:
            images, labels = (np.load(top / name / f"{split}_{kind}.npy") for kind in ("images", "labels"))
            assert (images.shape, images.dtype) == ((len(rows), 28, 28, 1), np.uint8)
            # the generator's labels are lists of torchvision's Python integers
            assert (labels.tolist(), labels.dtype) == (DIGITS.target[part].tolist(), np.int64)
            np.testing.assert_array_equal(images, data[by_alias[name]].array()[rows])
        np.testing.assert_array_equal(np.load(top / f"identity/{split}_images.npy")[..., 0], IMAGES[part])


def test_both_splits_of_mnist_c_match_publication(mnist: str, tmp_path: Path) -> None:
    assert [s.aliases[0] for s in load_recipe("mnist-c").resolve().sets] == PUBLISHED
    options = {"metrics": 0, "jobs": 1, "page": False}
    half = build("mnist-c", mnist, tmp_path / "half", split="train", **options).directory  # type: ignore[arg-type]
    result = build("mnist-c", mnist, tmp_path / "all", split="all", **options).directory  # type: ignore[arg-type]
    some, full_export = (strict_export("mnist-c", data, tmp_path / f"of-{data.parent.name}") for data in (half, result))
    published_mnist_c(full_export.top, result)
    assert [any("--split all" in note for note in note.notes) for note in (some, full_export)] == [True, False]
    # a sample is the same whichever samples are built with it
    original = small_builds.read_files(full_export.top)
    assert small_builds.read_files(some.top) == {path: data for path, data in original.items() if "/train_" in path}
    for report in (verify_export(full_export.path), check_export(result, full_export.path)):
        assert report.ok, report.problems
    counts = {s["path"]: s["count"] for s in json.loads((full_export.path / "VIEW.json").read_text("utf-8"))["sets"]}
    assert counts == {f"mnist_c/{n}/{s}_images.npy": c for n in PUBLISHED for s, c in (("test", 6), ("train", 10))}
    lines = (
        strict_export("imagefolder", result, tmp_path / "rows", sets=["clean"]).top / "metadata.jsonl"
    ).read_bytes()
    assert [json.loads(line)["split"] for line in lines.splitlines()] == ["test"] * 6 + ["train"] * 10
