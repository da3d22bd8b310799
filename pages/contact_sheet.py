"""Draw contact sheets, which are rows of labelled images in one PNG file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]
Pixels = NDArray[np.uint8]
"""An (H, W, C) image, in colour or grey."""
Cell = tuple[str, Pixels | None]
"""The text below an image, and the image. A missing image (None) is drawn as a dash."""
BLANK: Pixels = np.empty((0, 0, 3), np.uint8)
"""An image for a cell that stays empty."""
PAPER, INK, SOFT, LINE = "#ffffff", "#1a1c20", "#53585f", "#c9cdd3"
"""The colours of pages in the light colour scheme."""
GAP, LINE_HEIGHT = 8, 18
TEXT, HEADING = 13, 16
"""The font sizes in pixels."""
MIN_IMAGE_SIDE, MAX_IMAGE_SIDE = 96, 256
"""The preferred range for the longer side of images, in pixels."""
MAX_PIXELS = 16_000_000
MIN_SHEET_WIDTH = 480
"""The minimum width of a sheet in pixels."""
MAX_NAME_WIDTH, MAX_LABEL_WIDTH = 200, 240
"""The maximum width of names and row labels in pixels."""
_SWATCH = 12


@dataclass(frozen=True)
class SheetRow:
    """A row of a contact sheet.

    Attributes
    ----------
    label : str
        The text to the left of the cells. In a row without cells it is a heading.
    cells : sequence of Cell
    heads : sequence of str
        The texts above the cells.
    """

    label: str
    cells: Sequence[Cell] = ()
    heads: Sequence[str] = ()


def draw_sheet(
    rows: Sequence[SheetRow], *, title: str = "", legend: Sequence[tuple[str, Colour]] = (), side: int = MAX_IMAGE_SIDE
) -> bytes:
    """Return a contact sheet as the contents of a PNG file.

    Parameters
    ----------
    rows : sequence of SheetRow
    title : str
    legend : sequence of (str, (red, green, blue))
        The name of each colour, and the colour. The legend is drawn below the rows.
    side : int
        The maximum length of an image's longer side in pixels.

    Notes
    -----
    If all images are smaller than 96 pixels, they are enlarged by an integer factor, so that each pixel becomes a
    square. Images are scaled down if they are larger than `side` or if the sheet would have more than 16 million
    pixels. If text is too wide, an ellipsis replaces its middle.
    """
    layout = _layout(rows, bool(title), side)
    legend_rows = _legend_rows(legend, layout.width)
    height = layout.height + LINE_HEIGHT * len(legend_rows) + GAP * bool(legend)
    canvas = Image.new("RGB", (layout.width, height), PAPER)
    draw = ImageDraw.Draw(canvas)
    y = GAP
    if title:
        _write(draw, GAP, y, shorten(title, layout.width - 2 * GAP, HEADING), INK, HEADING)
        y += LINE_HEIGHT + GAP
    for row in rows:
        _draw_row(canvas, draw, y, row, layout)
        y += layout.height_of(row)
    for entries in legend_rows:
        for x, name, colour in entries:
            draw.rectangle((x - 1, y + 2, x + _SWATCH, y + 3 + _SWATCH), fill=colour, outline=LINE)
            _write(draw, x + _SWATCH + GAP, y, printable(name), INK)
        y += LINE_HEIGHT
    file = io.BytesIO()
    canvas.save(file, "PNG", compress_level=3)
    return file.getvalue()


@dataclass(frozen=True)
class _Layout:
    """The dimensions of a sheet in pixels."""

    label_width: int
    left: int
    pitch: int
    tile_width: int
    tile_height: int
    width: int
    height: int = 0

    def height_of(self, row: SheetRow) -> int:
        """Return the height of a row, including the gap below it."""
        if not row.cells:
            return LINE_HEIGHT + GAP
        names = (LINE_HEIGHT + GAP // 2) * any(name for name, _ in row.cells)
        return LINE_HEIGHT * any(row.heads) + max(self.tile_height + names, LINE_HEIGHT) + GAP


def _layout(rows: Sequence[SheetRow], has_title: bool, side: int) -> _Layout:
    """Return the layout in which the images are as large as possible."""
    cells = [cell for row in rows for cell in row.cells]
    columns = max((len(row.cells) for row in rows), default=0)
    names = {name for row in rows for name in (*row.heads, *(name for name, _ in row.cells))}
    widest_name = min(MAX_NAME_WIDTH, max(map(text_width, names), default=0))
    label_width = min(MAX_LABEL_WIDTH, max((text_width(row.label) for row in rows if row.cells), default=0))
    left = GAP + (label_width + GAP if label_width else 0)
    shapes = [image.shape for _, image in cells if image is not None and image.size] or [(1, 1, 3)]
    high, wide = (max(shape[axis] for shape in shapes) for axis in (0, 1))
    longest = max(high, wide)
    factor = side / longest if longest > side else float(max(1, min(-(-MIN_IMAGE_SIDE // longest), side // longest)))
    while True:
        tile_width, tile_height = max(1, int(wide * factor)), max(1, int(high * factor))
        pitch = max(tile_width, widest_name) + GAP
        width = max(MIN_SHEET_WIDTH, left + columns * pitch)
        layout = _Layout(label_width, left, pitch, tile_width, tile_height, width)
        height = GAP + (LINE_HEIGHT + GAP) * has_title + sum(map(layout.height_of, rows))
        if width * height <= MAX_PIXELS or tile_width == tile_height == 1:
            return replace(layout, height=height)
        factor = factor - 1 if factor > 1 else factor * min(0.99, sqrt(MAX_PIXELS / (width * height)))


def _draw_row(canvas: Image.Image, draw: ImageDraw.ImageDraw, y: int, row: SheetRow, layout: _Layout) -> None:
    """Draw a row whose upper edge is at `y`."""
    if not row.cells:
        _write(draw, GAP, y, shorten(row.label, layout.width - 2 * GAP, HEADING), INK, HEADING)
        return
    places = [layout.left + column * layout.pitch for column in range(len(row.cells))]
    for x, head in zip(places, row.heads, strict=False):
        _write(draw, x, y, shorten(head, layout.pitch - GAP), INK)
    top = y + LINE_HEIGHT * any(row.heads)
    middle = top + (layout.tile_height - LINE_HEIGHT) // 2
    _write(draw, GAP, max(top, middle), shorten(row.label, layout.label_width), INK)
    for x, (name, image) in zip(places, row.cells, strict=True):
        if image is None:
            _write(draw, x + layout.tile_width // 2, middle, "-", SOFT)
        elif image.size:
            drawn = tile(image, layout.tile_width, layout.tile_height)
            draw.rectangle((x - 1, top - 1, x + drawn.width, top + drawn.height), outline=LINE)
            canvas.paste(drawn, (x, top))
        _write(draw, x, top + layout.tile_height + 3, shorten(name, layout.pitch - GAP), SOFT)


def _legend_rows(legend: Sequence[tuple[str, Colour]], width: int) -> list[list[tuple[int, str, Colour]]]:
    """Return the rows of a legend, with the position, name and colour of each entry."""
    rows: list[list[tuple[int, str, Colour]]] = []
    x = width
    for name, colour in legend:
        wide = _SWATCH + 3 * GAP + text_width(name)
        if not rows or x + wide > width:
            rows.append([])
            x = GAP
        rows[-1].append((x, name, colour))
        x += wide
    return rows


def tile(image: Pixels, width: int, height: int) -> Image.Image:
    """Return an image that is resized to fit into a cell.

    A small image is enlarged by an integer factor, so that each pixel becomes a square. A large image is scaled down by
    averaging.
    """
    drawn = Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image)
    if factor := min(width // drawn.width, height // drawn.height):
        return drawn.resize((factor * drawn.width, factor * drawn.height), Image.Resampling.NEAREST)
    share = min(width / drawn.width, height / drawn.height)
    return drawn.resize((max(1, int(drawn.width * share)), max(1, int(drawn.height * share))), Image.Resampling.BOX)


def printable(text: str) -> str:
    """Return text in ASCII, because the font has no other characters. Escape sequences replace the missing characters.

    Examples
    --------
    >>> printable("fog-3"), printable("Ü/1")
    ('fog-3', '\\\\xdc/1')
    """
    return text.encode("unicode_escape").decode()


def text_width(text: str, size: int = TEXT) -> int:
    """Return the width of text in pixels."""
    return ceil(_font(size).getlength(printable(text)))


def shorten(text: str, width: int, size: int = TEXT) -> str:
    """Return text that is at most `width` pixels wide. If it is too long, an ellipsis replaces its middle.

    Examples
    --------
    >>> shorten("gaussian_noise", 200), shorten("a" * 50 + "/" + "7" * 50, 70)
    ('gaussian_noise', 'aaaa…7777')
    """
    full = printable(text)
    kept = len(full)
    shown = full
    while kept and _font(size).getlength(shown) > width:
        kept -= 1
        shown = f"{full[: kept - kept // 2]}…{full[len(full) - kept // 2 :]}"
    return shown


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _write(draw: ImageDraw.ImageDraw, x: int, y: int, text: str, colour: str, size: int = TEXT) -> None:
    draw.text((x, y), text, colour, _font(size))
