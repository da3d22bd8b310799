"""Predictions as files of every kind, and what they come down to."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray]


def logits_of(images: int, classes: int, *, seed: int = 0, dtype: str = "float32", ties: bool = True) -> np.ndarray:
    """Return logits (images, classes), where `ties` with ties, zeros and negative rows."""
    rng = np.random.default_rng(seed)
    logits = (rng.standard_normal((images, classes)) * 3).astype(dtype)
    if ties:
        logits[::3] = np.round(logits[::3])
        logits[1::4] -= np.asarray(20, dtype)
        logits[2::5] = np.where(logits[2::5] > 0, -0.0, np.minimum(logits[2::5], 0.0))
        logits[2::5, 1] = 0.0
    return logits


def kinds(logits: np.ndarray, labels: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
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


def plain_outcome(kind: str, arrays: Arrays, row: int, label: int) -> dict[str, Any]:
    """Return what one image's predictions come down to, class by class."""
    if kind == "rank":
        rank = int(arrays["rank_true"][row])
        return {
            "correct": rank == 0,
            "top5": rank < 5,
            "rank": rank,
            "probability": float(arrays["p_true"][row]),
            "predicted": None,
        }
    if kind == "top":
        top = arrays["top"][row].tolist()
        return {
            "correct": top[0] == label,
            "top5": label in top[:5],
            "rank": None,
            "probability": None,
            "predicted": top[0],
        }
    values = [float(value) for value in arrays[kind][row]]
    order = sorted(range(len(values)), key=lambda c: (-values[c], c))
    highest = max(values)
    total = math.fsum(math.exp(value - highest) for value in values)
    return {
        "correct": order[0] == label,
        "top5": label in order[:5],
        "rank": sum(value > values[label] for value in values),
        "probability": math.exp(values[label] - highest) / total if kind == "logits" else values[label],
        "predicted": order[0],
    }


def write_folder(folder: Path, sets: Mapping[str, Arrays], *, compressed: bool = False) -> Path:
    """Write <set id>.npz for each set."""
    for name, arrays in sets.items():
        path = folder / f"{name}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        (np.savez_compressed if compressed else np.savez)(path, **arrays)
    return folder


def joined(sets: Mapping[str, Arrays]) -> dict[str, np.ndarray]:
    """Return the rows of all sets one behind the other, with a column set_id."""
    rows = {name: len(next(iter(arrays.values()))) for name, arrays in sets.items()}
    first = next(iter(sets.values()))
    columns = {key: np.concatenate([arrays[key] for arrays in sets.values()]) for key in first}
    return {"set_id": np.repeat(list(rows), list(rows.values())), **columns}


def write_csv(path: Path, columns: Arrays) -> Path:
    """Write columns as docs/evaluate.md describes the CSV file."""
    names: list[str] = []
    cells: list[Sequence[Any]] = []
    begins = {"top": ("top", 1), "logits": ("logit_", 0), "probs": ("prob_", 0)}
    for name, values in columns.items():
        if name in begins:
            word, first = begins[name]
            names += [f"{word}{number}" for number in range(first, first + values.shape[1])]
            cells += [[repr(v) for v in column.tolist()] for column in values.T]
        else:
            names.append(name)
            cells.append(values.tolist())
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *zip(*cells, strict=True)])
    return path
