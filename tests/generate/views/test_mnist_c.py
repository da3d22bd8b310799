"""The view mnist-c: one set a name, both splits, from MNIST's files to the published arrays."""

from __future__ import annotations

from pathlib import Path

import archives as a
import layouts
import numpy as np
import pytest
from layouts import export
from sklearn.datasets import load_digits

import corruptset
from corruptset.errors import BuildError
from corruptset.generate.again.rederive import verify
from corruptset.generate.build import build
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.views.export import export as strict_export
from corruptset.generate.views.view_check import check_view, verify_view

PUBLISHED = [
    "identity", "shot_noise", "impulse_noise", "glass_blur", "motion_blur", "shear", "scale", "rotate", "brightness",
    "translate",
    "stripe", "fog", "spatter", "dotted_line", "zigzag", "canny_edges",
]  # fmt: skip
"""The folders of mnist_c.zip, in the order in which tensorflow_datasets names them."""
DIGITS = load_digits()
IMAGES = np.pad(
    np.kron((DIGITS.images * 15.9).astype(np.uint8), np.ones((1, 3, 3), np.uint8)), ((0, 0), (2, 2), (2, 2))
)
"""Scanned digits of 8x8, each pixel three times, within a border: 28x28."""
PART = {"test": slice(0, 12), "train": slice(20, 40)}


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
    seen = 0
    for split in splits:
        rows = [s.index for s in data.samples if s.split == split]
        for name in PUBLISHED:
            images, labels = (np.load(top / name / f"{split}_{kind}.npy") for kind in ("images", "labels"))
            assert (images.shape, images.dtype) == ((len(rows), 28, 28, 1), np.uint8)
            # the generator's labels are lists of torchvision's Python integers
            assert (labels.shape, labels.dtype) == ((len(rows),), np.int64)
            np.testing.assert_array_equal(labels, DIGITS.target[PART[split]])
            np.testing.assert_array_equal(images, data[by_alias[name]].array()[rows])
            seen += len(rows)
        np.testing.assert_array_equal(np.load(top / f"identity/{split}_images.npy")[..., 0], IMAGES[PART[split]])
    assert seen == data.manifest.sets[0].count * len(PUBLISHED)


def test_mnist_c_has_one_set_a_name_identity_and_channels_last(tmp_path: Path) -> None:
    crops = layouts.write_crops(tmp_path / "crops", side=28, mode="L")
    built = layouts.make(layouts.write_recipe(tmp_path, name="digits-c", channels="keep"), crops, tmp_path / "out")
    data = corruptset.open(built)
    with pytest.raises(BuildError, match="contrast: is contrast/1, contrast/2"):
        export("mnist-c", built, tmp_path / "all")
    done = export("mnist-c", built, tmp_path / "data", sets=["clean", "contrast/2"])
    assert {p.name for p in done.top.iterdir()} == {"identity", "contrast"}
    for name, set_id in (("identity", "clean"), ("contrast", "contrast/2")):
        assert {p.name for p in (done.top / name).iterdir()} == {"test_images.npy", "test_labels.npy"}
        images = np.load(done.top / name / "test_images.npy")
        assert (images.shape, images.dtype) == ((20, 28, 28, 1), np.uint8)
        np.testing.assert_array_equal(images, data[set_id].array())
        np.testing.assert_array_equal(np.load(done.top / name / "test_labels.npy"), data[set_id].labels)
    assert verify_view(tmp_path / "data").ok


def test_the_recipe_has_the_published_names_in_the_published_order() -> None:
    assert [s.aliases[0] for s in load_recipe("mnist-c").resolve().sets] == PUBLISHED


def test_both_splits_of_mnist_c_are_exported_as_published(mnist: str, tmp_path: Path) -> None:
    tops = {}
    for split in ("test", "train", "all"):
        built = build("mnist-c", mnist, tmp_path / split, split=split, metrics=0, jobs=1).directory
        done = strict_export("mnist-c", built, tmp_path / f"{split}-view")
        published_mnist_c(done.top, ["test", "train"] if split == "all" else [split], built)
        for report in (verify_view(tmp_path / f"{split}-view"), check_view(built, tmp_path / f"{split}-view")):
            assert report.ok, report.problems
        tops[split] = done.top
    # a sample is the same whichever samples are built with it, so the halves are the whole
    assert layouts.files_of(tops["test"]) | layouts.files_of(tops["train"]) == layouts.files_of(tops["all"])


