"""Regions on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Done
from PIL import Image
from slow_regions import EXHAUSTIVE, SAMPLED, small_images, write_recipe, write_rows

import corruptset

Run = Callable[..., Done]


@pytest.fixture
def rows(tmp_path: Path) -> str:
    return write_rows(tmp_path / "rows", small_images(4))


def test_plan_compares_both_ways(run: Run, rows: str, tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path, EXHAUSTIVE)
    done = run("plan", recipe, "--source", rows, "--store", "images")
    assert done.code == 0
    assert "(regions of 4 images)" in done.out
    assert "every region as an image: about" in done.out
    assert "(chosen)" in done.out
    assert "whole images and a table of regions: about" in done.out
    assert "(--store table)" in done.out
    planned = run("plan", recipe, "--source", rows, "--store", "images", "--json").json
    per_image = 7**2 + 9**2 + 4**2 + 6**2
    assert (planned["samples"], planned["source_images"], planned["store"]) == (4 * per_image, 4, "images")
    assert planned["stores"]["images"] > planned["stores"]["table"] > 0
    itself = run("plan", recipe, "--source", rows)
    assert "(--store images)" in itself.out
    assert "Regions are stored as a table" in itself.err + itself.out
    assert run("plan", recipe, "--source", rows, "--json").json["store"] == "table"
    assert run("plan", "cifar10-c", "--source", rows, "--json").json["store"] is None


def test_all_places_are_taken_and_it_is_said(run: Run, rows: str, tmp_path: Path) -> None:
    done = run("plan", write_recipe(tmp_path, SAMPLED.replace("[12, 14]", "[12, 29]")), "--source", rows)
    assert (
        "Regions s29 (side 29): an image has 4 places for a block"
        in run("plan", write_recipe(tmp_path, "sides = [29]\nblocks = 9\nout = 16"), "--source", rows).out
    )
    assert "all are taken" not in done.out


@pytest.mark.parametrize("store", ["images", "table"])
def test_it_is_built_shown_and_verified(run: Run, rows: str, tmp_path: Path, store: str) -> None:
    recipe = write_recipe(tmp_path, SAMPLED)
    built = run("build", recipe, "--source", rows, "--store", store, "--out", tmp_path / "out", "--jobs", 1, "--json")
    assert built.code == 0
    directory = Path(built.json["directory"])
    assert run("verify", directory, "--rederive", 2, "--source", rows).code == 0
    assert "clean" in run("show", directory).out
    assert len(corruptset.open(directory).crops("data/3")) > 30


def test_mistakes_leave_nothing(run: Run, rows: str, tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path, "sides = [33, 41]\nout = 16")
    done = run("build", recipe, "--source", rows, "--out", tmp_path / "out")
    assert done.code == 2
    assert "4 files of the source cannot be used" in done.err
    assert "side 33 of s33 is above the image's; side 41 of s41 is above the image's" in done.err
    assert "Nothing was written" in done.err
    assert not (tmp_path / "out").exists()
    assert run("plan", recipe, "--source", rows).code == 2
    assert run("plan", "cifar10-c", "--source", rows, "--store", "table").code == 2


def test_a_sheet_of_regions(run: Run, tmp_path: Path) -> None:
    Image.fromarray(small_images(1)[0]).save(tmp_path / "small.png")
    assert run("preview", "small.png", "--regions", "--out", "sheet.png").code == 0
    done = run("preview", "small.png", "--recipe", "location-cifar10", "--out", "embedded.png", "--json")
    assert (done.code, done.json["recipe"]) == (0, "location-cifar10")
    with Image.open(tmp_path / "sheet.png") as sheet, Image.open(tmp_path / "embedded.png") as embedded:
        assert sheet.height > embedded.height
    done = run("preview", "small.png", "--regions", "--recipe", "imagenet-c", "--out", "none.png")
    assert (done.code, "has no [regions]" in done.err) == (2, True)
    assert not (tmp_path / "none.png").exists()


def test_super_categories(run: Run, rows: str, tmp_path: Path) -> None:
    path = tmp_path / "groups.toml"
    path.write_text('images = 1\n[categories]\neven = ["0", "2"]\nodd = ["3"]\n')
    planned = run("plan", "cifar10-c", "--source", rows, "--per-super-category", path, "--json")
    assert (planned.code, planned.json["samples"]) == (0, 2)
    done = run("plan", "cifar10-c", "--source", rows, "--per-super-category", "fragile-imagenet")
    assert (done.code, "classes that the source does not have" in done.err) == (2, True)
