"""The views of arrays: cifar-c stacks five severities, mnist-c has one set a name and both splits."""

from __future__ import annotations

import io
import json
from pathlib import Path

import archives as a
import layouts
import numpy as np
import pytest
from layouts import PLAIN, export
from sklearn.datasets import load_digits

import corruptset
from corruptset.corruptions.stages import Stage
from corruptset.errors import BuildError
from corruptset.generate.build import build
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.recipes.set_spec import SetSpec
from corruptset.generate.reproduction.verify import verify
from corruptset.generate.sources.source import Sample
from corruptset.generate.views.contents import ViewContents, ViewOptions, ViewSet
from corruptset.generate.views.export import export as strict_export
from corruptset.generate.views.layouts import get_layout
from corruptset.generate.views.view import View
from corruptset.generate.views.view_check import check_view, verify_view

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
DIGITS = load_digits()
IMAGES = np.pad(
    np.kron((DIGITS.images * 15.9).astype(np.uint8), np.ones((1, 3, 3), np.uint8)), ((0, 0), (2, 2), (2, 2))
)
"""Scanned digits of 8x8, each pixel three times, within a border: 28x28."""
PART = {"test": slice(0, 12), "train": slice(20, 40)}


def test_cifar_c_stacks_five_severities_in_the_samples_order_beside_tiled_labels(png: Path, tmp_path: Path) -> None:
    done = export("cifar-c", png, tmp_path / "data", sets=PLAIN)
    data, top = corruptset.open(png), tmp_path / "data/CIFAR-10-C"
    assert done.top == top
    assert sorted(p.name for p in top.iterdir()) == ["brightness.npy", "contrast.npy", "labels.npy"]
    for name in ("contrast", "brightness"):
        images = np.load(top / f"{name}.npy")
        assert images.dtype == np.uint8
        np.testing.assert_array_equal(images, np.concatenate([data[f"{name}/{s}"].array() for s in range(1, 6)]))
    labels = np.load(top / "labels.npy")
    assert labels.dtype == np.uint8
    np.testing.assert_array_equal(labels, np.tile([s.label for s in data.samples], 5))
    # the very bytes that numpy.save writes: the published files are compared by their md5
    whole = io.BytesIO()
    np.save(whole, labels)
    assert (top / "labels.npy").read_bytes() == whole.getvalue()
    record = json.loads((tmp_path / "data/VIEW.json").read_text("utf-8"))
    assert (record["digest"], record["view"], record["top"]) == (data.digest, "cifar-c", "CIFAR-10-C")
    (note,) = done.notes
    assert "RobustBench takes 10,000 rows" in note
    assert "there are 20 here" in note
    assert record["notes"] == [note]


def test_a_hundred_classes_are_cifar_100_c_and_ten_thousand_rows_are_robustbenchs(tmp_path: Path) -> None:
    crops = layouts.write_crops(tmp_path / "crops", classes=100, each=1, side=8)
    recipe = layouts.write_recipe(tmp_path, more='[[sets]]\ncorruptions = ["contrast"]\n')
    built = layouts.make(recipe, crops, tmp_path / "out")
    export("cifar-c", built, tmp_path / "data")
    assert np.load(tmp_path / "data/CIFAR-100-C/labels.npy").tolist() == list(range(100)) * 5
    sets = tuple(ViewSet.of(SetSpec(f"fog/{s}", (Stage("fog", 1, s, None, {}),))) for s in range(1, 6))
    classes = tuple(corruptset.open(built).classes[:10])
    for count, notes in ((10_000, 0), (9_999, 1)):
        samples = [Sample(i, f"test/{i:05d}", i % 10) for i in range(count)]
        view = View(get_layout("cifar-c"), ViewContents("x", "1", sets, samples, classes, "png"), ViewOptions())
        assert len(view.notes) == notes, count


@pytest.mark.ci
def test_all_of_cifar10_c_from_its_tar_to_its_arrays(tmp_path: Path) -> None:
    images, labels = a.crops(24)
    archive = a.tar(tmp_path / "cifar-10-python.tar.gz", a.ten_python((images, labels)), "w:gz")
    built = build("cifar10-c", f"cifar10:{archive}", tmp_path / "out", metrics=0, jobs=1, format="hdf5").directory
    done = strict_export("cifar-c", built, tmp_path / "data")
    straight = build("cifar10-c", f"cifar10:{archive}", tmp_path / "to", metrics=0, jobs=1, view="cifar-c").directory
    assert layouts.files_of(straight / "CIFAR-10-C") == layouts.files_of(done.top)
    assert {p.name for p in done.top.iterdir()} == {f"{name}.npy" for name in [*CIFAR, "labels"]}
    keys = [f"test/{i:05d}" for i in range(24)]
    for name in CIFAR:
        rows = np.load(done.top / f"{name}.npy")
        for severity in range(1, 6):
            expected = corruptset.corrupt(images, name, severity=severity, calibration="cifar", key=keys)
            np.testing.assert_array_equal(rows[(severity - 1) * 24 : severity * 24], expected, err_msg=name)
    for report in (check_view(built, tmp_path / "data"), verify(built), verify(straight)):
        assert report.ok, report.problems
    # the view has no place for clean, so a build straight into it is one without
    assert set(corruptset.open(built).set_ids) - set(corruptset.open(straight).set_ids) == {"clean"}


