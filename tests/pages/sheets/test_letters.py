"""Letters: every text can be written, none is cut, and they lie where a plain drawing puts them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from corruptset.pages.sheets.letters import BOLD, LEADING, MARGIN, REGULAR, _stored, fitted, printable, width, write

NAMES = [
    "gaussian_noise-5", "fog-3+gaussian_noise-5+jpeg_compression-1", "imagenet-c-all 1.0.0, seed 0: astronaut",
    "n01440764/ILSVRC2012_val_00000293",
    "x" * 400, "many words " * 40, "a/b/" * 100 + "last.png", "Ünal-7 ∞ дом", "日本/01", "tab\there\nthere", "broken \udcff byte", " ", "",
]  # fmt: skip


@pytest.mark.parametrize("text", NAMES)
@pytest.mark.parametrize("face", [REGULAR, BOLD])
def test_a_text_fits_and_loses_at_most_its_middle(text: str, face: str) -> None:
    for wide in (40, 96, 160, 700):
        for most in (1, 2, 4):
            lines = fitted(text, wide, most, face)
            assert len(lines) <= most
            assert all(width(line, face) <= wide for line in lines)
            shown, whole = "".join(lines).replace(" ", ""), printable(text).replace(" ", "")
            if shown != whole:
                head, _, tail = shown.partition("…")
                assert whole.startswith(head)
                assert whole.endswith(tail)
                assert 0 <= len(head) - len(tail) <= 6 + whole.count(" ")
                # no more would fit: the same with three more letters has a line more
                assert width(printable(text), face) > wide * most - 30 * most
    assert "".join(fitted(text, 10**6, 1, face)) == printable(text).strip() or not text.strip()


def test_lines_are_broken_between_words() -> None:
    assert fitted("one two three", width("one two"), 2) == ["one two", "three"]
    assert fitted("gaussian_noise-5", width("gaussian_no"), 2) == ["gaussian_", "noise-5"]
    assert fitted("abcdefgh", width("abcd"), 9) == ["abcd", "efgh"]
    assert fitted("a" * 60, width("a" * 9), 1) == ["aaaa…aaa"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("naïve Ωж", "naïve Ωж"),
        ("e\u0301", "é"),
        ("日", r"\u65e5"),
        ("😀", r"\U0001f600"),
        ("\udcff\x00", r"\udcff\x00"),
        ("a\nb", r"a\nb"),
    ],
)
def test_what_has_no_letter_is_written_as_python_writes_it(text: str, shown: str) -> None:
    assert printable(text) == shown


def plain(canvas: np.ndarray, x: int, y: int, text: str, colour: tuple[int, int, int], face: str) -> None:
    """Write letter by letter and pixel by pixel; of two letters that reach into the same pixel the darker counts."""
    stored = _stored()
    letters = stored["letters"].tobytes().decode("utf-32-le")
    ink: dict[tuple[int, int], int] = {}
    for letter in text:
        at = letters.index(letter)
        start = sum(int(a) + 2 * MARGIN for a in stored[f"{face}_advance"][:at])
        advance = int(stored[f"{face}_advance"][at])
        for row, column in np.ndindex(LEADING, advance + 2 * MARGIN):
            place = y + row, x - MARGIN + column
            ink[place] = max(ink.get(place, 0), int(stored[face][row, start + column]))
        x += advance
    for (row, column), share in ink.items():
        if 0 <= row < canvas.shape[0] and 0 <= column < canvas.shape[1]:
            for c in range(3):
                under = int(canvas[row, column, c])
                canvas[row, column, c] = round((under * (255 - share) + colour[c] * share) / 255)


@pytest.mark.parametrize(("x", "y"), [(3, 2), (-9, -4), (50, 15), (200, 200), (-200, 0)])
@pytest.mark.parametrize("face", [REGULAR, BOLD])
def test_letters_lie_where_a_plain_drawing_puts_them(x: int, y: int, face: str) -> None:
    canvas = np.random.default_rng(1).integers(0, 256, (27, 90, 3)).astype(np.uint8)
    wanted = canvas.copy()
    write(canvas, x, y, "jAff_Ůy 7", (20, 30, 200), face)
    plain(wanted, x, y, "jAff_Ůy 7", (20, 30, 200), face)
    np.testing.assert_array_equal(canvas, wanted)


def test_every_letter_is_there_and_another() -> None:
    stored = _stored()
    letters = stored["letters"].tobytes().decode("utf-32-le")
    assert len(set(letters)) == len(letters) > 600
    assert set(map(chr, range(32, 127))) | set("…–äßéñçøłžΩπЖя") <= set(letters)
    for face in (REGULAR, BOLD):
        assert stored[face].shape == (LEADING, int(stored[f"{face}_advance"].astype(int).sum()) + 2 * MARGIN * len(letters))
        pictures = {}
        for letter in map(chr, range(33, 127)):
            canvas = np.zeros((LEADING, 40, 3), np.uint8)
            write(canvas, 5, 0, letter, (255, 255, 255), face)
            assert canvas.any(), letter
            pictures[canvas.tobytes()] = letter
        assert len(pictures) == 94
    assert re.fullmatch(r"[ -~]+", printable("ASCII stays as it is: ~!@#"))
