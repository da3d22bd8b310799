"""Figures as files, SVG and PNG; one release of Pillow writes the same bytes."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from .charts import Shape, element, look
from .sheets.letters import font, printable
from .sheets.style import INK, LINE, PAPER, SOFT

if TYPE_CHECKING:
    from markupsafe import Markup

COLOURS = ("#0072b2", "#c75300", "#00805d", "#b4508c", "#946800", "#2b84bf", "#3c4046", "#7a5527")
"""Those of the page in light."""
_CIRCLE = [(3.4 * math.cos(n * math.pi / 12), 3.4 * math.sin(n * math.pi / 12)) for n in range(24)]
MARKERS = (
    f"M{'L'.join(f'{x:.2f} {y:.2f}' for x, y in _CIRCLE)}Z",
    "M-3 -3L3 -3L3 3L-3 3Z",
    "M0 -4L4 3L-4 3Z",
    "M0 -4.4L4.4 0L0 4.4L-4.4 0Z",
    "M0 4L4 -3L-4 -3Z",
    "M-1.4 -4L1.4 -4L1.4 -1.4L4 -1.4L4 1.4L1.4 1.4L1.4 4L-1.4 4L-1.4 1.4L-4 1.4L-4 -1.4L-1.4 -1.4Z",
    "M-4 -2.2L-2.2 -4L0 -1.8L2.2 -4L4 -2.2L1.8 0L4 2.2L2.2 4L0 1.8L-2.2 4L-4 2.2L-1.8 0Z",
    "M0 -4.6L1.2 -1.4L4.5 -1.4L1.9 0.6L2.8 3.9L0 2L-2.8 3.9L-1.9 0.6L-4.5 -1.4L-1.2 -1.4Z",
)
"""Around (0, 0), as paths of SVG."""
DASHES: tuple[Sequence[float], ...] = ((), (7, 2.5), (2, 2), (7, 2, 2, 2))
STROKES = {
    "rule": (LINE, 0.8),
    "split": (SOFT, 1.0),
    "line": (None, 1.8),
    "arm": (None, 1.2),
    "halo": (PAPER, 5.0),
    "ink": (INK, 1.5),
}
"""Kind of a line -> its colour, None for the model's, and its width."""
AREAS = {
    "spot": None, "bar": None, "cell": "#f2f4f6", "up-1": "#e6f1f7", "up-2": "#cce3f0", "up-3": "#add2e6",
    "down-1": "#f9eee6", "down-2": "#f4ddcc", "down-3": "#edc8ad",
}  # fmt: skip
"""Kind of an area -> its colour, None for the model's."""
ANCHORS = {"x": "middle", "cell-text": "middle", "y": "end", "corner end": "end"}
"""Kind of a text -> which part of it lies where it is put; the beginning of any other."""
SOFT_TEXTS = ("x", "y")
LETTERS = 11
"""Size of letters, in the units of figures."""
DOTS, FINE = 2, 2
"""Pixels of a PNG a unit at most, and how much finer its shapes are drawn before they are reduced."""
MOST_PIXELS = 16_000_000
"""Of a PNG: a larger figure has fewer pixels a unit."""


class Figure(NamedTuple):
    """Shapes on paper."""

    width: int
    height: int
    shapes: Sequence[Shape]

    def element(self, kind: str, said: str) -> Markup:
        """Return it as a picture of a page, of a class of its style sheet."""
        return element(kind, f"0 0 {self.width} {self.height}", said, self.shapes)


