"""Contact sheets: every set in its place, bounded, the same bytes each time."""

from __future__ import annotations

import io
from collections.abc import Iterable

import numpy as np
import pytest
from PIL import Image

from corruptset.generate.pixels.contact_sheet import ALONE, ORDER, contact_sheet, sheet_lines, thinned
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.pages.sheets.letters import LEADING, width
from corruptset.pages.sheets.sheet import MOST_PIXELS, Line

SEVERITIES = [f"{c}/{s}" for c in ("fog", "snow") for s in range(1, 6)]
LEVELS = [f"black_lines/{level:02d}" for level in range(1, 31)]
THERE = [f"{a}+{b}" for a in ("fog-3", "snow-3") for b in ("sp010", "ro-30")]
BACK = [f"{b}+{a}" for b in ("sp010", "ro-30") for a in ("fog-3", "snow-3")]


def flat(value: int, height: int = 24, width: int = 32, channels: int = 3) -> np.ndarray:
    return np.full((height, width, channels), value, np.uint8)


def cells(ids: Iterable[str]) -> list[tuple[str, np.ndarray]]:
    """Sets whose pictures are 30, 31, 32, ... all over."""
    return [(name, flat(30 + i)) for i, name in enumerate(ids)]


def shown(ids: Iterable[str]) -> list[Line]:
    return sheet_lines(cells(ids))


def places(lines: Iterable[Line], ids: list[str]) -> list[tuple[str, list[tuple[str, str | None]]]]:
    """What stands where: (label, [(what is written above or below, the set or None), ...]) of every line."""
    found = []
    for line in lines:
        names = line.heads or [name for name, _ in line.cells]
        images = [image for _, image in line.cells]
        found.append(
            (
                line.label,
                [(n, None if i is None else ids[int(i[0, 0, 0]) - 30]) for n, i in zip(names, images, strict=True)],
            )
        )
    return found


def pixels(sheet: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(sheet)) as image:
        return np.asarray(image)


def corner(sheet: np.ndarray, value: int) -> tuple[int, int]:
    """Where a flat picture lies, which is there whole, enlarged three times, and once: (x, y)."""
    y, x = (sheet == value).all(axis=2).nonzero()
    assert len(y) == 72 * 96, value
    assert (np.ptp(x), np.ptp(y)) == (95, 71), value
    return int(x.min()), int(y.min())


def test_a_corruption_is_a_line_of_severities_and_others_stand_after_them() -> None:
    ids = ["fog/1", "fog/2", "odd", "snow/1"]
    assert places(shown(ids), ids) == [
        ("fog", [("1", "fog/1"), ("2", "fog/2")]),
        ("snow", [("1", "snow/1")]),
        ("", [("odd", "odd")]),
    ]


def test_thirty_levels_are_three_lines_under_one_label() -> None:
    lines = shown([*LEVELS, "fade_black/07"])
    assert [(line.label, len(line.cells)) for line in lines] == [
        ("black_lines", 10),
        ("", 10),
        ("", 10),
        ("fade_black", 1),
    ]
    assert [name for line in lines[:3] for name, _ in line.cells] == [f"{level:02d}" for level in range(1, 31)]


def test_both_orders_are_grids_of_first_and_second() -> None:
    ids = THERE + BACK
    assert places(shown(ids), ids) == [
        (ORDER, []),
        ("fog-3", [("sp010", "fog-3+sp010"), ("ro-30", "fog-3+ro-30")]),
        ("snow-3", [("", "snow-3+sp010"), ("", "snow-3+ro-30")]),
        (ORDER, []),
        ("sp010", [("fog-3", "sp010+fog-3"), ("snow-3", "sp010+snow-3")]),
        ("ro-30", [("", "ro-30+fog-3"), ("", "ro-30+snow-3")]),
    ]


def test_a_missing_pair_leaves_its_place_empty_and_orders_lie_across_the_diagonal() -> None:
    names = ["p-1", "q-1", "r-1"]
    ids = [f"{a}+{b}" for a in names for b in names if a != b and (a, b) != ("r-1", "q-1")]
    lines = places(shown(ids), ids)
    assert [label for label, _ in lines] == [ORDER, *names]
    assert [name for name, _ in lines[1][1]] == names
    for row, (_, cells) in zip(names, lines[1:], strict=True):
        assert [found for _, found in cells] == [f"{row}+{c}" if f"{row}+{c}" in ids else None for c in names]


def test_what_comes_first_stands_alone_in_its_row_too() -> None:
    ids = ["sp010", "ro-30", "odd", *THERE[:2], *BACK[:3]]
    assert places(shown(ids), ids) == [
        ("", [("odd", "odd")]),
        (ORDER, []),
        ("fog-3", [("sp010", "fog-3+sp010"), ("ro-30", "fog-3+ro-30")]),
        (ORDER, []),
        ("sp010", [(ALONE, "sp010"), ("fog-3", "sp010+fog-3"), ("snow-3", "sp010+snow-3")]),
        ("ro-30", [("", "ro-30"), ("", "ro-30+fog-3"), ("", None)]),
    ]


