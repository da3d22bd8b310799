"""Pictures of a page: sizes, grey and colour, many as one."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from corruptset.pages.jpeg import data_uri, framed, jpeg, resized, stacked


def noise(height: int, width: int, channels: int) -> np.ndarray:
    return np.random.default_rng(height * width).integers(0, 256, (height, width, channels), np.uint8)


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (3, "RGB")])
def test_a_picture_is_a_jpeg_of_its_mode(channels: int, mode: str) -> None:
    uri = data_uri(jpeg(noise(24, 40, channels), 80, fine=False))
    head, _, data = uri.partition(",")
    assert head == "data:image/jpeg;base64"
    with Image.open(io.BytesIO(base64.b64decode(data))) as picture:
        assert (picture.format, picture.mode, picture.size) == ("JPEG", mode, (40, 24))


def test_small_pictures_keep_their_colours() -> None:
    image = np.zeros((16, 16, 3), np.uint8)
    image[:, ::2, 0] = 255
    image[:, 1::2, 2] = 255

    def error(fine: bool) -> float:
        decoded = np.array(Image.open(io.BytesIO(jpeg(image, 95, fine=fine))))
        return float(np.abs(decoded.astype(int) - image).mean())

    assert error(True) < 20 < error(False)


def test_resized_keeps_the_ratio_and_never_enlarges() -> None:
    assert resized(noise(100, 200, 3), 50).shape == (25, 50, 3)
    assert resized(noise(100, 200, 1), 50).shape == (25, 50, 1)
    assert resized(noise(20, 30, 3), 50).shape == (20, 30, 3)


def test_framed_stands_in_the_middle() -> None:
    image = np.full((10, 20, 1), 255, np.uint8)
    frame = framed(image, 20, 20, 3)
    assert frame.shape == (20, 20, 3)
    assert (frame[5:15] == 255).all()
    assert (frame[:5] == 128).all()
    assert framed(noise(100, 20, 3), 20, 20, 3).shape == (20, 20, 3)


def test_stacked_puts_images_in_order() -> None:
    images = [np.full((4, 6, 1), value, np.uint8) for value in (10, 20, 30)]
    canvas = stacked(images, columns=2)
    assert canvas.shape == (4 + 1 + 4, 6 + 1 + 6, 1)
    assert [canvas[0, 0, 0], canvas[0, 7, 0], canvas[5, 0, 0], canvas[5, 7, 0]] == [10, 20, 30, 128]


def test_stacked_takes_images_of_several_sizes_and_channels() -> None:
    canvas = stacked([noise(8, 8, 1), noise(16, 12, 3)], columns=1)
    assert canvas.shape == (16 + 1 + 16, 12, 3)
