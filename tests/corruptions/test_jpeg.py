"""JPEG compression: Pillow's encoder and decoder are the oracle."""

from __future__ import annotations

from io import BytesIO

import cv2
import numpy as np
import pytest
from PIL import Image

import corruptset
from corruptset.errors import ImageError, ParameterError
from pictures import painted, photograph

QUALITIES = {224: (25, 18, 15, 10, 7), 32: (80, 65, 58, 50, 40)}
CALIBRATION = {224: "imagenet", 32: "cifar"}


def by_pillow(image: np.ndarray, quality: int) -> np.ndarray:
    buffer = BytesIO()
    Image.fromarray(image if image.shape[-1] == 3 else image[..., 0]).save(buffer, "JPEG", quality=quality)
    return np.asarray(Image.open(buffer)).reshape(image.shape)


@pytest.mark.parametrize("size", [224, 32])
def test_severities_equal_pillow(size):
    image = photograph("astronaut", size)
    for severity, quality in enumerate(QUALITIES[size], 1):
        got = corruptset.corrupt(image, "jpeg_compression", severity=severity, calibration=CALIBRATION[size])
        np.testing.assert_array_equal(got, by_pillow(image, quality))


@pytest.mark.parametrize("shape", [(8, 8, 3), (9, 31, 1), (31, 9, 3), (224, 300, 3)])
@pytest.mark.parametrize("quality", [1, 30, 75, 100])
def test_any_size_grey_and_colour(shape, quality):
    image = painted(*shape)
    np.testing.assert_array_equal(
        corruptset.corrupt(image, "jpeg_compression", quality=quality), by_pillow(image, quality)
    )


def test_noise_edges_and_patches_of_many_sizes_and_qualities():
    rng = np.random.default_rng(23)
    for round_ in range(240):
        height, width = (int(side) for side in rng.integers(8, 70, 2))
        channels, quality = int(rng.choice([1, 3])), int(rng.integers(1, 101))
        noise = rng.integers(0, 256, (height, width, channels))
        patches = np.kron(rng.integers(0, 256, (height // 4 + 1, width // 4 + 1, channels)), np.ones((4, 4, 1), int))[
            :height, :width
        ]
        image = (noise, 255 * (noise > 127), patches)[round_ % 3].astype(np.uint8)
        got = corruptset.corrupt(image, "jpeg_compression", quality=quality)
        np.testing.assert_array_equal(got, by_pillow(image, quality), err_msg=f"{image.shape} {quality}")


def test_a_batch_is_its_images():
    images = np.stack([painted(33, 47, 3, which) for which in range(5)])
    for image, got in zip(images, corruptset.corrupt(images, "jpeg_compression", quality=20), strict=True):
        np.testing.assert_array_equal(got, by_pillow(image, 20))


def test_opencv_gives_the_same():
    image = photograph("coffee")
    for quality in (7, 60):
        encoded = cv2.imencode(".jpg", image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
        want = cv2.imdecode(encoded, cv2.IMREAD_COLOR)[..., ::-1]
        np.testing.assert_array_equal(corruptset.corrupt(image, "jpeg_compression", quality=quality), want)


def test_qualities_that_libjpeg_does_not_have_are_refused():
    for quality in (0, 101, 50.5):
        with pytest.raises(ParameterError, match="quality"):
            corruptset.corrupt(painted(8, 8), "jpeg_compression", quality=quality)


def test_a_side_that_jpeg_cannot_hold_is_refused():
    with pytest.raises(ImageError, match="65500"):
        corruptset.corrupt(np.zeros((8, 65501), np.uint8), "jpeg_compression", quality=50)
