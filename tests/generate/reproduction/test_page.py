"""Test the page of a finished dataset: its contents, its location, and errors."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import small_builds
from packs import archive_paths, pack_dataset

import corruptset
from corruptset.errors import BuildError, IncompleteBuild, Interrupted, ParameterError, SourceError, VerificationError
from corruptset.generate.build import build
from corruptset.generate.reproduction.page import page
from corruptset.manifests.paths import PAGE
from corruptset.manifests.release.unpack import unpack

OPTIONS: dict[str, Any] = {"sets": ["contrast/*"], "storage": "folder"}


@pytest.fixture(scope="module")
def finished_build(shared_data: small_builds.SharedData) -> Path:
    """Build a dataset without clean images, with its page."""
    return shared_data.build(crops={"classes": 2}, page=True, **OPTIONS)


@pytest.fixture
def dataset_copy(finished_build: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished_build, tmp_path / finished_build.name)


@pytest.fixture
def source(shared_data: small_builds.SharedData) -> str:
    return f"folder:{shared_data.crops(classes=2)}"


def test_page_is_written_next_to_unchanged_dataset(
    dataset_copy: Path, shared_data: small_builds.SharedData, source: str, tmp_path: Path
) -> None:
    data, before = corruptset.open(dataset_copy), small_builds.read_files(dataset_copy)
    assert PAGE in {f.path for f in data.manifest.files}
    result = page(dataset_copy, source=source)
    assert (result.path, result.clean, result.digest) == (tmp_path / f"{dataset_copy.name}.html", True, data.digest)
    assert result.path.read_bytes() == before[PAGE]  # as the build makes it
    result = page(dataset_copy, out=tmp_path / "new/page.html")
    assert (result.clean, result.bytes) == (False, (tmp_path / "new/page.html").stat().st_size)
    for out, message in (
        (dataset_copy / "manifest.json", f"is inside the dataset {dataset_copy}"),
        (dataset_copy / PAGE, f"is inside the dataset {dataset_copy}"),
        (tmp_path / "photo.png", "ends in .html"),
    ):
        with pytest.raises(ParameterError, match=re.escape(message)):
            page(dataset_copy, out=out)
    bare = shutil.copytree(shared_data.build(crops={"classes": 2}, **OPTIONS), tmp_path / "bare")
    assert not (bare / PAGE).exists()
    assert page(bare, source=source).path.read_bytes() == before[PAGE]
    assert not (bare / PAGE).exists()
    assert small_builds.read_files(dataset_copy) == before


def test_build_without_page_has_none_even_after_interrupted_end(
    shared_data: small_builds.SharedData, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"jobs": 1, "metrics": 0, "any_shape": True, "storage": "folder", "sets": ["contrast/1"]}
    original = os.replace

    def replace(part: Path, target: Path) -> None:
        if Path(target).name == "SHA256SUMS":
            raise KeyboardInterrupt
        original(part, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        with pytest.raises(Interrupted):
            build(shared_data.recipe(), source, tmp_path, **options)
    assert next(tmp_path.rglob(PAGE))
    directory = build(shared_data.recipe(), source, tmp_path, page=False, **options).directory
    corruptset.verify(directory).raise_for_problems()
    # a finished dataset does not get a page either
    assert build(shared_data.recipe(), source, tmp_path, **options).directory == directory
    assert not (directory / PAGE).exists()


def test_clean_images_are_neither_lost_nor_taken_from_other_source(
    dataset_copy: Path, source: str, tmp_path: Path
) -> None:
    before = small_builds.read_files(dataset_copy)
    other = small_builds.write_crops(tmp_path / "other", classes=2, side=40)
    fewer = small_builds.write_crops(tmp_path / "fewer", classes=1)
    cases: list[tuple[type[Exception], Path, str]] = [
        (SourceError, other, "has changed since"),
        (SourceError, fewer, "is not in the source"),
    ]
    for error, folder, match in cases:
        with pytest.raises(error, match=match):
            page(dataset_copy, source=f"folder:{folder}")
    assert not page(dataset_copy).clean
    assert small_builds.read_files(dataset_copy) == before
    rows = (dataset_copy / "samples.jsonl").read_text(encoding="utf-8")
    (dataset_copy / "samples.jsonl").write_text(
        re.sub(r"blake3:[0-9a-f]{64}", f"blake3:{'0' * 64}", rows), encoding="utf-8"
    )
    with pytest.raises(VerificationError, match="is decoded or resized differently"):
        page(dataset_copy, source=source, out=tmp_path / "page.html")


def test_partial_and_unfinished_builds_are_rejected(dataset_copy: Path, tmp_path: Path) -> None:
    archives = archive_paths(pack_dataset(dataset_copy, tmp_path / "bag", by="set"))
    part = unpack([a for a in archives if "metadata" not in a.name][:1], tmp_path / "part")
    assert not (part.path / PAGE).exists()
    with pytest.raises(BuildError, match="Unpack its other archives first"):
        page(part.path)
    with pytest.raises(IncompleteBuild):
        page(tmp_path / "nothing")
    result = unpack(archives, tmp_path / "whole")
    assert (result.path / PAGE).read_bytes() == (dataset_copy / PAGE).read_bytes()
