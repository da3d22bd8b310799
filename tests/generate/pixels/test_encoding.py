"""JPEG bytes of OpenCV and Pillow are equal, and PNG is lossless."""

import io
from itertools import product

import numpy as np
import pytest
from PIL import Image

from corruptset.errors import MachineError
from corruptset.generate.pixels.encoding import JpegEncoding, PngEncoding, parse_encoding


def random_image(channels: int, height: int = 61, width: int = 83) -> np.ndarray:
    rng = np.random.Generator(np.random.Philox(5))
    ramp = np.add.outer(np.arange(height) * 3, np.arange(width) * 2)[:, :, None] % 256
    return ((ramp + rng.integers(0, 40, (height, width, channels))) % 256).astype(np.uint8)


def pillow_jpeg(image: np.ndarray, **options: object) -> bytes:
    out = io.BytesIO()
    Image.fromarray(image if image.shape[2] == 3 else image[:, :, 0]).save(out, "JPEG", **options)
    return out.getvalue()


def test_jpeg_bytes_match_pillow():
    for channels, optimize, quality in product((1, 3), (False, True), (10, 75, 85, 95, 100)):
        image = random_image(channels)
        ours = JpegEncoding(quality=quality, optimize=optimize).encode(image)
        sampled = "4:2:0" if channels == 3 else -1
        assert ours == pillow_jpeg(image, quality=quality, optimize=optimize, subsampling=sampled), (quality, optimize)
    for subsampling in ("4:2:0", "4:2:2", "4:4:4"):
        ours = parse_encoding({"format": "jpeg", "subsampling": subsampling}).encode(random_image(3))
        assert ours == pillow_jpeg(random_image(3), quality=85, subsampling=subsampling)


def test_png_round_trips_pixels():
    for channels in (1, 3):
        image = random_image(channels)
        with Image.open(io.BytesIO(PngEncoding().encode(image))) as decoded:
            assert decoded.mode == ("RGB" if channels == 3 else "L")
            assert np.array_equal(np.asarray(decoded).reshape(image.shape), image)


def test_image_too_large_for_jpeg_is_error():
    with pytest.raises((MachineError, Exception), match=r"encode|jpeg|JPEG|imencode"):
        JpegEncoding().encode(np.zeros((1, 70000, 1), np.uint8))


def test_settings_round_trip_through_json():
    for encoding in (PngEncoding(), JpegEncoding(quality=90, optimize=True, subsampling="4:4:4")):
        assert parse_encoding(encoding.model_dump()) == encoding
