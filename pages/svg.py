"""Draw shapes as SVG, either inline in a page or as separate files.

A model's position in the list of models determines its colour, marker and dashes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from .document import visible

if TYPE_CHECKING:
    from markupsafe import Markup

COLOURS, DASHES = 8, 4
"""The number of colours (and of markers), and the number of dash patterns."""
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
"""The SVG paths of the models' markers, around (0, 0)."""
STYLE = """\
text { fill: #1a1c20 }
.x, .y { fill: #53585f }
.x, .cell-text { text-anchor: middle }
.y, .corner.end { text-anchor: end }
.m0 { color: #0072b2 }
.m1 { color: #c75300 }
.m2 { color: #00805d }
.m3 { color: #b4508c }
.m4 { color: #946800 }
.m5 { color: #2b84bf }
.m6 { color: #3c4046 }
.m7 { color: #7a5527 }
.rule { fill: none; stroke: #c9cdd3; stroke-width: 0.8 }
.split { fill: none; stroke: #53585f; stroke-width: 1; stroke-dasharray: 5 3 }
.line { fill: none; stroke: currentColor; stroke-width: 1.8 }
.arm { fill: none; stroke: currentColor; stroke-width: 1.2 }
.halo { fill: none; stroke: #ffffff; stroke-width: 5 }
.ink { fill: none; stroke: #1a1c20; stroke-width: 1.5 }
.line.d1 { stroke-dasharray: 7 2.5 }
.line.d2 { stroke-dasharray: 2 2 }
.line.d3 { stroke-dasharray: 7 2 2 2 }
.spot, .bar { fill: currentColor }
.cell { fill: #f2f4f6 }
.up-1 { fill: #e6f1f7 }
.up-2 { fill: #cce3f0 }
.up-3 { fill: #add2e6 }
.down-1 { fill: #f9eee6 }
.down-2 { fill: #f4ddcc }
.down-3 { fill: #edc8ad }
"""
"""The style sheet of SVG files, with the colours of pages in the light colour scheme. The colours are written out,
because many programs do not support CSS variables.
"""


def model_style(model: int) -> tuple[int, int, int]:
    """Return the numbers of a model's colour, marker and dash pattern.

    The first eight models differ in colour and marker. The next eight repeat the colours with different markers and
    dashes.
    """
    turned = model + model // COLOURS
    return model % COLOURS, turned % COLOURS, turned % DASHES


def model_classes(model: int) -> str:
    """Return the CSS classes of a model."""
    colour, _, dash = model_style(model)
    return f"m{colour} d{dash}"


class Shape(NamedTuple):
    """A path, marker or text in a figure.

    Attributes
    ----------
    kind : str
        The CSS class.
    points : sequence of (x, y)
        The corners of a path, or the position of a marker or text.
    model : int, optional
        The number of the model that gives the shape its colour.
    text : str
        The text. It is empty for paths and markers.
    """

    kind: str
    points: Sequence[tuple[float, float]]
    model: int | None = None
    text: str = ""

    def svg(self) -> str:
        """Return the shape as an SVG element."""
        (x, y), *_ = self.points
        classes = self.kind if self.model is None else f"{self.kind} {model_classes(self.model)}"
        attributes = f'class="{classes}" x="{x:.1f}" y="{y:.1f}"'
        if self.text:
            turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if self.kind == "turned" else ""
            return f"<text {attributes}{turn}>{escape(str(visible(self.text)))}</text>"
        if self.kind == "spot":
            return f'<use {attributes} href="#marker-{model_style(self.model or 0)[1]}"/>'
        return f'<path class="{classes}" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in self.points)}"/>'


def rectangle(kind: str, left: float, top: float, right: float, bottom: float, model: int | None = None) -> Shape:
    """Return a rectangle."""
    return Shape(kind, ((left, top), (right, top), (right, bottom), (left, bottom)), model)


def svg_element(classes: str, width: int, height: int, description: str, shapes: Iterable[Shape]) -> Markup:
    """Return shapes as an SVG element of a page, with a description for screen readers."""
    from markupsafe import Markup

    label, drawn = escape(str(visible(description))), "\n".join(shape.svg() for shape in shapes)
    return Markup(
        f'<svg class="{classes}" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">\n{drawn}\n</svg>'
    )


def legend_mark(model: int) -> Markup:
    """Return a model's line and marker as SVG elements that fit into 44 x 14 pixels."""
    from markupsafe import Markup

    return Markup(Shape("line", ((2, 7), (42, 7)), model).svg() + Shape("spot", ((22, 7),), model).svg())


class Figure(NamedTuple):
    """A drawing that consists of shapes."""

    width: int
    height: int
    shapes: Sequence[Shape]

    def element(self, classes: str, description: str) -> Markup:
        """Return the figure as an SVG element of a page."""
        return svg_element(classes, self.width, self.height, description, self.shapes)


def svg_file(figure: Figure) -> bytes:
    """Return a figure as the contents of an SVG file."""
    markers = "".join(f'<path id="marker-{n}" d="{path}"/>' for n, path in enumerate(MARKERS))
    size = f'width="{figure.width}" height="{figure.height}"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {figure.width} {figure.height}" '
        'font-family="DejaVu Sans, Arial, sans-serif" font-size="11">',
        f"<style>\n{STYLE}</style>", f"<defs>{markers}</defs>", f'<rect {size} fill="#ffffff"/>',
        *(shape.svg() for shape in figure.shapes), "</svg>\n",
    ]).encode()  # fmt: skip
