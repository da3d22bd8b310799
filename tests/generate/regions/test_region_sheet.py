"""Test that the sheet of regions shows the regions of a build."""

from __future__ import annotations

import re

import numpy as np
import pytest
from reference_regions import photograph, reference_crop, reference_embedding, small_images

from corruptset.errors import RecipeError, SourceError
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.regions import region_sheet as sheets
from corruptset.generate.regions.block_draws import grids_of


@pytest.fixture
def draw_lines(monkeypatch):
    """Return a function that draws a sheet and returns its lines."""
    sheet_rows, original = [], sheets.draw_sheet
    monkeypatch.setattr(
        sheets, "draw_sheet", lambda lines, **more: (sheet_rows.extend(lines), original(lines, **more))[1]
    )

    def make(*arguments):
        sheet_rows.clear()
        assert sheets.region_sheet(*arguments).startswith(b"\x89PNG")
        return list(sheet_rows)

    return make


def test_sheet_shows_anchor_neighbours_and_shrinks_of_each_size(draw_lines):
    image, recipe = photograph(160, 130), load_recipe("fragile-imagenet")
    result, groups = draw_lines(image, recipe, 3, "pic"), recipe.regions.groups(160, 130)
    assert len(result) == 4 * len(groups)
    blocks = [g for g in grids_of(recipe.regions, 3, "pic", 160, 130) if g.role == "base"]
    for number, group in enumerate(groups):
        heading, *rows = result[4 * number : 4 * number + 4]
        side, top, left = map(int, re.search(r"side (\d+) at y (\d+), x (\d+)", heading.label).groups())
        assert any((b.side, b.y0 + 1, b.x0 + 1) == (group.side, top, left) for b in blocks)
        for step, row in zip((-1, 0, 1), rows, strict=True):
            images = [image for _, image in row.cells]
            assert len(images) == 7
            for across in (-1, 0, 1):
                shrunk = (side - 2, top + step + 1, left + across + 1)
                assert np.array_equal(images[2 + across], reference_crop(image, (side, top + step, left + across), 224))
                assert np.array_equal(images[5 + across], reference_crop(image, shrunk, 224))


def test_small_regions_are_enlarged_and_embedded_ones_have_no_shrinks(draw_lines):
    image = small_images(1)[0]
    recipe = draw_lines(image, load_recipe("location-cifar10"), 0, "a")
    assert [len(line.cells) for line in recipe] == [0, 3, 3, 3] * 2
    assert "side 12 at y 10, x 10" in recipe[0].label
    assert np.array_equal(recipe[2].cells[1][1], reference_embedding(image, (12, 10, 10), 32))


def test_sheet_rejects_unsuitable_requests():
    for size, recipe, error, message in (
        (60, "imagenet-c", RecipeError, r"imagenet-c has no \[regions\]"),
        (12, "fragile-cifar10", SourceError, "The image a is 12x12, too small for the recipe's regions"),
    ):
        with pytest.raises(error, match=message):
            sheets.region_sheet(photograph(size, size), load_recipe(recipe), 0, "a")
