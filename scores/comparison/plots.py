"""The plots of a comparison: each takes the models and returns a figure, or None where no model has its scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...pages.sheets.style import INK, LINE, SOFT
from ..published import EXTRA, FIFTEEN, SEVERITIES
from ..records import FragileRate
from .correlations import quadrant
from .curves import MEAN_OF_FIFTEEN, profile_names, profiles_of, region_size, severity_errors, two_factor_points
from .entries import Entry
from .plot_style import WIDTH, figure, legend, look, short, styled, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 4
"""Panels side by side."""
PANEL = (2.3, 1.9)
"""Inches of a panel among many."""


def write_plots(entries: Sequence[Entry], folder: Path) -> list[Path]:
    """Write every plot that models have scores for, as SVG and PNG, and return the files; needs matplotlib."""
    makers: dict[str, Callable[[Sequence[Entry]], Figure | None]] = {
        "accuracy_and_cv": accuracy_and_cv,
        "degradation_accuracy": lambda e: profiles(e, "accuracy"),
        "degradation_rank": lambda e: profiles(e, "rank"),
        "degradation_probability": lambda e: profiles(e, "probability"),
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
    shown, reference = two_factor_points(entries)
    if reference is None:
        return None
    drawn = figure(WIDTH, 4.4)
    axes = drawn.add_subplot()
    for number, entry, t, cv in shown:
        across = None if t.cv_percent_interval is None else _arms(cv, t.cv_percent_interval)
        up = None if t.mean_accuracy_interval is None else _arms(100 * t.mean_accuracy, [100 * end for end in t.mean_accuracy_interval])
        style = look(number)
        axes.errorbar(
            [cv], [100 * t.mean_accuracy], xerr=across, yerr=up, fmt=style.marker, color=style.color, elinewidth=0.8, markersize=7,
            label=f"{short(entry.label)} ({quadrant(cv, t.mean_accuracy, reference)})",
        )  # fmt: skip
    axes.errorbar([reference[0]], [100 * reference[1]], fmt="+", color=INK, markersize=12, label="reference: mean of the models")
    axes.axvline(reference[0], color=SOFT, linewidth=0.8, linestyle="--")
    axes.axhline(100 * reference[1], color=SOFT, linewidth=0.8, linestyle="--")
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
    unit, factor = {"accuracy": ("accuracy, %", 100), "rank": ("classes above the true one", 1), "probability": ("probability, %", 100)}[
        measure
    ]
    lines = {
        name: [
            (n, own[name].levels, [factor * v for v in values])
            for n, own in enumerate(map(profiles_of, entries))
            if name in own and (values := getattr(own[name], measure)) is not None
        ]
        for name in profile_names(entries)
    }
    return _panels(entries, lines, "level", unit, top=100 if factor == 100 else None)


def error_and_severity(entries: Sequence[Entry]) -> Figure | None:
    """Draw the error against the severity of each corruption, and of the mean over the fifteen."""
    titles = {name: name for name in (*FIFTEEN, *EXTRA)} | {MEAN_OF_FIFTEEN: "mean of fifteen"}
    lines = {
        titles[name]: [(number, list(errors), list(errors.values())) for number, errors in of_model.items()]
        for name, of_model in severity_errors(entries).items()
        if name in titles
    }
    return _panels(entries, lines, "severity", "error, %", top=100)


def _panels(
    entries: Sequence[Entry],
    lines: Mapping[str, Sequence[tuple[int, Sequence[int], Sequence[float]]]],
    across: str,
    up: str,
    top: float | None,
) -> Figure | None:
    """Draw a panel a name, a line a model: (number of the model, x, y)."""
    names = [name for name, own in lines.items() if own]
    if not names:
        return None
    columns = min(COLUMNS, len(names))
    rows = -(-len(names) // columns)
    drawn = figure(max(WIDTH, PANEL[0] * columns + 2.6), max(3.4, PANEL[1] * rows + 0.5))
    panels = drawn.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for panel, name in zip(panels.flat, names, strict=False):
        for number, x, y in lines[name]:
            panel.plot(x, y, **look(number)._asdict(), markevery=max(1, len(x) // 6))
        panel.set_title(name)
        panel.tick_params(labelbottom=True)
    for panel in list(panels.flat)[len(names) :]:
        panel.set_visible(False)
    if top is not None:
        panels[0, 0].set_ylim(-2, top + 2)
    if across == "severity":
        panels[0, 0].set_xticks([0, *SEVERITIES])
    drawn.supxlabel(across, fontsize=9)
    drawn.supylabel(up, fontsize=9)
    _legend_of_models(drawn, panels[0, 0], entries, sorted({number for own in lines.values() for number, _, _ in own}))
    return drawn


def _legend_of_models(drawn: Figure, axes: Axes, entries: Sequence[Entry], numbers: Sequence[int]) -> None:
    for number in numbers:
        axes.plot([], [], **look(number)._asdict(), label=short(entries[number].label))
    legend(drawn, axes)


def maude(entries: Sequence[Entry]) -> Figure | None:
    """Draw mAUDE as bars, the lowest on top."""
    found = [(m, n, e) for n, e in enumerate(entries) if (m := e.scores.maude) is not None]
    shown = sorted(found, key=lambda one: one[0], reverse=True)
    if not shown:
        return None
    drawn = figure(WIDTH, 1.2 + 0.36 * len(shown))
    axes = drawn.add_subplot()
    for place, (value, number, entry) in enumerate(shown):
        ends = entry.scores.intervals.get("maude")
        arms = None if ends is None else _arms(100 * value, [100 * end for end in ends])
        axes.barh(
            place,
            100 * value,
            height=0.66,
            color=look(number).color,
            alpha=0.7,
            xerr=arms,
            error_kw={"elinewidth": 1, "ecolor": INK, "capsize": 2},
        )
        if entry.clean is not None:
            axes.plot([100 * (1 - entry.clean)] * 2, [place - 0.33, place + 0.33], color="white", linewidth=2.5)
            axes.plot([100 * (1 - entry.clean)] * 2, [place - 0.33, place + 0.33], color=INK, linewidth=1.2)
        right = 100 * max(value, *(ends or (value,)))
        axes.text(right, place, f"  {100 * value:.1f}", va="center")
    axes.set_yticks(range(len(shown)), [short(e.label) for _, _, e in shown])
    most = max(100 * max(m, *(e.scores.intervals.get("maude") or (m,))) for m, _, e in shown)
    axes.set(xlabel="mAUDE, % (dark line: clean error)", xlim=(0, 1.12 * most), title="Mean area under the distortion error curves")
    axes.grid(visible=False, axis="y")
    return drawn


RATES = {
    "loose_shift": "shift, loose",
    "strict_shift": "shift, strict",
    "loose_shrink": "shrink, loose",
    "strict_shrink": "shrink, strict",
    "label_change_shift": "shift, another label",
}


def fragile(entries: Sequence[Entry]) -> Figure | None:
    """Draw fragile rates against the size of regions, with intervals."""
    points: dict[str, list[tuple[int, list[str], list[FragileRate]]]] = {}
    for number, entry in enumerate(entries):
        for name in RATES:
            rates = {group: rate for group, scores in entry.scores.fragile.items() if (rate := getattr(scores, name)) is not None}
            if rates:
                points.setdefault(name, []).append((number, list(rates), list(rates.values())))
    names = [name for name in RATES if name in points]
    if not names:
        return None
    groups = list(dict.fromkeys(group for own in points.values() for _, some, _ in own for group in some))
    drawn = figure(max(WIDTH, 2.4 * len(names) + 2.6), 3.4)
    panels = drawn.subplots(1, len(names), squeeze=False, sharey=True)[0]
    for panel, name in zip(panels, names, strict=True):
        for number, some, own in points[name]:
            values = [100 * rate.rate for rate in own]
            # side by side, so that intervals can be told apart
            offset = 0.08 * (number - (len(entries) - 1) / 2) * min(1, 8 / len(entries))
            ends = [[100 * end for end in rate.interval] for rate in own if rate.interval is not None]
            arms = np.hstack([_arms(value, pair) for value, pair in zip(values, ends, strict=True)]) if len(ends) == len(own) else None
            places = [groups.index(group) + offset for group in some]
            panel.errorbar(places, values, yerr=arms, **look(number)._asdict(), elinewidth=0.8)
        panel.set_title(RATES[name])
        panel.set_xticks(range(len(groups)), [region_size(group) for group in groups])
    panels[0].set_ylim(bottom=-0.03 * panels[0].get_ylim()[1])
    drawn.supxlabel("side of the regions", fontsize=9)
    drawn.supylabel("fragile anchors, %", fontsize=9)
    _legend_of_models(drawn, panels[0], entries, sorted({number for own in points.values() for number, _, _ in own}))
    return drawn


def order_effects(entries: Sequence[Entry]) -> Figure | None:
    """Draw, for each model, accuracy on each first stage (down) before each second (across) less that on the other order."""
    shown = [(e, t.order_effects) for e in entries if (t := e.scores.two_factor) is not None and t.order_effects]
    if not shown:
        return None
    stages = sorted({stage for _, effects in shown for o in effects for stage in o.first.split("+")})
    most = max(abs(100 * o.difference) for _, effects in shown for o in effects) or 1.0
    columns = min(2, len(shown))
    rows = -(-len(shown) // columns)
    side = max(3.2, 0.36 * len(stages) + 1.1)
    drawn = figure(side * columns + 1.2, side * rows + 0.4)
    panels = drawn.subplots(rows, columns, squeeze=False)
    for panel, (entry, effects) in zip(panels.flat, shown, strict=False):
        matrix = np.full((len(stages), len(stages)), np.nan)
        for o in effects:
            first, second = (stages.index(stage) for stage in o.first.split("+"))
            matrix[first, second], matrix[second, first] = 100 * o.difference, -100 * o.difference
        drawn_matrix = panel.imshow(matrix, cmap="PuOr", vmin=-most, vmax=most)
        for y, x in zip(*np.nonzero(~np.isnan(matrix)), strict=True):
            colour = "white" if abs(matrix[y, x]) > 0.6 * most else INK
            panel.text(
                x, y, f"{matrix[y, x]:+.1f}".replace("+0.0", "0").replace("-0.0", "0"), ha="center", va="center", fontsize=6, color=colour
            )
        panel.set_title(short(entry.label), fontsize=8)
        panel.set_xticks(range(len(stages)), stages, rotation=90, fontsize=7)
        panel.set_yticks(range(len(stages)), stages, fontsize=7)
        panel.set(xlabel="second", ylabel="first", facecolor=LINE)
        panel.grid(visible=False)
    for panel in list(panels.flat)[len(shown) :]:
        panel.set_visible(False)
    drawn.colorbar(drawn_matrix, ax=panels, shrink=min(0.9, 2.4 / rows)).set_label("less the other order, points", fontsize=8)
    return drawn


def _arms(value: float, ends: Sequence[float]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return how far an interval reaches to either side of a value, as matplotlib takes it."""
    low, high = ends
    return np.array([[max(0.0, value - low)], [max(0.0, high - value)]])
