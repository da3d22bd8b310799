"""The contact sheet: one picture under every set, as a labelled grid of corruption x severity."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from ..corruptions.registry import Images

Cell = tuple[str, NDArray[np.uint8]]
Row = tuple[str, Sequence[Cell]]

MOST_PIXELS = 16_000_000
MOST_CELL_SIDE = 256
GAP = 4
LINE = 14
_INK, _PAPER = (20, 20, 20), (255, 255, 255)


def sheet_rows(cells: Sequence[Cell]) -> list[Row]:
    """Return sets' images as rows of a sheet: one row a corruption with its severities as columns; others stand alone.

    Parameters
    ----------
    cells : sequence of (set id, (H, W, C) ndarray of uint8)
        In the order in which rows and columns appear.
    """
    rows: dict[str, list[Cell]] = {}
    for set_id, image in cells:
        corruption, slash, severity = set_id.rpartition("/")
        rows.setdefault(corruption if slash else "", []).append((severity if slash else set_id, image))
    alone = rows.pop("", [])
    return [*rows.items(), *([("", alone)] if alone else [])]


def contact_sheet(rows: Sequence[Row], *, clean: Images | None = None, title: str = "") -> bytes:
    """Return a contact sheet as PNG.

    Parameters
    ----------
    rows : sequence of (label, [(label, (H, W, C) ndarray of uint8), ...])
        A row longer than the sheet is wide (six cells) is wrapped.
    clean : (H, W, C) ndarray of uint8, optional
        The uncorrupted picture, shown first in every labelled row's place of severity 0: once, in the first row.
    title : str
        Written above.

    Returns
    -------
    bytes
        The same for the same input and release of Pillow: its built-in bitmap font is used, whatever fonts are there.

    Notes
    -----
    Cells have the picture's own size up to 256 pixels a side and a total of 16 million pixels, and are reduced beyond.
    """
    lines = _lines(rows, clean)
    columns = max((len(cells) for _, cells in lines), default=1)
    width, height = _cell_size([image for _, cells in lines for _, image in cells], len(lines) * columns)
    font = ImageFont.load_default_imagefont()
    labels = max((int(font.getlength(_plain(label))) for label, _ in lines), default=0)
    left = labels + 2 * GAP if labels else GAP
    top = LINE + 2 * GAP if title else GAP
    sheet = Image.new("RGB", (left + columns * (width + GAP), top + len(lines) * (height + LINE + GAP)), _PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.text((GAP, GAP), _plain(title), fill=_INK, font=font)
    for r, (label, cells) in enumerate(lines):
        y = top + r * (height + LINE + GAP)
        draw.text((GAP, y + LINE + height // 2 - LINE // 2), _plain(label), fill=_INK, font=font)
        for c, (name, image) in enumerate(cells):
            x = left + c * (width + GAP)
            draw.text((x, y + 1), _fitted(_plain(name), font, width), fill=_INK, font=font)
            sheet.paste(_picture(image, width, height), (x, y + LINE))
    out = io.BytesIO()
    sheet.save(out, "PNG", compress_level=3)
    return out.getvalue()


_COLUMNS = 6


def _lines(rows: Sequence[Row], clean: Images | None) -> list[tuple[str, list[Cell]]]:
    """Return rows of at most six cells, clean first."""
    lines: list[tuple[str, list[Cell]]] = []
    if clean is not None:
        lines.append(("", [("clean", clean)]))
    for label, cells in rows:
        for start in range(0, len(cells), _COLUMNS):
            lines.append((label if start == 0 else "", list(cells[start : start + _COLUMNS])))
    return lines


def _cell_size(images: Sequence[Images], cells: int) -> tuple[int, int]:
    width = max((i.shape[1] for i in images), default=1)
    height = max((i.shape[0] for i in images), default=1)
    factor = min(1.0, MOST_CELL_SIDE / max(width, height), (MOST_PIXELS / max(1, cells * width * height)) ** 0.5)
    return max(1, int(width * factor)), max(1, int(height * factor))


def _picture(image: Images, width: int, height: int) -> Image.Image:
    picture = Image.fromarray(image if image.shape[2] == 3 else image[:, :, 0]).convert("RGB")
    if picture.width > width or picture.height > height:
        factor = min(width / picture.width, height / picture.height)
        picture = picture.resize((max(1, int(picture.width * factor)), max(1, int(picture.height * factor))), Image.Resampling.BOX)
    return picture


def _plain(text: str) -> str:
    """Return what the built-in font can write."""
    return text.encode("latin-1", "replace").decode("latin-1")


def _fitted(text: str, font: ImageFont.ImageFont, width: int) -> str:
    while text and font.getlength(text) > width:
        text = text[:-1]
    return text