@pytest.mark.parametrize("split", ["test", "train", "all"])
def test_a_build_straight_into_mnist_c_is_the_export(mnist: str, tmp_path: Path, split: str) -> None:
    built = build("mnist-c", mnist, tmp_path / "out", split=split, metrics=0, jobs=1, view="mnist-c").directory
    published_mnist_c(built / "mnist_c", ["test", "train"] if split == "all" else [split], built)
    assert not (built / "images").exists()
    assert not (built / "hdf5").exists()
    plain = build("mnist-c", mnist, tmp_path / "plain", split=split, metrics=0, jobs=1)
    assert corruptset.open(built).digest == plain.digest
    done = strict_export("mnist-c", plain.directory, tmp_path / "view")
    assert layouts.files_of(built / "mnist_c") == layouts.files_of(done.top)
    report = verify(built, rederive=3, source=mnist, jobs=1)
    assert report.ok, report.problems


def test_a_build_into_mnist_c_is_extended_set_by_set(mnist: str, tmp_path: Path) -> None:
    whole = build(
        "mnist-c",
        mnist,
        tmp_path / "whole",
        split="all",
        metrics=0,
        jobs=1,
        view="mnist-c",
        sets=["clean", "rotate", "stripe"],
    )
    for sets in (["rotate"], ["clean", "rotate", "stripe"]):
        parts = build("mnist-c", mnist, tmp_path / "parts", split="all", metrics=0, jobs=1, view="mnist-c", sets=sets)
    assert layouts.files_of(parts.directory) == layouts.files_of(whole.directory)


def test_what_mnist_c_cannot_hold_is_refused(mnist: str, tmp_path: Path) -> None:
    crops = layouts.write_crops(tmp_path / "crops", classes=2, side=28)
    colour = layouts.make(layouts.write_recipe(tmp_path, more="[[sets]]\nclean = true\n"), crops, tmp_path / "out")
    with pytest.raises(BuildError, match="4 of 4 images are in colour"):
        strict_export("mnist-c", colour, tmp_path / "view")
    # the recipe's corruptions are at one severity each, so the views of five refuse them all, by name
    built = build("mnist-c", mnist, tmp_path / "out", metrics=0, jobs=1, sets=["clean", "rotate", "fog"]).directory
    refused = r"\n  fog: has severities 5, not 1, 2, 3, 4\n  rotate: has severities 2, not 1, 3, 4, 5\n"
    with pytest.raises(BuildError, match=refused):
        strict_export("cifar-c", built, tmp_path / "view")


def test_the_pairs_of_two_factor_69_are_folders_of_mnist_c_as_they_are_told(tmp_path: Path, mnist: str) -> None:
    built = build("two-factor-69", mnist, tmp_path / "out", metrics=0, jobs=1, sets=["clean", "sp010*"]).directory
    with pytest.raises(BuildError, match=r"sp010\+ga020: 2 corruptions in a row"):
        strict_export("mnist-c", built, tmp_path / "view")
    done = strict_export(
        "mnist-c", built, tmp_path / "view", severities={"SP010_GA020": ["SP0.1GA0.2"], "SP010": ["type 5"]}
    )
    assert {p.name for p in done.top.iterdir()} == {"identity", "SP010_GA020", "SP010"}
    np.testing.assert_array_equal(
        np.load(done.top / "SP010_GA020/test_images.npy"), corruptset.open(built)["sp010+ga020"].array()
    )


@pytest.mark.ci
def test_all_of_mnist_c_is_what_the_public_call_makes_of_the_files(mnist: str, tmp_path: Path) -> None:
    built = build("mnist-c", mnist, tmp_path / "out", split="all", metrics=0, jobs=2, view="mnist-c").directory
    for split, part in PART.items():
        keys = [f"{split}/{i:05d}" for i in range(len(IMAGES[part]))]
        for one in load_recipe("mnist-c").resolve().sets:
            images = np.load(built / "mnist_c" / one.aliases[0] / f"{split}_images.npy")
            expected = corruptset.corrupt(IMAGES[part][..., None], one.id, calibration="mnist", key=keys)
            np.testing.assert_array_equal(images, expected, err_msg=one.id)
