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
from corruptset.errors import BuildError, IncompleteBuild, SourceError, VerificationError
from corruptset.generate.build import build
from corruptset.generate.reproduction.page import page
from corruptset.manifests.layout import PAGE
from corruptset.manifests.release.unpack import unpack

OPTIONS: dict[str, Any] = {"sets": ["contrast/*"], "format": "folder"}


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
    copied: Path, finished: Path, shared: layouts.Shared, source: str, tmp_path: Path
) -> None:
    corruptset.verify(copied).raise_for_problems()
    assert PAGE in {f.path for f in corruptset.open(copied).manifest.files}
    before = layouts.files_of(copied)
    done = page(copied, source=source)
    assert layouts.files_of(copied) == before
    assert (done.clean, done.bytes, done.digest) == (True, len(before[PAGE]), corruptset.open(copied).digest)
    bare = layouts.make(shared.recipe(), shared.crops(classes=2), tmp_path / "bare", **OPTIONS)
    assert not (bare / PAGE).exists()
    page(bare, source=source)
    assert layouts.files_of(bare) == before
    corruptset.verify(bare).raise_for_problems()
    # elsewhere, the data set stays
    done = page(copied, out=tmp_path / "page.html")
    assert layouts.files_of(copied) == before
    assert (done.clean, done.bytes) == (False, (tmp_path / "page.html").stat().st_size)


def test_the_same_build_command_gives_one_and_takes_it_away_with_an_extension(
    shared: layouts.Shared, source: str, tmp_path: Path
) -> None:
    def made(*sets: str, out: Path = tmp_path, **more: Any) -> Path:
        options = {"jobs": 1, "metrics": 0, "any_shape": True, "format": "folder"} | more
        return build(shared.recipe(), source, out, sets=sets, **options).directory

    directory = made("contrast/1", page=False)
    digest = corruptset.open(directory).digest
    made("contrast/1")
    assert PAGE in {f.path for f in corruptset.open(directory).manifest.files}
    assert corruptset.open(directory).digest == digest
    made("contrast/2")
    corruptset.verify(directory).raise_for_problems()
    assert layouts.files_of(directory) == layouts.files_of(made("contrast/1", "contrast/2", out=tmp_path / "union"))
    made("contrast/3", page=False)
    assert not (directory / PAGE).exists()
    corruptset.verify(directory).raise_for_problems()


def test_clean_images_are_neither_lost_nor_taken_from_another_source(copied: Path, source: str, tmp_path: Path) -> None:
    before = layouts.files_of(copied)
    other = layouts.write_crops(tmp_path / "other", classes=2, side=40)
    fewer = layouts.write_crops(tmp_path / "fewer", classes=1)
    with pytest.raises(BuildError, match="name that with --source"):
        page(copied)
    with pytest.raises(SourceError, match="has changed since"):
        page(copied, source=f"folder:{other}")
    with pytest.raises(SourceError, match="is not in the source"):
        page(copied, source=f"folder:{fewer}")
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
    corruptset.verify(whole.path).raise_for_problems()
