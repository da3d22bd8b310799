"""What a block of predictions comes down to: whether each image is right, and the rank and probability of its true class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..outcomes import Outcome
from .classes import Memory, Scored, counted, scored

Kind = Literal["logits", "probs", "top", "rank"]
KINDS: tuple[Kind, ...] = get_args(Kind)
COLUMNS: dict[Kind, tuple[str, ...]] = {"logits": ("logits",), "probs": ("probs",), "top": ("top",), "rank": ("rank_true", "p_true")}
"""The arrays of each kind."""
FIRST = 5
"""Classes that `top5` counts."""
SUM_TOLERANCE = 0.01
"""How far the probabilities of an image may sum from 1: what float16 loses over some thousand classes is below it."""
ROUNDING = 1e-3
"""How far above 1 a single probability may lie."""

Faults = Mapping[str, NDArray[np.bool_]]
"""What is wrong, in words that follow a number of rows, and with which rows."""

NOT_FINITE = "with values that are not finite (NaN or infinite; a masked class gets a low number)"


class Reduction:
    """Brings blocks of predictions of K classes down to outcomes, in working memory that it keeps."""

    def __init__(self, classes: int) -> None:
        self._classes = classes
        self._memory: Memory = {}

    def outcome(self, kind: Kind, arrays: Mapping[str, NDArray[Any]], labels: NDArray[np.integer]) -> tuple[Outcome, Faults]:
        """Return what a block comes down to, and what is wrong with it; the outcome of a faulty row means nothing.

        Parameters
        ----------
        kind : {"logits", "probs", "top", "rank"}
        arrays : mapping
            ``logits`` or ``probs`` (n, K) of float16, float32 or float64; ``top`` (n, k) whole numbers, classes from the most likely down;
            ``rank_true`` (n,) whole numbers, how many classes are above the true one, and ``p_true`` (n,) of a float type.
        labels : (n,) ndarray of integers
            The true classes, 0..K-1.
        """
        with np.errstate(all="ignore"):
            match kind:
                case "logits":
                    return self._from_logits(arrays["logits"], labels)
                case "probs":
                    return self._from_probabilities(arrays["probs"], labels)
                case "top":
                    return self._from_top(arrays["top"], labels)
                case "rank":
                    return self._from_rank(arrays["rank_true"], arrays["p_true"])

    def _from_logits(self, logits: NDArray[Any], labels: NDArray[np.integer]) -> tuple[Outcome, Faults]:
        values = scored(logits, self._memory)
        faults = {} if values.finite() else {NOT_FINITE: ~np.isfinite(logits).all(axis=1)}
        predicted = values.best()
        return self._ranked(values, predicted, values.shares(predicted, labels), labels), faults

    def _from_probabilities(self, probabilities: NDArray[Any], labels: NDArray[np.integer]) -> tuple[Outcome, Faults]:
        values = scored(probabilities, self._memory)
        sums = np.einsum("ij->i", values.singles())
        faults: dict[str, NDArray[np.bool_]] = {}
        if not values.finite():
            faults[NOT_FINITE] = np.asarray(~np.isfinite(probabilities).all(axis=1))
        elif not values.within(0, 1 + ROUNDING):
            faults["with values outside 0 to 1"] = np.asarray(((probabilities < 0) | (probabilities > 1 + ROUNDING)).any(axis=1))
        elif np.abs(sums - 1).max(initial=0) > SUM_TOLERANCE:
            faults[f"whose values do not sum to 1 (within {SUM_TOLERANCE})"] = np.asarray(np.abs(sums - 1) > SUM_TOLERANCE)
        own = probabilities[np.arange(len(labels)), labels].astype(np.float32)
        return self._ranked(values, values.best(), np.minimum(own, np.float32(1)), labels), faults

    def _ranked(
        self, values: Scored, predicted: NDArray[np.intp], probability: NDArray[np.float32], labels: NDArray[np.integer]
    ) -> Outcome:
        """Return an outcome; nothing is above the true class where it is the predicted one."""
        correct = predicted == labels
        rank = np.zeros(len(labels), np.int32)
        wrong = np.flatnonzero(~correct)
        rank[wrong] = values.above(wrong, labels[wrong])
        top5 = rank < FIRST
        close = wrong[top5[wrong]]
        # of equal classes the lower number comes first
        before = np.arange(self._classes) < labels[close][:, None]
        top5[close] = rank[close] + counted(values.equal(close, labels[close]) & before) < FIRST
        return Outcome(correct, top5, rank, probability, predicted.astype(np.int32))

    def _from_top(self, top: NDArray[Any], labels: NDArray[np.integer]) -> tuple[Outcome, Faults]:
        outside = ((top < 0) | (top >= self._classes)).any(axis=1)
        ordered = np.sort(top, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        faults = {f"with classes outside 0 to {self._classes - 1}": outside, "with a class twice": twice & ~outside}
        enough = top.shape[1] >= min(FIRST, self._classes)
        top5 = (top[:, :FIRST] == labels[:, None]).any(axis=1) if enough else None
        predicted = np.where(outside, 0, top[:, 0]).astype(np.int32)
        return Outcome(top[:, 0] == labels, top5, predicted=predicted), {words: rows for words, rows in faults.items() if rows.any()}

    def _from_rank(self, rank: NDArray[Any], probability: NDArray[Any]) -> tuple[Outcome, Faults]:
        finite = np.isfinite(probability)
        unlikely = finite & ((probability < 0) | (probability > 1 + ROUNDING))
        outside = (rank < 0) | (rank >= self._classes)
        # whatever is more likely than all others together is the first
        late = finite & ~unlikely & ~outside & (probability > 0.5 + ROUNDING) & (rank > 0)
        faults = {
            "with a p_true that is not finite (NaN or infinite)": ~finite,
            "with a p_true outside 0 to 1": unlikely,
            f"with a rank_true outside 0 to {self._classes - 1}": outside,
            "with a p_true above 0.5 whose rank_true is not 0 (ranks count from 0)": late,
        }
        ranks = np.where(outside, 0, rank).astype(np.int32)
        own = np.clip(probability, 0, 1).astype(np.float32)
        return Outcome(ranks == 0, ranks < FIRST, ranks, own), {words: rows for words, rows in faults.items() if rows.any()}
