"""Test that `extend` makes a new dataset equal to one build of all sets, and never changes a finished dataset."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from damage import edit_manifest
from PIL import Image
from small_builds import read_files

import corruptset
from corruptset.errors import BuildError, FinishedDataset, IncompleteBuild, Interrupted
from corruptset.generate.build import build
from corruptset.generate.plan import job as jobs

CONTRAST = [f"contrast/{s}" for s in range(1, 6)]


class Killed(BaseException):
    """An exception that stands for SIGKILL, which has the same effect on the files."""


def stamps(root: Path) -> dict[Path, int]:
    return {p: p.stat().st_mtime_ns for p in root.rglob("*")}


def test_extension_equals_union_and_regenerates_nothing(make, expected_files):
    first = make(sets=["contrast/*"])
    assert first.images == 50
    before = stamps(first.directory)
    result = make(sets=["contrast/3"])
    assert (result.images, result.digest) == (0, first.digest)
    (note,) = (note for note in result.notes if "4 were not requested" in note)
    assert "It has 5 sets, of which 4 were not requested, and the digest is that of all 5 sets." in note
    assert "choose another --out" in note
    assert not any("not requested" in note for note in make(sets=["contrast/*"]).notes)
    with pytest.raises(FinishedDataset, match=r"It lacks 7 of the requested .*\n  extend='.*', out='"):
        make()
    assert stamps(first.directory) == before
    extended = make(out="more", extend=first.directory)
    assert extended.images == 70
    linked = [p for p in extended.directory.rglob("*") if p.is_file() and p.stat().st_nlink == 2]
    assert len([p for p in linked if p.suffix in (".JPEG", ".h5", ".jsonl")]) == len(linked) == 50 + 10 + 5
    assert all((first.directory / p.relative_to(extended.directory)).samefile(p) for p in linked)
    # the same command has nothing to do, also when the first dataset is gone
    shutil.rmtree(first.directory)
    repeated = make(out="more", extend=first.directory)
    assert (repeated.images, [note for note in repeated.notes if "not requested" in note]) == (0, [])
    assert read_files(extended.directory) == expected_files()
    assert corruptset.verify(extended.directory, jobs=1).ok


DIFFERENCES: list[tuple[dict[str, Any], str]] = [
    ({"seed": 7}, "seed: existing 0, requested 7"),
    ({"coupling": "severity"}, "coupling: existing 'independent', requested 'severity'"),
    ({"scale": "side"}, "scale: existing 'none', requested 'side'"),
    ({"samples": 3}, r"source\.digest: existing 'sha256:"),
    ({"storage": "folder"}, r"storage\.container"),
    ({"optimize": True}, r"encoding\.optimize: existing False, requested True"),
    ({"metrics": 2}, "metrics_images: existing 0, requested 2"),
    ({"calibration": "tiny"}, r"recipe\.calibration: existing 'cifar', requested 'tiny'"),
]


@pytest.mark.parametrize("state", ["finished", "interrupted", "extended"])
def test_different_build_is_rejected_with_differences(make, interrupt_build, shared_data, tmp_path, state):
    interrupt_build(1, sets=["contrast/1"]) if state == "interrupted" else make(sets=["contrast/1"])
    options = {"extend": tmp_path / "out/small-c-1.0.0", "out": "more"} if state == "extended" else {}
    before = read_files(tmp_path)
    other = shared_data.recipe(encoding="jpeg", channels="keep")
    for option, field in [
        *DIFFERENCES,
        ({"recipe": other}, r"preprocessing\.channels: existing 'rgb', requested 'keep'"),
    ]:
        for sets in (["contrast/1"], ["contrast/*"]):
            with pytest.raises(BuildError, match=field) as exc_info:
                make(sets=sets, **option, **options)
            assert exc_info.value.exit_code == 2
    assert read_files(tmp_path) == before


def test_unsuitable_dataset_cannot_be_extended(make, interrupt_build, tmp_path):
    first = make(sets=["contrast/1"]).directory
    with pytest.raises(BuildError, match=r"needs a folder with a different name\. Choose another --out, such as"):
        make(extend=first)
    with pytest.raises(BuildError, match="already has all requested sets"):
        make(out="more", sets=["contrast/1"], extend=first)
    with pytest.raises(IncompleteBuild, match="does not exist"):
        make(out="more", extend=tmp_path / "nowhere")
    interrupt_build(1, out="begun")
    with pytest.raises(BuildError, match="was started without --extend"):
        make(out="begun", extend=first)
    (first / "PARTIAL.json").write_text("{}")
    with pytest.raises(BuildError, match="is only a part of a dataset"):
        make(out="more", extend=first)


@pytest.mark.parametrize("links", [True, False])
def test_extension_killed_during_linking_is_resumed(make, expected_files, monkeypatch, links, tmp_path):
    first = make(sets=["contrast/*"]).directory
    before, original, copied = read_files(first), os.link, []

    def link(file, target, **options):
        copied.append(target)
        if len(copied) == 30:
            raise Killed
        if not links:
            raise OSError(18, "Invalid cross-device link")
        original(file, target, **options)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(Killed):
        make(out="more", extend=first)
    if not links:
        copied[5].write_bytes(b"half")
    with pytest.raises(BuildError, match="does not have all files of the dataset that it extends"):
        make(out="more")
    assert read_files(make(out="more", extend=first).directory) == expected_files()
    assert read_files(first) == before


def test_extension_is_resumed_without_original_dataset(make, interrupt_build, expected_files, tmp_path):
    """Linked files count as committed, so a resumed build does not write to files that two datasets share."""
    first = make(sets=["contrast/*"]).directory
    interrupt_build(2, out="more", extend=first)
    other = make(out="other", sets=["contrast/1"]).directory
    with pytest.raises(BuildError, match="was started with --extend and a different dataset"):
        make(out="more", extend=other)
    shutil.rmtree(first)
    assert make(out="more").images < 70
    assert read_files(tmp_path / "more/small-c-1.0.0") == expected_files()


@pytest.mark.parametrize("moment", ["manifest", "bookkeeping", "half of the bookkeeping"])
def test_build_killed_at_end_is_only_renamed(make, expected_files, monkeypatch, tmp_path, moment):
    """Any later command for the same folder renames it."""
    real_rmtree = shutil.rmtree

    def rmtree(folder, *_, **__):
        if moment == "half of the bookkeeping":
            (Path(folder) / "build.json").unlink()
        if moment != "bookkeeping":
            raise Killed
        real_rmtree(folder)

    def rename(path, target):
        raise Killed

    partial, directory = tmp_path / "out/small-c-1.0.0.partial", tmp_path / "out/small-c-1.0.0"
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", rmtree)
        patch.setattr(Path, "rename", rename)
        with pytest.raises(Killed):
            make()
    assert (partial / "manifest.json").exists()
    assert not directory.exists()
    before = stamps(partial / "images")
    with pytest.raises(BuildError, match="seed: existing 0, requested 7"):
        make(seed=7)
    assert not partial.exists()
    assert {directory / p.relative_to(partial): stamp for p, stamp in before.items()} == stamps(directory / "images")
    assert read_files(tmp_path / "out") == {f"small-c-1.0.0/{path}": data for path, data in expected_files().items()}
    assert make().images == 0


def test_unfinished_build_is_named_when_dataset_is_expected(make, interrupt_build, tmp_path):
    interrupt_build(1)
    directory = tmp_path / "out/small-c-1.0.0"
    partial = directory.with_name("small-c-1.0.0.partial")
    assert [p.name for p in (tmp_path / "out").iterdir()] == [partial.name]
    for place in (directory, partial):
        for command in (
            corruptset.open,
            lambda folder: corruptset.verify(folder, jobs=1).raise_for_problems(),
            lambda folder: corruptset.export("imagefolder", folder, tmp_path / "exported"),
            corruptset.page,
        ):
            with pytest.raises(IncompleteBuild, match=f"{partial} is an incomplete build"):
                command(place)
    # to discard it, the folder is deleted
    shutil.rmtree(partial)
    assert make(seed=1).images == 120
    assert [p.name for p in (tmp_path / "out").iterdir()] == [directory.name]


def test_other_revision_of_corruption_is_different_build(make):
    first = make(sets=["contrast/1"]).directory

    def change(manifest):
        manifest["recipe"]["sets"][0]["stages"][0]["revision"] = 99

    edit_manifest(first, change, reseal=True)
    with pytest.raises(
        BuildError, match=r"recipe\.sets\[contrast/1\]\.stages\[0\]\.revision: existing 99, requested 1"
    ):
        make(sets=["contrast/3"], extend=first, out="more")


def test_parts_with_different_clean_pixels_are_rejected(make, interrupt_build, monkeypatch, tmp_path):
    """A different version of Pillow gives such pixels, within a build or between a dataset and its extension."""
    original = jobs.preprocess

    def other(image, how):
        result = original(image, how).copy()
        result[0, 0] ^= 1
        return result

    root = make(sets=["contrast/*"]).directory
    before = read_files(root)
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "preprocess", other)
        with pytest.raises(BuildError, match="the dataset being extended and the new sets were made from different"):
            make(out="more", sets=["brightness/*"], extend=root)
    assert read_files(root) == before
    interrupt_build(1, out="third", sets=["brightness/*"])
    monkeypatch.setattr(jobs, "preprocess", other)
    with pytest.raises(BuildError, match=r"parts of samples 0 to 7 were made from different .* or delete that"):
        make(out="third", sets=["brightness/*"])


def test_textures_matter_only_for_sets_that_use_them(tmp_path):
    def build_into(out, *sets, **more):
        return build("imagenet-c", "sample", tmp_path / out, sets=sets, jobs=1, samples=1, metrics=0, **more)

    contrast = build_into("a", "contrast/1").directory
    grown = build_into("a2", "frost/1", extend=contrast)
    assert grown.manifest.textures
    at_once = build_into("b", "frost/1", "contrast/1")
    other_way = build_into("c2", "contrast/1", extend=build_into("c", "frost/1").directory)  # the textures stay named
    assert read_files(grown.directory) == read_files(at_once.directory) == read_files(other_way.directory)
    textures = tmp_path / "mine"
    textures.mkdir()
    Image.new("RGB", (600, 600), (200, 210, 220)).save(textures / "ice.png")
    with pytest.raises(BuildError, match="textures"):
        build_into("a3", "frost/2", frost_textures=textures, extend=grown.directory)

    def stop(event):
        if event.phase == "finishing":
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        build_into("d", "frost/1", "contrast/1", progress=stop)
    with pytest.raises(BuildError, match="textures"):
        build_into("d", "frost/1", frost_textures=textures)
