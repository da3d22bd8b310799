"""The plots of a comparison: each takes the models and returns a figure, or None where no model has its scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...pages.sheets.style import INK, LINE, SOFT
from ..published import EXTRA, FIFTEEN, SEVERITIES
from ..records import Interval
from . import curves
from .curves import MEAN_OF_FIFTEEN, Lines, fragile_lines, maude_areas, profile_lines, severity_errors, stage_orders, two_factor_spots
from .entries import Entry
from .plot_style import WIDTH, figure, legend, look, short, styled, write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = 4
"""Panels side by side."""
PANEL = (2.3, 1.9)
"""Inches of a panel among many."""
MEASURES = curves.MEASURES | {"probability": "probability, %"}
RATES = {
    "loose_shift": "shift, loose",
    "strict_shift": "shift, strict",
    "loose_shrink": "shrink, loose",
    "strict_shrink": "shrink, strict",
    "label_change_shift": "shift, another label",
}


def write_plots(entries: Sequence[Entry], folder: Path) -> list[Path]:
    """Write every plot that models have scores for, as SVG and PNG, and return the files; needs matplotlib."""
    makers: dict[str, Callable[[Sequence[Entry]], Figure | None]] = {
        "accuracy_and_cv": accuracy_and_cv,
        **{f"degradation_{measure}": partial(profiles, measure=measure) for measure in MEASURES},
        "error_and_severity": error_and_severity,
        "maude": maude,
        "fragile": fragile,
        "order_effects": order_effects,
    }
    files = []
    with styled():
        for name, make in makers.items():
            drawn = make(entries)
            if drawn is not None:
                files += write(drawn, folder, name)
    return files


def accuracy_and_cv(entries: Sequence[Entry]) -> Figure | None:
    """Draw mean accuracy against its coefficient of variation, the reference point and the four quadrants."""
    spots, reference = two_factor_spots(entries)
    if reference is None:
        return None
    across, up = reference[0], 100 * reference[1]
    drawn = figure(WIDTH, 4.4)
    axes = drawn.add_subplot()
    for s in spots:
        style = look(s.model)
        axes.errorbar(
            [s.x], [s.y], xerr=_arms([s.x], [s.x_ends]), yerr=_arms([s.y], [s.y_ends]), fmt=style.marker, color=style.color,
            elinewidth=0.8, markersize=7, label=f"{short(s.label)} ({s.where})",
        )  # fmt: skip
    axes.errorbar([across], [up], fmt="+", color=INK, markersize=12, label=f"reference: {short(reference.words)}")
    axes.axvline(across, color=SOFT, linewidth=0.8, linestyle="--")
    axes.axhline(up, color=SOFT, linewidth=0.8, linestyle="--")
    axes.margins(0.15)
    for text, x, y in [("I", 0.01, 0.99), ("II", 0.99, 0.99), ("III", 0.01, 0.01), ("IV", 0.99, 0.01)]:
        sides: dict[str, Any] = {"ha": "left" if x < 0.5 else "right", "va": "top" if y > 0.5 else "bottom"}
        axes.text(x, y, text, transform=axes.transAxes, color=SOFT, fontsize=12, **sides)
    axes.set(
        xlabel="coefficient of variation over the sets, %", ylabel="mean accuracy over the sets, %", title="Accuracy and its variation"
    )
    legend(drawn, axes)
    return drawn


def profiles(entries: Sequence[Entry], measure: str) -> Figure | None:
    """Draw a measure against the level of each gradual degradation, and of their mean."""
    return _panels(entries, profile_lines(entries, measure), "level", MEASURES[measure], top=None if measure == "rank" else 100)


def error_and_severity(entries: Sequence[Entry]) -> Figure | None:
    """Draw the error against the severity of each corruption, and of the mean over the fifteen."""
    titles = {name: name for name in (*FIFTEEN, *EXTRA)} | {MEAN_OF_FIFTEEN: "mean of fifteen"}
    lines = {titles[name]: own for name, own in severity_errors(entries).items() if name in titles}
    return _panels(entries, lines, "severity", "error, %", top=100)


def _panels(entries: Sequence[Entry], lines: Lines, across: str, up: str, top: float | None) -> Figure | None:
    """Draw a panel a name, a line a model."""
    if not lines:
        return None
    columns = min(COLUMNS, len(lines))
    rows = -(-len(lines) // columns)
    drawn = figure(max(WIDTH, PANEL[0] * columns + 2.6), max(3.4, PANEL[1] * rows + 0.5))
    panels = drawn.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for panel, (name, own) in zip(panels.flat, lines.items(), strict=False):
        for number, points in own.items():
            panel.plot([p.x for p in points], [p.y for p in points], **look(number)._asdict(), markevery=max(1, len(points) // 6))
        panel.set_title(name)
        panel.tick_params(labelbottom=True)
    _hide(panels, len(lines))
    if top is not None:
        panels[0, 0].set_ylim(-2, top + 2)
    if across == "severity":
        panels[0, 0].set_xticks([0, *SEVERITIES])
    return _named(drawn, panels[0, 0], entries, lines, across, up)


def _hide(panels: Any, shown: int) -> None:
    for panel in list(panels.flat)[shown:]:
        panel.set_visible(False)


def _named(drawn: Figure, axes: Any, entries: Sequence[Entry], lines: Lines, across: str, up: str) -> Figure:
    """Name the axes of all panels, and the models that have lines."""
    drawn.supxlabel(across, fontsize=9)
    drawn.supylabel(up, fontsize=9)
    for number in sorted({number for own in lines.values() for number in own}):
        axes.plot([], [], **look(number)._asdict(), label=short(entries[number].label))
    legend(drawn, axes)
    return drawn


def maude(entries: Sequence[Entry]) -> Figure | None:
    """Draw mAUDE as bars, the lowest on top."""
    shown = sorted(maude_areas(entries), key=lambda area: area.value, reverse=True)
    if not shown:
        return None
    drawn = figure(WIDTH, 1.2 + 0.36 * len(shown))
    axes = drawn.add_subplot()
    most = 0.0
    for place, one in enumerate(shown):
        axes.barh(
            place, one.value, height=0.66, color=look(one.model).color, alpha=0.7, xerr=_arms([one.value], [one.ends]),
            error_kw={"elinewidth": 1, "ecolor": INK, "capsize": 2},
        )  # fmt: skip
        if one.clean is not None:
            for colour, width in [("white", 2.5), (INK, 1.2)]:
                axes.plot([one.clean] * 2, [place - 0.33, place + 0.33], color=colour, linewidth=width)
        right = max(one.value, *(one.ends or (one.value,)))
        most = max(most, right)
        axes.text(right, place, f"  {one.value:.1f}", va="center")
    axes.set_yticks(range(len(shown)), [short(one.entry.label) for one in shown])
    axes.set(xlabel="mAUDE, % (dark line: clean error)", xlim=(0, 1.12 * most), title="Mean area under the distortion error curves")
    axes.grid(visible=False, axis="y")
    return drawn


def fragile(entries: Sequence[Entry]) -> Figure | None:
    """Draw fragile rates against the size of regions, with intervals."""
    lines, sizes = fragile_lines(entries)
    if not lines:
        return None
    drawn = figure(max(WIDTH, 2.4 * len(lines) + 2.6), 3.4)
    panels = drawn.subplots(1, len(lines), squeeze=False, sharey=True)[0]
    for panel, (name, own) in zip(panels, lines.items(), strict=True):
        for number, points in own.items():
            x, y, ends = zip(*points, strict=True)
            panel.errorbar(x, y, yerr=_arms(y, ends), **look(number)._asdict(), elinewidth=0.8)
        panel.set_title(RATES[name])
        panel.set_xticks(range(len(sizes)), sizes)
    panels[0].set_ylim(bottom=-0.03 * panels[0].get_ylim()[1])
    return _named(drawn, panels[0], entries, lines, "side of the regions", "fragile anchors, %")


def order_effects(entries: Sequence[Entry]) -> Figure | None:
    """Draw, for each model, accuracy on each first stage (down) before each second (across) less that on the other order."""
    shown = [(e, own) for e in entries if (own := stage_orders(e))]
    if not shown:
        return None
    stages = sorted({stage for _, own in shown for stage, _ in own})
    most = max(abs(value) for _, own in shown for value in own.values()) or 1.0
    columns = min(2, len(shown))
    rows = -(-len(shown) // columns)
    side = max(3.2, 0.36 * len(stages) + 1.1)
    drawn = figure(side * columns + 1.2, side * rows + 0.4)
    panels = drawn.subplots(rows, columns, squeeze=False)
    for panel, (entry, own) in zip(panels.flat, shown, strict=False):
        matrix = np.array([[own.get((down, across), np.nan) for across in stages] for down in stages])
        drawn_matrix = panel.imshow(matrix, cmap="PuOr", vmin=-most, vmax=most)
        for y, x in zip(*np.nonzero(~np.isnan(matrix)), strict=True):
            colour = "white" if abs(matrix[y, x]) > 0.6 * most else INK
            text = f"{matrix[y, x]:+.1f}".replace("+0.0", "0").replace("-0.0", "0")
            panel.text(x, y, text, ha="center", va="center", fontsize=6, color=colour)
        panel.set_title(short(entry.label), fontsize=8)
        panel.set_xticks(range(len(stages)), stages, rotation=90, fontsize=7)
        panel.set_yticks(range(len(stages)), stages, fontsize=7)
        panel.set(xlabel="second", ylabel="first", facecolor=LINE)
        panel.grid(visible=False)
    _hide(panels, len(shown))
    drawn.colorbar(drawn_matrix, ax=panels, shrink=min(0.9, 2.4 / rows)).set_label("less the other order, points", fontsize=8)
    return drawn


def _arms(values: Sequence[float], ends: Sequence[Interval]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]] | None:
    """Return how far intervals reach to either side of values, as matplotlib takes it; None where one has none."""
    arms = [(max(0.0, value - pair[0]), max(0.0, pair[1] - value)) for value, pair in zip(values, ends, strict=True) if pair is not None]
    return np.array(arms).T if len(arms) == len(values) else None
