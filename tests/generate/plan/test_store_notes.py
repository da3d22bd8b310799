"""Builds in `file://`: what a plan and a build note of a store, and what is left there is a sound data set on the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import corruptset
from corruptset.errors import StoreError

NOTE = "16 single images are as many objects in a store"


def noted(made: Any) -> list[str]:
    return [note for note in made.notes if "objects in a store" in note]


OPTIONS: dict[str, Any] = {"sets": ["contrast/1", "contrast/3"]}


@pytest.mark.parametrize(
    ("out", "form", "is_noted"),
    [
        ("s3://b/x", "folder", True),
        ("s3://b/x", "both", True),
        ("s3://b/x", "hdf5", False),
        ("x", "folder", False),
        (None, "folder", False),
    ],
)
def test_a_plan_notes_single_images_in_a_store(small_recipe: Path, out: str | None, form: Any, is_noted: bool) -> None:
    notes = noted(corruptset.plan(small_recipe, out=out, format=form, **OPTIONS))
    assert [note[: len(NOTE)] for note in notes] == [NOTE] * is_noted


@pytest.mark.ci
def test_a_build_leaves_nothing_over_and_what_needs_a_disk_is_refused(small_recipe: Path, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/out"
    built = corruptset.build(small_recipe, out=url, format="folder", jobs=1, metrics=0, page=False, **OPTIONS)
    assert [note[: len(NOTE)] for note in noted(built)] == [NOTE]
    (folder,) = (tmp_path / "out").iterdir()
    for place in (folder, f"{url}/{folder.name}"):
        report = corruptset.verify(place, jobs=1, progress=False)
        assert report.ok, report.problems
    with pytest.raises(StoreError, match="pages are written on a disk only"):
        corruptset.page(f"{url}/{folder.name}")
    with pytest.raises(StoreError, match=r"s3://b/p\.html: pages are written on a disk only"):
        corruptset.page(folder, out="s3://b/p.html")
    page = corruptset.page(f"{url}/{folder.name}", out=tmp_path / "page.html", progress=False)
    assert page.path.stat().st_size == page.bytes
    assert corruptset.show(f"{url}/{folder.name}")["digest"] == built.digest
