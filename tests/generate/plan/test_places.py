"""The output folder of a build: it may be missing or empty, or contain the unfinished build."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from source_archives import PHOTOGRAPHS, jpeg_bytes, write_files

import corruptset
from corruptset.errors import BuildError, IncompleteBuild
from corruptset.generate.build import Built, build


@pytest.mark.parametrize(("file", "out"), [("out", "out"), ("out", "out/deeper/still"), ("small-1.0.0", "")])
def test_path_that_is_not_folder_is_user_error(small_recipe: Path, tmp_path: Path, file: str, out: str) -> None:
    (tmp_path / file).write_text("mine")
    match = rf"{tmp_path / file} is not a folder, so .* cannot be created. Choose another --out"
    with pytest.raises(BuildError, match=match) as exc_info:
        build(small_recipe, "sample", tmp_path / out, jobs=1)
    assert exc_info.value.exit_code == 2
    assert (tmp_path / file).read_text() == "mine"


def test_empty_work_folder_is_not_build(make: Callable[..., Built], tmp_path: Path) -> None:
    root = tmp_path / "small-1.0.0.partial"
    (root / ".corruptset").mkdir(parents=True)
    (root / "thesis.tex").write_text("mine")
    with pytest.raises(BuildError, match=r"not empty and does not contain a build \(\.corruptset, thesis\.tex\)"):
        make(sets=["contrast/1"])
    with pytest.raises(IncompleteBuild, match="not a corruptset dataset"):
        corruptset.open(root)
    assert sorted(p.name for p in root.rglob("*")) == [".corruptset", "thesis.tex"]
    (root / "thesis.tex").unlink()
    assert make(sets=["contrast/1"]).images == 8


def test_image_at_path_of_other_image_folder_is_rejected(small_recipe: Path, tmp_path: Path) -> None:
    source = write_files(tmp_path / "source", dict.fromkeys(("a/x.jpg", "a/x.JPEG/y.jpg"), jpeg_bytes(PHOTOGRAPHS[0])))
    with pytest.raises(
        BuildError, match=r"as a file and a folder of the same name \(.*/a/x.JPEG\)\. Rename one"
    ) as exc_info:
        build(small_recipe, f"folder:{source}", tmp_path / "out", jobs=1, sets=["contrast/1"], storage="folder")
    assert exc_info.value.exit_code == 2
