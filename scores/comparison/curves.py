"""What is drawn of models, in plots and in charts of a page: errors by severity, profiles, and the points of two-factor scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..published import EXTRA, FIFTEEN, SEVERITIES
from ..records import Profile, TwoFactor
from .correlations import reference_point
from .entries import Entry

MEAN = "mean"
"""Of all degradations."""
MEAN_OF_FIFTEEN = "mean of the fifteen"


def severity_errors(entries: Sequence[Entry]) -> dict[str, dict[int, dict[int, float]]]:
    """Return errors, in per cent: corruption -> place of the model -> severity (0 is clean) -> error.

    A corruption has a curve where a model has all its severities; the mean is of models that have all fifteen.
    """
    first = [*FIFTEEN, *EXTRA]
    found: dict[str, dict[int, dict[int, float]]] = {}
    for number, entry in enumerate(entries):
        # AUDE knows whatever else has severities, such as chains of one strength
        curves = {c: [entry.scores.sets.get(f"{c}/{s}") for s in SEVERITIES] for c in dict.fromkeys([*first, *entry.scores.aude])}
        errors = {c: [100 * (1 - one.accuracy) for one in sets if one is not None] for c, sets in curves.items() if None not in sets}
        if errors.keys() >= set(FIFTEEN):
            errors[MEAN_OF_FIFTEEN] = np.mean([errors[c] for c in FIFTEEN], axis=0).tolist()
        start = {} if entry.clean is None else {0: 100 * (1 - entry.clean)}
        for name, values in errors.items():
            found.setdefault(name, {})[number] = start | dict(zip(SEVERITIES, values, strict=True))
    last = {MEAN_OF_FIFTEEN: len(first) + 1}
    return dict(sorted(found.items(), key=lambda item: first.index(item[0]) if item[0] in first else last.get(item[0], len(first))))


def profiles_of(entry: Entry) -> dict[str, Profile]:
    """Return the degradation profiles of a model, their mean last."""
    mean = entry.scores.mean_profile
    return entry.scores.profiles | ({} if mean is None else {MEAN: mean})


def profile_names(entries: Sequence[Entry]) -> list[str]:
    """Return the degradations of all models, the mean last."""
    names = list(dict.fromkeys(name for entry in entries for name in profiles_of(entry)))
    return [name for name in names if name != MEAN] + [MEAN] * (MEAN in names)


def two_factor_points(entries: Sequence[Entry]) -> tuple[list[tuple[int, Entry, TwoFactor, float]], tuple[float, float] | None]:
    """Return the models with a variation over sets: place, model, scores, CV; and their mean (CV, accuracy), None where there are none."""
    shown = [(n, e, t, t.cv_percent) for n, e in enumerate(entries) if (t := e.scores.two_factor) is not None and t.cv_percent is not None]
    return shown, reference_point([cv for _, _, _, cv in shown], [t.mean_accuracy for _, _, t, _ in shown]) if shown else None


def region_size(group: str) -> str:
    """Return the size of a group of regions for people."""
    return f"{group[1:]} %" if group.startswith("p") else group[1:]
