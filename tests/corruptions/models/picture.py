"""Draw docs/pictures/adversarial.png: ``python tests/corruptions/models/picture.py FILE``. A digit a row: clean, pgd/5,
the change.

Digits are those that the small network of the tests was not trained on; the first that it reads right when clean, and
wrong under pgd/5, one of each class as far as there are.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from surrogates import digits

import corruptset
from corruptset.pages.sheets.sheet import SheetLine, sheet

AMPLIFIED = 8
COLUMNS, FIRST = 6, 150


def main(file: str) -> None:
    trained = digits()
    model = corruptset.load_surrogate(trained.model)
    images, labels = trained.images[:FIRST], trained.labels[:FIRST]
    made = corruptset.corrupt(images, "pgd", severity=5, labels=labels, surrogate=model)
    clean, moved = (probabilities(model.logits(batch)) for batch in (images, made))
    fooled = np.flatnonzero((clean.argmax(axis=1) == labels) & (moved.argmax(axis=1) != labels))
    shown = [next(i for i in fooled if labels[i] == label) for label in sorted(set(labels[fooled].tolist()))][:COLUMNS]
    difference = np.clip(128 + AMPLIFIED * (made.astype(int) - images), 0, 255).astype(np.uint8)
    rows = [("clean", images, clean), ("pgd/5", made, moved), (f"difference x {AMPLIFIED}", difference, None)]
    lines = []
    for name, drawn, belief in rows:
        says = ["" if belief is None else f"read as {belief[i].argmax()} ({belief[i].max():.0%})" for i in shown]
        lines.append(SheetLine(name, [(said, drawn[i]) for said, i in zip(says, shown, strict=True)]))
    Path(file).write_bytes(sheet(lines))


def probabilities(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    main(sys.argv[1])
