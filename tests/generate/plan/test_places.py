"""Where a build may go: a folder that is there or can be made, empty or its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import corruptset
from corruptset.errors import BuildError, IncompleteBuild
from corruptset.generate.build import Built, build
from corruptset.manifests.verify.ladder import verify_directory


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_an_out_that_is_no_folder_is_the_users_mistake(small_recipe: Path, tmp_path: Path, below: str) -> None:
    file = tmp_path / "out"
    file.write_text("mine")
    with pytest.raises(
        BuildError, match=rf"{file} is not a folder, so .* cannot lie in it. Choose another --out"
    ) as caught:
        build(small_recipe, "sample", file / below, jobs=1)
    assert caught.value.exit_code == 2
    assert file.read_text() == "mine"


def test_a_file_with_the_builds_name_is_the_users_mistake(small_recipe: Path, tmp_path: Path) -> None:
    (tmp_path / "small-1.0.0").write_text("mine")
    with pytest.raises(BuildError, match="is not a folder"):
        build(small_recipe, "sample", tmp_path, jobs=1)


def test_an_empty_work_folder_makes_no_build(make: Callable[..., Built], tmp_path: Path) -> None:
    root = tmp_path / "small-1.0.0"
    (root / ".corruptset").mkdir(parents=True)
    (root / "thesis.tex").write_text("mine")
    with pytest.raises(BuildError, match=r"not empty and holds no build \(\.corruptset, thesis\.tex\)"):
        make(sets=["contrast/1"])
    assert sorted(p.name for p in root.rglob("*")) == [".corruptset", "thesis.tex"]
    assert "not a corruptset data set" in verify_directory(root).problems[0].detail
    with pytest.raises(IncompleteBuild, match="not a corruptset data set"):
        corruptset.open(root)
    with pytest.raises(BuildError, match="holds no build"):
        corruptset.abandon(root)
    (root / "thesis.tex").unlink()
    assert make(sets=["contrast/1"]).images == 8
    assert corruptset.verify(root, jobs=1).ok
