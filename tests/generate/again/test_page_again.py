"""The page of a data set that is there: the same as a build's, its place among the files, what is refused."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import layouts
import pytest
from packs import archive_paths, packed

import corruptset
from corruptset.errors import BuildError, IncompleteBuild, SourceError, VerificationError
from corruptset.generate.again.page_again import page
from corruptset.generate.again.rederive import verify
from corruptset.generate.build import build
from corruptset.manifests.layout import PAGE
from corruptset.manifests.release.unpack import unpack


@pytest.fixture(scope="module")
def finished(shared: layouts.Shared) -> Path:
    """A build without a clean set, with its page."""
    return shared.build(crops={"classes": 2}, sets=["contrast/*"], format="folder", page=True)


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished, tmp_path / finished.name)


def source_of(shared: layouts.Shared) -> str:
    return f"folder:{shared.crops(classes=2)}"


def test_it_is_a_file_of_the_data_set(finished: Path) -> None:
    corruptset.verify(finished).raise_for_problems()
    assert PAGE in {f.path for f in corruptset.open(finished).manifest.files}


def test_made_again_it_is_the_same(copied: Path, shared: layouts.Shared) -> None:
    before = layouts.files_of(copied)
    done = page(copied, source=source_of(shared))
    assert layouts.files_of(copied) == before
    assert (done.clean, done.bytes, done.digest) == (True, len(before[PAGE]), corruptset.open(copied).digest)


def test_a_build_without_one_gets_one(shared: layouts.Shared, finished: Path, tmp_path: Path) -> None:
    options = {"sets": ["contrast/*"], "format": "folder"}
    bare = layouts.make(shared.recipe(), shared.crops(classes=2), tmp_path, **options)
    assert not (bare / PAGE).exists()
    digest = corruptset.open(bare).digest
    page(bare, source=source_of(shared))
    assert layouts.files_of(bare) == layouts.files_of(finished)
    assert corruptset.open(bare).digest == digest
    corruptset.verify(bare).raise_for_problems()


def test_the_same_build_command_gives_one_and_takes_it_away_with_an_extension(
    shared: layouts.Shared, tmp_path: Path
) -> None:
    options = {"jobs": 1, "metrics": 0, "any_shape": True, "format": "folder"}
    recipe, source = shared.recipe(), source_of(shared)
    built = build(recipe, source, tmp_path, sets=["contrast/1"], page=False, **options)
    again = build(recipe, source, tmp_path, sets=["contrast/1"], **options)
    assert PAGE in {f.path for f in again.manifest.files}
    assert again.digest == built.digest
    extended = build(recipe, source, tmp_path, sets=["contrast/2"], **options)
    assert "contrast/2" in (extended.directory / PAGE).read_text(encoding="utf-8")
    corruptset.verify(built.directory).raise_for_problems()
    union = build(recipe, source, tmp_path / "union", sets=["contrast/1", "contrast/2"], **options)
    assert layouts.files_of(extended.directory) == layouts.files_of(union.directory)
    without = build(recipe, source, tmp_path, sets=["contrast/3"], page=False, **options)
    assert not (without.directory / PAGE).exists()
    corruptset.verify(without.directory).raise_for_problems()


def test_clean_images_are_not_lost(copied: Path) -> None:
    before = layouts.files_of(copied)
    with pytest.raises(BuildError, match="name that with --source"):
        page(copied)
    assert layouts.files_of(copied) == before
    (copied / PAGE).unlink()
    assert not page(copied).clean
    corruptset.verify(copied).raise_for_problems()


def test_elsewhere_the_data_set_stays(copied: Path, tmp_path: Path) -> None:
    before = layouts.files_of(copied)
    done = page(copied, out=tmp_path / "page.html")
    assert layouts.files_of(copied) == before
    assert not done.clean
    assert (tmp_path / "page.html").stat().st_size == done.bytes


def test_another_source_is_refused(copied: Path, tmp_path: Path) -> None:
    other = layouts.write_crops(tmp_path / "other", classes=2, side=40)
    before = layouts.files_of(copied)
    with pytest.raises(SourceError, match="has changed since"):
        page(copied, source=f"folder:{other}")
    fewer = layouts.write_crops(tmp_path / "fewer", classes=1)
    with pytest.raises(SourceError, match="has no sample"):
        page(copied, source=f"folder:{fewer}")
    assert layouts.files_of(copied) == before


def test_a_source_that_is_decoded_otherwise_is_refused(copied: Path, shared: layouts.Shared, tmp_path: Path) -> None:
    rows = (copied / "samples.jsonl").read_text(encoding="utf-8")
    (copied / "samples.jsonl").write_text(re.sub(r"blake3:[0-9a-f]{64}", f"blake3:{'0' * 64}", rows), encoding="utf-8")
    with pytest.raises(VerificationError, match="is decoded or resized otherwise"):
        page(copied, source=source_of(shared), out=tmp_path / "page.html")


def test_a_repair_makes_it_again(copied: Path, shared: layouts.Shared) -> None:
    before = layouts.files_of(copied)
    (copied / PAGE).write_bytes(before[PAGE].replace(b"contrast", b"kontrast"))
    report = verify(copied, repair=True, source=source_of(shared), jobs=1)
    assert report.mended == [PAGE]
    assert layouts.files_of(copied) == before


def test_parts_and_unfinished_builds_are_refused(copied: Path, tmp_path: Path) -> None:
    archives = archive_paths(packed(copied, tmp_path / "bag", by="set"))
    part = unpack([a for a in archives if "metadata" not in a.name][:1], tmp_path / "part")
    corruptset.verify(part.path).raise_for_problems()
    assert not (part.path / PAGE).exists()
    with pytest.raises(BuildError, match="Unpack its other archives first"):
        page(part.path)
    with pytest.raises(IncompleteBuild):
        page(tmp_path / "nothing")
    whole = unpack(archives, tmp_path / "whole")
    assert (whole.path / PAGE).read_bytes() == (copied / PAGE).read_bytes()
    corruptset.verify(whole.path).raise_for_problems()
