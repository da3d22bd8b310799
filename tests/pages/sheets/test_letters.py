"""Letters: every text can be written, and none is cut."""

from __future__ import annotations

from itertools import product

from corruptset.pages.sheets.letters import HEADING, NAME, fitted, font, printable, width

NAMES = [
    "gaussian_noise-5", "fog-3+gaussian_noise-5+jpeg_compression-1", "imagenet-c-all 1.0.0, seed 0: astronaut",
    "n01440764/ILSVRC2012_val_00000293",
    "x" * 400, "many words " * 40, "a/b/" * 100 + "last.png", "Ünal-7 ∞ дом", "日本/01", "tab\there\nthere",
    "broken \udcff byte", " ", "",
]  # fmt: skip


def test_a_text_fits_and_loses_at_most_its_middle():
    for text, face, wide, most in product(NAMES, (NAME, HEADING), (40, 160, 700), (1, 2, 4)):
        lines = fitted(text, wide, most, face)
        assert len(lines) <= most
        assert all(font(face).getlength(line) <= wide + 2 for line in lines)
        shown, whole = "".join(lines).replace(" ", ""), printable(text).replace(" ", "")
        if shown != whole:
            head, _, tail = shown.partition("…")
            assert whole.startswith(head)
            assert whole.endswith(tail)
            assert -printable(text).count(" ") <= len(head) - len(tail) <= 6
            # no more would fit: the same with three more letters has a line more
            assert width(text, face) > wide * most - 30 * most
        assert "".join(fitted(text, 10**6, 1, face)) == printable(text).strip() or not text.strip()


def test_every_letter_is_there_and_another_is_written_as_python_writes_it():
    letters = "".join(map(chr, range(32, 127)))
    assert len({bytes(font(NAME).getmask(letter)) for letter in letters}) == len(letters)
    given = (letters.replace("\\", ""), "naïve", "日", "😀", "\udcff\x00", "a\nb")
    written = (given[0], r"na\xefve", r"\u65e5", r"\U0001f600", r"\udcff\x00", r"a\nb")
    assert tuple(map(printable, given)) == written
