"""Texts of a sheet, in Pillow's own font, whose letters are those of ASCII."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cache
from itertools import accumulate
from math import ceil

from PIL import ImageFont

NAME, HEADING = 13, 16
"""Sizes of letters."""
LEADING = 18
"""Pixels from one line of text to the next."""
_GAP = "…"
_BREAKS = " /_+-,:;"


@cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return Pillow's own font."""
    return ImageFont.load_default(size)


@cache
def _advance(letter: str, size: int) -> float:
    return font(size).getlength(letter)


def printable(text: str) -> str:
    """Return a text with what is not ASCII written as Python writes it.

    Examples
    --------
    >>> printable("fog-3"), printable("Ü/1")
    ('fog-3', '\\\\xdc/1')
    """
    return text.encode("unicode_escape").decode()


def width(text: str, size: int = NAME) -> int:
    """Return how many pixels a text takes in one line."""
    return ceil(sum(_advance(letter, size) for letter in printable(text)))


def fitted(text: str, width: int, lines: int, size: int = NAME) -> list[str]:
    """Return a text as so many lines of so many pixels, at most.

    The middle of a longer one is left out.

    Examples
    --------
    >>> fitted("gaussian_noise-5", 70, 2)
    ['gaussian_', 'noise-5']
    >>> fitted("a" * 50 + "/" + "7" * 50, 70, 1)
    ['aaaa…7777']
    """
    whole = printable(text)
    wrapped = _wrapped(whole, width, size)
    if len(wrapped) <= lines:
        return wrapped

    def shortened(kept: int) -> list[str]:
        return _wrapped(f"{whole[: kept - kept // 2]}{_GAP}{whole[len(whole) - kept // 2 :]}", width, size)

    return shortened(bisect_left(range(1, len(whole)), True, key=lambda kept: len(shortened(kept)) > lines))


def _wrapped(text: str, width: int, size: int) -> list[str]:
    """Return the lines of a text.

    It is broken after a blank or a sign that joins words, and within a word where that is too long.
    """
    lines = []
    while text:
        fits = max(1, bisect_right(list(accumulate(_advance(letter, size) for letter in text)), width))
        if fits < len(text):
            at = max(text.rfind(sign, 0, fits + (sign == " ")) for sign in _BREAKS) + 1
            fits = at if at > fits // 2 else fits
        lines.append(text[:fits].rstrip())
        text = text[fits:].lstrip()
    return lines
