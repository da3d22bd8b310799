"""A model on a data set: which images count, and what it made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, PredictionError
from ..manifests.records.models import SampleRecord, SetRecord
from .estimates import Images, interval_of, value
from .formulas import Estimate
from .outcomes import CLEAN, Outcome, Predictions
from .records import SetScore

CORRECT = "correct@clean"


def condition_of(
    text: str | None, predictions: Predictions, read: Callable[[str], Predictions]
) -> tuple[NDArray[np.bool_] | None, str | None]:
    """Return which images count, (N,), and the words of the condition; None where all do.

    Parameters
    ----------
    text : str, optional
        ``correct@clean``: the images of the clean set that the model has right. ``correct@clean=PREDICTIONS``: those
        that the model of other predictions has right.
    predictions : Predictions
        The model's.
    read : callable
        The predictions of the clean set at a path.

    Raises
    ------
    ParameterError
        It is not written so.
    PredictionError
        There are no predictions of the clean set, or the model has no image right.
    """
    if text is None:
        return None, None
    kind, equals, path = text.partition("=")
    if kind != CORRECT or (equals and not path):
        raise ParameterError(
            f"condition is {text!r}; expected {CORRECT!r}, or {CORRECT + '=PREDICTIONS'!r} for another model's."
        )
    judge = read(path) if path else predictions
    clean = judge.outcomes.get(CLEAN)
    if clean is None:
        raise PredictionError(
            f"{CORRECT} needs predictions of the clean images, and those of {judge.model} have none: add clean.npz."
        )
    if not clean.correct.any():
        raise PredictionError(f"{judge.model} has no clean image right: with {CORRECT} no image counts.")
    return clean.correct, f"{CORRECT}={judge.model}" if path else CORRECT


@dataclass(frozen=True)
class Evaluation:
    """What a model made of the images of a data set that count."""

    model: str
    records: Sequence[SetRecord]
    """The data set's sets that were predicted."""
    samples: Sequence[SampleRecord]
    """Those that count."""
    outcomes: Mapping[str, Outcome]
    """By set id, a row a sample that counts; ``clean`` may be none of the data set's sets."""
    images: Images

    @cached_property
    def accuracies(self) -> dict[str, Estimate]:
        """The accuracy on each set."""
        return self.images.estimates({name: outcome.correct for name, outcome in self.outcomes.items()})

    @property
    def clean(self) -> Estimate | None:
        """The accuracy on the clean images; None where there are no predictions of them."""
        return self.accuracies.get(CLEAN)

    @cached_property
    def tests(self) -> list[SetRecord]:
        """The sets to test on, but clean: all that means over test sets are over."""
        return [record for record in self.records if record.role == "test" and record.stages]

    def mean_accuracy(self, ids: Sequence[str]) -> float:
        """Return the mean of the accuracies on several sets."""
        return float(np.mean([self.accuracies[set_id][0] for set_id in ids]))

    def set_scores(self) -> dict[str, SetScore]:
        """Return the scores of each set."""
        return {
            name: SetScore(
                n=len(self.samples),
                accuracy=value(self.accuracies[name]) or 0.0,
                top5=mean(outcome.top5),
                rank=mean(outcome.rank),
                probability=mean(outcome.probability),
                interval=interval_of(self.accuracies[name]),
            )
            for name, outcome in sorted(self.outcomes.items())
        }


def mean(values: NDArray[Any] | None) -> float | None:
    """Return the mean over images; None where the predictions have no such value."""
    return None if values is None else float(np.mean(values, dtype=np.float64))
