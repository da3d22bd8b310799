"""Contact sheets: every set in its place, bounded, the same bytes each time."""

import io

import numpy as np
from PIL import Image

from corruptset.generate.contact import MOST_PIXELS, contact_sheet, sheet_rows


def flat(value: int, height: int = 24, width: int = 32, channels: int = 3) -> np.ndarray:
    return np.full((height, width, channels), value, np.uint8)


def test_rows_are_corruptions_and_columns_severities() -> None:
    rows = sheet_rows([("fog/1", flat(1)), ("fog/2", flat(2)), ("a-1+b-2", flat(3)), ("snow/1", flat(4))])
    assert [(label, [name for name, _ in cells]) for label, cells in rows] == [("fog", ["1", "2"]), ("snow", ["1"]), ("", ["a-1+b-2"])]


def test_every_picture_is_there_once() -> None:
    values = list(range(40, 240, 10))
    rows = sheet_rows([(f"x{i // 5}/{i % 5 + 1}", flat(v)) for i, v in enumerate(values)])
    with Image.open(io.BytesIO(contact_sheet(rows, clean=flat(33), title="t"))) as sheet:
        pixels = np.asarray(sheet)
    for value in [33, *values]:
        found = (pixels == value).all(axis=2)
        assert found.sum() == 24 * 32, value
    assert contact_sheet(rows, clean=flat(33), title="t") == contact_sheet(rows, clean=flat(33), title="t")
    assert contact_sheet(rows, clean=flat(33), title="t") != contact_sheet(rows, clean=flat(33), title="u")


def test_large_and_grey_pictures_are_reduced() -> None:
    rows = sheet_rows([(f"x{i}/1", flat(i, 1500, 2000, 1)) for i in range(6)])
    with Image.open(io.BytesIO(contact_sheet(rows))) as sheet:
        assert sheet.width * sheet.height < MOST_PIXELS


def test_any_name_can_be_written() -> None:
    assert contact_sheet([("Ωmega", [("日本", flat(9))])], title="ünï ∞").startswith(b"\x89PNG")
