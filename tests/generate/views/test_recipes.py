"""The shipped recipes of arrays, from archives in their published form to the layout in which the sets were published."""

from __future__ import annotations

import json
from pathlib import Path

import archives as a
import layouts
import numpy as np
import pytest
from sklearn.datasets import load_digits

import corruptset
from corruptset.errors import BuildError
from corruptset.generate.again.rederive import verify
from corruptset.generate.build import build
from corruptset.generate.views.export import export
from corruptset.generate.views.view_check import check_view
from corruptset.manifests.verify.views import verify_view

PUBLISHED = [
    "identity", "shot_noise", "impulse_noise", "glass_blur", "motion_blur", "shear", "scale", "rotate", "brightness", "translate",
    "stripe", "fog", "spatter", "dotted_line", "zigzag", "canny_edges",
]  # fmt: skip
"""The folders of mnist_c.zip, in the order in which tensorflow_datasets names them."""
DIGITS = load_digits()
IMAGES = np.pad(np.kron((DIGITS.images * 15.9).astype(np.uint8), np.ones((1, 3, 3), np.uint8)), ((0, 0), (2, 2), (2, 2)))
"""Scanned digits of 8x8, each pixel three times, within a border: 28x28."""
PART = {"test": slice(0, 12), "train": slice(20, 40)}
CIFAR = [
    "gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "snow", "frost", "fog",
    "brightness", "contrast", "elastic_transform", "pixelate", "jpeg_compression", "speckle_noise", "gaussian_blur", "spatter", "saturate",
]  # fmt: skip


