"""Predictions reduced: whether each image is right, the rank and probability of its true class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..outcomes import Outcome

Kind = Literal["logits", "probs", "top", "rank"]
KINDS: tuple[Kind, ...] = get_args(Kind)
COLUMNS: dict[Kind, tuple[str, ...]] = {
    "logits": ("logits",),
    "probs": ("probs",),
    "top": ("top",),
    "rank": ("rank_true", "p_true"),
}
"""The arrays of each kind."""
FIRST = 5
"""Classes that `top5` counts."""
SUM_TOLERANCE = 0.01
"""How far the probabilities of an image may sum from 1: what float16 loses over some thousand classes is below it."""
ROUNDING = 1e-3
"""How far above 1 a single probability may lie."""
SAFE_EXPONENT = 60.0
"""Up to here (and down to its negative) sums of exponentials of a million classes keep float32's accuracy."""

Faults = Mapping[str, NDArray[np.bool_]]
"""What is wrong, in words that follow a number of rows, and with which rows."""

NOT_FINITE = "with values that are not finite (NaN or infinite; a masked class gets a low number)"


def reduced(
    kind: Kind, block: Mapping[str, NDArray[Any]], labels: NDArray[np.integer], classes: int
) -> tuple[Outcome, Faults]:
    """Return what a block of predictions comes down to, and what is wrong with it; the outcome of a faulty row means
    nothing.

    Parameters
    ----------
    kind : {"logits", "probs", "top", "rank"}
    block : mapping
        ``logits`` or ``probs`` (n, K) of float16, float32 or float64; ``top`` (n, k) whole numbers, classes from the
        most likely down; ``rank_true`` (n,) whole numbers, how many classes are above the true one, and ``p_true`` (n,)
        of a float type.
    labels : (n,) ndarray of integers
        The true classes, 0..K-1.
    classes : int
        K.
    """
    with np.errstate(all="ignore"):
        if kind in ("logits", "probs"):
            values = block[kind].astype(np.float32) if block[kind].dtype == np.float16 else block[kind]
            predicted = values.argmax(axis=1)
            shares = (
                _softmax(values, labels)
                if kind == "logits"
                else np.minimum(_own(values, labels).astype(np.float32), np.float32(1))
            )
            faults: Faults = (
                {NOT_FINITE: ~np.isfinite(values).all(axis=1)} if kind == "logits" else dict(_unlikely(values))
            )
            outcome = Outcome(
                predicted == labels, *_rank(values, labels, predicted), shares, predicted.astype(np.int32)
            )
        elif kind == "top":
            outcome, faults = _from_top(block["top"], labels, classes)
        else:
            outcome, faults = _from_rank(block["rank_true"], block["p_true"], classes)
    return outcome, faults


def _own(values: NDArray[Any], labels: NDArray[np.integer]) -> NDArray[Any]:
    own: NDArray[Any] = values[np.arange(len(labels)), labels]
    return own


def _softmax(logits: NDArray[Any], labels: NDArray[np.integer]) -> NDArray[np.float32]:
    """Return the softmax of each row's value of the true class, within 1e-5."""
    if not np.abs(logits).max(initial=0) <= SAFE_EXPONENT:
        logits = logits - logits.max(axis=1, keepdims=True)
    powers = np.exp(logits.astype(np.float32))
    return np.asarray(_own(powers, labels) / np.einsum("ij->i", powers))


def _rank(
    values: NDArray[Any], labels: NDArray[np.integer], predicted: NDArray[np.intp]
) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
    """Return whether the true class is among the first five, and its rank.

    Of equal classes the lower number is first.
    """
    rank, before = np.zeros(len(labels), np.int32), np.zeros(len(labels), np.int32)
    # nothing is above the true class, or before it, where it is the predicted one
    wrong = np.flatnonzero(predicted != labels)
    values, labels = values[wrong], labels[wrong]
    own = _own(values, labels)[:, None]
    rank[wrong] = np.count_nonzero(values > own, axis=1)
    close = np.flatnonzero(rank[wrong] < FIRST)
    ties = (values[close] == own[close]) & (np.arange(values.shape[1]) < labels[close][:, None])
    before[wrong[close]] = np.count_nonzero(ties, axis=1)
    return rank + before < FIRST, rank


def _unlikely(probabilities: NDArray[Any]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    finite = np.isfinite(probabilities).all(axis=1)
    outside = finite & ((probabilities < 0) | (probabilities > 1 + ROUNDING)).any(axis=1)
    sums = np.einsum("ij->i", probabilities.astype(np.float32))
    yield NOT_FINITE, ~finite
    yield "with values outside 0 to 1", outside
    yield (
        f"whose values do not sum to 1 (within {SUM_TOLERANCE})",
        finite & ~outside & (np.abs(sums - 1) > SUM_TOLERANCE),
    )


def _from_top(top: NDArray[Any], labels: NDArray[np.integer], classes: int) -> tuple[Outcome, Faults]:
    outside = ((top < 0) | (top >= classes)).any(axis=1)
    ordered = np.sort(top, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    enough = top.shape[1] >= min(FIRST, classes)
    top5 = (top[:, :FIRST] == labels[:, None]).any(axis=1) if enough else None
    outcome = Outcome(top[:, 0] == labels, top5, predicted=np.where(outside, 0, top[:, 0]).astype(np.int32))
    return outcome, {f"with classes outside 0 to {classes - 1}": outside, "with a class twice": twice & ~outside}


def _from_rank(rank: NDArray[Any], probability: NDArray[Any], classes: int) -> tuple[Outcome, Faults]:
    finite = np.isfinite(probability)
    unlikely = finite & ((probability < 0) | (probability > 1 + ROUNDING))
    outside = (rank < 0) | (rank >= classes)
    # whatever is more likely than all others together is the first
    late = finite & ~unlikely & ~outside & (probability > 0.5 + ROUNDING) & (rank > 0)
    ranks = np.where(outside, 0, rank).astype(np.int32)
    return Outcome(ranks == 0, ranks < FIRST, ranks, np.clip(probability, 0, 1).astype(np.float32)), {
        "with a p_true that is not finite (NaN or infinite)": ~finite,
        "with a p_true outside 0 to 1": unlikely,
        f"with a rank_true outside 0 to {classes - 1}": outside,
        "with a p_true above 0.5 whose rank_true is not 0 (ranks count from 0)": late,
    }
