"""What plots and charts show of models: points by severity, level and size, two-factor scores, mAUDE, and the orders of two stages.

Shares are in per cent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..published import EXTRA, FIFTEEN, SEVERITIES
from ..records import Interval, Profile
from .correlations import quadrant, reference_point
from .entries import Entry, Reference

LOOKS, DASHES = 8, 4
"""How many colours and markers, and kinds of line, models have."""
MEAN = "mean"
"""Of all degradations."""
MEAN_OF_FIFTEEN = "mean of the fifteen"
MEASURES = {"accuracy": "accuracy, %", "rank": "classes above the true one", "probability": "probability of the true class, %"}
"""Of profiles."""
RATES = {
    "loose_shift": "shift, any neighbour differs (loose)",
    "strict_shift": "shift, all neighbours differ (strict)",
    "loose_shrink": "shrink, any differs (loose)",
    "strict_shrink": "shrink, all differ (strict)",
    "label_change_shift": "shift, another label",
}


class Point(NamedTuple):
    """A value of a model with its interval."""

    x: float
    y: float
    ends: Interval = None


Lines = dict[str, dict[int, list[Point]]]
"""What a chart is of -> place of the model among the models -> its points."""


class Spot(NamedTuple):
    """The two-factor scores of a model: variation across, accuracy up."""

    model: int
    label: str
    x: float
    y: float
    x_ends: Interval
    y_ends: Interval
    where: str
    """The quadrant."""


class Area(NamedTuple):
    """The mAUDE of a model."""

    model: int
    entry: Entry
    value: float
    ends: Interval
    clean: float | None
    """The clean error."""


def severity_errors(entries: Sequence[Entry]) -> Lines:
    """Return the errors of each corruption by severity; 0 is clean.

    A corruption has a line where a model has all its severities; the mean is of models that have all fifteen.
    """
    found: Lines = {}
    for number, entry in enumerate(entries):
        # AUDE knows whatever else has severities, such as chains of one strength
        curves = {c: [entry.scores.sets.get(f"{c}/{s}") for s in SEVERITIES] for c in (*FIFTEEN, *EXTRA, *entry.scores.aude)}
        errors = {c: [100 * (1 - one.accuracy) for one in sets if one is not None] for c, sets in curves.items() if None not in sets}
        if errors.keys() >= set(FIFTEEN):
            errors[MEAN_OF_FIFTEEN] = np.mean([errors[c] for c in FIFTEEN], axis=0).tolist()
        start = [] if entry.clean is None else [Point(0, 100 * (1 - entry.clean))]
        for name, values in errors.items():
            found.setdefault(name, {})[number] = [*start, *map(Point, SEVERITIES, values)]
    order = {name: place for place, name in enumerate((*FIFTEEN, *EXTRA, None, MEAN_OF_FIFTEEN))}
    return dict(sorted(found.items(), key=lambda item: order.get(item[0], order[None])))


def profiles_of(entry: Entry) -> dict[str, Profile]:
    """Return the degradation profiles of a model, their mean last."""
    mean = entry.scores.mean_profile
    return entry.scores.profiles | ({} if mean is None else {MEAN: mean})


def profile_names(entries: Sequence[Entry]) -> list[str]:
    """Return the degradations of all models, the mean last."""
    return sorted(dict.fromkeys(name for entry in entries for name in profiles_of(entry)), key=MEAN.__eq__)


def profile_lines(entries: Sequence[Entry], measure: str) -> Lines:
    """Return a measure at each level of each degradation, and of their mean."""
    found: Lines = {}
    factor = 1 if measure == "rank" else 100
    for name in profile_names(entries):
        for number, profile in enumerate(profiles_of(entry).get(name) for entry in entries):
            if profile is not None and (values := getattr(profile, measure)):
                points = [Point(level, factor * value) for level, value in zip(profile.levels, values, strict=True)]
                found.setdefault(name, {})[number] = points
    return found


def fragile_lines(entries: Sequence[Entry]) -> tuple[Lines, list[str]]:
    """Return fragile rates by the place of their group of regions, and the sizes of the groups."""
    groups = list(dict.fromkeys(group for entry in entries for group in entry.scores.fragile))
    found: Lines = {}
    for kind in RATES:
        for number, (entry, beside) in enumerate(zip(entries, apart(len(entries)), strict=True)):
            rates = {group: getattr(scores, kind) for group, scores in entry.scores.fragile.items()}
            points = [Point(groups.index(g) + beside, 100 * r.rate, percent(r.interval)) for g, r in rates.items() if r is not None]
            if points:
                found.setdefault(kind, {})[number] = points
    return found, [f"{group[1:]} %" if group.startswith("p") else group[1:] for group in groups]


def two_factor_spots(entries: Sequence[Entry]) -> tuple[list[Spot], Reference | None]:
    """Return the models with a variation over sets, and the reference point, by default their mean; None where there are none."""
    shown = [(n, e, t, t.cv_percent) for n, e in enumerate(entries) if (t := e.scores.two_factor) is not None and t.cv_percent is not None]
    if not shown:
        return [], None
    mean = reference_point([cv for *_, cv in shown], [t.mean_accuracy for _, _, t, _ in shown])
    reference = entries[0].reference or Reference(*mean, "mean of the models")
    return [
        Spot(
            n, e.label, cv, 100 * t.mean_accuracy, t.cv_percent_interval, percent(t.mean_accuracy_interval),
            quadrant(cv, t.mean_accuracy, reference[:2]),
        )
        for n, e, t, cv in shown
    ], reference  # fmt: skip


def maude_areas(entries: Sequence[Entry]) -> list[Area]:
    """Return the models that have an mAUDE, the lowest first."""
    found = [
        Area(n, e, 100 * e.scores.maude, percent(e.scores.intervals.get("maude")), None if e.clean is None else 100 * (1 - e.clean))
        for n, e in enumerate(entries)
        if e.scores.maude is not None
    ]
    return sorted(found, key=lambda area: area.value)


def stage_orders(entry: Entry) -> dict[tuple[str, str], float]:
    """Return the accuracy where one of two stages comes before the other less that of the other order, both ways round."""
    effects = [] if entry.scores.two_factor is None else entry.scores.two_factor.order_effects
    found = {}
    for effect in effects:
        if effect.first.count("+") == 1:
            a, b = effect.first.split("+")
            found[a, b], found[b, a] = 100 * effect.difference, -100 * effect.difference
    return found


def look_of(model: int) -> tuple[int, int, int]:
    """Return a model's colour, marker and kind of line: the first eight differ in colour and marker, the next eight in the line too."""
    turned = model + model // LOOKS
    return model % LOOKS, turned % LOOKS, turned % DASHES


def apart(models: int) -> list[float]:
    """Return how far the points of models at one place of an axis of whole numbers stand beside each other.

    Examples
    --------
    >>> apart(3)
    [-0.08, 0.0, 0.08]
    """
    return [0.08 * (n - (models - 1) / 2) * min(1, 8 / models) for n in range(models)]


def percent(ends: Interval) -> Interval:
    """Return an interval of fractions in per cent."""
    return None if ends is None else (100 * ends[0], 100 * ends[1])
