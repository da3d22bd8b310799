"""Evaluate a model on a dataset: select the scored images, and collect the model's outcomes for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, PredictionError
from ..manifests.records.models import SampleRecord, SetRecord
from .bootstrap import Images, interval_of, value
from .formulas import Estimate
from .outcomes import CLEAN, Outcome, Predictions
from .published import sort_by_literature
from .records import SetScore

CORRECT = "correct@clean"


def condition_of(
    text: str | None, predictions: Predictions, read: Callable[[str], Predictions]
) -> tuple[NDArray[np.bool_] | None, str | None]:
    """Return the mask (N,) of the scored images, and the text of the condition. Both are None without a condition.

    Parameters
    ----------
    text : str, optional
        ``correct@clean`` selects the images that the model classifies correctly in the clean set.
        ``correct@clean=PREDICTIONS`` selects the images that another model classifies correctly.
    predictions : Predictions
        The predictions of the model.
    read : callable
        A function that reads the predictions for the clean set from a path.

    Raises
    ------
    ParameterError
        If the condition does not have one of these forms.
    PredictionError
        If there are no predictions for the clean set, or if no image meets the condition.
    """
    if text is None:
        return None, None
    kind, equals, path = text.partition("=")
    if kind != CORRECT or (equals and not path):
        raise ParameterError(
            f"condition is {text!r}; expected {CORRECT!r}, or {CORRECT + '=PREDICTIONS'!r} for another model."
        )
    judge = read(path) if path else predictions
    clean = judge.outcomes.get(CLEAN)
    if clean is None:
        raise PredictionError(
            f"{CORRECT} needs predictions of the clean images, but those of {judge.model} have none. Add clean.npz."
        )
    if not clean.correct.any():
        raise PredictionError(
            f"{judge.model} classifies no clean image correctly, so {CORRECT} leaves no image to score."
        )
    return clean.correct, f"{CORRECT}={judge.model}" if path else CORRECT


@dataclass(frozen=True)
class Evaluation:
    """The outcomes of a model for the scored images of a dataset."""

    model: str
    records: Sequence[SetRecord]
    """The sets that have predictions."""
    samples: Sequence[SampleRecord]
    """The scored samples."""
    outcomes: Mapping[str, Outcome]
    """The outcome on each set, with a row per scored sample. It may include ``clean`` even if the dataset does not."""
    images: Images

    @cached_property
    def accuracies(self) -> dict[str, Estimate]:
        """The accuracy on each set."""
        return self.images.estimates({name: outcome.correct for name, outcome in self.outcomes.items()})

    @property
    def clean(self) -> Estimate | None:
        """The accuracy on the clean images, or None if there are no predictions for them."""
        return self.accuracies.get(CLEAN)

    @cached_property
    def tests(self) -> list[SetRecord]:
        """The test sets except ``clean``. All means over test sets include exactly these sets."""
        return [record for record in self.records if record.role == "test" and record.stages]

    def set_scores(self) -> dict[str, SetScore]:
        """Return the scores of each set."""
        found = {}
        for name in sort_by_literature(sorted(self.outcomes)):
            outcome, accuracy = self.outcomes[name], self.accuracies[name]
            found[name] = SetScore(
                n=len(self.samples),
                accuracy=value(accuracy) or 0.0,
                top5=mean(outcome.top5),
                rank=mean(outcome.rank),
                probability=mean(outcome.probability),
                interval=interval_of(accuracy),
            )
        return found


def mean(values: NDArray[Any] | None) -> float | None:
    """Return the mean of some values over images, or None if `values` is None."""
    return None if values is None else float(np.mean(values, dtype=np.float64))
