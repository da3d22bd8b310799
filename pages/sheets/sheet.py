"""A sheet: a title, and lines of pictures with their names.

Pictures are as large as they may be.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from .letters import HEADING, LEADING, NAME, fitted, font, printable, width
from .style import GAP, INK, LARGEST, LINE, PAPER, READABLE, SOFT, Colour

Picture = NDArray[np.uint8]
"""(H, W, C), RGB or grey."""
Cell = tuple[str, Picture | None]
"""What is written below, and the picture, if there is one."""
NONE = "-"
"""Stands where there is no picture: an empty place would look like a white one."""
BLANK: Picture = np.empty((0, 0, 3), np.uint8)
"""A place that stays empty."""
MOST_PIXELS = 16_000_000
LEAST_WIDTH = 480
"""Of a sheet with a title."""
WIDEST_NAME, WIDEST_LABEL = 160, 180
"""Pixels: places are as wide as their names, up to so many; longer ones are broken into lines."""
NAME_LINES, TITLE_LINES = 3, 4
"""Of a longer text the middle is left out."""
_SWATCH = 12


@dataclass(frozen=True)
class SheetLine:
    """One line of a sheet: what stands left of it, and its cells.

    Without cells it is a heading.
    """

    label: str
    cells: Sequence[Cell] = ()
    heads: Sequence[str] = ()
    """What is written above the cells."""


def sheet(
    lines: Sequence[SheetLine], *, title: str = "", legend: Sequence[tuple[str, Colour]] = (), side: int = LARGEST
) -> bytes:
    """Return a sheet as PNG.

    Parameters
    ----------
    lines : sequence of Line
    title : str
        Written above.
    legend : sequence of (str, (red, green, blue))
        What colours mean, written below.
    side : int
        Pixels of the longer side of a picture at most.

    Notes
    -----
    Pictures have their own size up to `side`. Where all are smaller than 96 pixels, the largest is enlarged by a whole
    factor until it is not (and not above `side`), each other one as far as it fits the same place. They are reduced
    until the sheet has at most 16 million pixels.
    """
    frame = _Frame(lines, title, legend, side)
    canvas = Image.new("RGB", (frame.width, frame.height), PAPER)
    draw = ImageDraw.Draw(canvas)
    y = _put_text(draw, GAP, GAP, frame.title, INK, HEADING) + (GAP if frame.title else 0)
    for line in lines:
        y = _put_line(draw, canvas, y, line, frame)
    for x, down, (name, colour) in frame.swatches(y):
        draw.rectangle((x - 1, down + 2, x + _SWATCH, down + 3 + _SWATCH), fill=colour, outline=LINE)
        _put_text(draw, x + _SWATCH + GAP, down, [printable(name)], INK)
    file = io.BytesIO()
    canvas.save(file, "PNG", compress_level=3)
    return file.getvalue()


def _put_line(draw: ImageDraw.ImageDraw, canvas: Image.Image, y: int, line: SheetLine, frame: _Frame) -> int:
    """Draw a line from y down; return where the next begins."""
    if not line.cells:
        return _put_text(draw, GAP, y, frame.heading(line), INK, HEADING) + GAP
    top = y + LEADING * frame.rows(line.heads)
    for column, head in enumerate(line.heads):
        lines = frame.name(head)
        _put_text(draw, frame.left + column * frame.pitch, top - 2 - LEADING * len(lines), lines, INK)
    middle = top + frame.tile_height // 2
    label = frame.label(line)
    _put_text(draw, GAP, max(top, middle - LEADING * len(label) // 2), label, INK)
    for column, (name, picture) in enumerate(line.cells):
        x = frame.left + column * frame.pitch
        if picture is None:
            _put_text(draw, x + (frame.tile_width - width(NONE)) // 2, middle - LEADING // 2, [NONE], SOFT)
        elif picture.size:
            drawn = tile(picture, frame.tile_width, frame.tile_height)
            draw.rectangle((x - 1, top - 1, x + drawn.width, top + drawn.height), outline=LINE)
            canvas.paste(drawn, (x, top))
        _put_text(draw, x, top + frame.tile_height + 3, frame.name(name), SOFT)
    return y + frame.height_of(line)


def _put_text(draw: ImageDraw.ImageDraw, x: int, y: int, lines: Sequence[str], colour: str, size: int = NAME) -> int:
    """Write lines below each other; return where the next would be."""
    for number, text in enumerate(lines):
        draw.text((x, y + number * LEADING), text, colour, font(size))
    return y + len(lines) * LEADING


class _Frame:
    """The measures of a sheet, with pictures as large as they may be."""

    def __init__(self, lines: Sequence[SheetLine], title: str, legend: Sequence[tuple[str, Colour]], side: int) -> None:
        self.lines, self.legend = lines, legend
        cells = [cell for line in lines for cell in line.cells]
        self.columns = max((len(line.cells) for line in lines), default=0)
        names = {name for line in lines for name in (*line.heads, *(name for name, _ in line.cells))}
        self.widest_name = min(WIDEST_NAME, max(map(width, names), default=0))
        self.widest_label = min(WIDEST_LABEL, max((width(line.label) for line in lines if line.cells), default=0))
        self.left = GAP + (self.widest_label + GAP if self.widest_label else 0)
        shapes = [picture.shape for _, picture in cells if picture is not None and picture.size] or [(1, 1, 3)]
        high, wide = (max(shape[axis] for shape in shapes) for axis in (0, 1))
        longest = max(high, wide)
        factor = side / longest if longest > side else float(max(1, min(-(-READABLE // longest), side // longest)))
        while True:
            self.tile_width, self.tile_height = max(1, int(wide * factor)), max(1, int(high * factor))
            self.pitch = max(self.tile_width, self.widest_name) + GAP
            least = LEAST_WIDTH if title or legend or not all(line.cells for line in lines) else 0
            self.width = max(least, self.left + self.columns * self.pitch)
            self.title = fitted(title, self.width - 2 * GAP, TITLE_LINES, HEADING)
            self.height = (
                GAP
                + (LEADING * len(self.title) + GAP) * bool(title)
                + sum(map(self.height_of, lines))
                + self._legend_height()
            )
            if self.width * self.height <= MOST_PIXELS or self.tile_width == self.tile_height == 1:
                return
            factor = factor - 1 if factor > 1 else factor * min(0.99, sqrt(MOST_PIXELS / (self.width * self.height)))

    def name(self, text: str) -> list[str]:
        """Return what is written above or below a picture, in lines."""
        return fitted(text, self.pitch - GAP, NAME_LINES)

    def label(self, line: SheetLine) -> list[str]:
        """Return what stands left of a line, in lines."""
        return fitted(line.label, self.widest_label, NAME_LINES)

    def heading(self, line: SheetLine) -> list[str]:
        """Return a heading, in lines."""
        return fitted(line.label, self.width - 2 * GAP, NAME_LINES, HEADING)

    def rows(self, names: Sequence[str]) -> int:
        """Return the lines of text of the longest of some names."""
        return max((len(self.name(name)) for name in names), default=0)

    def height_of(self, line: SheetLine) -> int:
        """Return the height of a line with the gap below it."""
        if not line.cells:
            return LEADING * len(self.heading(line)) + GAP
        names = self.rows([name for name, _ in line.cells])
        body = self.tile_height + LEADING * names + GAP // 2 * bool(names)
        return LEADING * self.rows(line.heads) + max(body, LEADING * len(self.label(line))) + GAP

    def swatches(self, y: int) -> list[tuple[int, int, tuple[str, Colour]]]:
        """Return where each colour of the legend stands: x, y, and what it is."""
        x, places = GAP, []
        for entry in self.legend:
            wide = _SWATCH + GAP + width(entry[0]) + 2 * GAP
            if x > GAP and x + wide > self.width:
                x, y = GAP, y + LEADING
            places.append((x, y, entry))
            x += wide
        return places

    def _legend_height(self) -> int:
        return max((y + LEADING + GAP for _, y, _ in self.swatches(0)), default=0)


def tile(picture: Picture, width: int, height: int) -> Image.Image:
    """Return a picture that fits a place.

    Its pixels are squares of a whole number of pixels, or it is reduced by the mean over boxes.
    """
    image = Image.fromarray(picture[:, :, 0] if picture.shape[2] == 1 else picture)
    factor = min(width // image.width, height // image.height)
    if factor:
        return image.resize((factor * image.width, factor * image.height), Image.Resampling.NEAREST)
    share = min(width / image.width, height / image.height)
    return image.resize((max(1, int(image.width * share)), max(1, int(image.height * share))), Image.Resampling.BOX)
