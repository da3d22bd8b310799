"""What an export tells: how far it is, how many images lie where, and what a loader would make of the data set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import archives
import layouts
import numpy as np
import pytest
from PIL import Image

import corruptset
from corruptset.errors import BuildError
from corruptset.generate.build import build
from corruptset.generate.plan.plan import plan
from corruptset.generate.views.class_numbers import numbering_notes
from corruptset.generate.views.export import Exported, export
from corruptset.generate.views.registry import VIEWS
from corruptset.generate.views.view_check import check_view
from corruptset.manifests.verify.views import verify_view

CONTRAST = '[[sets]]\ncorruptions = ["contrast"]\n\n[[sets]]\nclean = true\n'


def told(view: str, built: Path, out: Path, **options: Any) -> tuple[Exported, list[tuple[str, int, int]]]:
    """Export, and check that progress rises to its total, the images of VIEW.json and those that were written."""
    steps: list[tuple[str, int, int]] = []
    done = export(view, built, out, progress=lambda *step: steps.append(step), any_shape=True, **options)
    counts = [n for _, n, _ in steps]
    assert counts == sorted(counts)
    record = json.loads((out / "VIEW.json").read_text("utf-8"))
    held = sum(s["count"] for s in record["sets"])
    assert {total for _, _, total in steps} == {steps[-1][1]} == {held} == {done.images}
    return done, steps


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("built")
    return layouts.make(layouts.write_recipe(root, more=CONTRAST), layouts.write_crops(root / "crops"), root / "out")


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_progress_ends_at_its_total(built: Path, tmp_path: Path, view: str) -> None:
    options: dict[str, Any] = {"sets": ["clean"] if view == "mnist-c" else ["*/*"]}
    if view == "imagenet-c-5k":
        options["images"] = ["00_class/im.0"]
    if view == "mnist-c":
        grey = layouts.write_crops(tmp_path / "grey", classes=2, side=28, mode="L")
        built = layouts.make(layouts.write_recipe(tmp_path, channels="keep", more=CONTRAST), grey, tmp_path / "out")
    told(view, built, tmp_path / "view", **options)


def test_both_splits_of_mnist_and_a_set_named_twice_are_counted_where_they_lie(built: Path, tmp_path: Path) -> None:
    digits = np.arange(5 * 28 * 28, dtype=np.int64).reshape(5, 28, 28) % 251
    for split, rows in (("train", 3), ("t10k", 2)):
        archives.write(
            tmp_path / "raw",
            {f"{split}-images-idx3-ubyte": archives.idx(digits[:rows]), f"{split}-labels-idx1-ubyte": archives.idx(np.arange(rows))},
        )
    mnist = build("mnist-c", f"mnist:{tmp_path / 'raw'}", tmp_path, sets=["clean", "stripe"], split="all", jobs=1, metrics=0).directory
    done, _ = told("mnist-c", mnist, tmp_path / "m")
    places = {(s["id"], s["path"]): s["count"] for s in json.loads((tmp_path / "m/VIEW.json").read_text("utf-8"))["sets"]}
    assert places == {
        (set_id, f"mnist_c/{name}/{split}_images.npy"): count
        for set_id, name in (("clean", "identity"), (corruptset.open(mnist).aliases["stripe"], "stripe"))
        for split, count in (("train", 3), ("test", 2))
    }
    assert not any("--split all" in note for note in done.notes)
    half = build("mnist-c", f"mnist:{tmp_path / 'raw'}", tmp_path / "half", sets=["stripe"], jobs=1, metrics=0)
    assert any("only test images" in note and "--split all" in note for note in told("mnist-c", half.directory, tmp_path / "h")[0].notes)
    twice = {"first": [f"contrast/{s}" for s in range(1, 6)], "second": ["contrast/1"] * 5}
    for view in ("cifar-c", "imagenet-c"):
        told(view, built, tmp_path / view, severities=twice)
        for report in (verify_view(tmp_path / view), check_view(built, tmp_path / view)):
            assert report.ok, report.problems
            assert report.checked["sets"] == 5


def test_robustbench_is_told_of_where_rows_are_not_ten_thousand(built: Path, tmp_path: Path) -> None:
    done, _ = told("cifar-c", built, tmp_path / "a", sets=["*/*"])
    (note,) = done.notes
    assert "RobustBench takes 10,000 rows" in note
    assert "there are 20 here" in note
    assert note in json.loads((tmp_path / "a/VIEW.json").read_text("utf-8"))["notes"]
    images, labels = archives.crops(1)
    images, labels = np.repeat(images, 10_000, axis=0), np.arange(10_000) % 10
    source = f"cifar10:{archives.write(tmp_path / 'source', archives.ten_python((images, labels)))}"
    # a plan makes the layout of the build, whole
    assert plan("cifar10-c", source, sets=["contrast/*"], view="cifar-c", jobs=1).notes == ()
    (planned,) = plan("cifar10-c", source, sets=["contrast/*"], view="cifar-c", samples=9_999, jobs=1).notes
    assert "there are 9,999 here" in planned


@pytest.mark.parametrize(
    ("folders", "start"),
    [
        (["n01440764", "n01532829", "n02123045"], None),
        (["airplane", "dog"], None),
        (["01_cat", "02_dog", "10_eel"], None),
        (["10_eel", "1_cat", "2_dog"], "timm numbers"),
        (["1_cat", "2_dog", "10_eel"], "torchvision numbers"),
        (["Dog", "cat"], "timm numbers"),
        (["02", "2"], "timm numbers"),
        (["b", "a"], "The class folders do not sort"),
    ],
)
def test_loaders_that_number_classes_otherwise_are_named(folders: list[str], start: str | None) -> None:
    notes = numbering_notes((f"{folder}/ILSVRC2012_val_{i:08d}.JPEG", i) for i, folder in enumerate(folders))
    assert [note.startswith(start or "-") for note in notes] == [True] * (start is not None)


def test_timm_takes_the_last_folder_for_the_class() -> None:
    paths = [("cat/test/00001.png", 0), ("dog/test/00002.png", 1)]
    (note,) = numbering_notes(paths)
    assert note.startswith("timm numbers")
    assert numbering_notes([(path.replace("/test", ""), label) for path, label in paths]) == []


def test_an_export_tells_how_timm_numbers(tmp_path: Path) -> None:
    for name in ("10_eel", "1_cat", "2_dog"):
        (tmp_path / "own" / name).mkdir(parents=True)
        Image.fromarray(np.full((16, 16, 3), 90, np.uint8)).save(tmp_path / "own" / name / "a.png")
    made = layouts.make(layouts.write_recipe(tmp_path, more=CONTRAST), tmp_path / "own", tmp_path / "out")
    notes = export("imagenet-c", made, tmp_path / "view", sets=["*/*"], any_shape=True).notes
    assert sum(note.startswith("timm numbers these classes otherwise") for note in notes) == 1


def test_clean_beside_corruptions_is_told_with_the_pattern_that_leaves_it_out(built: Path, tmp_path: Path) -> None:
    for view in ("imagenet-c", "cifar-c"):
        with pytest.raises(BuildError, match=r"clean: the clean images have no severity\nChoose what fits with --sets '\*/\*', or") as e:
            export(view, built, tmp_path / "no")
        assert "{" not in str(e.value)
        export(view, built, tmp_path / view, sets=["*/*"], any_shape=True)
    with pytest.raises(BuildError, match=r"Choose what fits with --sets '\*/\*', or build without --view"):
        plan("imagenet-c", "sample", sets=["fog/*", "clean"], view="imagenet-c")
    # where the pattern would not do, it is not given
    with pytest.raises(BuildError, match=r"Choose what fits with --sets, or say"):
        export("imagenet-c", built, tmp_path / "no", sets=["clean", "contrast/[123]"])
