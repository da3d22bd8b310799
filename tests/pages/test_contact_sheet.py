"""Test that the images of contact sheets are complete, enlarged and framed, and that texts do not cover them."""

from __future__ import annotations

import io
from itertools import product

import numpy as np
import pytest
from PIL import Image, ImageColor

from corruptset.pages.contact_sheet import (
    BLANK,
    GAP,
    HEADING,
    LINE,
    LINE_HEIGHT,
    MIN_IMAGE_SIDE,
    PAPER,
    TEXT,
    SheetRow,
    draw_sheet,
    printable,
    shorten,
    text_width,
    tile,
)
from example_images import synthetic_image

WHITE, EDGE = ImageColor.getrgb(PAPER), ImageColor.getrgb(LINE)
LONG = "a_long_name_of_a_set-" * 12 + "end"


def pixels(data):
    with Image.open(io.BytesIO(data)) as image:
        assert image.mode == "RGB"
        return np.asarray(image)


def place(canvas, draws):
    """Return the position (x, y) of an array that occurs exactly once in the sheet."""
    height, wide = draws.shape[:2]
    corners = np.argwhere((canvas == draws[0, 0]).all(axis=2)).tolist()
    result = [(x, y) for y, x in corners if np.array_equal(canvas[y : y + height, x : x + wide], draws)]
    assert len(result) == 1
    return result[0]


def enlarge(image, factor):
    large = image.repeat(factor, axis=0).repeat(factor, axis=1)
    return np.broadcast_to(large, (*large.shape[:2], 3))


def flat_image(value, *sizes):
    """Return cells with images of one colour."""
    return [(str(n), np.full((*size, 3), value, np.uint8)) for n, size in enumerate(sizes)]


def count(data, value):
    """Return the number of pixels of a sheet that have a grey value."""
    return (pixels(data) == value).all(axis=2).sum()


def test_images_are_complete_framed_and_enlarged_by_integers():
    shapes = {(8, 8, 3): 12, (28, 28, 1): 4, (32, 32, 3): 3, (40, 8, 3): 3, (95, 30, 1): 2, (224, 224, 3): 1}
    for shape, factor in shapes.items():
        images = [synthetic_image(*shape, which=i) for i in range(3)]
        canvas = pixels(draw_sheet([SheetRow("row", [(f"n{i}", p) for i, p in enumerate(images)])], title="title"))
        corners = [place(canvas, enlarge(p, factor)) for p in images]
        high, wide = factor * shape[0], factor * shape[1]
        assert max(high, wide) >= MIN_IMAGE_SIDE
        for x, y in corners:
            around = canvas[y - 1 : y + high + 1, x - 1 : x + wide + 1].copy()
            around[1:-1, 1:-1] = EDGE
            assert (around == EDGE).all()
        assert len({y for _, y in corners}) == 1
        assert corners[1][0] - corners[0][0] == corners[2][0] - corners[1][0] >= wide + GAP
    small, large = synthetic_image(32, 32), synthetic_image(100, 100, which=1)
    canvas = pixels(draw_sheet([SheetRow("", [("", small), ("", large), ("", None), ("", BLANK)])]))
    place(canvas, enlarge(small, 3))
    place(canvas, large)
    wide = [SheetRow("", flat_image(77, (500, 1000)))]
    assert (count(draw_sheet(wide), 77), count(draw_sheet(wide, side=100), 77)) == (128 * 256, 50 * 100)
    steps = np.repeat(np.arange(0, 200, 10, dtype=np.uint8), 5)[None, :, None].repeat(10, axis=0)
    assert np.asarray(tile(steps, 20, 99))[0].tolist() == list(range(0, 200, 10))