@pytest.fixture(scope="session")
def mnist(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Digits in the form of MNIST's four files."""
    names = (("t10k", "test"), ("train", "train"))
    pairs = (("images-idx3", IMAGES), ("labels-idx1", DIGITS.target))
    files = {
        f"{name}-{kind}-ubyte.gz": a.zipped(a.idx(array[PART[split]])) for name, split in names for kind, array in pairs
    }
    return f"mnist:{a.write(tmp_path_factory.mktemp('mnist'), files)}"


def published_mnist_c(top: Path, splits: list[str], built: Path) -> None:
    """Check the layout of mnist_c.zip, read as tensorflow_datasets reads it, against the build."""
    data = corruptset.open(built)
    by_alias = {name: s.id for s in data.manifest.sets for name in (s.id, *s.aliases)}
    assert {p.relative_to(top).as_posix() for p in top.rglob("*") if p.is_file()} == {
        f"{name}/{split}_{kind}.npy" for name in PUBLISHED for split in splits for kind in ("images", "labels")
    }
    for split in splits:
        rows = [s.index for s in data.samples if s.split == split]
        for name in PUBLISHED:
            images, labels = (np.load(top / name / f"{split}_{kind}.npy") for kind in ("images", "labels"))
            assert (images.shape, images.dtype) == ((len(rows), 28, 28, 1), np.uint8)
            # the generator's labels are lists of torchvision's Python integers
            assert (labels.shape, labels.dtype) == ((len(rows),), np.int64)
            np.testing.assert_array_equal(labels, DIGITS.target[PART[split]])
            np.testing.assert_array_equal(images, data[by_alias[name]].array()[rows])
        np.testing.assert_array_equal(np.load(top / f"identity/{split}_images.npy")[..., 0], IMAGES[PART[split]])


def test_both_splits_of_mnist_c_are_as_published_exported_and_straight_from_a_build(mnist: str, tmp_path: Path) -> None:
    assert [s.aliases[0] for s in load_recipe("mnist-c").resolve().sets] == PUBLISHED
    tops = {}
    for split in ("test", "train", "all"):
        built = build("mnist-c", mnist, tmp_path / split, split=split, metrics=0, jobs=1).directory
        done = strict_export("mnist-c", built, tmp_path / f"{split}-view")
        published_mnist_c(done.top, ["test", "train"] if split == "all" else [split], built)
        assert any("--split all" in note for note in done.notes) == (split != "all")
        tops[split] = done.top
    for report in (verify_view(tmp_path / "all-view"), check_view(built, tmp_path / "all-view")):
        assert report.ok, report.problems
    # a sample is the same whichever samples are built with it, so the halves are the whole
    whole = layouts.files_of(tops["all"])
    assert layouts.files_of(tops["test"]) | layouts.files_of(tops["train"]) == whole
    sets = json.loads((tmp_path / "all-view/VIEW.json").read_text("utf-8"))["sets"]
    counts = {s["path"]: s["count"] for s in sets}
    assert counts == {f"mnist_c/{n}/{s}_images.npy": c for n in PUBLISHED for s, c in (("test", 12), ("train", 20))}
    top = strict_export("imagefolder", built, tmp_path / "rows", sets=["clean"]).top
    rows = [json.loads(line) for line in (top / "metadata.jsonl").read_text("utf-8").splitlines()]
    assert [row["split"] for row in rows] == ["test"] * 12 + ["train"] * 20
    straight = build("mnist-c", mnist, tmp_path / "to", split="all", metrics=0, jobs=1, view="mnist-c").directory
    assert layouts.files_of(straight / "mnist_c") == whole
    assert corruptset.open(straight).digest == corruptset.open(built).digest
    report = verify(straight, rederive=3, source=mnist, jobs=1)
    assert report.ok, report.problems


def test_colour_images_do_not_go_into_mnist_c(shared: layouts.Shared, tmp_path: Path) -> None:
    colour = shared.build(crops={"classes": 2, "side": 28}, recipe={"more": "[[sets]]\nclean = true\n"})
    with pytest.raises(BuildError, match="4 of 4 images are in colour"):
        strict_export("mnist-c", colour, tmp_path / "view")
