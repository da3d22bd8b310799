"""Exports: the same of every container, there at once or not at all, and what they tell of themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import archives
import layouts
import numpy as np
import pytest
from layouts import CONTRAST, PLAIN, export
from PIL import Image

import corruptset
from corruptset.errors import BuildError
from corruptset.generate.build import build
from corruptset.generate.views.export import Exported
from corruptset.generate.views.export import export as strict_export
from corruptset.generate.views.layouts import LAYOUTS
from corruptset.generate.views.view_check import check_view, verify_view


def told(view: str, built: Path, out: Path, **options: Any) -> tuple[Exported, list[tuple[str, int, int]]]:
    """Export, and check that progress rises to its total, the images of VIEW.json and those that were written."""
    steps: list[tuple[str, int, int]] = []
    done = strict_export(view, built, out, progress=lambda *step: steps.append(step), any_shape=True, **options)
    counts = [n for _, n, _ in steps]
    assert counts == sorted(counts)
    record = json.loads((out / "VIEW.json").read_text("utf-8"))
    held = sum(s["count"] for s in record["sets"])
    assert {total for _, _, total in steps} == {steps[-1][1]} == {held} == {done.images}
    return done, steps


def test_a_build_of_shards_alone_gives_the_same_views(crops: Path, png: Path, jpeg: Path, tmp_path: Path) -> None:
    for encoding, both in (("jpeg", jpeg), ("png", png)):
        shards = layouts.make(
            layouts.write_recipe(tmp_path, encoding=encoding), crops, tmp_path / f"out-{encoding}", format="hdf5"
        )
        for view in ("imagenet-c", "cifar-c", "webdataset"):
            one, other = tmp_path / f"{encoding}-{view}", tmp_path / f"{encoding}-{view}-shards"
            export(view, both, one, sets=PLAIN)
            export(view, shards, other, sets=PLAIN)
            assert layouts.files_of(one) == layouts.files_of(other), view


def test_nothing_is_left_of_an_export_that_stops(png: Path, tmp_path: Path) -> None:
    def stop(step: str, done: int, total: int) -> None:
        if done > total // 3:
            raise KeyboardInterrupt

    for view in ("imagenet-c", "cifar-c", "webdataset"):
        with pytest.raises(KeyboardInterrupt):
            export(view, png, tmp_path / "data", sets=PLAIN, progress=stop)
        assert list(tmp_path.iterdir()) == []


def test_targets_in_the_way_are_refused(png: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.txt").write_text("mine")
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = layouts.files_of(png)
    for out, match in [
        (tmp_path / "full", r"is not empty \(mine.txt\)"), (tmp_path / "file", "not a folder"), (tmp_path / "link",
        "not a folder"),
        (png / "views", "lies in the data set itself"), (png, "lies in the data set itself"),
    ]:  # fmt: skip
        with pytest.raises(BuildError, match=match):
            export("cifar-c", png, out, sets=PLAIN)
    assert layouts.files_of(png) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "full", "link"]
    (tmp_path / "empty").mkdir()
    export("cifar-c", png, tmp_path / "empty", sets=PLAIN)
    assert verify_view(tmp_path / "empty").ok


@pytest.mark.parametrize("view", sorted(LAYOUTS))
def test_progress_ends_at_its_total(png: Path, tmp_path: Path, view: str) -> None:
    options: dict[str, Any] = {"sets": ["clean"] if view in ("mnist-c", "flageval") else ["*/*"]}
    if view == "imagenet-c-5k":
        options["images"] = ["00_class/im.0"]
    if view == "mnist-c":
        grey = layouts.write_crops(tmp_path / "grey", classes=2, side=28, mode="L")
        png = layouts.make(layouts.write_recipe(tmp_path, channels="keep", more=CONTRAST), grey, tmp_path / "out")
    told(view, png, tmp_path / "view", **options)


def test_both_splits_of_mnist_and_a_set_named_twice_are_counted_where_they_lie(png: Path, tmp_path: Path) -> None:
    digits = np.arange(5 * 28 * 28, dtype=np.int64).reshape(5, 28, 28) % 251
    for split, rows in (("train", 3), ("t10k", 2)):
        archives.write(
            tmp_path / "raw",
            {
                f"{split}-images-idx3-ubyte": archives.idx(digits[:rows]),
                f"{split}-labels-idx1-ubyte": archives.idx(np.arange(rows)),
            },
        )
    mnist = build(
        "mnist-c", f"mnist:{tmp_path / 'raw'}", tmp_path, sets=["clean", "stripe"], split="all", jobs=1, metrics=0
    ).directory
    done, _ = told("mnist-c", mnist, tmp_path / "m")
    places = {
        (s["id"], s["path"]): s["count"] for s in json.loads((tmp_path / "m/VIEW.json").read_text("utf-8"))["sets"]
    }
    assert places == {
        (set_id, f"mnist_c/{name}/{split}_images.npy"): count
        for set_id, name in (("clean", "identity"), (corruptset.open(mnist).aliases["stripe"], "stripe"))
        for split, count in (("train", 3), ("test", 2))
    }
    assert not any("--split all" in note for note in done.notes)
    half = build("mnist-c", f"mnist:{tmp_path / 'raw'}", tmp_path / "half", sets=["stripe"], jobs=1, metrics=0)
    assert any(
        "only test images" in note and "--split all" in note
        for note in told("mnist-c", half.directory, tmp_path / "h")[0].notes
    )
    twice = {"first": [f"contrast/{s}" for s in range(1, 6)], "second": ["contrast/1"] * 5}
    for view in ("cifar-c", "imagenet-c"):
        told(view, png, tmp_path / view, severities=twice, sets=["clean", "contrast/*"])
        for report in (verify_view(tmp_path / view), check_view(png, tmp_path / view)):
            assert report.ok, report.problems
            assert report.checked["sets"] == 5


def test_an_export_tells_how_timm_numbers(tmp_path: Path) -> None:
    for name in ("10_eel", "1_cat", "2_dog"):
        (tmp_path / "own" / name).mkdir(parents=True)
        Image.fromarray(np.full((16, 16, 3), 90, np.uint8)).save(tmp_path / "own" / name / "a.png")
    made = layouts.make(layouts.write_recipe(tmp_path, more=CONTRAST), tmp_path / "own", tmp_path / "out")
    notes = strict_export("imagenet-c", made, tmp_path / "view", sets=["*/*"], any_shape=True).notes
    assert sum(note.startswith("timm numbers these classes otherwise") for note in notes) == 1
