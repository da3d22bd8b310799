"""Regions on the command line."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from commands import Done
from PIL import Image
from slow_regions import EXHAUSTIVE, small_images, write_recipe, write_rows

Run = Callable[..., Done]


@pytest.fixture
def rows(tmp_path):
    return write_rows(tmp_path / "rows", small_images(4))


def test_plan_compares_both_ways(run, rows, tmp_path):
    recipe = write_recipe(tmp_path, EXHAUSTIVE)
    done = run("plan --store images", recipe, "--source", rows)
    assert done.code == 0
    assert "(regions of 4 images)" in done.out
    assert "every region as an image: about" in done.out
    assert "(chosen)" in done.out
    assert "whole images and a table of regions: about" in done.out
    assert "(--store table)" in done.out
    planned = run("plan --store images --json", recipe, "--source", rows).json
    per_image = 7**2 + 9**2 + 4**2 + 6**2
    assert (planned["samples"], planned["source_images"], planned["store"]) == (4 * per_image, 4, "images")
    assert planned["stores"]["images"] > planned["stores"]["table"] > 0
    itself = run("plan", recipe, "--source", rows)
    assert "(--store images)" in itself.out
    assert "Regions are stored as a table" in itself.err + itself.out
    assert run("plan --json", recipe, "--source", rows).json["store"] == "table"
    assert run("plan cifar10-c --source", rows, "--json").json["store"] is None


def test_a_sheet_of_regions(run, tmp_path):
    Image.fromarray(small_images(1)[0]).save(tmp_path / "small.png")
    assert run("preview small.png --regions --out sheet.png").code == 0
    done = run("preview small.png --recipe location-cifar10 --out embedded.png --json")
    assert (done.code, done.json["recipe"]) == (0, "location-cifar10")
    with Image.open(tmp_path / "sheet.png") as sheet, Image.open(tmp_path / "embedded.png") as embedded:
        assert sheet.height > embedded.height
    done = run("preview small.png --regions --recipe imagenet-c --out none.png")
    assert (done.code, "has no [regions]" in done.err) == (2, True)
    assert not (tmp_path / "none.png").exists()
