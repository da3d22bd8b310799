"""How all plots look, and how they are written: matplotlib, loaded when a plot is asked for.

A model has a colour, a marker and a kind of line, so that plots work in print without colour and for the colour-blind. The same scores and
release of matplotlib give the same bytes.
"""

from __future__ import annotations

import importlib
import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...manifests.disk.atomic import write_atomic
from ...pages.sheets.style import INK, LINE, PAPER, SOFT
from .curves import look_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INSTALL = "pip install 'corruptset[plots]'"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", INK, "#8c6d31")
"""Of Okabe and Ito, without their yellow, which is too light on white."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
WIDTH = 7.2
"""Inches of a plot of one panel, legend beside it."""
DOTS = 150
"""Pixels an inch of a PNG."""
LONGEST = 32
"""Letters of a name in a plot."""
SETTINGS = {
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 5,
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "text.parse_math": False,  # a model's name may have dollar signs
    "svg.hashsalt": "corruptset",
    "svg.fonttype": "path",
}


class Look(NamedTuple):
    """How one model is drawn."""

    color: str
    marker: str
    linestyle: Any


def look(number: int) -> Look:
    """Return the look of a model by its place."""
    colour, marker, dash = look_of(number)
    return Look(COLOURS[colour], MARKERS[marker], DASHES[dash])


def short(name: str) -> str:
    """Return a name as it stands in a plot: the middle of a long one is left out.

    Examples
    --------
    >>> short("resnet50"), len(short("x" * 100))
    ('resnet50', 32)
    """
    name = " ".join(name.split())
    name = f" {name}" if name.startswith("_") else name  # matplotlib leaves such labels out of legends
    half = (LONGEST - 1) // 2
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1 - half]}…{name[-half:]}"


def why_no_plots() -> str | None:
    """Return why plots cannot be drawn, with the next step; None where they can."""
    # what matplotlib says of a font cache that it builds is nothing to the user
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        importlib.import_module("matplotlib")
    except ImportError as e:
        return f"There are no plots: they need matplotlib, which cannot be imported ({e}). Install it with: {INSTALL}"
    return None


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the common style, whatever the user's own settings are."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


def figure(width: float, height: float) -> Figure:
    """Return an empty figure of so many inches, whose parts make room for each other."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def legend(drawn: Figure, axes: Axes) -> None:
    """Put the legend of some axes right of all panels."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        drawn.legend(handles, labels, loc="outside right upper")


def write(drawn: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as SVG and PNG, without a date or a version in them; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    # the layout is half of the work: it is made once for both formats
    drawn.draw_without_rendering()
    drawn.set_layout_engine("none")
    files = []
    formats: list[tuple[str, dict[str, Any]]] = [
        ("svg", {"metadata": {"Date": None, "Creator": None}}),
        ("png", {"metadata": {"Software": None}, "dpi": DOTS}),
    ]
    for kind, options in formats:
        out = io.BytesIO()
        drawn.savefig(out, format=kind, **options)
        files.append(folder / f"{name}.{kind}")
        write_atomic(files[-1], out.getvalue())
    return files
