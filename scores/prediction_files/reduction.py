"""Reduce predictions to the outcome of each image: correctness, and the rank and probability of the true class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..outcomes import FIRST, Outcome

Kind = Literal["logits", "probs", "top", "rank"]
KINDS: tuple[Kind, ...] = get_args(Kind)
COLUMNS: dict[Kind, tuple[str, ...]] = {kind: (kind,) for kind in KINDS} | {"rank": ("rank_true", "p_true")}
"""The arrays of each kind of predictions."""
SUM_TOLERANCE = 0.01
"""The maximum accepted deviation of a sum of probabilities from 1. Rounding to float16 causes a smaller deviation."""
ROUNDING = 1e-3
"""The maximum amount by which a single probability may exceed 1."""
SAFE_EXPONENT = 60.0
"""The maximum absolute logit for which the exponentials of a million classes can be summed in float32."""

PROBABILITIES = "has logits that are probabilities, because each row is from 0 to 1 with the sum 1. Save them as probs"
"""A problem that is reported only if it affects all rows."""
NOT_FINITE = "with values that are NaN or infinite (use a large negative logit to mask a class)"

Faults = Mapping[str, NDArray[np.bool_]]
"""The rows that each problem affects. The text of a problem continues a phrase such as "3 rows"."""


def reduce_predictions(
    kind: Kind, block: Mapping[str, NDArray[Any]], labels: NDArray[np.integer], classes: int
) -> tuple[Outcome, Faults]:
    """Return the outcome of some predictions, and their faults. The outcome in a faulty row is undefined.

    Parameters
    ----------
    kind : {"logits", "probs", "top", "rank"}
    block : mapping
        One of: ``logits`` or ``probs`` (n, K) as floating-point numbers; ``top`` (n, k), classes in descending order
        of likelihood; or ``rank_true`` (n,), the number of classes that score higher than the true one, with
        ``p_true`` (n,), the probability of the true one.
    labels : (n,) ndarray of integers
        The true classes, from 0 to K - 1.
    classes : int
        The number of classes K.
    """
    with np.errstate(all="ignore"):
        if kind == "top":
            return _from_top(block["top"], labels, classes)
        if kind == "rank":
            return _from_rank(block["rank_true"], block["p_true"], classes)
        values = block[kind].astype(np.float32) if block[kind].dtype == np.float16 else block[kind]
        finite = np.isfinite(values).all(axis=1)
        faults = {NOT_FINITE: ~finite}
        if kind == "logits":
            probability = _softmax(values, labels)
        else:
            probability = np.minimum(values[np.arange(len(labels)), labels].astype(np.float32), np.float32(1))
        if kind == "probs" or values.min(initial=0) >= 0:
            outside = finite & ((values < 0) | (values > 1 + ROUNDING)).any(axis=1)
            sums = np.einsum("ij->i", values.astype(np.float32))
            others = finite & ~outside & (np.abs(sums - 1) > SUM_TOLERANCE)
            if kind == "logits":
                faults[PROBABILITIES] = finite & ~outside & ~others
            else:
                faults["with values outside 0 to 1"] = outside
                faults[f"whose values do not sum to 1 (within {SUM_TOLERANCE})"] = others
        return _from_values(values, labels, probability), faults


def _softmax(logits: NDArray[Any], labels: NDArray[np.integer]) -> NDArray[np.float32]:
    """Return the softmax probability of the true class in each row, accurate to 1e-5."""
    if not np.abs(logits).max(initial=0) <= SAFE_EXPONENT:
        logits = logits - logits.max(axis=1, keepdims=True)
    powers = np.exp(logits.astype(np.float32))
    return np.asarray(powers[np.arange(len(labels)), labels] / np.einsum("ij->i", powers))


def _from_values(values: NDArray[Any], labels: NDArray[np.integer], probability: NDArray[np.float32]) -> Outcome:
    predicted = values.argmax(axis=1)
    rank, before = np.zeros(len(labels), np.int32), np.zeros(len(labels), np.int32)
    # Only wrong rows have classes above the true one. Among tied classes, the lowest comes first.
    wrong = np.flatnonzero(predicted != labels)
    values, labels_of_wrong = values[wrong], labels[wrong][:, None]
    own = np.take_along_axis(values, labels_of_wrong, axis=1)
    rank[wrong] = np.count_nonzero(values > own, axis=1)
    before[wrong] = np.count_nonzero((values == own) & (np.arange(values.shape[1]) < labels_of_wrong), axis=1)
    return Outcome(predicted == labels, rank + before < FIRST, rank, probability, predicted.astype(np.int32))


def _from_top(top: NDArray[Any], labels: NDArray[np.integer], classes: int) -> tuple[Outcome, Faults]:
    outside = ((top < 0) | (top >= classes)).any(axis=1)
    ordered = np.sort(top, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    enough = top.shape[1] >= min(FIRST, classes)
    top5 = (top[:, :FIRST] == labels[:, None]).any(axis=1) if enough else None
    outcome = Outcome(top[:, 0] == labels, top5, predicted=np.where(outside, 0, top[:, 0]).astype(np.int32))
    return outcome, {f"with classes outside 0 to {classes - 1}": outside, "with a repeated class": twice & ~outside}


def _from_rank(rank: NDArray[Any], probability: NDArray[Any], classes: int) -> tuple[Outcome, Faults]:
    finite = np.isfinite(probability)
    unlikely = finite & ((probability < 0) | (probability > 1 + ROUNDING))
    outside = (rank < 0) | (rank >= classes)
    # A class with a probability above one half is always the most likely one.
    late = finite & ~unlikely & ~outside & (probability > 0.5 + ROUNDING) & (rank > 0)
    ranks = np.where(outside, 0, rank).astype(np.int32)
    return Outcome(ranks == 0, ranks < FIRST, ranks, np.clip(probability, 0, 1).astype(np.float32)), {
        "with a p_true that is NaN or infinite": ~finite,
        "with a p_true outside 0 to 1": unlikely,
        f"with a rank_true outside 0 to {classes - 1}": outside,
        "with a p_true above 0.5 whose rank_true is not 0 (ranks begin at 0)": late,
    }
