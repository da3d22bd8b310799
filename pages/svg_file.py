"""SVG files of figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .charts import Shape, svg_element

if TYPE_CHECKING:
    from markupsafe import Markup

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
"""The same colours as on pages in the light scheme. They are written out, because many programs do not support CSS
variables.
"""


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