@pytest.mark.parametrize("side", [28, 224])
def test_names_are_complete_and_overlap_nothing(side):
    """Draw white images, so that all pixels other than frames and background belong to text."""
    names = ["1", "gaussian_noise-5", LONG, "日本", "a name of several words that needs lines"]
    cells = [(name, np.full((side, side, 3), 255, np.uint8)) for name in names]
    canvas = pixels(draw_sheet([SheetRow("label", cells, names), SheetRow(LONG, cells), SheetRow(LONG)], title=LONG))
    edges = (canvas == EDGE).all(axis=2)
    letters = ~(canvas == WHITE).all(axis=2) & ~edges
    # Nothing is drawn at the border of the sheet.
    for border in (letters[:, -GAP:], letters[:, : GAP - 2], letters[:GAP], letters[-GAP // 2 :]):
        assert not border.any()
    # Nothing is drawn on an image or its frame.
    top, left = np.argwhere(edges)[0]
    wide = int(np.argmin(edges[top, left:]))
    starts = (np.flatnonzero(edges[top, 1:] & ~edges[top, :-1]) + 1).tolist()
    second = top + wide + np.argmax(edges[top + wide :, left])
    assert len(starts) == len(names)
    assert not any(letters[top : top + wide, x : x + wide].any() for x in starts)
    # The gap between columns is empty from the top of the headings to the names below.
    for x in starts[1:]:
        assert not letters[top - LINE_HEIGHT : second - LINE_HEIGHT, x - GAP // 2 + 1 : x].any()
    # Each name has the width of its text.
    pitch = starts[1] - starts[0]
    assert pitch - GAP == max(min(200, max(map(text_width, names))), wide - 2)
    for x, name in zip(starts, names, strict=True):
        drawn = np.flatnonzero(letters[top + wide + 3 : top + wide + 3 + LINE_HEIGHT, x : x + pitch].any(axis=0))
        assert abs(drawn.max() + 1 - text_width(shorten(name, pitch - GAP).replace("…", "..."))) <= 8, name


def test_long_text_loses_only_its_middle():
    for text, width, size in product([LONG, "fog-3", "Ünal-7 ∞", "tab\there", ""], (40, 160, 700), (TEXT, HEADING)):
        short_text, full_text = shorten(text, width, size), printable(text)
        if text_width(text, size) <= width:
            assert short_text == full_text
            continue
        head, _, tail = short_text.partition("…")
        assert (full_text.startswith(head), full_text.endswith(tail)) == (True, True)
        assert 0 <= len(head) - len(tail) <= 1
        # A larger factor would not fit.
        assert width - 2 * size < text_width(head + "..." + tail, size) <= width + size


def test_every_ascii_letter_is_drawn_and_others_are_escaped():
    letters = "".join(map(chr, range(33, 127)))
    sheets = {letter: pixels(draw_sheet([SheetRow("", [(letter, BLANK)])])).tobytes() for letter in letters}
    assert len(set(sheets.values())) == len(letters)
    texts = (letters.replace("\\", ""), "naïve", "日", "😀", "\udcff\x00", "a\nb")
    written = (texts[0], r"na\xefve", r"\u65e5", r"\U0001f600", r"\udcff\x00", r"a\nb")
    assert tuple(map(printable, texts)) == written


def test_legend_explains_colours():
    entries = [(f"colour number {i}", (10 * i, 0, 200)) for i in range(9)]
    canvas = pixels(draw_sheet([SheetRow("", [("", synthetic_image(96, 96))])], legend=entries))
    for _, colour in entries:
        y, x = np.nonzero((canvas == colour).all(axis=2))
        assert len(y) == 144
        assert canvas[y.min() - 1, x.min() - 1].tolist() == list(EDGE)
    assert len({int(np.nonzero((canvas == colour).all(axis=2))[0].min()) for _, colour in entries}) > 1


def test_sheets_are_bounded(monkeypatch):
    max_pixels = 1_600_000
    monkeypatch.setattr("corruptset.pages.contact_sheet.MAX_PIXELS", max_pixels)
    wide, small = ([SheetRow(f"r{i}", flat_image(9, *[(n, n)] * 10)) for i in range(9)] for n in (200, 40))
    assert 0.8 * max_pixels < np.prod(pixels(draw_sheet(wide)).shape[:2]) <= max_pixels
    assert count(draw_sheet(small), 9) == 90 * 80 * 80
    assert count(draw_sheet(small[:1]), 9) == 10 * 120 * 120
    assert count(draw_sheet(small[:1], side=119), 9) == 10 * 80 * 80
    assert pixels(draw_sheet([])).size
