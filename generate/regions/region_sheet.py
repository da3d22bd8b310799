"""Draw contact sheets of regions: one region of each size, its neighbours, and smaller regions inside it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from ...errors import RecipeError, SourceError
from ...manifests.records.models import RegionRecord
from ...manifests.regions.crops import Crops, CutCrops
from ...pages.contact_sheet import BLANK, MAX_IMAGE_SIDE, Cell, SheetRow, draw_sheet
from ..recipes.recipe import Recipe
from .block_draws import region_rows

_MARK = (230, 30, 30)
_STEPS = list(product((-1, 0, 1), repeat=2))
"""The offsets from a region to its neighbours and to itself, as (y, x)."""
Numbers = list[int | None]
"""The numbers of nine regions, row by row. None means that the region does not exist."""


def neighbourhoods(crops: Crops) -> Iterator[tuple[RegionRecord, Numbers, Numbers]]:
    """Yield, for each group of regions, an anchor with the numbers of its neighbours and of its shrunk regions.

    The neighbours are the nine regions around and including the anchor. The shrunk regions are the nine regions inside
    the anchor that are two pixels smaller.
    """
    number_of = {(r.side, r.y, r.x): n for n, r in enumerate(crops.regions())}
    anchors: dict[str, list[RegionRecord]] = {}
    for region in crops.regions():
        if region.anchor:
            anchors.setdefault(region.group, []).append(region)
    for regions in anchors.values():
        anchor = regions[len(regions) // 2]
        neighbours, shrunk = (
            [number_of.get((anchor.side - 2 * by, anchor.y + by + dy, anchor.x + by + dx)) for dy, dx in _STEPS]
            for by in (0, 1)
        )
        yield anchor, neighbours, shrunk


def region_sheet(
    image: NDArray[np.uint8], recipe: Recipe, seed: int, sample_id: str, *, side: int = MAX_IMAGE_SIDE
) -> bytes:
    """Return a contact sheet of some regions of an image, as a PNG. A build of this image has the same regions.

    The longer side of each image on the sheet has at most `side` pixels. The positions of regions are drawn with
    `sample_id` as the key.

    Raises
    ------
    RecipeError
        The recipe has no regions.
    SourceError
        The image is too small for the regions.
    """
    table = recipe.regions
    if table is None:
        raise RecipeError(
            f"The recipe {recipe.name} has no [regions]. Choose one with regions, such as fragile-imagenet."
        )
    height, width = image.shape[:2]
    if (problem := table.problem(width, height)) is not None:
        raise SourceError(f"The image {sample_id} {problem}.")
    crops = CutCrops(image, list(region_rows(table, seed, sample_id, width, height)), None)
    lines: list[SheetRow] = []
    for anchor, neighbours, shrunk in neighbourhoods(crops):
        cropped = table.kind == "crop"
        what = f"; shrunk {anchor.side - 2}" if cropped else ""
        lines.append(SheetRow(f"{anchor.group}: side {anchor.side} at y {anchor.y}, x {anchor.x}{what}"))
        cells = _cells(crops, neighbours, "y{:+d} x{:+d}", -1)
        cells[4] = "the region", cells[4][1]
        smaller = _cells(crops, shrunk, "shrunk y{:+d} x{:+d}", 0)
        marked = _frame_region(image, anchor)
        for row in range(3):
            some = slice(3 * row, 3 * row + 3)
            whole: Cell = ("in its image", marked) if row == 1 else ("", BLANK)
            lines.append(SheetRow("", [whole, *cells[some], *smaller[some]] if cropped else cells[some]))
    return draw_sheet(lines, title=f"{sample_id}, {recipe.name} {recipe.version}, seed {seed}", side=side)


def _cells(crops: Crops, numbers: Numbers, name: str, first: int) -> list[Cell]:
    """Return nine regions with their names. The names contain offsets, the smallest of which is `first`."""
    images = [None if number is None else crops[number] for number in numbers]
    names = [name.format(first + 1 + dy, first + 1 + dx) for dy, dx in _STEPS]
    return list(zip(names, images, strict=True))


def _frame_region(image: NDArray[np.uint8], region: RegionRecord) -> NDArray[np.uint8]:
    """Return an image with a frame around a region."""
    drawn = Image.fromarray(image if image.shape[2] == 3 else image[:, :, 0]).convert("RGB")
    corners = region.x, region.y, region.x + region.side - 1, region.y + region.side - 1
    ImageDraw.Draw(drawn).rectangle(corners, outline=_MARK, width=max(1, max(drawn.size) // 112))
    return np.array(drawn)
