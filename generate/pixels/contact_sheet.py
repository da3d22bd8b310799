"""The contact sheet: one picture under every set, in labelled lines and grids."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from ...corruptions.registry import Images

Cell = tuple[str, NDArray[np.uint8] | None]
"""What is written above, and the picture, if there is one."""

MOST_PIXELS = 16_000_000
MOST_CELL_SIDE = 256
WIDEST_NAME = 144
"""Cells are as wide as what is written above them, up to so many pixels (24 letters)."""
SEVERITIES_A_LINE = 6
LEVELS_A_LINE = 10
ORDER = "first (down), then (across):"
ALONE = "alone"
NONE = "-"
"""Stands where there is no picture: an empty place would look like a white one."""
GAP = 4
LINE = 14
_INK, _PAPER = (20, 20, 20), (255, 255, 255)
_LEVEL = re.compile(r"[0-9]{2}")


@dataclass(frozen=True)
class Line:
    """One line of a sheet: what stands left of it, and its cells from left to right; without cells it is a line of text."""

    label: str
    cells: Sequence[Cell] = ()


def sheet_lines(cells: Iterable[tuple[str, NDArray[np.uint8]]]) -> list[Line]:
    """Return sets' images as the lines of a sheet.

    Parameters
    ----------
    cells : iterable of (set id, (H, W, C) ndarray of uint8)

    Returns
    -------
    list of Line
        Block below block, in each of them in the order of `cells`: corruptions with their severities, six a line; gradual
        degradations with their levels, ten a line; single sets with names of their own, six a line; and chains, as grids
        of what comes first x what comes last (of a chain of three the row is its first two).

        Rows that have a column in common, directly or by way of other rows, are one grid: fog and snow before two noises
        are one, the noises before fog and snow another, and fifteen corruptions before each other a single one. A set
        that is the first stage of a row alone stands in that row, in a column of its own; it stands in its corruption's
        line too where others of that line are no rows.
    """
    named = dict(cells)
    chains = {(name.rpartition("+")[0], name.rpartition("+")[2]): image for name, image in named.items() if "+" in name}
    columns_of: dict[str, list[str]] = {}
    for row, column in chains:
        columns_of.setdefault(row, []).append(column)
    families: dict[str, list[tuple[str, str]]] = {}
    for name in named:
        if "+" not in name:
            corruption, _, number = name.rpartition("/")
            families.setdefault(corruption, []).append((number, name))
    alone = {_link(name): named[name] for family in families.values() for _, name in family if _link(name) in columns_of}
    severities: list[Line] = []
    levels: list[Line] = []
    for corruption, family in families.items():
        if corruption and not all(_link(name) in alone for _, name in family):
            gradual = all(_LEVEL.fullmatch(number) for number, _ in family)
            shown = [(number, named[name]) for number, name in family]
            (levels if gradual else severities).extend(_wrapped(corruption, shown, LEVELS_A_LINE if gradual else SEVERITIES_A_LINE))
    others = _wrapped("", [(name, named[name]) for _, name in families.get("", []) if name not in alone], SEVERITIES_A_LINE)
    grids = [line for rows in _grids(columns_of) for line in _grid(rows, chains, alone)]
    return [*severities, *levels, *others, *grids]


def _link(name: str) -> str:
    """Return what a single set is called in a chain."""
    return "-".join(name.rsplit("/", 1))


def _wrapped(label: str, cells: Sequence[Cell], width: int) -> list[Line]:
    """Return cells as lines of so many, the label once."""
    return [Line("" if start else label, cells[start : start + width]) for start in range(0, len(cells), width)]


def _grids(columns_of: Mapping[str, Sequence[str]]) -> list[dict[str, Sequence[str]]]:
    """Return rows and their columns in groups that have neither a row nor a column in common."""
    grids: list[dict[str, Sequence[str]]] = []
    for row, columns in columns_of.items():
        met = [g for g in grids if not set(columns).isdisjoint(c for own in g.values() for c in own)]
        joined = {r: own for g in met for r, own in g.items()} | {row: columns}
        grids = [g for g in grids if g not in met] + [joined]
    order = {row: i for i, row in enumerate(columns_of)}
    sorted_rows = [dict(sorted(g.items(), key=lambda item: order[item[0]])) for g in grids]
    return sorted(sorted_rows, key=lambda g: order[next(iter(g))])


def _grid(
    rows: Mapping[str, Sequence[str]], chains: Mapping[tuple[str, str], NDArray[np.uint8]], alone: Mapping[str, NDArray[np.uint8]]
) -> list[Line]:
    """Return the lines of a grid, with what its columns are above the first."""
    all_columns = dict.fromkeys(c for columns in rows.values() for c in columns)
    # What is a row and a column has the same place in both, so that the two orders of a pair lie across the diagonal.
    columns = [*(r for r in rows if r in all_columns), *(c for c in all_columns if c not in rows)]
    lines = [Line(ORDER)]
    for number, row in enumerate(rows):
        cells: list[Cell] = [("", chains.get((row, column))) for column in columns]
        if any(r in alone for r in rows):
            cells.insert(0, ("", alone.get(row)))
        if number == 0:
            names = [ALONE, *columns] if len(cells) > len(columns) else columns
            cells = [(name, image) for name, (_, image) in zip(names, cells, strict=True)]
        lines.append(Line(row, cells))
    return lines


def thinned(ids: Sequence[str], most: int) -> list[str]:
    """Return at most so many set ids for a sheet, spread evenly; of chains, those between stages that are spread evenly.

    Examples
    --------
    >>> thinned([f"fog/{n}" for n in range(1, 6)], 3)
    ['fog/1', 'fog/2', 'fog/4']
    >>> thinned([f"{a}-1+{b}-1" for a in "pqrs" for b in "pqrs"], 4)
    ['p-1+p-1', 'p-1+r-1', 'r-1+p-1', 'r-1+r-1']
    """
    if len(ids) <= most:
        return list(ids)
    stages = list(dict.fromkeys(stage for name in ids if "+" in name for stage in name.split("+")))
    for count in range(len(stages), 1, -1):
        kept = set(_spread(stages, count))
        shown = [name for name in ids if "+" not in name or kept.issuperset(name.split("+"))]
        if len(shown) <= most and any("+" in name for name in shown):
            return shown
    return _spread(ids, most)


def _spread(items: Sequence[str], count: int) -> list[str]:
    return [items[(i * len(items)) // count] for i in range(count)]


def contact_sheet(lines: Sequence[Line], *, clean: Images | None = None, title: str = "") -> bytes:
    """Return a contact sheet as PNG.

    Parameters
    ----------
    lines : sequence of Line
    clean : (H, W, C) ndarray of uint8, optional
        The uncorrupted picture, shown first, on a line of its own.
    title : str
        Written above.

    Returns
    -------
    bytes
        The same for the same input and release of Pillow: its built-in bitmap font is used, whatever fonts are there.

    Notes
    -----
    Cells have the pictures' own size up to 256 pixels a side, and are reduced until the sheet has at most 16 million pixels.
    """
    lines = [*([] if clean is None else [Line("", [("clean", clean)])]), *lines]
    font = ImageFont.load_default_imagefont()
    labels = max((int(font.getlength(_plain(line.label))) for line in lines if line.cells), default=0)
    sheet = _Frame(lines, left=labels + 2 * GAP if labels else GAP, top=LINE + 2 * GAP if title else GAP, font=font)
    canvas = Image.new("RGB", sheet.size, _PAPER)
    draw = ImageDraw.Draw(canvas)
    draw.text((GAP, GAP), _plain(title), fill=_INK, font=font)
    y = sheet.top
    for line in lines:
        under = y + sheet.headline(line)
        middle = under + sheet.height // 2 - LINE // 2 if line.cells else y + 1
        draw.text((GAP, middle), _plain(line.label), fill=_INK, font=font)
        for column, (name, image) in enumerate(line.cells):
            x = sheet.left + column * sheet.pitch
            draw.text((x, y + 1), _fitted(_plain(name), font, sheet.pitch - GAP), fill=_INK, font=font)
            if image is None:
                draw.text((x + sheet.width // 2, middle), NONE, fill=_INK, font=font)
            else:
                canvas.paste(_picture(image, sheet.width, sheet.height), (x, under))
        y += sheet.height_of(line)
    out = io.BytesIO()
    canvas.save(out, "PNG", compress_level=3)
    return out.getvalue()


class _Frame:
    """The measures of a sheet, with cells as large as they may be."""

    def __init__(self, lines: Sequence[Line], *, left: int, top: int, font: ImageFont.ImageFont) -> None:
        self.lines, self.left, self.top = lines, left, top
        cells = [cell for line in lines for cell in line.cells]
        self.columns = max((len(line.cells) for line in lines), default=1)
        self.name = min(WIDEST_NAME, max((int(font.getlength(_plain(name))) for name, _ in cells), default=0))
        width = max((image.shape[1] for _, image in cells if image is not None), default=1)
        height = max((image.shape[0] for _, image in cells if image is not None), default=1)
        factor = min(1.0, MOST_CELL_SIDE / max(width, height))
        while True:
            self.width, self.height = max(1, int(width * factor)), max(1, int(height * factor))
            if self.size[0] * self.size[1] <= MOST_PIXELS or self.width == self.height == 1:
                return
            factor *= 0.99

    @property
    def pitch(self) -> int:
        """Pixels from one cell to the next."""
        return max(self.width, self.name) + GAP

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the sheet."""
        return self.left + self.columns * self.pitch, self.top + sum(map(self.height_of, self.lines))

    def headline(self, line: Line) -> int:
        """Return the height of what is written above a line's pictures."""
        return LINE if any(name for name, _ in line.cells) else 0

    def height_of(self, line: Line) -> int:
        """Return the height of a line with the gap below it."""
        return self.headline(line) + self.height + GAP if line.cells else LINE + GAP


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