@pytest.fixture(scope="session")
def mnist(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Digits in the form of MNIST's four files."""
    names = (("t10k", "test"), ("train", "train"))
    pairs = (("images-idx3", IMAGES), ("labels-idx1", DIGITS.target))
    files = {f"{name}-{kind}-ubyte.gz": a.zipped(a.idx(array[PART[split]])) for name, split in names for kind, array in pairs}
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


def test_the_recipe_has_the_published_names_in_the_published_order() -> None:
    from corruptset.generate.recipes.recipe import load_recipe

    assert [s.aliases[0] for s in load_recipe("mnist-c").resolve().sets] == PUBLISHED


def test_both_splits_of_mnist_c_are_exported_as_published(mnist: str, tmp_path: Path) -> None:
    tops = {}
    for split in ("test", "train", "all"):
        built = build("mnist-c", mnist, tmp_path / split, split=split, metrics=0, jobs=1).directory
        done = export("mnist-c", built, tmp_path / f"{split}-view")
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
    done = export("mnist-c", plain.directory, tmp_path / "view")
    assert layouts.files_of(built / "mnist_c") == layouts.files_of(done.top)
    report = verify(built, rederive=3, source=mnist, jobs=1)
    assert report.ok, report.problems


def test_a_build_into_mnist_c_is_extended_set_by_set(mnist: str, tmp_path: Path) -> None:
    whole = build("mnist-c", mnist, tmp_path / "whole", split="all", metrics=0, jobs=1, view="mnist-c", sets=["clean", "rotate", "stripe"])
    for sets in (["rotate"], ["clean", "rotate", "stripe"]):
        parts = build("mnist-c", mnist, tmp_path / "parts", split="all", metrics=0, jobs=1, view="mnist-c", sets=sets)
    assert layouts.files_of(parts.directory) == layouts.files_of(whole.directory)


def test_what_mnist_c_cannot_hold_is_refused(mnist: str, tmp_path: Path) -> None:
    crops = layouts.write_crops(tmp_path / "crops", classes=2, side=28)
    colour = layouts.make(layouts.write_recipe(tmp_path, more="[[sets]]\nclean = true\n"), crops, tmp_path / "out")
    with pytest.raises(BuildError, match="4 of 4 images are in colour"):
        export("mnist-c", colour, tmp_path / "view")
    # the recipe's corruptions are at one severity each, so the views of five refuse them all, by name
    built = build("mnist-c", mnist, tmp_path / "out", metrics=0, jobs=1, sets=["clean", "rotate", "fog"]).directory
    refused = r"\n  clean: .*\n  fog: has severities 5, not 1, 2, 3, 4\n  rotate: has severities 2, not 1, 3, 4, 5\n"
    with pytest.raises(BuildError, match=refused):
        export("cifar-c", built, tmp_path / "view")


TAKE_ALL = ["webdataset", "imagefolder", "openood", "croissant"]
FIVE = ["cifar-c", "imagenet-c", "tiny-imagenet-c"]
THREE_LADDERS = ["black_lines/*", "fade_black/*", "posterize/*"]


@pytest.fixture(scope="module")
def two_factor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All 53 conditions of the two-factor paper, of twenty crops in the form of CIFAR-10's test batch."""
    root = tmp_path_factory.mktemp("two-factor")
    images, _ = a.crops(20)
    archive = a.tar(root / "cifar-10-python.tar.gz", a.ten_python((images, np.arange(20) % 10)), "w:gz")
    return build("two-factor-69", f"cifar10:{archive}", root, metrics=0, jobs=1).directory


@pytest.fixture(scope="module")
def ladders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three ladders of thirty levels, and clean, of one photograph."""
    root = tmp_path_factory.mktemp("ladders")
    return build("image-degrade-30", "sample", root, first=1, metrics=0, jobs=1, sets=["clean", *THREE_LADDERS], format="hdf5").directory


@pytest.mark.parametrize("view", TAKE_ALL)
def test_two_factor_69_goes_whole_into_the_views_of_any_set(two_factor: Path, tmp_path: Path, view: str) -> None:
    done = export(view, two_factor, tmp_path / "view")
    data = corruptset.open(two_factor)
    assert len(data.set_ids) == 53
    assert done.images == 53 * 20
    report = check_view(two_factor, tmp_path / "view")
    assert report.ok, report.problems
    assert report.checked["images"] == done.images
    # the paper's names choose as the ids do, and the repeated ones lead to one set
    some = export(view, two_factor, tmp_path / "some", sets=["SP0.1GA0.2", "type 8", "type 5", "type 42", "RL30SP0.1"])
    record = json.loads((tmp_path / "some/VIEW.json").read_text("utf-8"))
    assert [s["id"] for s in record["sets"]] == ["ro-30+sp010", "sp010", "sp010+ga020"]
    assert some.images == 3 * 20


@pytest.mark.parametrize("view", TAKE_ALL)
def test_thirty_levels_go_whole_into_the_views_of_any_set(ladders: Path, tmp_path: Path, view: str) -> None:
    done = export(view, ladders, tmp_path / "view")
    assert done.images == 3 * 30 + 1
    report = check_view(ladders, tmp_path / "view")
    assert report.ok, report.problems
    if view == "imagefolder":
        rows = [json.loads(line) for line in (done.top / "metadata.jsonl").read_text("utf-8").splitlines()]
        ladder = [(row["corruption"], row["severity"], row["level"]) for row in rows if row["set"].startswith("black_lines")]
        assert ladder == [("black_lines", 0, level) for level in range(1, 31)]


@pytest.mark.parametrize("view", FIVE)
def test_two_factor_69_is_mapped_or_refused_by_the_views_of_five_severities(two_factor: Path, tmp_path: Path, view: str) -> None:
    with pytest.raises(BuildError) as e:
        layouts.export(view, two_factor, tmp_path / "view")
    first, *lines, rest, then = str(e.value).splitlines()
    assert view in first
    why = dict(line.strip().split(": ") for line in lines)
    assert set(why) < set(corruptset.open(two_factor).set_ids)
    for name, reason in why.items():
        expected = "2 corruptions in a row have no severity" if "+" in name else "is not at a severity of a table, 1 to 5"
        assert reason == ("the clean images have no severity" if name == "clean" else expected)
    # 53 sets, and that nothing is left; the list ends after fifty and counts the others
    assert (len(why), rest) == (50, "  ... and 4 more")
    assert "--severities FILE" in then
    assert list(tmp_path.iterdir()) == []
    names = {"salt_pepper+gaussian": ["CLEAN", "SP0.1GA0.1", "SP0.15GA0.15", "type 16", "sp020+ga020"]}
    done = layouts.export(view, two_factor, tmp_path / "view", severities=names)
    assert {p.name.removesuffix(".npy") for p in done.top.iterdir()} - {"labels"} == set(names)
    assert any("Left out" in note and "ga010, ga010+sp010" in note and note.endswith(" and 41 more.") for note in done.notes)
    data = corruptset.open(two_factor)
    report = check_view(two_factor, tmp_path / "view")
    assert report.ok, report.problems
    if view == "cifar-c":
        expected = [data[i].array() for i in ("clean", "sp010+ga010", "sp015+ga015", "sp020+ga020", "sp020+ga020")]
        np.testing.assert_array_equal(np.load(done.top / "salt_pepper+gaussian.npy"), np.concatenate(expected))


@pytest.mark.parametrize("view", FIVE)
def test_thirty_levels_are_mapped_or_refused_by_the_views_of_five_severities(ladders: Path, tmp_path: Path, view: str) -> None:
    missing = {} if view == "cifar-c" else {"allow_missing_classes": True}
    # five levels are not five severities, were they the levels 1 to 5
    for sets in (["black_lines/*"], [f"black_lines/0{n}" for n in range(1, 6)]):
        with pytest.raises(BuildError, match=r"black_lines/01 \.\.\. black_lines/(30 \(30|05 \(5) sets\): levels are not severities"):
            layouts.export(view, ladders, tmp_path / "view", sets=sets, **missing)
    assert list(tmp_path.iterdir()) == []
    names = {"black_lines": [f"black_lines/{n:02d}" for n in (6, 12, 18, 24, 30)]}
    done = layouts.export(view, ladders, tmp_path / "view", severities=names, sets=["black_lines/*"], **missing)
    report = check_view(ladders, tmp_path / "view")
    assert report.ok, report.problems
    assert done.images == 5
    if view == "cifar-c":
        data = corruptset.open(ladders)
        expected = np.concatenate([data[i].array() for i in names["black_lines"]])
        np.testing.assert_array_equal(np.load(done.top / "black_lines.npy"), expected)


def test_the_pairs_of_two_factor_69_are_folders_of_mnist_c_as_they_are_told(tmp_path: Path, mnist: str) -> None:
    built = build("two-factor-69", mnist, tmp_path / "out", metrics=0, jobs=1, sets=["clean", "sp010*"]).directory
    with pytest.raises(BuildError, match=r"sp010\+ga020: 2 corruptions in a row"):
        export("mnist-c", built, tmp_path / "view")
    done = export("mnist-c", built, tmp_path / "view", severities={"SP010_GA020": ["SP0.1GA0.2"], "SP010": ["type 5"]})
    assert {p.name for p in done.top.iterdir()} == {"identity", "SP010_GA020", "SP010"}
    np.testing.assert_array_equal(np.load(done.top / "SP010_GA020/test_images.npy"), corruptset.open(built)["sp010+ga020"].array())


@pytest.mark.ci
def test_all_of_cifar10_c_from_its_tar_to_its_arrays(tmp_path: Path) -> None:
    images, labels = a.crops(24)
    archive = a.tar(tmp_path / "cifar-10-python.tar.gz", a.ten_python((images, labels)), "w:gz")
    built = build("cifar10-c", f"cifar10:{archive}", tmp_path / "out", metrics=0, jobs=1, format="hdf5").directory
    done = export("cifar-c", built, tmp_path / "data")
    straight = build("cifar10-c", f"cifar10:{archive}", tmp_path / "straight", metrics=0, jobs=1, view="cifar-c").directory
    assert layouts.files_of(straight / "CIFAR-10-C") == layouts.files_of(done.top)
    assert {p.name for p in done.top.iterdir()} == {f"{name}.npy" for name in [*CIFAR, "labels"]}
    np.testing.assert_array_equal(np.load(done.top / "labels.npy"), np.tile(labels, 5).astype(np.uint8))
    for name in CIFAR:
        rows = np.load(done.top / f"{name}.npy")
        assert (rows.shape, rows.dtype) == ((120, 32, 32, 3), np.uint8)
        for severity in range(1, 6):
            expected = corruptset.corrupt(
                images, name, severity=severity, calibration="cifar", key=[f"test/{i:05d}" for i in range(24)]
            )  # fmt: skip
            np.testing.assert_array_equal(rows[(severity - 1) * 24 : severity * 24], expected, err_msg=f"{name}/{severity}")
    for directory in (tmp_path / "data", built, straight):
        report = check_view(built, directory) if directory == tmp_path / "data" else verify(directory)
        assert report.ok, report.problems
    record = json.loads((tmp_path / "data/VIEW.json").read_text("utf-8"))
    assert len(record["sets"]) == 95
    assert record["digest"] == corruptset.open(straight).digest


@pytest.mark.ci
def test_all_of_mnist_c_is_what_the_public_call_makes_of_the_files(mnist: str, tmp_path: Path) -> None:
    from corruptset.generate.recipes.recipe import load_recipe

    built = build("mnist-c", mnist, tmp_path / "out", split="all", metrics=0, jobs=2, view="mnist-c").directory
    for split, part in PART.items():
        keys = [f"{split}/{i:05d}" for i in range(len(IMAGES[part]))]
        for one in load_recipe("mnist-c").resolve().sets:
            images = np.load(built / "mnist_c" / one.aliases[0] / f"{split}_images.npy")
            expected = corruptset.corrupt(IMAGES[part][..., None], one.id, calibration="mnist", key=keys)
            np.testing.assert_array_equal(images, expected, err_msg=one.id)
