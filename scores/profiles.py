"""Degradation profiles: what a model still recognises at each level of a gradual degradation.

Swingler 2022, "A Suite of Incremental Image Degradation Operators for Testing Image Classification Algorithms".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..errors import CorruptsetError, ParameterError
from ..manifests.records.models import SetRecord
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
        if over not in ("ours", *LEFT_OUT):
            raise ParameterError(f"profile_over is {over!r}; expected one of {', '.join(('ours', *LEFT_OUT))}.")
        self._over = over
        self._evaluation = evaluation
        self._describe = describe
        self._ladders: dict[str, dict[int, SetRecord]] = {}
        for record in evaluation.records:
            if len(record.stages) == 1 and record.stages[0].level is not None:
                self._ladders.setdefault(record.stages[0].corruption, {})[record.stages[0].level] = record

    def profiles(self) -> dict[str, Profile]:
        """Return the profile of each degradation."""
        return {name: self._of_one(rungs) for name, rungs in sorted(self._ladders.items())}

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

        def column(part: str) -> list[float] | None:
            known = [(profile.levels, getattr(profile, part)) for profile in averaged]
            if any(values is None for _, values in known):
                return None
            return np.mean([[values[own.index(level)] for level in levels] for own, values in known], axis=0).tolist()  # type: ignore[no-any-return]

        def below(level: int) -> FirstBelow:
            metrics = [self._ladders[name][level].metrics for name in profiles]
            changed = [m.changed for m in metrics if m is not None and m.changed is not None]
            mean = float(np.mean(changed)) if len(changed) == len(metrics) else None
            return FirstBelow(level=level, change=f"the mean of {len(metrics)} degradations", changed=mean)

        return _profile(levels, column, below)

    def _of_one(self, rungs: Mapping[int, SetRecord]) -> Profile:
        ids = {level: record.id for level, record in sorted(rungs.items())}
        if CLEAN in self._evaluation.outcomes:
            ids = {0: CLEAN} | ids

        def column(part: str) -> list[float] | None:
            field = "correct" if part == "accuracy" else part
            values = [self._evaluation.mean(getattr(self._evaluation.outcomes[id], field)) for id in ids.values()]
            return None if None in values else [one for one in values if one is not None]

        def below(level: int) -> FirstBelow:
            stage, metrics = rungs[level].stages[0], rungs[level].metrics
            words = f"level {level}"
            if self._describe is not None and self._shape is not None:
                words = self._describe(stage.corruption, level, self._shape, stage.parameters)
            return FirstBelow(level=level, change=words, changed=None if metrics is None else metrics.changed)

        return _profile(list(ids), column, below)

    @cached_property
    def _shape(self) -> tuple[int, int, int] | None:
        """Height, width and channels of the first image: how much a level does may follow from them. None where no image is there."""
        record = next(iter(next(iter(self._ladders.values())).values()))
        try:
            height, width, channels = self._evaluation.data[record.id].image(0).shape
        except (CorruptsetError, OSError):
            return None
        return height, width, channels


def _profile(levels: list[int], column: Callable[[str], list[float] | None], below: Callable[[int], FirstBelow]) -> Profile:
    """Return a profile of what `column` says of each measure, and `below` of a level above 0."""
    accuracy = column("accuracy") or []
    firsts = {t: next((level for level, share in zip(levels, accuracy, strict=True) if share < t), None) for t in THRESHOLDS}
    unchanged = FirstBelow(level=0, change="unchanged", changed=0.0)
    first_below = {str(t): None if level is None else below(level) if level else unchanged for t, level in firsts.items()}
    return Profile(levels=levels, accuracy=accuracy, rank=column("rank"), probability=column("probability"), first_below=first_below)
