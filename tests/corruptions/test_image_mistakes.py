"""What is not an image is named with the line that mends it, and the line does."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corruptset
from corruptset.compat import imagecorruptions
from pictures import painted

PHOTO = painted(40, 56)
GIVEN = {
    "channels first": PHOTO.transpose(2, 0, 1),
    "a batch with channels first": PHOTO.transpose(2, 0, 1)[None],
    "grey with channels first": PHOTO[None, :, :, 0],
    "alpha": np.dstack([PHOTO, PHOTO[:, :, :1]]),
    "0 to 1": PHOTO / 255,
    "0 to 1 in single precision": (PHOTO / 255).astype(np.float32),
    "0 to 255 as floats": PHOTO.astype(np.float32),
    "0 to 255 as whole numbers": PHOTO.astype(np.int64),
    "0 to 65535": PHOTO.astype(np.uint16) * 257,
}
MENDED = {"grey with channels first": PHOTO[:, :, :1], "a batch with channels first": PHOTO[None]}
LINE = re.compile(r"(np\.\w+\(.*\)\.astype\(np\.uint8\)|image(?:\.\w+\([^)]*\)|\[[^]]*\]))")


@pytest.mark.parametrize("what", GIVEN)
@pytest.mark.parametrize(
    "call", [lambda i: corruptset.corrupt(i, "fog", severity=1), corruptset.Corrupt("fog", severity=1)]
)
def test_the_line_that_is_shown_mends_it(what: str, call: Callable[[Any], Any]) -> None:
    image = GIVEN[what]
    with pytest.raises(corruptset.errors.ImageError) as raised:
        call(image)
    message = str(raised.value)
    assert str(image.shape) in message or f"{image.dtype}; expected a numpy array of uint8" in message
    found = LINE.search(message)
    assert found, message
    np.testing.assert_array_equal(eval(found[0], {"np": np, "image": image}), MENDED.get(what, PHOTO))


@pytest.mark.parametrize(
    ("image", "says"),
    [
        (PHOTO.transpose(2, 0, 1), r"shape \(3, 40, 56\).*Channels first\? image\.transpose\(1, 2, 0\)"),
        (PHOTO / 127.5 - 1, r"values go from -?[\d.]+ to [\d.]+: undo their normalisation"),
        (np.full((40, 56), np.nan), "not finite"),
        (np.full((40, 56), 1e6), "undo their normalisation"),
        (np.zeros((5, 40, 56), np.uint8), r"A batch of grey images needs a channel: images\[\.\.\., None\]"),
        (PHOTO > 9, r"bool.*image\.astype\(np\.uint8\) \* 255"),
        ({"image": PHOTO}, r"dict.*sample\['image'\]"),
        ([PHOTO, PHOTO], r"list; expected a numpy array.*np\.stack"),
        ("photo.png", r"str.*PIL\.Image\.open\(path\)"),
        (Path("photo.png"), r"PIL\.Image\.open\(path\)"),
        (memoryview(PHOTO), "memoryview"),
        (type("Other", (), {"__array__": lambda self: PHOTO})(), r"Other.*np\.asarray\(image\)"),
        (None, "NoneType"),
    ],
)
def test_what_was_given_is_named(image: Any, says: str) -> None:
    for call in (
        lambda i: corruptset.corrupt(i, "fog", severity=1),
        corruptset.RandomCorrupt("fog"),
        imagecorruptions.corrupt,
    ):
        with pytest.raises(corruptset.errors.ImageError, match=f"(?s){says}"):
            call(image)
