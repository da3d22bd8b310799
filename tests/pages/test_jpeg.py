"""Pictures of a page: sizes, grey and colour, many as one."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from corruptset.pages.jpeg import data_uri, jpeg, resized, stacked


def noise(*shape):
    return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


def test_a_picture_is_a_jpeg_of_its_mode_and_small_ones_keep_their_colours():
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


def test_many_images_as_one():
    canvas = stacked([np.full((4, 6, 1), value, np.uint8) for value in (10, 20, 30)], columns=2)
    assert canvas.shape == (4 + 1 + 4, 6 + 1 + 6, 1)
    assert canvas[[0, 0, 5, 5], [0, 7, 0, 7], 0].tolist() == [10, 20, 30, 128]
    # of several sizes and channels: each in the middle, reduced where it does not fit
    canvas = stacked([np.full((10, 20, 1), 255, np.uint8), noise(20, 10, 3)], columns=1)
    assert canvas.shape == (20 + 1 + 20, 20, 3)
    assert canvas[[0, 5, 14, 19], 0].tolist() == [[128] * 3, [255] * 3, [255] * 3, [128] * 3]
    for shape, wanted in {(100, 200, 3): (25, 50, 3), (100, 200, 1): (25, 50, 1), (20, 30, 3): (20, 30, 3)}.items():
        assert resized(noise(*shape), 50).shape == wanted
