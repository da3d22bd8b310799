"""Test the sizes of thumbnails, in grey and colour, and mosaics of several images."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from corruptset.pages.thumbnails import data_uri, mosaic, shrunk


def noise(*shape):
    return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


def decode_uri(uri):
    head, _, data = uri.partition(",")
    assert head == "data:image/jpeg;base64"
    return Image.open(io.BytesIO(base64.b64decode(data)))


def test_thumbnail_is_jpeg_and_small_images_keep_colours():
    for channels, mode in ((1, "L"), (3, "RGB")):
        image = decode_uri(data_uri(shrunk(noise(24, 40, channels), 99, 99), small=False))
        assert (image.format, image.mode, image.size) == ("JPEG", mode, (40, 24))
    image = np.zeros((16, 16, 3), np.uint8)
    image[:, ::2, 0] = image[:, 1::2, 2] = 255
    uris = [data_uri(Image.fromarray(image), small=small) for small in (True, False)]
    small, large = (np.abs(np.array(decode_uri(uri)).astype(int) - image).mean() for uri in uris)
    assert small < 25 < large


def test_mosaic_combines_images():
    canvas = np.array(mosaic([np.full((4, 6, 1), value, np.uint8) for value in (10, 20, 30)], 6, 4, columns=2, gap=1))
    assert canvas.shape == (4 + 1 + 4, 6 + 1 + 6)
    assert canvas[[0, 0, 5, 5], [0, 7, 0, 7]].tolist() == [10, 20, 30, 128]
    # Images of several sizes are centred, and reduced if they are too large.
    canvas = np.array(mosaic([np.full((10, 20, 1), 255, np.uint8), noise(40, 20, 3)], 20, 20))
    assert canvas.shape == (20 + 20, 20, 3)
    assert canvas[[0, 5, 14, 19], 0].tolist() == [[128] * 3, [255] * 3, [255] * 3, [128] * 3]
    assert (canvas[20:, :5] == 128).all()
