"""Which images count: all, or those that a model has right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, PredictionError
from .outcomes import Predictions

CORRECT = "correct@clean"


@dataclass(frozen=True)
class Condition:
    """Which images count, and how that is said."""

    chosen: NDArray[np.bool_]
    """(N,)"""
    text: str | None
    """None where all count."""


def condition_of(text: str | None, predictions: Predictions, read: Callable[[str], Predictions], count: int) -> Condition:
    """Return the condition that a user gives.

    Parameters
    ----------
    text : str, optional
        ``correct@clean``: the images of the clean set that the model has right. ``correct@clean=PREDICTIONS``: those that the model of
        other predictions has right.
    predictions : Predictions
        The model's.
    read : callable
        The predictions of the clean set at a path.
    count : int
        Images of the data set.

    Raises
    ------
    ParameterError
        It is not written so.
    PredictionError
        There are no predictions of the clean set, or the model has no image right.
    """
    if text is None:
        return Condition(np.ones(count, np.bool_), None)
    kind, equals, path = text.partition("=")
    if kind != CORRECT or (equals and not path):
        raise ParameterError(f"condition is {text!r}; expected {CORRECT!r}, or {CORRECT + '=PREDICTIONS'!r} for another model's.")
    judge = read(path) if path else predictions
    clean = judge.outcomes.get("clean")
    if clean is None:
        raise PredictionError(f"{CORRECT} needs predictions of the clean images, and those of {judge.model} have none: add clean.npz.")
    if not clean.correct.any():
        raise PredictionError(f"{judge.model} has no clean image right: with {CORRECT} no image counts.")
    return Condition(clean.correct, f"{CORRECT}={judge.model}" if path else CORRECT)
