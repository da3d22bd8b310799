"""Draw docs/pictures/adversarial.png: ``python tests/models/picture.py FILE``. A digit a row: clean, pgd/5, and what it changes.

Digits are those that the small network of the tests was not trained on; the first that it reads right when clean, and wrong under pgd/5,
one of each class as far as there are.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from surrogates import digits

import corruptset

SIDE, GAP, LINE, AMPLIFIED = 128, 12, 20, 8
COLUMNS, FIRST = 6, 150


def main(file: str) -> None:
    trained = digits()
    model = corruptset.load_surrogate(trained.model)
    images, labels = trained.images[:FIRST], trained.labels[:FIRST]
    made = corruptset.corrupt(images, "pgd", severity=5, labels=labels, surrogate=model)
    clean, moved = (probabilities(model.logits(batch)) for batch in (images, made))
    fooled = np.flatnonzero((clean.argmax(axis=1) == labels) & (moved.argmax(axis=1) != labels))
    shown = [next(i for i in fooled if labels[i] == label) for label in sorted(set(labels[fooled].tolist()))][:COLUMNS]
    # no font of this machine: the one inside Pillow
    font, title = ImageFont.load_default(15), ImageFont.load_default(16)
    left = 130
    width, height = left + len(shown) * (SIDE + GAP), LINE + 3 * (SIDE + LINE + GAP)
    sheet = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(sheet)
    difference = 128 + AMPLIFIED * (made.astype(int) - images)
    rows = [("clean", images, clean), ("pgd/5", made, moved), (f"difference x {AMPLIFIED}", difference, None)]
    for row, (name, drawn, belief) in enumerate(rows):
        top = LINE // 2 + row * (SIDE + LINE + GAP)
        draw.text((8, top + SIDE // 2 - 8), name, "black", title)
        for column, i in enumerate(shown):
            at = left + column * (SIDE + GAP)
            picture = Image.fromarray(np.clip(drawn[i, :, :, 0], 0, 255).astype(np.uint8)).resize((SIDE, SIDE), Image.Resampling.NEAREST)
            sheet.paste(picture.convert("RGB"), (at, top))
            if belief is not None:
                draw.text((at, top + SIDE + 2), f"read as {belief[i].argmax()} ({belief[i].max():.0%})", "black", font)
    sheet.save(file, optimize=True)


def probabilities(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    main(sys.argv[1])
