"""Degradation profiles: what a model still recognises at each level of a gradual degradation.

Swingler 2022, "A Suite of Incremental Image Degradation Operators for Testing Image Classification Algorithms".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ..errors import CorruptsetError
from ..manifests.reader import DataSet
from ..manifests.records.models import SetRecord
from .evaluation import Evaluation
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
"""Which of the fifteen operators of Swingler 2022 its figures, and its tables, leave out: both means are over fourteen.
"""
DescribeLevel = Callable[[str, int, tuple[int, int, int], Mapping[str, Any]], str]
"""(corruption, level, (H, W, C) of an image, parameters) -> what the level does to an image, in words."""
Columns = Mapping[str, list[float] | None]
"""Accuracy, rank and probability at each level; None where predictions do not say it."""
Ladders = Mapping[str, Mapping[int, SetRecord]]
"""Degradation -> level -> its set."""


def degradation_profiles(
    evaluation: Evaluation, describe: DescribeLevel | None, over: ProfileOver
) -> tuple[dict[str, Profile], Profile | None, list[str]]:
    """Return the profile of each degradation, their mean over the levels that all have, and notes on the mean.

    The mean is over ``ours``, all that the data set has of sets to test on, or the fourteen of the paper's ``figures``
    or ``tables``.
    """
    found: dict[str, dict[int, SetRecord]] = {}
    for record in evaluation.records:
        if len(record.stages) == 1 and (level := record.stages[0].level) is not None:
            found.setdefault(record.stages[0].corruption, {})[level] = record
    ladders: Ladders = {name: dict(sorted(rungs.items())) for name, rungs in sorted(found.items())}
    shape = (
        _shape(evaluation.data, next(iter(next(iter(ladders.values())).values())).id) if ladders and describe else None
    )
    profiles = {name: _of_one(evaluation, rungs, describe, shape) for name, rungs in ladders.items()}
    names, notes = (
        [name for name, rungs in ladders.items() if all(rung.role == "test" for rung in rungs.values())],
        list[str](),
    )
    if over != "ours":
        fourteen = [name for name in FIFTEEN_OPERATORS if name != LEFT_OUT[over]]
        if missing := [name for name in fourteen if name not in names]:
            note = (
                f"No mean profile over the fourteen of the paper's {over}: the data set has no levels of "
                f"{', '.join(missing)}."
            )
            return profiles, None, [note]
        names = fourteen
        notes = [
            f"The mean profile is over the fourteen operators of the paper's {over}: all fifteen but {LEFT_OUT[over]}."
        ]
    return profiles, _mean({name: profiles[name] for name in names}, ladders), notes


def _of_one(
    evaluation: Evaluation,
    rungs: Mapping[int, SetRecord],
    describe: DescribeLevel | None,
    shape: tuple[int, int, int] | None,
) -> Profile:
    ids = {level: record.id for level, record in rungs.items()}
    if CLEAN in evaluation.outcomes:
        ids = {0: CLEAN} | ids
    columns: dict[str, list[float] | None] = {}
    for part, field in (("accuracy", "correct"), ("rank", "rank"), ("probability", "probability")):
        values = [evaluation.mean(getattr(evaluation.outcomes[id], field)) for id in ids.values()]
        columns[part] = None if None in values else [one for one in values if one is not None]

    def below(level: int) -> FirstBelow:
        stage, metrics = rungs[level].stages[0], rungs[level].metrics
        words = describe(stage.corruption, level, shape, stage.parameters) if describe and shape else f"level {level}"
        return FirstBelow(level=level, change=words, changed=None if metrics is None else metrics.changed)

    return _profile(list(ids), columns, below)


def _mean(profiles: Mapping[str, Profile], ladders: Ladders) -> Profile | None:
    averaged = list(profiles.values())
    levels = sorted(set.intersection(*(set(profile.levels) for profile in averaged))) if averaged else []
    if not levels:
        return None
    columns: dict[str, list[float] | None] = {}
    for part in ("accuracy", "rank", "probability"):
        known = [(p.levels, values) for p in averaged if (values := getattr(p, part)) is not None]
        rows = [[values[own.index(level)] for level in levels] for own, values in known]
        columns[part] = np.mean(rows, axis=0).tolist() if len(known) == len(averaged) else None

    def below(level: int) -> FirstBelow:
        metrics = [ladders[name][level].metrics for name in profiles]
        changed = [m.changed for m in metrics if m is not None and m.changed is not None]
        mean = float(np.mean(changed)) if len(changed) == len(metrics) else None
        return FirstBelow(level=level, change=f"the mean of {len(metrics)} degradations", changed=mean)

    return _profile(levels, columns, below)


def _profile(levels: Sequence[int], columns: Columns, below: Callable[[int], FirstBelow]) -> Profile:
    """Return a profile of its columns, and what `below` says of a level above 0."""
    accuracy = columns["accuracy"] or []
    firsts = {
        t: next((level for level, share in zip(levels, accuracy, strict=True) if share < t), None) for t in THRESHOLDS
    }
    unchanged = FirstBelow(level=0, change="unchanged", changed=0.0)
    first_below = {
        str(t): None if level is None else below(level) if level else unchanged for t, level in firsts.items()
    }
    return Profile(
        levels=list(levels),
        accuracy=accuracy,
        rank=columns["rank"],
        probability=columns["probability"],
        first_below=first_below,
    )


def _shape(data: DataSet, set_id: str) -> tuple[int, int, int] | None:
    """Return the height, width and channels of a set's first image, which levels follow from; None where no image is
    there.
    """
    try:
        height, width, channels = data[set_id].image(0).shape
    except (CorruptsetError, OSError):
        return None
    return height, width, channels
