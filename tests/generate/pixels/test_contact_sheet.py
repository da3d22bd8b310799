"""Contact sheets: every set in its place, bounded, the same bytes each time."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from PIL import Image

from corruptset.corruptions.stages import Stage
from corruptset.generate.pixels import contact_sheet as sheets
from corruptset.generate.pixels.contact_sheet import ORDER, contact_sheet, thinned
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.recipes.set_spec import SetSpec
from corruptset.pages.sheets.letters import LEADING
from corruptset.pages.sheets.sheet import MOST_PIXELS

LEVELS = [f"black_lines/{level:02d}" for level in range(1, 31)]
Shown = list[tuple[str, list[tuple[str, str | None]]]]
"""Label of a line -> what is written above or below each cell, and the set that it shows."""


def flat(value: int, height: int = 24, width: int = 32) -> np.ndarray:
    return np.full((height, width, 3), value, np.uint8)


def spec(set_id: str) -> SetSpec:
    """Return a set as its id says it: fog/3, black_lines/07, fog-3+snow-1, or of a name of its own."""
    stages = []
    for part in set_id.split("+"):
        name, _, number = part.replace("-", "/").partition("/")
        level = int(number) if len(number) == 2 else None
        severity = int(number) if number and level is None else None
        stages.append(Stage(name, 1, severity, level, {}))
    return SetSpec(set_id, tuple(stages))


def drawn(ids: Iterable[str], **more: Any) -> bytes:
    """Return the sheet of sets whose pictures are 30, 31, 32, ... all over."""
    return contact_sheet(map(spec, ids), {name: flat(30 + i) for i, name in enumerate(ids)}, **more)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that says what stands where in the sheet of some sets."""
    kept: list[Any] = []
    monkeypatch.setattr(sheets, "sheet", lambda lines, **more: kept.append(lines) or b"")

    def places(ids: Sequence[str]) -> Shown:
        drawn(ids)
        found = []
        for line in kept.pop():
            names = line.heads or [name for name, _ in line.cells]
            images = [None if i is None else ids[int(i[0, 0, 0]) - 30] for _, i in line.cells]
            found.append((line.label, list(zip(names, images, strict=True))))
        return found

    return places


def test_severities_levels_and_other_sets_are_lines_of_so_many(shown: Any) -> None:
    ids = ["snow/1", "odd", "fog/2", "fog/1", *LEVELS]
    found = shown(ids)
    assert found[:2] == [("fog", [("1", "fog/1"), ("2", "fog/2")]), ("snow", [("1", "snow/1")])]
    assert [(label, len(cells)) for label, cells in found[2:5]] == [("black_lines", 10), ("", 10), ("", 10)]
    assert [name for _, cells in found[2:5] for name, _ in cells] == [f"{level:02d}" for level in range(1, 31)]
    assert found[5:] == [("", [("odd", "odd")])]


def test_chains_are_grids_of_first_and_second_across_the_diagonal(shown: Any) -> None:
    names = ["p-1", "q-1", "r-1"]
    ids = [f"{a}+{b}" for a in names for b in names if a != b and (a, b) != ("r-1", "q-1")] + ["s-1+t-1", "s-1+u-1"]
    heading, *lines = shown(ids)
    assert heading == (ORDER, [])
    assert [label for label, _ in lines] == [*names, ORDER, "s-1"]
    assert [[name for name, _ in cells] for _, cells in lines[:3]] == [names, [""] * 3, [""] * 3]
    for row, (_, cells) in zip(names, lines[:3], strict=True):
        assert [found for _, found in cells] == [f"{row}+{c}" if f"{row}+{c}" in ids else None for c in names]
    assert lines[4][1] == [("t-1", "s-1+t-1"), ("u-1", "s-1+u-1")]
    # rows that meet late are one grid; a chain of three is in the row of its first two
    late = shown(["p-1+a-1", "q-1+b-1", "r-1+b-1", "r-1+a-1", "x-1+y-1+z-1"])
    assert [label for label, _ in late] == [ORDER, "p-1", "q-1", "r-1", ORDER, "x-1+y-1"]


def corner(sheet: np.ndarray, value: int) -> tuple[int, int]:
    """Where a flat picture lies, which is there whole, enlarged three times, and once: (x, y)."""
    y, x = (sheet == value).all(axis=2).nonzero()
    assert (len(y), np.ptp(x), np.ptp(y)) == (72 * 96, 95, 71), value
    return int(x.min()), int(y.min())


def pixels(sheet: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(sheet)) as image:
        return np.asarray(image)


def test_every_picture_is_there_in_its_place() -> None:
    ids = ["fog/1", "fog/2", *LEVELS[:11], "odd", "p-1+a-1", "p-1+b-1", "q-1+b-1"]
    sheet = drawn(ids, clean=flat(5), title="t")
    places = [corner(pixels(sheet), value) for value in (5, *range(30, 30 + len(ids)))]
    clean, first, second, *levels = places[:14]
    assert clean[1] < first[1] == second[1] < levels[0][1] < levels[10][1] < places[14][1] < places[15][1]
    assert first[0] == levels[0][0] == levels[10][0]
    (left, top), (x, _), (below, bottom) = places[-3:]
    assert below == x
    assert bottom - top < 72 + LEADING  # the names of the columns are not repeated
    empty = (pixels(sheet)[bottom : bottom + 72, left : x - 1] < 128).any(axis=2)
    assert 0 < empty.sum() < 20  # marked as empty
    assert drawn(ids, clean=flat(5), title="t") == sheet
    assert drawn(ids, clean=flat(5), title="u") != sheet
    # a set without a picture is left out
    assert contact_sheet([spec("fog/1"), spec("fog/2")], {"fog/1": flat(9)}) == contact_sheet(
        [spec("fog/1")], {"fog/1": flat(9)}
    )


def test_the_sheets_of_large_recipes_are_bounded() -> None:
    for recipe, least in (("two-factor-imagenet-c", 190), ("image-degrade-30", 150), ("imagenet-c-all", 224)):
        sets = load_recipe(recipe).resolve().sets
        pictures = {one.id: flat(7, 224, 224) for one in sets}
        sheet = pixels(contact_sheet(sets, pictures, clean=flat(9, 224, 224), title=recipe))
        assert sheet.shape[0] * sheet.shape[1] <= MOST_PIXELS, recipe
        assert (sheet == 9).all(axis=2).sum() >= least**2, recipe


def test_thinning_keeps_a_grid_whole() -> None:
    severities = [f"{c}-{s}" for c in ("fog", "snow", "frost", "contrast", "pixelate") for s in range(1, 6)]
    ids = [f"{a}+{b}" for a in severities for b in severities]
    left = thinned(ids, 100)
    rows = list(dict.fromkeys(name.partition("+")[0] for name in left))
    assert left == [f"{a}+{b}" for a in rows for b in rows]
    assert len(left) == 100
    assert {r.partition("-")[0] for r in rows} == {"fog", "snow", "frost", "contrast", "pixelate"}
    assert thinned(ids, 625) == ids
    assert thinned(["clean", *LEVELS], 4) == ["clean", "black_lines/07", "black_lines/15", "black_lines/23"]
