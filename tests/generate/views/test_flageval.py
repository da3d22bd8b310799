"""The view flageval: every image under FlagEval's name for it, straight from a build and by export, and no
other set.
"""

from __future__ import annotations

import os
from pathlib import Path

import layouts
import pytest
from layouts import export

import corruptset
from corruptset.corruptions.stages import Stage
from corruptset.errors import BuildError
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.sources.source import Sample
from corruptset.generate.views.contents import Contents, ViewOptions, ViewSet
from corruptset.generate.views.layouts import get_layout
from corruptset.generate.views.texts import paths
from corruptset.generate.views.view import View
from corruptset.generate.views.view_check import check_view
from corruptset.manifests.records.models import ClassRecord

SETS = """
[[sets]]
clean = true

[[sets]]
corruptions = ["gaussian_noise", "impulse_noise", "shot_noise"]
severities = [1, 3]

[[sets]]
corruptions = ["contrast"]
severities = [1]

[[sets]]
chain = ["gaussian_noise-2", "shot_noise-2"]

[[sets]]
chain = [{corruption = "shot_noise", parameters = {photons = 7.0}}]
id = "own"
"""
FITTING = ["clean", "*_noise/?"]
LETTERS = {"gaussian_noise": "_g", "impulse_noise": "_i", "shot_noise": "_s"}


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("noisy")
    crops = layouts.write_crops(root / "crops", classes=3)
    return layouts.make(layouts.write_recipe(root, more=SETS), crops, root / "out", format="folder")


def test_every_image_lies_under_its_name(noisy: Path, tmp_path: Path) -> None:
    done = export("flageval", noisy, tmp_path / "data", sets=FITTING)
    data = corruptset.open(noisy)
    wanted = {}
    for sample in data.samples:
        wanted[f"clean/{sample.id}.png"] = ("clean", sample.index)
        for name, letter in LETTERS.items():
            for severity in (1, 3):
                wanted[f"{name}/{severity}/{sample.id}{letter}.png"] = (f"{name}/{severity}", sample.index)
    top = tmp_path / "data" / "small-c-1.0.0"
    assert done.top == top
    assert {p.relative_to(top).as_posix() for p in top.rglob("*") if p.is_file()} == set(wanted)
    for path, (set_id, index) in wanted.items():
        stored = next(f.path for f in data[set_id].rows[index].files if f.row is None)
        assert (top / path).samefile(noisy / stored)
    # no name is in two sets, and every set is a tree of class folders
    names = [path.partition("/1/")[2] for path in wanted if "/1/" in path]
    assert len(set(names)) == len(names) == 3 * len(data.samples)
    assert sorted(os.listdir(top / "shot_noise/3")) == [c.folder for c in data.classes]
    report = check_view(noisy, tmp_path / "data")
    assert report.ok, report.problems


def test_clean_images_lie_there_only_where_they_are_named(tmp_path: Path) -> None:
    crops = layouts.write_crops(tmp_path / "crops", classes=3)
    recipe = layouts.write_recipe(tmp_path, more=SETS.partition('[[sets]]\ncorruptions = ["contrast"]')[0])
    built = layouts.make(recipe, crops, tmp_path / "out", format="folder")
    assert "clean" in corruptset.open(built)
    assert sorted(os.listdir(export("flageval", built, tmp_path / "data").top)) == sorted(LETTERS)
    straight = layouts.make(recipe, crops, tmp_path / "straight", view="flageval", sets=None)
    assert sorted(
        p.name for p in straight.rglob("*_noise") if p.parent.name == "small-c-1.0.0" and p.is_dir()
    ) == sorted(LETTERS)
    assert "clean" not in corruptset.open(straight)


def test_the_sets_have_the_names_of_the_page() -> None:
    names = {spec.id: spec.aliases for spec in load_recipe("flageval").resolve().sets}
    noises = {f"{name}_noise/3": (f"ImageNet-1K_{name}",) for name in ("gaussian", "impulse", "shot")}
    assert names == {"clean": (), **noises, "pgd/3": ("ImageNet-1K_pgd",)}


def test_a_build_writes_straight_into_it(tmp_path: Path, noisy: Path) -> None:
    crops = layouts.write_crops(tmp_path / "crops", classes=3)
    built = layouts.make(
        layouts.write_recipe(tmp_path, more=SETS), crops, tmp_path / "out", sets=FITTING, view="flageval"
    )
    export("flageval", noisy, tmp_path / "data", sets=FITTING)
    top = tmp_path / "data" / "small-c-1.0.0"
    files = {p.relative_to(top).as_posix() for p in top.rglob("*.png")}
    inside = next(p for p in built.rglob("gaussian_noise") if p.is_dir() and (p / "3").is_dir()).parent
    assert {p.relative_to(inside).as_posix(): p.read_bytes() for p in inside.rglob("*_?.png")} == {
        path: (top / path).read_bytes() for path in files if not path.startswith("clean/")
    }
    assert corruptset.verify(built, rederive=2, source=f"folder:{crops}", jobs=1).ok


def test_other_sets_are_refused_all_at_once(noisy: Path, tmp_path: Path) -> None:
    with pytest.raises(BuildError) as error:
        export("flageval", noisy, tmp_path / "data")
    assert str(error.value).split("\n") == [
        "This data set does not fit into the view flageval:",
        "  contrast/1: contrast has no letter",
        "  gaussian_noise-2+shot_noise-2: 2 corruptions in a row have no letter",
        "  own: is not at a severity of a table, 1 to 5",
        "It takes gaussian_noise (_g), impulse_noise (_i), shot_noise (_s), pgd (_p) and clean. Choose what fits with "
        "--sets.",
    ]
    assert not (tmp_path / "data").exists()
    with pytest.raises(BuildError, match="needs an image of every class"):
        View(get_layout("flageval"), subject(labels=(0, 0)), ViewOptions())
    notes = View(get_layout("flageval"), subject(labels=(0, 0)), ViewOptions(allow_missing_classes=True)).notes
    assert notes[0].startswith("1 of 2 classes have no folder")


def subject(labels: tuple[int, ...] = (0, 1)) -> Contents:
    """Return ImageNet's images, clean and under the four corruptions that the page names."""
    refs = [
        ViewSet.of(f"{name}/3", (), (Stage(name, 1, 3, None, {}),))
        for name in ("gaussian_noise", "impulse_noise", "pgd", "shot_noise")
    ]
    samples = [Sample(i, f"ILSVRC2012_val_{i + 1:08d}", label) for i, label in enumerate(labels)]
    classes = tuple(ClassRecord(index=i, name=n, folder=n) for i, n in enumerate(("n01440764", "n01443537")))
    return Contents("flageval", "1.0.0", (ViewSet.of("clean", (), ()), *refs), samples, classes, "jpeg")


def test_the_published_stems() -> None:
    view = View(get_layout("flageval"), subject(), ViewOptions())
    assert list(paths(view)) == [
        f"flageval-1.0.0/{folder}/{wnid}/ILSVRC2012_val_0000000{i}{letter}.JPEG"
        for folder, letter in (
            ("clean", ""),
            ("gaussian_noise/3", "_g"),
            ("impulse_noise/3", "_i"),
            ("pgd/3", "_p"),
            ("shot_noise/3", "_s"),
        )
        for i, wnid in ((1, "n01440764"), (2, "n01443537"))
    ]
    (images,) = view.slices_of["pgd/3"]
    assert view.path(images, 1) == "flageval-1.0.0/pgd/3/n01443537/ILSVRC2012_val_00000002_p.JPEG"
