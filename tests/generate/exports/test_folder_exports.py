"""Test the layouts of image files: class folders, the 5k list, names of FlagEval and Hugging Face, and lists."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_builds
from small_builds import CHAIN_PATTERNS, PLAIN_PATTERNS, export, tar_members

import corruptset
from corruptset.corruptions.stages import Stage
from corruptset.errors import BuildError
from corruptset.generate.exports.class_folders import numbering_notes
from corruptset.generate.exports.contents import ExportSet
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.recipes.set_spec import SetSpec

NOISES = """
[[sets]]
clean = true

[[sets]]
corruptions = ["gaussian_noise", "impulse_noise", "shot_noise"]
severities = [1, 3]
"""
OTHERS = """
[[sets]]
corruptions = ["contrast"]
severities = [1]

[[sets]]
chain = ["gaussian_noise-2", "shot_noise-2"]

[[sets]]
chain = [{corruption = "shot_noise", parameters = {photons = 7.0}}]
id = "own"
"""


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("layout", "top"), [("imagenet-c", "ImageNet-C"), ("tiny-imagenet-c", "Tiny-ImageNet-C")])
def test_severity_folders_contain_only_class_folders_and_link_built_files(
    jpeg: Path, tmp_path: Path, layout: str, top: str
) -> None:
    result = export(layout, jpeg, tmp_path / "data", sets=PLAIN_PATTERNS)
    data, actual = corruptset.open(jpeg), set()
    for name in (f"{corruption}/{s}" for corruption in ("contrast", "brightness") for s in range(1, 6)):
        for sample, row in zip(data.samples, data[name].rows, strict=True):
            actual.add(path := tmp_path / "data" / top / name / f"{sample.id}.JPEG")
            assert path.samefile(jpeg / next(f.path for f in row.files if f.row is None))
        assert sorted(os.listdir(tmp_path / "data" / top / name)) == [c.folder for c in data.classes]
    assert {p for p in (tmp_path / "data" / top).rglob("*") if p.is_file()} == actual
    assert result.linked == result.images == 10 * len(data.samples)


def test_class_without_images_is_rejected_or_reported(crops: Path, tmp_path: Path) -> None:
    directory = small_builds.build_dataset(small_builds.write_recipe(tmp_path), crops, tmp_path / "out", samples=7)
    message = r"3 of 10 classes have none:\n  \d\d_class\n.*\n  \d\d_class\n.*--allow-missing-classes"
    with pytest.raises(BuildError, match=message):
        export("imagenet-c", directory, tmp_path / "export", sets=PLAIN_PATTERNS)
    assert not (tmp_path / "export").exists()
    result = export("imagenet-c", directory, tmp_path / "export", sets=PLAIN_PATTERNS, allow_missing_classes=True)
    assert any("differ from the manifest's" in note for note in result.notes)
    assert json.loads((tmp_path / "export/VIEW.json").read_text("utf-8"))["notes"] == list(result.notes)
    assert len(os.listdir(result.top / "contrast/1")) == 7
    # arrays carry their labels, so nothing is lost in them
    export("cifar-c", directory, tmp_path / "arrays", sets=PLAIN_PATTERNS)
    labels = corruptset.open(directory)["contrast/1"].labels.tolist()
    assert np.load(tmp_path / "arrays/CIFAR-10-C/labels.npy")[:7].tolist() == labels


def test_loaders_with_other_class_numbers_are_named(tmp_path: Path) -> None:
    for folders, start in (
        (["n01440764", "n01532829", "n02123045"], None),
        (["01_cat", "02_dog", "10_eel"], None),
        (["10_eel", "1_cat", "2_dog"], "timm numbers"),
        (["1_cat", "2_dog", "10_eel"], "torchvision numbers"),
        (["Dog", "cat"], "timm numbers"),
        (["02", "2"], "timm numbers"),
        (["b", "a"], "The class folders do not sort"),
        (["cat", "dog/test"], None),
        (["cat/test", "dog/test"], "timm numbers"),  # which takes the last folder for the class
    ):
        notes = numbering_notes((f"{folder}/ILSVRC2012_val_{i:08d}.JPEG", i) for i, folder in enumerate(folders))
        assert [note.startswith(start or "-") for note in notes] == [True] * (start is not None), folders
    crops = small_builds.write_crops(tmp_path / "crops", classes=3, each=1)
    for name, own in (("00_class", "10_eel"), ("01_class", "1_cat"), ("02_class", "2_dog")):
        (crops / name).rename(crops / own)
    directory = small_builds.build_dataset(
        small_builds.write_recipe(tmp_path, more=small_builds.CONTRAST_SETS), crops, tmp_path / "out"
    )
    notes = export("imagenet-c", directory, tmp_path / "export", sets=["*/*"]).notes
    assert sum(note.startswith("timm numbers these classes differently") for note in notes) == 1


def test_5k_layout_uses_list_and_fills_empty_classes(jpeg: Path, tmp_path: Path) -> None:
    stems = {c: f"{c:02d}_class/im.{c % 2}" for c in range(10) if c not in (2, 5, 9)}
    names = [f"{stem}.{('JPEG', 'jpg', 'PNG')[c % 3]} {c}" for c, stem in stems.items()]
    (tmp_path / "list.txt").write_text("\n".join(names) + "\n")
    result = export("imagenet-c-5k", jpeg, tmp_path / "data", sets=PLAIN_PATTERNS, images=tmp_path / "list.txt")
    folder = tmp_path / "data/ImageNet-C/contrast/3"
    actual = {p.relative_to(folder).as_posix() for p in folder.rglob("*.JPEG")}
    assert actual == {f"{stem}.JPEG" for stem in (*stems.values(), *(f"{c:02d}_class/im.0" for c in (2, 5, 9)))}
    assert any(
        "3 more are added for empty class folders" in note and "02_class, 05_class, 09_class" in note
        for note in result.notes
    )
    (tmp_path / "bad.txt").write_text("00_class/im.0.JPEG\nno-such-one.JPEG\nim.1.JPEG\n")
    invalid = r"no-such-one.JPEG: is not among the samples\n  im.1.JPEG: names 10 samples"
    for options, match in (({"images": tmp_path / "bad.txt"}, invalid), ({}, "--list")):
        with pytest.raises(BuildError, match=match):
            export("imagenet-c-5k", jpeg, tmp_path / "other", sets=PLAIN_PATTERNS, **options)
    assert not (tmp_path / "other").exists()


def test_flageval_has_documented_names_and_includes_clean_on_request(
    shared_data: small_builds.SharedData, tmp_path: Path
) -> None:
    noisy = shared_data.build(crops={"classes": 3}, recipe={"name": "noisy", "more": NOISES + OTHERS}, storage="folder")
    with pytest.raises(BuildError) as error:
        export("flageval", noisy, tmp_path / "data")
    assert str(error.value).split("\n") == [
        "This dataset cannot be exported as flageval:",
        "  contrast/1: contrast has no letter",
        "  gaussian_noise-2+shot_noise-2: a chain of 2 corruptions has no letter",
        "  own: its severity is not one of 1 to 5",
        "The layout has letters for gaussian_noise (_g), impulse_noise (_i), shot_noise (_s), pgd (_p), and it accepts "
        "clean. Use --sets to choose such sets.",
    ]
    assert not (tmp_path / "data").exists()
    recipe = shared_data.recipe(name="fitting", more=NOISES)
    fitting = small_builds.build_dataset(recipe, shared_data.crops(classes=3, each=1), tmp_path / "fitting", sets=None)
    top = export("flageval", fitting, tmp_path / "data").top
    letters = {"gaussian_noise": "g", "impulse_noise": "i", "shot_noise": "s"}
    assert {p.relative_to(top).as_posix() for p in top.rglob("*.png")} >= {
        f"{name}/3/{c:02d}_class/im.0_{letter}.png" for name, letter in letters.items() for c in range(3)
    }
    names = {spec.id: spec.aliases for spec in load_recipe("flageval").resolve().sets}
    noises = {f"{name}_noise/3": (f"ImageNet-1K_{name}",) for name in ("gaussian", "impulse", "shot")}
    assert names == {"clean": (), **noises, "pgd/3": ("ImageNet-1K_pgd",)}


def test_numbered_classes_and_split_words_do_not_mislead_loaders(
    named_dataset: Path, named_exports: Callable[[str], Path]
) -> None:
    data, top = corruptset.open(named_dataset), named_exports("imagefolder") / "small-c-1.0.0"
    folders = {name: name for name in data.set_ids}
    folders |= {"two-factor-train": "two-factor-=train", "__val/latest+dev": "=__=val/latest+=dev"}
    result = {p.relative_to(top).as_posix() for p in top.rglob("*") if p.is_file()}
    assert result == {"metadata.jsonl", *(f"{f}/{i:05d}.JPEG" for f in folders.values() for i in range(14))}
    rows = read_rows(top / "metadata.jsonl")
    assert [(r["file_name"], r["label"], r["set"], r["class"], r["id"]) for r in rows] == [
        (f"{folders[s]}/{i:05d}.JPEG", sample.label, s, str(sample.label), sample.id)
        for s in data.set_ids
        for i, sample in enumerate(data.samples)
    ]
    assert not any("split" in r for r in rows)
    # labels of two digits, folders (03) that are not the names (3), and no label is a sample's number
    files = tar_members(named_exports("webdataset") / "small-c-1.0.0/clean/000000.tar")
    lines = (named_exports("openood") / "small-c-1.0.0/lists/clean.txt").read_text("utf-8").splitlines()
    for sample, line in zip(data.samples, lines, strict=True):
        about = json.loads(files[f"{sample.index:08d}.json"])
        assert (about["label"], about["class"], about["id"]) == (sample.label, str(sample.label), sample.id)
        assert files[f"{sample.index:08d}.cls"] == str(sample.label).encode()
        assert line == f"clean/{sample.label:02d}/{sample.id}.JPEG {sample.label}"


def test_metadata_distinguishes_severities_levels_and_other_sets(chains: Path, tmp_path: Path) -> None:
    rows = read_rows(export("imagefolder", chains, tmp_path / "h", sets=CHAIN_PATTERNS).top / "metadata.jsonl")
    result = {row["set"]: (row["corruption"], row["severity"], row["level"]) for row in rows}
    alone = {"contrast/3": ("contrast", 3, 0), "dull": ("contrast", 2, 0), "black_lines/07": ("black_lines", 0, 7)}
    own = {name: (name, 0, 0) for name in ("clean", "sp010", "sp010+ro-30", "contrast-3+brightness-5")}
    assert result.items() >= (alone | own).items()
    # where no set has a level there is no such column
    plain = export("imagefolder", chains, tmp_path / "plain", sets=["sp010*", "contrast/*"]).top
    assert not any("level" in row for row in read_rows(plain / "metadata.jsonl"))
    # a number counts only in a set that is called by it: others of that number have an option of their own
    at_three, at_seven = Stage("fog", 1, severity=3), Stage("black_lines", 1, level=7)
    for spec, expected in (
        (SetSpec("misty", (at_three,), aliases=("fog/3",)), (3, None)),
        (SetSpec("misty", (at_three,)), (None, None)),
        (SetSpec("thick", (at_seven,)), (None, None)),
    ):
        assert (ExportSet.of(spec).severity, ExportSet.of(spec).level) == expected, spec