def svg(figure: Figure) -> bytes:
    """Return a figure as an SVG file."""
    style = [f"text {{ fill: {INK} }}", *(f".{kind} {{ fill: {SOFT} }}" for kind in SOFT_TEXTS)]
    style += [f".{kind.replace(' ', '.')} {{ text-anchor: {anchor} }}" for kind, anchor in ANCHORS.items()]
    style += [f".m{n} {{ color: {colour} }}" for n, colour in enumerate(COLOURS)]
    style += [
        f".{kind} {{ fill: none; stroke: {of or 'currentColor'}; stroke-width: {width} }}"
        for kind, (of, width) in STROKES.items()
    ]
    style += [f".{kind} {{ fill: {of or 'currentColor'} }}" for kind, of in AREAS.items()]
    dashes = {f"line.d{n}": dash for n, dash in enumerate(DASHES) if dash} | {"split": (5, 3)}
    style += [f".{kind} {{ stroke-dasharray: {' '.join(map(str, dash))} }}" for kind, dash in dashes.items()]
    markers = "".join(f'<path id="marker-{n}" d="{path}"/>' for n, path in enumerate(MARKERS))
    size = f'width="{figure.width}" height="{figure.height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {figure.width} {figure.height}" '
        f'font-family="DejaVu Sans, Arial, sans-serif" font-size="{LETTERS}">',
        "<style>", *style, "</style>", f"<defs>{markers}</defs>", f'<rect {size} fill="{PAPER}"/>',
    ]  # fmt: skip
    return "\n".join([*parts, *(shape.svg() for shape in figure.shapes), "</svg>\n"]).encode()


def png(figure: Figure) -> bytes:
    """Return a figure as a PNG file."""
    dots = min(DOTS, math.sqrt(MOST_PIXELS / (figure.width * figure.height)))
    scale, size = dots * FINE, (round(figure.width * dots), round(figure.height * dots))
    canvas = Image.new("RGB", (size[0] * FINE, size[1] * FINE), PAPER)
    draw = ImageDraw.Draw(canvas)
    for shape in figure.shapes:
        colour, mark, dash = look(shape.model or 0)
        if shape.kind in STROKES:
            stroke, width = STROKES[shape.kind]
            for part in _dashed(
                shape.points, DASHES[dash] if shape.kind == "line" else (5, 3) if shape.kind == "split" else ()
            ):
                draw.line(
                    [(scale * x, scale * y) for x, y in part],
                    stroke or COLOURS[colour],
                    max(1, round(scale * width)),
                    "curve",
                )
        elif shape.kind in AREAS:
            points = shape.points
            if shape.kind == "spot":
                pairs = re.findall(r"([-\d.]+) ([-\d.]+)", MARKERS[mark])
                points = [(points[0][0] + float(x), points[0][1] + float(y)) for x, y in pairs]
            draw.polygon([(scale * x, scale * y) for x, y in points], AREAS[shape.kind] or COLOURS[colour])
    canvas = canvas.resize(size, Image.Resampling.BOX)
    for shape in figure.shapes:
        if shape.text:
            _write(canvas, shape, dots)
    file = io.BytesIO()
    canvas.save(file, "PNG")
    return file.getvalue()


def _write(canvas: Image.Image, shape: Shape, dots: float) -> None:
    """Write a text in Pillow's own font, which has ASCII."""
    ((x, y),) = shape.points
    colour, text = SOFT if shape.kind in SOFT_TEXTS else INK, printable(shape.text)
    high = round(LETTERS * dots)
    letters = font(high)
    if shape.kind == "turned":
        level = Image.new("L", (math.ceil(letters.getlength(text)), 2 * high))
        ImageDraw.Draw(level).text((0, 1.5 * high), text, 255, letters, "ls")
        turned = level.rotate(90, expand=True)
        canvas.paste(colour, (round(x * dots - 1.5 * high), round(y * dots - turned.height)), turned)
    else:
        anchor = {"middle": "ms", "end": "rs"}.get(ANCHORS.get(shape.kind, ""), "ls")
        ImageDraw.Draw(canvas).text((x * dots, y * dots), text, colour, letters, anchor)


def _dashed(points: Sequence[tuple[float, float]], dash: Sequence[float]) -> Sequence[Sequence[tuple[float, float]]]:
    """Return the dashes of a path, or the path itself where it has none."""
    along = np.cumsum([0.0, *(math.dist(a, b) for a, b in pairwise(points))])
    if not dash or along[-1] == 0:
        return [points]
    ends = np.cumsum([0.0, *np.resize(dash, 2 * math.ceil(along[-1] / sum(dash)) * len(dash))])
    x, y = (np.interp(ends, along, axis).tolist() for axis in zip(*points, strict=True))
    return [part for part in list(pairwise(zip(x, y, strict=True)))[::2] if len(set(part)) == 2]
