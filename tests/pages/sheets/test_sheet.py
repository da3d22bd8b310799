"""Sheets: pictures readable, whole and edged, their names beside nothing else, the same bytes everywhere."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageColor

from corruptset.pages.sheets.letters import HEADING, LEADING, NAME, fitted, font, width
from corruptset.pages.sheets.sheet import BLANK, MOST_PIXELS, SheetLine, sheet, tile
from corruptset.pages.sheets.style import GAP, INK, LINE, PAPER, READABLE, SOFT
from pictures import painted

WHITE, EDGE = ImageColor.getrgb(PAPER), ImageColor.getrgb(LINE)
LONG = "a_long_name_of_a_set-" * 12 + "end"


def pixels(data: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(data)) as image:
        assert image.mode == "RGB"
        return np.asarray(image)


def place(canvas: np.ndarray, drawn: np.ndarray) -> tuple[int, int]:
    """Where something lies, which is there once: (x, y)."""
    height, wide = drawn.shape[:2]
    corners = np.argwhere((canvas == drawn[0, 0]).all(axis=2)).tolist()
    found = [(x, y) for y, x in corners if np.array_equal(canvas[y : y + height, x : x + wide], drawn)]
    assert len(found) == 1
    return found[0]


def enlarged(picture: np.ndarray, factor: int) -> np.ndarray:
    return np.broadcast_to(
        np.kron(picture, np.ones((factor, factor, 1), np.uint8)), (*(factor * s for s in picture.shape[:2]), 3)
    )


def test_pictures_are_whole_enlarged_by_whole_factors_and_edged() -> None:
    shapes = {(8, 8, 3): 12, (28, 28, 1): 4, (32, 32, 3): 3, (40, 8, 3): 3, (95, 30, 1): 2, (224, 224, 3): 1}
    for shape, factor in shapes.items():
        pictures = [painted(*shape, which=i) for i in range(3)]
        canvas = pixels(sheet([SheetLine("row", [(f"n{i}", p) for i, p in enumerate(pictures)])], title="title"))
        corners = [place(canvas, enlarged(p, factor)) for p in pictures]
        assert max(shape[:2]) * factor >= READABLE
        for x, y in corners:
            high, wide = factor * shape[0], factor * shape[1]
            around = canvas[y - 1 : y + high + 1, x - 1 : x + wide + 1].copy()
            around[1:-1, 1:-1] = EDGE
            assert (around == EDGE).all()
        assert len({y for _, y in corners}) == 1
        assert corners[1][0] - corners[0][0] == corners[2][0] - corners[1][0] >= factor * shape[1] + GAP
    small, large = painted(32, 32), painted(100, 100, which=1)
    canvas = pixels(sheet([SheetLine("", [("", small), ("", large), ("", None), ("", BLANK)])]))
    place(canvas, enlarged(small, 3))
    place(canvas, large)
    flat = np.full((500, 1000, 1), 77, np.uint8)
    assert (pixels(sheet([SheetLine("", [("", flat)])])) == 77).all(axis=2).sum() == 128 * 256
    assert (pixels(sheet([SheetLine("", [("", flat)])], side=100)) == 77).all(axis=2).sum() == 50 * 100
    steps = np.repeat(np.arange(0, 200, 10, dtype=np.uint8), 5)[None, :, None].repeat(10, axis=0)
    assert np.asarray(tile(steps, 20, 99))[0].tolist() == list(range(0, 200, 10))


@pytest.mark.parametrize("side", [28, 224])
def test_names_are_whole_and_beside_nothing_else(side: int) -> None:
    """White pictures without an edge would leave names alone; what is no edge and no paper is letters."""
    names = ["1", "gaussian_noise-5", LONG, "日本", "a name of several words that needs lines"]
    cells = [(name, np.full((side, side, 3), 255, np.uint8)) for name in names]
    canvas = pixels(sheet([SheetLine("label", cells, names), SheetLine(LONG, cells), SheetLine(LONG)], title=LONG))
    letters = ~(canvas == WHITE).all(axis=2) & ~(canvas == EDGE).all(axis=2)
    # nothing reaches the border of the sheet
    assert not letters[:, -GAP:].any()
    assert not letters[:, : GAP - 2].any()
    assert not letters[:GAP].any()
    assert not letters[-GAP // 2 :].any()
    # nothing lies on a picture or its edge
    edges = (canvas == EDGE).all(axis=2)
    top, left = np.argwhere(edges)[0]
    wide = int(np.argmin(edges[top, left:]))
    starts = [x for x in range(canvas.shape[1]) if edges[top, x] and not edges[top, x - 1]]
    assert len(starts) == len(names)
    for x in starts:
        assert not letters[top : top + wide, x : x + wide].any()
    # between columns there is paper from the top of the heads to the names below
    tops = [y for y in range(canvas.shape[0]) if edges[y, left] and not edges[y - 1, left]]
    below = tops[1] - LEADING
    for x in starts[1:]:
        assert not letters[tops[0] - 2 * LEADING : below, x - GAP // 2 + 1 : x].any()
    # each name is as wide as it is drawn
    pitch = starts[1] - starts[0]
    assert pitch - GAP == max(min(160, max(map(width, names))), wide - 2)
    for x, name in zip(starts, names, strict=True):
        lines = fitted(name, pitch - GAP, 3)
        assert "".join(lines).replace(" ", "") == name.replace(" ", "") or "…" in "".join(lines) or not name.isascii()
        drawn = np.flatnonzero(letters[tops[0] + wide + 3 : tops[0] + wide + 3 + LEADING, x : x + pitch].any(axis=0))
        assert abs(drawn.max() + 1 - font(NAME).getlength(lines[0])) <= 3, name


def test_a_long_title_keeps_its_beginning_and_its_end() -> None:
    shown = fitted("imagenet-c 1.0.0, seed 0: " + "folder/" * 60 + "n0001.png", 464, 4, HEADING)
    assert (len(shown), shown[0][:26], shown[-1][-10:]) == (4, "imagenet-c 1.0.0, seed 0: ", "/n0001.png")
    cell = [("", painted(96, 96))]
    shapes = [pixels(sheet([SheetLine("", cell)], title=t)).shape for t in ("t", "word " * 30, LONG * 9)]
    assert [(h - shapes[0][0], w) for h, w, _ in shapes] == [(LEADING * more, 480) for more in (0, 2, 3)]


def test_a_legend_says_what_colours_mean() -> None:
    entries = [(f"colour number {i}", (10 * i, 0, 200)) for i in range(9)]
    canvas = pixels(sheet([SheetLine("", [("", painted(96, 96))])], legend=entries))
    for _, colour in entries:
        y, x = np.nonzero((canvas == colour).all(axis=2))
        assert len(y) == 144
        assert canvas[y.min() - 1, x.min() - 1].tolist() == list(EDGE)
    assert len({int(np.nonzero((canvas == colour).all(axis=2))[0].min()) for _, colour in entries}) > 1


def test_sheets_are_bounded() -> None:
    wide = [SheetLine(f"r{i}", [(str(s), np.full((200, 200, 3), 9, np.uint8)) for s in range(10)]) for i in range(90)]
    assert 0.8 * MOST_PIXELS < np.prod(pixels(sheet(wide)).shape[:2]) <= MOST_PIXELS
    small = [SheetLine(f"r{i}", [(str(s), np.full((40, 40, 3), 9, np.uint8)) for s in range(10)]) for i in range(90)]
    assert (pixels(sheet(small)) == 9).all(axis=2).sum() == 900 * 80 * 80
    assert (pixels(sheet(small[:9])) == 9).all(axis=2).sum() == 90 * 120 * 120
    assert (pixels(sheet(small[:9], side=119)) == 9).all(axis=2).sum() == 90 * 80 * 80
    assert pixels(sheet([])).size


MADE = """
from corruptset.pages.sheets.sheet import SheetLine, sheet
import numpy as np, hashlib
steps = np.arange(32 * 32 * 3).reshape(32, 32, 3).astype(np.uint8)
first = SheetLine("fog", [("1", steps), ("omega", steps[:, :, :1]), ("\\u65e5", None)], ["alone", "snow-3"])
lines = [first, SheetLine("heading"), SheetLine("", [("x", steps[:20]), ("reduced", np.tile(steps, (9, 10, 1)))])]
legend = [("right", (255, 255, 255)), ("wrong", (9, 9, 9))]
print(hashlib.sha256(sheet(lines, title="title: " + "n/" * 90, legend=legend)).hexdigest())
"""


def test_the_same_bytes_in_every_process() -> None:
    def made(seed: str) -> bytes:
        environment = {"PYTHONHASHSEED": seed}
        return subprocess.run([sys.executable, "-c", MADE], env=environment, capture_output=True, check=True).stdout

    assert made("1") == made("2")


def test_sheets_have_the_colours_of_the_page() -> None:
    import corruptset.pages

    style = (Path(corruptset.pages.__file__).parent / "templates/page.css").read_text()
    light = dict(re.findall(r"--(\w+): (#\w+);", style.partition("@media")[0]))
    assert (light["ink"], light["soft"], light["line"], light["paper"]) == (INK, SOFT, LINE, "#fff")
    assert PAPER == "#ffffff"