def test_a_line_of_severities_is_whole_or_in_the_grid() -> None:
    """All of fog's severities begin pairs: they stand there only. Of snow's one does: its line stays whole."""
    ids = ["fog/1", "fog/2", "snow/1", "snow/2", *(f"{a}+sp010" for a in ("fog-1", "fog-2", "snow-2"))]
    assert places(shown(ids), ids) == [
        ("snow", [("1", "snow/1"), ("2", "snow/2")]),
        (ORDER, []),
        ("fog-1", [(ALONE, "fog/1"), ("sp010", "fog-1+sp010")]),
        ("fog-2", [("", "fog/2"), ("", "fog-2+sp010")]),
        ("snow-2", [("", "snow/2"), ("", "snow-2+sp010")]),
    ]


def test_rows_that_meet_late_are_one_grid_in_their_order() -> None:
    ids = ["p-1+a", "q-1+b", "r-1+b", "r-1+a", "s-1+c"]
    assert [label for label, _ in places(shown(ids), ids)] == [ORDER, "p-1", "q-1", "r-1", ORDER, "s-1"]


def test_a_chain_of_three_is_in_the_row_of_its_first_two() -> None:
    ids = ["a-1+b-1", "a-1+b-1+c-1"]
    assert places(shown(ids), ids) == [
        (ORDER, []),
        ("a-1", [("b-1", "a-1+b-1")]),
        (ORDER, []),
        ("a-1+b-1", [("c-1", "a-1+b-1+c-1")]),
    ]


def test_a_mixed_build_has_all_kinds_below_each_other() -> None:
    ids = [*THERE, *LEVELS[:12], "odd", *SEVERITIES, *BACK]
    assert [label for label, _ in places(shown(ids), ids)] == [
        "fog", "snow", "black_lines", "", "", ORDER, "fog-3", "snow-3", ORDER, "sp010", "ro-30",
    ]  # fmt: skip


def test_levels_are_in_their_order_whatever_the_recipes() -> None:
    ids = [
        "fog/10",
        "fog/2",
        "snow/1",
        "fog/1",
        "line/03",
        "line/01",
        "b-10+c-2",
        "b-2+c-10",
        "b-2+c-9",
        "b-10+c-10",
        "a-1+c-9",
    ]
    assert places(shown(ids), ids) == [
        ("fog", [("1", "fog/1"), ("2", "fog/2"), ("10", "fog/10")]),
        ("snow", [("1", "snow/1")]),
        ("line", [("01", "line/01"), ("03", "line/03")]),
        (ORDER, []),
        ("b-2", [("c-2", None), ("c-9", "b-2+c-9"), ("c-10", "b-2+c-10")]),
        ("b-10", [("", "b-10+c-2"), ("", None), ("", "b-10+c-10")]),
        ("a-1", [("", None), ("", "a-1+c-9"), ("", None)]),
    ]


def test_every_picture_is_there_in_its_place() -> None:
    ids = [*(s for s in SEVERITIES if not s.endswith("3")), *LEVELS, "sp010", *THERE, *BACK]
    lines = shown(ids)
    sheet = contact_sheet(cells(ids), clean=flat(5), title="t")
    where = [
        [corner(pixels(sheet), int(image[0, 0, 0])) for _, image in line.cells if image is not None]
        for line in lines
        if line.cells
    ]
    assert sum(map(len, where)) == len(ids)
    assert {len({y for _, y in line}) for line in where} == {1}
    heights = [corner(pixels(sheet), 5)[1], *(line[0][1] for line in where)]
    assert heights == sorted(heights)
    # columns of all lines begin at the same places
    assert len({x for line in where for x, _ in line}) == 10
    assert contact_sheet(cells(ids), clean=flat(5), title="t") == sheet
    assert contact_sheet(cells(ids), clean=flat(5), title="u") != sheet


def test_an_empty_place_is_marked_and_later_columns_stay_where_they_are() -> None:
    sheet = pixels(contact_sheet(cells(["p-1+a", "p-1+b", "q-1+b"])))
    (left, top), (x, _), (below, bottom) = (corner(sheet, 30 + i) for i in range(3))
    assert below == x
    assert bottom - top < 72 + LEADING  # the names of the columns are not repeated
    empty = (sheet[bottom : bottom + 72, left : x - 1] < 128).any(axis=2)
    assert 0 < empty.sum() < 20


def test_names_are_readable_beside_small_pictures() -> None:
    ids = [f"{a}-3+{b}-3" for a in ("contrast", "brightness") for b in ("gaussian_noise", "motion_blur")]
    sheet = pixels(contact_sheet(cells(ids)))
    assert corner(sheet, 31)[0] - corner(sheet, 30)[0] > width("gaussian_noise-3")
    assert corner(sheet, 30)[0] > width("brightness-3")


@pytest.mark.parametrize(
    ("recipe", "least"), [("two-factor-imagenet-c", 195), ("image-degrade-30", 150), ("imagenet-c-all", 224)]
)
def test_the_sheets_of_large_recipes_are_bounded(recipe: str, least: int) -> None:
    ids = [s.id for s in load_recipe(recipe).resolve().sets if s.id != "clean"]
    large = [(name, flat(7, 224, 224)) for name in ids]
    assert sum(image is not None for line in sheet_lines(large) for _, image in line.cells) == len(ids)
    sheet = pixels(contact_sheet(large, clean=flat(9, 224, 224), title=recipe))
    assert sheet.shape[0] * sheet.shape[1] <= MOST_PIXELS
    assert (sheet == 9).all(axis=2).sum() >= least**2


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
