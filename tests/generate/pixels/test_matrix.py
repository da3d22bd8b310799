"""Blocks of sets: every set is in one block, in order, on the page and on the contact sheet."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

from corruptset.generate.pixels.matrix import ALONE, ORDER, blocks_of, contact_sheet, sheet_rows, thin_out
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.pages.contact_sheet import MAX_PIXELS

LEVELS = [f"black_lines/{level:02d}" for level in range(1, 31)]
LADDERS = ["fog/2p25", "fog/1", "snow/1", "snow/5", "gaussian_noise/10", "gaussian_noise/02", "gaussian_noise/1"]


def constant_image(value: int, height: int = 64, width: int = 96) -> np.ndarray:
    return np.full((height, width, 3), value, np.uint8)


def sheet_layout(ids: Sequence[str], clean: int | None = None) -> list[tuple[str, list[tuple[str, str | None]]]]:
    """Return the layout of a sheet: the label of each line, and the head and the set of each cell."""
    images = {name: constant_image(30 + i) for i, name in enumerate(ids)}
    result, heads = [], list[str]()
    for line in sheet_rows(images, None if clean is None else constant_image(clean)):
        heads = list(line.heads) or (heads if len(heads) == len(line.cells) else [""] * len(line.cells))
        values = [None if cell is None or not cell.size else int(cell[0, 0, 0]) for _, cell in line.cells]
        names = [None if v is None else "clean" if v == clean else ids[v - 30] for v in values]
        result.append((line.label, list(zip(heads, names, strict=True)) if line.cells else []))
    return result


def test_parameter_sets_are_ordered_by_family_and_number():
    blocks = blocks_of(["clean", *LADDERS, "unheard_of/3", "unheard_of/1", "odd"])
    assert [(b.kind, b.name, b.sets) for b in blocks] == [
        ("severities", "gaussian_noise", ["gaussian_noise/1"]),
        ("severities", "fog", ["fog/1", "fog/2p25"]),
        ("severities", "snow", ["snow/1", "snow/5"]),
        ("severities", "unheard_of", ["unheard_of/1", "unheard_of/3"]),
        ("levels", "gaussian_noise", ["gaussian_noise/02", "gaussian_noise/10"]),
        ("others", "Other sets", ["odd"]),
    ]
    assert blocks_of(["odd", "clean"])[0].name == "Sets"


def test_five_of_many_levels_are_shown():
    (block,) = blocks_of(reversed(LEVELS))
    assert block.sets == LEVELS
    assert block.shown == [f"black_lines/{level:02d}" for level in (1, 7, 15, 22, 30)]
    (few,) = blocks_of(LEVELS[:7])
    assert few.shown == few.sets


def test_grids_contain_every_chain_once_and_orders_across_diagonal():
    names = ["p-1", "q-2", "q-10"]
    pairs = [f"{a}+{b}" for a in names for b in names if a != b and (a, b) != ("q-10", "q-2")]
    late = ["s-1+t-1", "u-1+v-1", "w-1+t-1", "w-1+v-1"]
    ids = [*pairs, *late, "p/1", "v/1", "three-1+x-1+y-1", "q/2", "q/10", "q/3"]
    grids = {tuple(b.rows): b for b in blocks_of(ids) if b.kind == "grid"}
    assert list(grids) == [tuple(names), ("s-1", "u-1", "w-1"), ("three-1+x-1",)]
    square = grids[tuple(names)]
    assert square.columns == [ALONE, *names]
    for row, cells in square.rows.items():
        expected = [f"{row}+{c}" if f"{row}+{c}" in ids else None for c in names]
        assert list(cells.values()) == [row.replace("-", "/"), *expected]
    # stages with several severities have their own row and are only named in the grid
    assert set(square.sets) == {*pairs, "p/1", "q/10"}
    assert [b.sets for b in blocks_of(ids) if b.is_ladder] == [["q/2", "q/3"], ["v/1"]]
    all_names = [name for b in blocks_of(ids) for name in b.sets]
    assert sorted(all_names) == sorted(ids)


def test_sheet_rows_have_labels_and_sets():
    assert sheet_layout(["fog/2", "fog/1", "snow/1", "snow/2", "odd"], clean=9) == [
        ("fog", [("clean", "clean"), ("1", "fog/1"), ("2", "fog/2")]),
        ("snow", [("clean", "clean"), ("1", "snow/1"), ("2", "snow/2")]),
        ("", [("odd", "odd")]),
    ]
    levels = sheet_layout(LEVELS, clean=9)
    assert [(label, len(cells)) for label, cells in levels] == [("black_lines", 11), ("", 11), ("", 11)]
    assert [name for _, cells in levels for _, name in cells[1:]] == LEVELS
    assert levels[2][1][:2] == [("", None), ("21", "black_lines/21")]
    assert sheet_layout(["sp010", "sp010+fog-1", "sp020+fog-1"], clean=9) == [
        ("clean", [("", "clean")]),
        (ORDER, []),
        ("sp010", [(ALONE, "sp010"), ("fog-1", "sp010+fog-1")]),
        ("sp020", [(ALONE, None), ("fog-1", "sp020+fog-1")]),
    ]
    images = {name: constant_image(30) for name in ("fog/1", "fog/2", "snow/1")}
    assert [bool(line.heads) for line in sheet_rows(images)] == [True, True]
    images |= {"snow/2": constant_image(30)}
    assert [bool(line.heads) for line in sheet_rows(images)] == [True, False]


def test_sheet_of_large_recipe_is_bounded_and_complete():
    images = {spec.id: constant_image(7, 224, 224) for spec in load_recipe("image-degrade-30").resolve().sets}
    cells = [cell for line in sheet_rows(images) for _, cell in line.cells if cell is not None]
    assert len(cells) == len(images.keys() - {"clean"})
    sheet = np.asarray(Image.open(io.BytesIO(contact_sheet(images, clean=constant_image(9, 224, 224), title="large"))))
    assert sheet.shape[0] * sheet.shape[1] <= MAX_PIXELS
    assert (sheet == 9).all(axis=2).sum() >= 128**2
    drawn, repeated, another = (
        contact_sheet({"fog/1": constant_image(7)}, clean=constant_image(9), title=title) for title in "aab"
    )
    assert drawn == repeated != another


def test_thinning_keeps_grid_complete():
    severities = [f"{c}-{s}" for c in ("fog", "snow", "frost", "contrast", "pixelate") for s in range(1, 6)]
    ids = [f"{a}+{b}" for a in severities for b in severities]
    remaining = thin_out(ids, 100)
    rows = list(dict.fromkeys(name.partition("+")[0] for name in remaining))
    assert remaining == [f"{a}+{b}" for a in rows for b in rows]
    assert len(remaining) == 100
    assert {r.partition("-")[0] for r in rows} == {"fog", "snow", "frost", "contrast", "pixelate"}
    assert thin_out(ids, 625) == ids
    assert thin_out(["clean", *LEVELS], 4) == ["clean", "black_lines/07", "black_lines/15", "black_lines/23"]
