"""Letters as pixels, from bitmaps that lie in this folder.

They were drawn once, by tests/pages/sheets/letter_file.py from DejaVu Sans (LICENSE_DEJAVU), the font of the plots. A font drawn at run
time has other pixels in another release of FreeType: Pillow's own at 14 pixels differs between Pillow 11.3 and 12.0, and a contact sheet
is among the checksums of a build.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .style import Colour

REGULAR, BOLD = "regular", "bold"
LEADING = 18
"""Pixels from one line of text to the next; letters are as high."""
MARGIN = 2
"""Pixels by which the picture of a letter is wider than the letter, on either side: some reach into their neighbours."""
_GAP = "…"
_BREAKS = " /_+-,:;"


class Letters(NamedTuple):
    """The letters of one face."""

    advance: NDArray[np.int64]
    """Pixels from a letter to the next."""
    start: NDArray[np.int64]
    """Column of each letter in the strip."""
    strip: NDArray[np.uint8]
    """All letters beside each other, (LEADING, columns): how much of a pixel is ink."""


@cache
def _places() -> dict[str, int]:
    return {letter: i for i, letter in enumerate(_stored()["letters"].tobytes().decode("utf-32-le"))}


@cache
def _stored() -> dict[str, NDArray[np.uint8]]:
    with files(__package__).joinpath("letters.npz").open("rb") as file, np.load(file) as arrays:
        return {name: arrays[name] for name in arrays.files}


@cache
def _face(face: str) -> Letters:
    stored = _stored()
    advance = stored[f"{face}_advance"].astype(np.int64)
    return Letters(advance, np.cumsum(advance + 2 * MARGIN) - advance - 2 * MARGIN, stored[face])


def printable(text: str) -> str:
    """Return a text with everything that has no letter here written as Python writes it.

    Examples
    --------
    >>> printable("naïve Ωmega"), printable("日本/1")
    ('naïve Ωmega', '\\\\u65e5\\\\u672c/1')
    """
    known = _places()
    return "".join(c if c in known else c.encode("unicode_escape").decode() for c in unicodedata.normalize("NFC", text))


@cache
def _letters(text: str, face: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the letters of a printable text, and where each ends."""
    known = _places()
    letters = np.array([known[c] for c in text], np.int64)
    return letters, np.cumsum(_face(face).advance[letters])


def width(text: str, face: str = REGULAR) -> int:
    """Return how many pixels a text takes in one line."""
    return int(_letters(printable(text), face)[1][-1]) if text else 0


def fitted(text: str, width: int, lines: int, face: str = REGULAR) -> list[str]:
    """Return a text as at most so many lines of at most so many pixels; of one that is longer, the middle is left out.

    Examples
    --------
    >>> fitted("gaussian_noise-5", 80, 2)
    ['gaussian_', 'noise-5']
    >>> fitted("a" * 50 + "/" + "7" * 50, 80, 1)
    ['aaaa…7777']
    """
    whole = printable(text)
    wrapped = _wrapped(whole, width, face)
    if len(wrapped) <= lines:
        return wrapped

    def shortened(kept: int) -> list[str]:
        return _wrapped(f"{whole[: kept - kept // 2]}{_GAP}{whole[len(whole) - kept // 2 :]}", width, face)

    return shortened(bisect_left(range(1, len(whole)), True, key=lambda kept: len(shortened(kept)) > lines))


def _wrapped(text: str, width: int, face: str) -> list[str]:
    """Return the lines of a printable text: broken after a blank or a sign that joins words, and within a word where it is too long."""
    lines = []
    while text:
        ends = _letters(text, face)[1]
        fits = max(1, int(np.searchsorted(ends, width, "right")))
        if fits < len(text):
            at = max(text.rfind(sign, 0, fits + (sign == " ")) for sign in _BREAKS) + 1
            fits = at if at > fits // 2 else fits
        lines.append(text[:fits].rstrip())
        text = text[fits:].lstrip()
    return lines


def write(canvas: NDArray[np.uint8], x: int, y: int, text: str, colour: Colour, face: str = REGULAR) -> None:
    """Write a line on a canvas (H, W, 3), from x to the right and from y down; what would lie outside is left out."""
    letters, ends = _letters(printable(text), face)
    if not len(letters):
        return
    advance, start, strip = _face(face)
    ink = np.zeros((LEADING, int(ends[-1]) + 2 * MARGIN), np.uint8)
    for letter, end in zip(letters, ends, strict=True):
        wide = advance[letter] + 2 * MARGIN
        at = end - advance[letter]
        place = ink[:, at : at + wide]
        np.maximum(place, strip[:, start[letter] : start[letter] + wide], out=place)
    left = x - MARGIN
    under = canvas[max(0, y) : y + LEADING, max(0, left) : left + ink.shape[1]]
    share = ink[max(0, -y) :, max(0, -left) :][: under.shape[0], : under.shape[1], None].astype(np.int32)
    under[:] = (under * (255 - share) + np.array(colour, np.int32) * share + 127) // 255
