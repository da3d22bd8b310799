"""A sheet of regions: of each size one region in its image, with its eight neighbours and its nine shrunk regions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from ...errors import RecipeError, SourceError
from ...manifests.records.models import RegionRecord
from ...manifests.regions.crops import CutCrops
from ...pages.sheets.sheet import BLANK, Cell, Line, sheet
from ...pages.sheets.style import LARGEST, READABLE
from ..recipes.recipe import Recipe
from ..recipes.region_table import RegionGroup, RegionTable
from .block_draws import region_rows

_MARK = (230, 30, 30)
STEPS = (-1, 0, 1)
"""From a region to its neighbours, down and across."""


def region_sheet(image: NDArray[np.uint8], recipe: Recipe, seed: int, sample_id: str, *, side: int = LARGEST) -> bytes:
    """Return a sheet of some of the regions that a build makes of an image, as PNG; no picture's longer side has more
    than `side` pixels.

    RecipeError: the recipe has no regions. SourceError: the image, whose id the blocks are drawn from, is too small for
    them.
    """
    table = recipe.regions
    if table is None:
        raise RecipeError(
            f"The recipe {recipe.name} has no [regions]. Those that have: fragile-imagenet, fragile-cifar10, ..."
        )
    height, width = image.shape[:2]
    if (problem := table.problem(width, height)) is not None:
        raise SourceError(f"The picture {sample_id} {problem}.")
    crops = CutCrops(image, list(region_rows(table, seed, sample_id, width, height)), None)
    number_of = {(r.side, r.y, r.x): n for n, r in enumerate(crops.regions())}
    lines = []
    for group in table.groups(width, height):
        anchors = [r for r in crops.regions() if r.anchor and r.group == group.name]
        anchor = anchors[len(anchors) // 2]
        lines += list(_lines(image, table, group, anchor, number_of, crops))
    title = f"{sample_id}, {recipe.name} {recipe.version}, seed {seed}"
    return sheet(lines, title=title, side=side)


def _lines(
    image: NDArray[np.uint8],
    table: RegionTable,
    group: RegionGroup,
    anchor: RegionRecord,
    number_of: dict[tuple[int, int, int], int],
    crops: CutCrops,
) -> Iterator[Line]:
    """Yield the three lines of a group: neighbours by their rows, and beside them the shrunk regions."""

    def cell(name: str, side: int, y: int, x: int) -> Cell:
        number = number_of.get((side, y, x))
        return name, None if number is None else crops[number]

    shrunk = f"; shrunk {group.side - 2}" if table.kind == "crop" else ""
    yield Line(f"{group.name}: side {group.side} at y {anchor.y}, x {anchor.x}{shrunk}")
    for step_y in STEPS:
        cells: list[Cell] = []
        if table.kind == "crop":
            marked = _marked(image, anchor, max(table.size, READABLE)) if step_y == 0 else BLANK
            cells.append(("in its image" if step_y == 0 else "", marked))
        for step_x in STEPS:
            name = "the region" if step_y == step_x == 0 else f"y{step_y:+d} x{step_x:+d}"
            cells.append(cell(name, group.side, anchor.y + step_y, anchor.x + step_x))
        for step_x in STEPS if table.kind == "crop" else ():
            cells.append(
                cell(
                    f"shrunk y+{step_y + 1} x+{step_x + 1}",
                    group.side - 2,
                    anchor.y + step_y + 1,
                    anchor.x + step_x + 1,
                )
            )
        yield Line("", cells)


def _marked(image: NDArray[np.uint8], region: RegionRecord, size: int) -> NDArray[np.uint8]:
    """Return the image, its longer side `size`, with a frame around a region."""
    picture = Image.fromarray(image if image.shape[2] == 3 else image[:, :, 0]).convert("RGB")
    factor = size / max(picture.size)
    width, height = (max(1, round(side * factor)) for side in picture.size)
    drawn = picture.resize((width, height), Image.Resampling.BOX if factor < 1 else Image.Resampling.NEAREST)
    top, left, below, right = (
        round(place * factor) for place in (region.y, region.x, region.y + region.side, region.x + region.side)
    )
    ImageDraw.Draw(drawn).rectangle((left, top, right - 1, below - 1), outline=_MARK, width=max(1, size // 112))
    return np.array(drawn)
