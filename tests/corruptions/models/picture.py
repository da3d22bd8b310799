"""Draw docs/pictures/adversarial.png: ``python tests/corruptions/models/picture.py FILE``. A digit a row: clean, pgd/5,
the change.

Digits are those that the small network of the tests was not trained on; the first that it reads right when clean, and
wrong under pgd/5, one of each class as far as there are.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.special import softmax

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from surrogates import digits

import corruptset
from corruptset.pages.sheets.sheet import SheetLine, sheet

AMPLIFIED = 8
COLUMNS, FIRST = 6, 150


def main(file: str) -> None:
    trained = digits()
    images, labels = trained.images[:FIRST], trained.labels[:FIRST]
    model = corruptset.load_surrogate(trained.model)
    made = corruptset.corrupt(images, "pgd", severity=5, labels=labels, surrogate=model)
    clean, moved = (softmax(model.logits(batch), axis=1) for batch in (images, made))
    fooled = np.flatnonzero((clean.argmax(axis=1) == labels) & (moved.argmax(axis=1) != labels))
    shown = fooled[np.unique(labels[fooled], return_index=True)[1]][:COLUMNS]
    difference = np.clip(128 + AMPLIFIED * (made.astype(int) - images), 0, 255).astype(np.uint8)
    lines = [
        SheetLine(name, [(f"read as {belief[i].argmax()} ({belief[i].max():.0%})", drawn[i]) for i in shown])
        for name, drawn, belief in (("clean", images, clean), ("pgd/5", made, moved))
    ]
    lines.append(SheetLine(f"difference x {AMPLIFIED}", [("", difference[i]) for i in shown]))
    Path(file).write_bytes(sheet(lines))


if __name__ == "__main__":
    main(sys.argv[1])
