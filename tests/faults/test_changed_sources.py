"""A source that changes during a build is detected by its digest, and the error lists the changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import small_builds
from small_builds import read_files

from corruptset.errors import BuildError, Interrupted, SourceError

SETS = ["contrast/*", "brightness/*"]
FILE, ID = "03_class/im.1.png", "source: 03_class/im.1: label 3, sha256:"


def change(source: Path, kind: str) -> None:
    if kind == "replaced":
        shutil.copy(source / "00_class/im.0.png", source / FILE)
    elif kind == "removed":
        (source / FILE).unlink()
    else:
        (source / FILE).rename(source / "04_class/moved.png")


@pytest.mark.parametrize(
    ("kind", "finished", "lines"),
    [
        ("moved", False, [ID, "source: 04_class/moved: not a sample before, label 4, sha256:"]),
        ("replaced", True, [ID]),
    ],
)
def test_changed_source_is_rejected_with_list_of_changes(tmp_path, recipe, kind, finished, lines):
    source, out = small_builds.write_crops(tmp_path / "source"), tmp_path / "out"

    def stop(event):
        if event.phase == "building" and event.parts_done == 2:
            raise KeyboardInterrupt

    if finished:
        small_builds.build_dataset(recipe, source, out, sets=["contrast/*"])
    else:
        with pytest.raises(Interrupted):
            small_builds.build_dataset(recipe, source, out, sets=SETS, progress=stop)
    before = read_files(out)
    original_copy = shutil.copytree(source, tmp_path / "kept")
    change(source, kind)
    with pytest.raises(BuildError, match=r"source\.digest: existing ") as exc_info:
        small_builds.build_dataset(recipe, source, out, sets=SETS)
    assert all(line in str(exc_info.value) for line in lines)
    assert str(exc_info.value).count("  source: ") == len(lines)
    assert read_files(out) == before
    # after the original was restored, the result has the same bytes
    shutil.rmtree(source)
    original_copy.rename(source)
    more = {"extend": next(out.iterdir()), "out": tmp_path / "more"} if finished else {"out": out}
    directory = small_builds.build_dataset(recipe, source, sets=SETS, **more)
    assert read_files(directory) == read_files(
        small_builds.build_dataset(recipe, source, tmp_path / "whole", sets=SETS)
    )


@pytest.mark.parametrize("kind", ["replaced", "removed"])
def test_file_changed_after_check_stops_build(tmp_path, recipe, kind):
    source, finished = small_builds.write_crops(tmp_path / "source"), list[str]()

    def progress(event):
        if event.phase == "preparing" and not finished:
            finished.append(kind)
            change(source, kind)

    message = r"03_class/im\.1\.png (has changed since the source was checked|was readable when)"
    with pytest.raises(SourceError, match=message):
        small_builds.build_dataset(recipe, source, tmp_path / "out", sets=SETS, progress=progress)
    assert not list(tmp_path.glob("out/*/manifest.json"))
