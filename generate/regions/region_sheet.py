"""A sheet of regions: of each size one region in its image, with its eight neighbours and its nine shrunk regions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from ...errors import RecipeError, SourceError
from ...manifests.records.models import RegionRecord
from ...manifests.regions.crops import CutCrops
from ..pixels.contact_sheet import Cell, Line, contact_sheet
from ..recipes.recipe import Recipe
from ..recipes.region_table import RegionGroup, RegionTable
from .block_draws import region_rows

_MARK = (230, 30, 30)
_PAPER = 255
_LEAST_CELL = 96
_STEPS = (-1, 0, 1)


def region_sheet(image: NDArray[np.uint8], recipe: Recipe, seed: int, sample_id: str) -> bytes:
    """Return a sheet of some of the regions that a build makes of an image, as PNG.

    Parameters
    ----------
    image : (H, W, C) ndarray of uint8
    recipe : Recipe
        With regions.
    seed : int
    sample_id : str
        Of the image: blocks are drawn from it.

    Raises
    ------
    RecipeError
        The recipe has no regions.
    SourceError
        The image is too small for them.
    """
    table = recipe.regions
    if table is None:
        raise RecipeError(f"The recipe {recipe.name} has no [regions]. Those that have: fragile-imagenet, fragile-cifar10, ...")
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
    return contact_sheet(lines, title=title)


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
        return name, None if number is None else _enlarged(crops[number])

    shrunk = f"; shrunk {group.side - 2}" if table.kind == "crop" else ""
    yield Line(f"{group.name}: side {group.side} at y {anchor.y}, x {anchor.x}{shrunk}")
    for step_y in _STEPS:
        cells: list[Cell] = []
        if table.kind == "crop":
            marked = _marked(image, anchor, max(table.size, _LEAST_CELL)) if step_y == 0 else _blank(table.size)
            cells.append(("in its image" if step_y == 0 else "", marked))
        for step_x in _STEPS:
            name = "the region" if step_y == step_x == 0 else f"y{step_y:+d} x{step_x:+d}"
            cells.append(cell(name, group.side, anchor.y + step_y, anchor.x + step_x))
        for step_x in _STEPS if table.kind == "crop" else ():
            cells.append(cell(f"shrunk y+{step_y + 1} x+{step_x + 1}", group.side - 2, anchor.y + step_y + 1, anchor.x + step_x + 1))
        yield Line("", cells)


def _enlarged(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a small image with each of its pixels as a square."""
    factor = max(1, _LEAST_CELL // image.shape[0])
    return image.repeat(factor, axis=0).repeat(factor, axis=1)


def _blank(size: int) -> NDArray[np.uint8]:
    return np.full((size, size, 3), _PAPER, np.uint8)


def _marked(image: NDArray[np.uint8], region: RegionRecord, size: int) -> NDArray[np.uint8]:
    """Return the image with a frame around a region, on white paper of (size, size)."""
    picture = Image.fromarray(image if image.shape[2] == 3 else image[:, :, 0]).convert("RGB")
    factor = size / max(picture.size)
    width, height = (max(1, round(side * factor)) for side in picture.size)
    paper = Image.new("RGB", (size, size), (_PAPER,) * 3)
    top, left = (size - height) // 2, (size - width) // 2
    paper.paste(picture.resize((width, height), Image.Resampling.BOX if factor < 1 else Image.Resampling.NEAREST), (left, top))
    corners = [round(place * factor) for place in (region.x, region.y, region.x + region.side, region.y + region.side)]
    frame = [left + corners[0], top + corners[1], left + corners[2] - 1, top + corners[3] - 1]
    ImageDraw.Draw(paper).rectangle(frame, outline=_MARK, width=max(1, size // 112))
    return np.array(paper)
