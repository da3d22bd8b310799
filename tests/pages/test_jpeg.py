"""Pictures of a page: sizes, grey and colour, many as one."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from corruptset.pages.jpeg import data_uri, framed, jpeg, resized, stacked


def noise(height: int, width: int, channels: int) -> np.ndarray:
    return np.random.default_rng(height * width).integers(0, 256, (height, width, channels), np.uint8)


def test_a_picture_is_a_jpeg_of_its_mode_and_small_ones_keep_their_colours() -> None:
    for channels, mode in ((1, "L"), (3, "RGB")):
        head, _, data = data_uri(jpeg(noise(24, 40, channels), 80, fine=False)).partition(",")
        assert head == "data:image/jpeg;base64"
        with Image.open(io.BytesIO(base64.b64decode(data))) as picture:
            assert (picture.format, picture.mode, picture.size) == ("JPEG", mode, (40, 24))
    image = np.zeros((16, 16, 3), np.uint8)
    image[:, ::2, 0] = image[:, 1::2, 2] = 255
    decoded = [np.array(Image.open(io.BytesIO(jpeg(image, 95, fine=fine)))).astype(int) for fine in (True, False)]
    fine, coarse = (np.abs(one - image).mean() for one in decoded)
    assert fine < 20 < coarse


def test_sizes() -> None:
    assert resized(noise(100, 200, 3), 50).shape == (25, 50, 3)
    assert resized(noise(100, 200, 1), 50).shape == (25, 50, 1)
    assert resized(noise(20, 30, 3), 50).shape == (20, 30, 3)
    frame = framed(np.full((10, 20, 1), 255, np.uint8), 20, 20, 3)
    assert frame.shape == (20, 20, 3)
    assert (frame[5:15] == 255).all()
    assert (frame[:5] == 128).all()
    assert framed(noise(100, 20, 3), 20, 20, 3).shape == (20, 20, 3)


def test_stacked_puts_images_in_order() -> None:
    canvas = stacked([np.full((4, 6, 1), value, np.uint8) for value in (10, 20, 30)], columns=2)
    assert canvas.shape == (4 + 1 + 4, 6 + 1 + 6, 1)
    assert [canvas[0, 0, 0], canvas[0, 7, 0], canvas[5, 0, 0], canvas[5, 7, 0]] == [10, 20, 30, 128]
    assert stacked([noise(8, 8, 1), noise(16, 12, 3)], columns=1).shape == (16 + 1 + 16, 12, 3)
