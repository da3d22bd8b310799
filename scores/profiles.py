"""Degradation profiles: what a model still recognises at each level of a gradual degradation.

Swingler 2022, "A Suite of Incremental Image Degradation Operators for Testing Image Classification Algorithms".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from ..errors import CorruptsetError, ParameterError
from ..manifests.records.models import SetRecord
from .estimates import value
from .evaluation import Evaluation
from .outcomes import CLEAN
from .records import FirstBelow, Profile

THRESHOLDS = (0.9, 0.5, 0.1)
FIFTEEN_OPERATORS = (
    "black_lines", "white_lines", "random_boxes", "global_blur", "local_blur", "random_noise", "pixel_swap", "adjacent_pixel_swap",
    "white_fog", "fade_black", "fade_white", "fade_grey", "posterize", "jpeg", "model_gradient",
)  # fmt: skip
ProfileOver = Literal["ours", "figures", "tables"]
LEFT_OUT: Mapping[ProfileOver, str] = {"figures": "random_noise", "tables": "fade_grey"}
"""Which of the fifteen operators of Swingler 2022 its figures, and its tables, leave out: both means are over fourteen."""
DescribeLevel = Callable[[str, int, tuple[int, int, int], Mapping[str, Any]], str]
"""(corruption, level, (H, W, C) of an image, parameters) -> what the level does to an image, in words."""


class Degradations:
    """The gradual degradations of a data set under a model."""

    def __init__(self, evaluation: Evaluation, describe: DescribeLevel | None, over: ProfileOver = "ours") -> None:
        if over not in get_args(ProfileOver):
            raise ParameterError(f"profile_over is {over!r}; expected one of {', '.join(get_args(ProfileOver))}.")
        self._over = over
        self._evaluation = evaluation
        self._describe = describe
        self._ladders: dict[str, dict[int, SetRecord]] = {}
        for record in evaluation.records:
            if len(record.stages) == 1 and record.stages[0].level is not None:
                self._ladders.setdefault(record.stages[0].corruption, {})[record.stages[0].level] = record

    def profiles(self) -> dict[str, Profile]:
        """Return the profile of each degradation."""
        return {name: self._profile(rungs) for name, rungs in sorted(self._ladders.items())}

    def mean_profile(self, profiles: Mapping[str, Profile]) -> tuple[Profile | None, list[str]]:
        """Return the mean of profiles over the levels that all of them have, and notes of which these are, or why there is none.

        ``ours`` are all that the data set has of sets to test on; ``figures`` and ``tables`` the fourteen of the paper's.
        """
        tested = [name for name in profiles if all(rung.role == "test" for rung in self._ladders[name].values())]
        over = self._over
        if over == "ours":
            return self._mean({name: profiles[name] for name in tested}), []
        fourteen = [name for name in FIFTEEN_OPERATORS if name != LEFT_OUT[over]]
        if missing := [name for name in fourteen if name not in tested]:
            return None, [f"No mean profile over the fourteen of the paper's {over}: the data set has no levels of {', '.join(missing)}."]
        said = f"The mean profile is over the fourteen operators of the paper's {over}: all fifteen but {LEFT_OUT[over]}."
        return self._mean({name: profiles[name] for name in fourteen}), [said]

    def _mean(self, profiles: Mapping[str, Profile]) -> Profile | None:
        averaged = list(profiles.values())
        levels = sorted(set.intersection(*(set(profile.levels) for profile in averaged))) if averaged else []
        if not levels:
            return None
        columns = {
            part: np.mean([[getattr(p, part)[p.levels.index(level)] for level in levels] for p in averaged], axis=0).tolist()
            if all(getattr(profile, part) is not None for profile in averaged)
            else None
            for part in ("accuracy", "rank", "probability")
        }
        accuracy = columns["accuracy"] or []
        below = {str(t): self._mean_below(list(profiles), _first_below(levels, accuracy, t)) for t in THRESHOLDS}
        return Profile(levels=levels, accuracy=accuracy, rank=columns["rank"], probability=columns["probability"], first_below=below)

    def _profile(self, rungs: Mapping[int, SetRecord]) -> Profile:
        ids = {level: record.id for level, record in sorted(rungs.items())}
        if CLEAN in self._evaluation.outcomes:
            ids = {0: CLEAN} | ids
        outcomes = [self._evaluation.outcomes[id] for id in ids.values()]
        accuracy = [value(self._evaluation.accuracies[id]) or 0.0 for id in ids.values()]
        below = {str(t): self._below(rungs, _first_below(list(ids), accuracy, t)) for t in THRESHOLDS}
        return Profile(
            levels=list(ids),
            accuracy=accuracy,
            rank=_all_or_none([self._evaluation.mean(outcome.rank) for outcome in outcomes]),
            probability=_all_or_none([self._evaluation.mean(outcome.probability) for outcome in outcomes]),
            first_below=below,
        )

    def _below(self, rungs: Mapping[int, SetRecord], level: int | None) -> FirstBelow | None:
        if level is None:
            return None
        if level == 0:
            return FirstBelow(level=0, change="unchanged", changed=0.0)
        record = rungs[level]
        stage, metrics = record.stages[0], record.metrics
        words = f"level {level}"
        if self._describe is not None and self._shape is not None:
            words = self._describe(stage.corruption, level, self._shape, stage.parameters)
        return FirstBelow(level=level, change=words, changed=None if metrics is None else metrics.changed)

    def _mean_below(self, names: Sequence[str], level: int | None) -> FirstBelow | None:
        if level is None:
            return None
        metrics = [self._ladders[name][level].metrics if level else None for name in names]
        changed = [m.changed for m in metrics if m is not None and m.changed is not None]
        mean = 0.0 if level == 0 else float(np.mean(changed)) if len(changed) == len(names) else None
        return FirstBelow(level=level, change=f"the mean of {len(names)} degradations" if level else "unchanged", changed=mean)

    @cached_property
    def _shape(self) -> tuple[int, int, int] | None:
        """Height, width and channels of the first image: how much a level does may follow from them. None where no image is there."""
        record = next(iter(next(iter(self._ladders.values())).values()))
        try:
            height, width, channels = self._evaluation.data[record.id].image(0).shape
        except (CorruptsetError, OSError):
            return None
        return height, width, channels


def _first_below(levels: Sequence[int], accuracy: Sequence[float], threshold: float) -> int | None:
    return next((level for level, share in zip(levels, accuracy, strict=True) if share < threshold), None)


def _all_or_none(values: list[float | None]) -> list[float] | None:
    return None if None in values else [v for v in values if v is not None]
