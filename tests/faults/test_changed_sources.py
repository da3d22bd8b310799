"""A source that changes under a build: found by its digest, refused with the list of what has changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import layouts
import pytest
from layouts import files_of

from corruptset.errors import BuildError, Interrupted, SourceError
from corruptset.generate.build import ProgressEvent

SETS = ["contrast/*", "brightness/*"]


def replaced(source: Path) -> None:
    shutil.copy(source / "00_class/im.0.png", source / "03_class/im.1.png")


def removed(source: Path) -> None:
    (source / "03_class/im.1.png").unlink()


def moved(source: Path) -> None:
    (source / "03_class/im.1.png").rename(source / "04_class/moved.png")


CHANGES = {
    replaced: ["source: 03_class/im.1: label 3, sha256:"],
    moved: ["source: 03_class/im.1: label 3, sha256:", "source: 04_class/moved: not a sample before, label 4, sha256:"],
}


@pytest.mark.parametrize(("change", "finished"), [(moved, False), (replaced, True)])
def test_a_source_that_has_changed_is_refused_with_the_list(
    tmp_path: Path, change: Callable[[Path], None], finished: bool
) -> None:
    source, recipe, out = layouts.write_crops(tmp_path / "source"), layouts.write_recipe(tmp_path), tmp_path / "out"

    def stop(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done == 2:
            raise KeyboardInterrupt

    if finished:
        layouts.make(recipe, source, out, sets=["contrast/*"])
    else:
        with pytest.raises(Interrupted):
            layouts.make(recipe, source, out, sets=SETS, progress=stop)
    before = files_of(out)
    kept = tmp_path / "kept"
    shutil.copytree(source, kept)
    change(source)
    with pytest.raises(BuildError, match=r"source\.digest: here ") as caught:
        layouts.make(recipe, source, out, sets=SETS)
    for line in CHANGES[change]:
        assert line in str(caught.value)
    assert str(caught.value).count("  source: ") == len(CHANGES[change])
    assert files_of(out) == before
    # with the original put back it goes on, to the same bytes
    shutil.rmtree(source)
    kept.rename(source)
    layouts.make(recipe, source, out, sets=SETS)
    layouts.make(recipe, source, tmp_path / "whole", sets=SETS)
    assert files_of(out) == files_of(tmp_path / "whole")


@pytest.mark.parametrize("change", [replaced, removed])
def test_a_file_that_changes_after_the_check_stops_the_build(tmp_path: Path, change: Callable[[Path], None]) -> None:
    source, recipe, out = layouts.write_crops(tmp_path / "source"), layouts.write_recipe(tmp_path), tmp_path / "out"

    def progress(event: ProgressEvent) -> None:
        if event.phase == "preparing" and not done:
            done.append(1)
            change(source)

    done: list[int] = []
    with pytest.raises(
        SourceError, match=r"03_class/im\.1\.png (has changed since the source was checked|was readable when)"
    ):
        layouts.make(recipe, source, out, sets=SETS, progress=progress)
    assert not list(out.glob("*/manifest.json"))
