"""Compute degradation profiles: the accuracy at each level of a gradual degradation.

Degradation profiles are defined by Swingler 2022, "A Suite of Incremental Image Degradation Operators for Testing Image
Classification Algorithms".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ..errors import CorruptsetError
from ..manifests.reader import Dataset
from ..manifests.records.models import SetRecord
from .evaluation import Evaluation, mean
from .outcomes import CLEAN
from .records import FirstBelow, Profile

THRESHOLDS = (0.9, 0.5, 0.1)
FIFTEEN_OPERATORS = (
    "black_lines", "white_lines", "random_boxes", "global_blur", "local_blur", "random_noise", "pixel_swap",
    "adjacent_pixel_swap",
    "white_fog", "fade_black", "fade_white", "fade_grey", "posterize", "jpeg", "model_gradient",
)  # fmt: skip
ProfileOver = Literal["ours", "figures", "tables"]
LEFT_OUT: Mapping[ProfileOver, str] = {"figures": "random_noise", "tables": "fade_grey"}
"""The operator that the figures or the tables of Swingler 2022 exclude from their mean."""
DescribeLevel = Callable[[str, int, tuple[int, int, int], Mapping[str, Any]], str]
"""A function that describes the effect of a level.

It is called with (corruption, level, image shape (H, W, C), parameters).
"""
Ladders = Mapping[str, Mapping[int, SetRecord]]
"""The set at each level, by degradation."""


def degradation_profiles(
    data: Dataset, evaluation: Evaluation, describe: DescribeLevel | None, over: ProfileOver
) -> tuple[dict[str, Profile], Profile | None, list[str]]:
    """Return the profile of each degradation, their mean, and notes on the mean.

    The mean is computed at the levels that all degradations have. `over` selects the degradations: all test
    degradations in the dataset (``ours``), or the fourteen in the ``figures`` or the ``tables`` of the paper.
    """
    found: dict[str, dict[int, SetRecord]] = {}
    for record in evaluation.records:
        if len(record.stages) == 1 and (level := record.stages[0].level) is not None:
            found.setdefault(record.stages[0].corruption, {})[level] = record
    ladders: Ladders = {name: dict(sorted(rungs.items())) for name, rungs in sorted(found.items())}
    shape = _shape(data, next(iter(next(iter(ladders.values())).values())).id) if ladders and describe else None
    profiles = {name: _profile_of(evaluation, rungs, describe, shape) for name, rungs in ladders.items()}
    names = [name for name, rungs in ladders.items() if all(rung.role == "test" for rung in rungs.values())]
    if over == "ours":
        return profiles, _mean([profiles[name] for name in names], [ladders[name] for name in names]), []
    fourteen = [name for name in FIFTEEN_OPERATORS if name != LEFT_OUT[over]]
    if missing := [name for name in fourteen if name not in names]:
        lacking = f"because the dataset has no levels of {', '.join(missing)}."
        return (
            profiles,
            None,
            [f"There is no mean profile over the fourteen operators of the paper's {over}, {lacking}"],
        )
    note = (
        f"The mean profile is over the fourteen operators of the paper's {over}: all fifteen except {LEFT_OUT[over]}."
    )
    return profiles, _mean([profiles[name] for name in fourteen], [ladders[name] for name in fourteen]), [note]


def _profile_of(
    evaluation: Evaluation,
    rungs: Mapping[int, SetRecord],
    describe: DescribeLevel | None,
    shape: tuple[int, int, int] | None,
) -> Profile:
    ids = ({0: CLEAN} if CLEAN in evaluation.outcomes else {}) | {level: record.id for level, record in rungs.items()}
    outcomes = [evaluation.outcomes[set_id] for set_id in ids.values()]

    def below(level: int) -> FirstBelow:
        stage, metrics = rungs[level].stages[0], rungs[level].metrics
        words = describe(stage.corruption, level, shape, stage.parameters) if describe and shape else f"level {level}"
        return FirstBelow(level=level, change=words, changed=None if metrics is None else metrics.changed)

    columns = dict[str, Any]()
    for part, field in (("accuracy", "correct"), ("rank", "rank"), ("probability", "probability")):
        values = [mean(getattr(outcome, field)) for outcome in outcomes]
        columns[part] = None if None in values else values
    return _profile(list(ids), columns, below)


def _mean(profiles: Sequence[Profile], ladders: Sequence[Mapping[int, SetRecord]]) -> Profile | None:
    levels = sorted(set.intersection(*(set(profile.levels) for profile in profiles))) if profiles else []
    if not levels:
        return None

    def below(level: int) -> FirstBelow:
        metrics = [rungs[level].metrics for rungs in ladders]
        changed = [m.changed for m in metrics if m is not None and m.changed is not None]
        share = float(np.mean(changed)) if len(changed) == len(metrics) else None
        return FirstBelow(level=level, change=f"the mean of {len(metrics)} degradations", changed=share)

    columns = dict[str, Any]()
    for part in ("accuracy", "rank", "probability"):
        of_all = [dict(zip(p.levels, getattr(p, part) or (), strict=False)) for p in profiles]
        rows = [[of[level] for level in levels] for of in of_all if of]
        columns[part] = np.mean(rows, axis=0).tolist() if len(rows) == len(profiles) else None
    return _profile(levels, columns, below)


def _profile(levels: list[int], columns: Mapping[str, Any], below: Callable[[int], FirstBelow]) -> Profile:
    """Return the profile with the given levels and values. `below` describes the first level below each threshold."""
    first_below: dict[str, FirstBelow | None] = {}
    for threshold in THRESHOLDS:
        level = next(
            (level for level, share in zip(levels, columns["accuracy"], strict=True) if share < threshold), None
        )
        unchanged = FirstBelow(level=0, change="unchanged", changed=0.0)
        first_below[str(threshold)] = None if level is None else below(level) if level else unchanged
    return Profile(levels=levels, first_below=first_below, **columns)


def _shape(data: Dataset, set_id: str) -> tuple[int, int, int] | None:
    """Return the shape of the first image of a set, or None if it cannot be read."""
    try:
        height, width, channels = data[set_id].image(0).shape
    except (CorruptsetError, OSError):
        return None
    return height, width, channels
