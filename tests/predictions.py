"""Predictions in files of all kinds, and reference implementations of their outcomes."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping

import numpy as np

Arrays = Mapping[str, np.ndarray]


def random_logits(images, classes, *, seed=0):
    """Return logits (images, classes) with ties, zeros and negative rows."""
    rng = np.random.default_rng(seed)
    logits = (rng.standard_normal((images, classes)) * 3).astype(np.float32)
    logits[::3] = np.round(logits[::3])
    logits[1::4] -= 20
    logits[2::5] = np.where(logits[2::5] > 0, -0.0, np.minimum(logits[2::5], 0.0))
    logits[2::5, 1] = 0.0
    return logits


def all_kinds(logits, labels):
    """Return the same predictions in all four kinds."""
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True).astype(np.float64))
    probs = powers / powers.sum(axis=1, keepdims=True)
    own = logits[np.arange(len(labels)), labels][:, None]
    return {
        "logits": {"logits": logits},
        "probs": {"probs": probs},
        "top": {"top": np.argsort(-logits.astype(np.float64), axis=1, kind="stable")[:, :5]},
        "rank": {"rank_true": (logits > own).sum(axis=1), "p_true": probs[np.arange(len(labels)), labels]},
    }


def reference_outcome(kind, arrays, row, label):
    """Return the outcome for one image, computed with a loop over classes."""
    if kind == "rank":
        rank = int(arrays["rank_true"][row])
        outcome = {"rank": rank, "probability": float(arrays["p_true"][row]), "predicted": None}
        return {"correct": rank == 0, "top5": rank < 5, **outcome}
    values = arrays[kind][row].tolist()
    if kind == "top":
        order, outcome = values, {"rank": None, "probability": None}
    else:
        order = sorted(range(len(values)), key=lambda c: (-values[c], c))
        highest = max(values)
        total = math.fsum(math.exp(value - highest) for value in values)
        share = math.exp(values[label] - highest) / total if kind == "logits" else values[label]
        outcome = {"rank": sum(value > values[label] for value in values), "probability": share}
    return {"correct": order[0] == label, "top5": label in order[:5], "predicted": order[0], **outcome}


def check_outcome(outcome, kind, arrays, labels):
    """Compare the outcome of a set, in the order of the dataset, with the reference implementation."""
    rows = [reference_outcome(kind, arrays, row, label) for row, label in enumerate(labels.tolist())]
    for field, values in vars(outcome).items():
        expected = [row[field] for row in rows]
        if values is None:
            assert set(expected) == {None}, field
        else:
            np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-30, err_msg=field)


def write_folder(folder, sets, *, compressed=False):
    """Write <set id>.npz for each set."""
    for name, arrays in sets.items():
        path = folder / f"{name}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        (np.savez_compressed if compressed else np.savez)(path, **arrays)
    return folder


def concatenate_sets(sets):
    """Return the rows of all sets one after another, with a column set_id."""
    rows = {name: len(next(iter(arrays.values()))) for name, arrays in sets.items()}
    first = next(iter(sets.values()))
    columns = {key: np.concatenate([arrays[key] for arrays in sets.values()]) for key in first}
    return {"set_id": np.repeat(list(rows), list(rows.values())), **columns}


def write_csv(path, columns):
    """Write the columns of a CSV file that docs/evaluate.md describes."""
    cells = {}
    for name, values in columns.items():
        parts = {f"top{n}": column for n, column in enumerate(values.T, 1)} if name == "top" else {name: values}
        cells |= {part: column.tolist() for part, column in parts.items()}
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(cells), *zip(*cells.values(), strict=True)])
    return path
