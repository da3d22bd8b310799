"""Pixelate: Pillow's own box filter is the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import corruptset
from pictures import painted, photograph

FRACTIONS = {224: (0.6, 0.5, 0.4, 0.3, 0.25), 32: (0.95, 0.9, 0.85, 0.75, 0.65)}
CALIBRATION = {224: "imagenet", 32: "cifar"}


def by_pillow(image: np.ndarray, fraction: float) -> np.ndarray:
    height, width = image.shape[:2]
    picture = Image.fromarray(image if image.shape[-1] == 3 else image[..., 0])
    # In two steps: newer Pillows shrink tall pictures columns first, which rounds otherwise.
    small = picture.resize((max(int(width * fraction), 1), height), Image.Resampling.BOX)
    small = small.resize((small.width, max(int(height * fraction), 1)), Image.Resampling.BOX)
    return np.asarray(small.resize((width, height), Image.Resampling.BOX)).reshape(image.shape)


@pytest.mark.parametrize("size", [224, 32])
def test_severities_equal_pillow(size):
    image = photograph("coffee", size)
    for severity, fraction in enumerate(FRACTIONS[size], 1):
        got = corruptset.corrupt(image, "pixelate", severity=severity, calibration=CALIBRATION[size])
        np.testing.assert_array_equal(got, by_pillow(image, fraction))


def test_any_size_and_fraction_equals_pillow():
    rng = np.random.default_rng(11)
    for _ in range(120):
        height, width = rng.integers(8, 130, 2)
        image = rng.integers(0, 256, (height, width, rng.choice([1, 3])), np.uint8)
        fraction = float(rng.choice([rng.uniform(0, 1), 1.0, 0.5, 1 / 3, 0.0]))
        got = corruptset.corrupt(image, "pixelate", fraction=fraction)
        np.testing.assert_array_equal(got, by_pillow(image, fraction), err_msg=f"{image.shape} {fraction}")


def test_a_large_upright_image():
    image = painted(700, 431)
    np.testing.assert_array_equal(corruptset.corrupt(image, "pixelate", fraction=0.37), by_pillow(image, 0.37))


def test_a_batch_shares_no_rows():
    images = np.stack([painted(20, 24, 3, which) for which in range(3)])
    got = corruptset.corrupt(images, "pixelate", fraction=0.4)
    for image, out in zip(images, got, strict=True):
        np.testing.assert_array_equal(out, by_pillow(image, 0.4))
