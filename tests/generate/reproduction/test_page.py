"""The page of a data set that is there: the same as a build's, its place among the files, what is refused."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import layouts
import pytest
from packs import archive_paths, packed

import corruptset
from corruptset.errors import BuildError, IncompleteBuild, ParameterError, SourceError, VerificationError
from corruptset.generate.build import build
from corruptset.generate.reproduction.page import page
from corruptset.manifests.paths import PAGE
from corruptset.manifests.release.unpack import unpack

OPTIONS: dict[str, Any] = {"sets": ["contrast/*"], "storage": "folder"}


@pytest.fixture(scope="module")
def finished(shared: layouts.Shared) -> Path:
    """A build without a clean set, with its page."""
    return shared.build(crops={"classes": 2}, page=True, **OPTIONS)


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished, tmp_path / finished.name)


@pytest.fixture
def source(shared: layouts.Shared) -> str:
    return f"folder:{shared.crops(classes=2)}"


def test_it_is_a_file_of_the_data_set_and_the_same_made_again_or_later(
    copied: Path, shared: layouts.Shared, source: str, tmp_path: Path
) -> None:
    corruptset.verify(copied).raise_for_problems()
    data, before = corruptset.open(copied), layouts.files_of(copied)
    assert PAGE in {f.path for f in data.manifest.files}
    done = page(copied, source=source)
    assert (done.clean, done.bytes, done.digest) == (True, len(before[PAGE]), data.digest)
    # elsewhere, the data set stays
    done = page(copied, out=tmp_path / "new/page.html")
    assert (done.clean, done.bytes) == (False, (tmp_path / "new/page.html").stat().st_size)
    for out, says in (
        (copied / "manifest.json", f"lies in the data set {copied}"),
        (copied / "new/page.html", f"lies in the data set {copied}"),
        (tmp_path / "photo.png", "ends in .html"),
    ):
        with pytest.raises(ParameterError, match=re.escape(says)):
            page(copied, out=out)
    page(copied, source=source, out=copied / PAGE)
    assert layouts.files_of(copied) == before
    bare = shutil.copytree(shared.build(crops={"classes": 2}, **OPTIONS), tmp_path / "bare")
    assert not (bare / PAGE).exists()
    page(bare, source=source)
    assert layouts.files_of(bare) == before
    corruptset.verify(bare).raise_for_problems()


def test_the_same_build_command_gives_one_and_takes_it_away_with_an_extension(
    shared: layouts.Shared, source: str, tmp_path: Path
) -> None:
    def made(*sets: str, out: Path = tmp_path, **more: Any) -> Path:
        options = {"jobs": 1, "metrics": 0, "any_shape": True, "storage": "folder"} | more
        directory = build(shared.recipe(), source, out, sets=sets, **options).directory
        corruptset.verify(directory).raise_for_problems()
        files = {f.path for f in corruptset.open(directory).manifest.files}
        assert (PAGE in files) == (directory / PAGE).exists() == ("page" not in more)
        return directory

    directory = made("contrast/1", page=False)
    digest = corruptset.open(directory).digest
    made("contrast/1")
    assert corruptset.open(directory).digest == digest
    made("contrast/2")
    assert layouts.files_of(directory) == layouts.files_of(made("contrast/1", "contrast/2", out=tmp_path / "union"))
    made("contrast/3", page=False)


def test_clean_images_are_neither_lost_nor_taken_from_another_source(copied: Path, source: str, tmp_path: Path) -> None:
    before = layouts.files_of(copied)
    other = layouts.write_crops(tmp_path / "other", classes=2, side=40)
    fewer = layouts.write_crops(tmp_path / "fewer", classes=1)
    cases: list[tuple[type[Exception], Path | None, str]] = [
        (BuildError, None, "name that with --source"),
        (SourceError, other, "has changed since"),
        (SourceError, fewer, "is not in the source"),
    ]
    for error, folder, match in cases:
        with pytest.raises(error, match=match):
            page(copied, source=folder and f"folder:{folder}")
    assert layouts.files_of(copied) == before
    (copied / PAGE).unlink()
    assert not page(copied).clean
    corruptset.verify(copied).raise_for_problems()
    rows = (copied / "samples.jsonl").read_text(encoding="utf-8")
    (copied / "samples.jsonl").write_text(re.sub(r"blake3:[0-9a-f]{64}", f"blake3:{'0' * 64}", rows), encoding="utf-8")
    with pytest.raises(VerificationError, match="is decoded or resized otherwise"):
        page(copied, source=source, out=tmp_path / "page.html")


def test_parts_and_unfinished_builds_are_refused(copied: Path, tmp_path: Path) -> None:
    archives = archive_paths(packed(copied, tmp_path / "bag", by="set"))
    part = unpack([a for a in archives if "metadata" not in a.name][:1], tmp_path / "part")
    assert not (part.path / PAGE).exists()
    with pytest.raises(BuildError, match="Unpack its other archives first"):
        page(part.path)
    with pytest.raises(IncompleteBuild):
        page(tmp_path / "nothing")
    whole = unpack(archives, tmp_path / "whole")
    assert (whole.path / PAGE).read_bytes() == (copied / PAGE).read_bytes()
