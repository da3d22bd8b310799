"""Exports: the same of every container, there at once or not at all, and what they tell of themselves."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import layouts
import pytest
from layouts import CONTRAST, PLAIN, export

from corruptset.errors import BuildError
from corruptset.generate.views.layouts import LAYOUTS
from corruptset.generate.views.view_check import check_view, verify_view

VIEWS = ("imagenet-c", "cifar-c", "webdataset")


def test_a_build_of_shards_alone_and_one_whose_files_cannot_be_linked_give_the_same_views(
    shared: layouts.Shared, png: Path, jpeg: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    for encoding, both in (("jpeg", jpeg), ("png", png)):
        shards = shared.build(recipe={"encoding": encoding}, format="hdf5")
        for view in VIEWS:
            one, other, copied = (tmp_path / f"{encoding}-{view}-{kind}" for kind in ("both", "shards", "copied"))
            export(view, both, one, sets=PLAIN)
            export(view, shards, other, sets=PLAIN)
            with monkeypatch.context() as patch:
                patch.setattr(os, "link", refuse)
                assert export(view, both, copied, sets=PLAIN).linked == 0
            assert layouts.files_of(one) == layouts.files_of(other) == layouts.files_of(copied), view
            assert all(p.stat().st_nlink == 1 for p in copied.rglob("*") if p.is_file())


def test_nothing_is_left_of_an_export_that_stops(png: Path, tmp_path: Path) -> None:
    def stop(step: str, done: int, total: int) -> None:
        if done > total // 3:
            raise KeyboardInterrupt

    for view in VIEWS:
        with pytest.raises(KeyboardInterrupt):
            export(view, png, tmp_path / "data", sets=PLAIN, progress=stop)
        assert list(tmp_path.iterdir()) == []


def test_targets_in_the_way_unknown_views_and_sets_are_refused(png: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.txt").write_text("mine")
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = layouts.files_of(png)
    for out, match in [
        (tmp_path / "full", r"is not empty \(mine.txt\)"),
        (tmp_path / "file", "not a folder"),
        (tmp_path / "link", "not a folder"),
        (png / "views", "lies in the data set itself"),
        (png, "lies in the data set itself"),
    ]:
        with pytest.raises(BuildError, match=match):
            export("cifar-c", png, out, sets=PLAIN)
    with pytest.raises(BuildError, match="Did you mean 'imagenet-c'"):
        export("imagenet_c", png, tmp_path / "x")
    with pytest.raises(BuildError, match=r"'fogg/\*' matches no set"):
        export("imagefolder", png, tmp_path / "x", sets=["fogg/*"])
    assert layouts.files_of(png) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "full", "link"]
    (tmp_path / "empty").mkdir()
    export("cifar-c", png, tmp_path / "empty", sets=PLAIN)
    assert verify_view(tmp_path / "empty").ok


def test_progress_ends_at_its_total_and_every_image_is_counted_where_it_lies(
    shared: layouts.Shared, png: Path, tmp_path: Path
) -> None:
    grey = shared.build(crops={"classes": 2, "side": 28, "mode": "L"}, recipe={"channels": "keep", "more": CONTRAST})
    twice = {"first": [f"contrast/{s}" for s in range(1, 6)], "second": ["contrast/1"] * 5}
    for view in LAYOUTS:
        options: dict[str, Any] = {"sets": ["clean"] if view in ("mnist-c", "flageval") else ["*/*"]}
        if view == "imagenet-c-5k":
            options["images"] = ["00_class/im.0"]
        if view in ("cifar-c", "imagenet-c"):  # a set that is named twice
            options = {"severities": twice, "sets": ["clean", "contrast/*"]}
        steps: list[tuple[str, int, int]] = []
        built = grey if view == "mnist-c" else png
        done = export(view, built, tmp_path / view, progress=lambda *step: steps.append(step), **options)  # noqa: B023
        counts = [n for _, n, _ in steps]
        record = json.loads((tmp_path / view / "VIEW.json").read_text("utf-8"))
        held = sum(s["count"] for s in record["sets"])
        assert counts == sorted(counts), view
        assert {total for _, _, total in steps} == {counts[-1]} == {held} == {done.images}, view
        if view in ("cifar-c", "imagenet-c"):
            for report in (verify_view(tmp_path / view), check_view(png, tmp_path / view)):
                assert report.ok, report.problems
                assert report.checked["sets"] == 5


def test_every_view_is_documented() -> None:
    docs = Path(__file__).parents[3] / "docs"
    for page in ("command-line.md", "use-it-with.md"):
        text = (docs / page).read_text("utf-8")
        assert [v for v in LAYOUTS if f"`{v}`" not in text and f"export {v} " not in text] == [], page
