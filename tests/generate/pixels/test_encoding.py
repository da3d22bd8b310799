"""JPEG bytes by OpenCV equal Pillow's; PNG gives the pixels back."""

import io

import numpy as np
import pytest
from PIL import Image

from corruptset.errors import MachineError
from corruptset.generate.pixels.encoding import JpegEncoding, PngEncoding, parse_encoding


def picture(channels: int, height: int = 61, width: int = 83) -> np.ndarray:
    rng = np.random.Generator(np.random.Philox(5))
    ramp = np.add.outer(np.arange(height) * 3, np.arange(width) * 2)[:, :, None] % 256
    return ((ramp + rng.integers(0, 40, (height, width, channels))) % 256).astype(np.uint8)


def by_pillow(image: np.ndarray, **options: object) -> bytes:
    out = io.BytesIO()
    Image.fromarray(image if image.shape[2] == 3 else image[:, :, 0]).save(out, "JPEG", **options)
    return out.getvalue()


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("quality", [10, 75, 85, 95, 100])
def test_jpeg_bytes_equal_pillows(channels: int, optimize: bool, quality: int) -> None:
    image = picture(channels)
    ours = JpegEncoding(quality=quality, optimize=optimize).encode(image)
    assert ours == by_pillow(image, quality=quality, optimize=optimize, subsampling="4:2:0" if channels == 3 else -1)


@pytest.mark.parametrize("subsampling", ["4:2:0", "4:2:2", "4:4:4"])
def test_subsampling_is_what_was_asked_for(subsampling: str) -> None:
    image = picture(3)
    assert JpegEncoding(subsampling=subsampling).encode(image) == by_pillow(image, quality=85, subsampling=subsampling)  # type: ignore[arg-type]


@pytest.mark.parametrize("channels", [1, 3])
def test_png_gives_the_pixels_back(channels: int) -> None:
    image = picture(channels)
    data = PngEncoding().encode(image)
    with Image.open(io.BytesIO(data)) as stored:
        assert stored.mode == ("RGB" if channels == 3 else "L")
        assert np.array_equal(np.asarray(stored).reshape(image.shape), image)


def test_an_image_that_jpeg_cannot_hold_is_an_error() -> None:
    with pytest.raises((MachineError, Exception), match=r"encode|jpeg|JPEG|imencode"):
        JpegEncoding().encode(np.zeros((1, 70000, 1), np.uint8))


def test_json_round_trip() -> None:
    for encoding in (JpegEncoding(), PngEncoding(), JpegEncoding(quality=90, optimize=True, subsampling="4:4:4")):
        assert parse_encoding(encoding.as_json(("folder", "hdf5"))) == encoding
