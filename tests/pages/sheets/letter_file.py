"""Draw pages/sheets/letters.npz from DejaVu Sans as matplotlib ships it: ``python tests/pages/sheets/letter_file.py FILE``."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from corruptset.pages.sheets.letters import BOLD, LEADING, MARGIN, REGULAR

FACES = {REGULAR: ("DejaVuSans.ttf", 13), BOLD: ("DejaVuSans-Bold.ttf", 14)}
BLOCKS = [(0x20, 0x7E), (0xA1, 0x17F), (0x218, 0x21B), (0x386, 0x3CE), (0x400, 0x45F), (0x1EA0, 0x1EF9), (0x2010, 0x2026), (0x2190, 0x2193)]
SIGNS = "ẞ€™∞−≈≠≤≥√∑∂∆‹›‰′″"


def letters() -> str:
    found = "".join(chr(code) for low, high in BLOCKS for code in range(low, high + 1)) + SIGNS
    return "".join(c for c in found if unicodedata.category(c) not in ("Cn", "Cf", "Zl", "Zp", "Mn") and (c == " " or c.strip()))


def drawn(face: str, text: str) -> tuple[np.ndarray, np.ndarray]:
    file, size = FACES[face]
    path = Path(matplotlib.get_data_path()) / "fonts/ttf" / file
    font = ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)
    advance = [round(font.getlength(c)) for c in text]
    pictures = []
    for c, width in zip(text, advance, strict=True):
        picture = Image.new("L", (width + 2 * MARGIN + 40, LEADING + 40))
        ImageDraw.Draw(picture).text((MARGIN + 20, 20 + LEADING - 4), c, fill=255, font=font, anchor="ls")
        pixels = np.asarray(picture)
        inside = pixels[20 : 20 + LEADING, 20 : 20 + width + 2 * MARGIN]
        if inside.sum() != pixels.sum():
            print(f"{c!r} of {face} does not fit")
        pictures.append(np.rint(inside / 17).astype(np.uint8) * 17)
    return np.array(advance, np.uint8), np.concatenate(pictures, axis=1)


if __name__ == "__main__":
    text = letters()
    arrays = {"letters": np.frombuffer(text.encode("utf-32-le"), np.uint8)}
    for face in FACES:
        arrays[f"{face}_advance"], arrays[face] = drawn(face, text)
    np.savez_compressed(sys.argv[1], **arrays)
    print(len(text), "letters", Path(sys.argv[1]).stat().st_size, "bytes")
