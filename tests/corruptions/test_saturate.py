"""Saturate: against scikit-image's way through HSV and back, as the released code goes."""

from __future__ import annotations

import numpy as np
import pytest
from skimage.color import hsv2rgb, rgb2hsv

import corruptset
from pictures import painted, photograph

ROWS = {
    224: ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)),
    32: ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)),
}
CALIBRATION = {224: "imagenet", 32: "cifar"}


def published(image: np.ndarray, gain: float, shift: float) -> np.ndarray:
    hsv = rgb2hsv(image / 255.0)
    hsv[..., 1] = np.clip(hsv[..., 1] * gain + shift, 0, 1)
    return np.clip(hsv2rgb(hsv), 0, 1) * 255


@pytest.mark.parametrize("size", [224, 32])
def test_equals_the_published_definition(size):
    for name in ("astronaut", "coffee", "retina"):
        image = photograph(name, size)
        for severity, (gain, shift) in enumerate(ROWS[size], 1):
            got = corruptset.corrupt(image, "saturate", severity=severity, calibration=CALIBRATION[size])
            exact = published(image, gain, shift)
            # Floored, where rounding noise of the way through HSV does not decide.
            decided = np.abs(exact - np.rint(exact)) > 1e-6
            np.testing.assert_array_equal(got[decided], np.uint8(exact)[decided])
            assert np.abs(got - exact)[~decided].max(initial=0) < 1e-5
            assert np.abs(got - np.floor(exact)).max() <= 1


def test_every_grey_pixel_of_a_colour_image_is_tinted_red():
    levels = np.repeat(np.arange(64, dtype=np.uint8).reshape(8, 8, 1) * 4, 3, axis=2)
    got = corruptset.corrupt(levels, "saturate", gain=20.0, shift=0.2)
    np.testing.assert_array_equal(got[..., 0], levels[..., 0])
    np.testing.assert_array_equal(got[..., 1], np.floor(levels[..., 1] * 0.8 + 1e-6))
    np.testing.assert_array_equal(got[..., 1], got[..., 2])
    np.testing.assert_array_equal(corruptset.corrupt(levels, "saturate", gain=20.0, shift=0.0), levels)


def test_grey_images_are_copied():
    image = painted(12, 17, 1)
    got = corruptset.corrupt(image, "saturate", severity=5, calibration="cifar")
    np.testing.assert_array_equal(got, image)
    assert not np.shares_memory(got, image)


def test_gain_one_changes_nothing_and_gain_zero_leaves_the_value():
    image = photograph("coffee")
    np.testing.assert_array_equal(corruptset.corrupt(image, "saturate", gain=1.0, shift=0.0), image)
    np.testing.assert_array_equal(
        corruptset.corrupt(image, "saturate", gain=0.0, shift=0.0), np.repeat(image.max(2, keepdims=True), 3, 2)
    )
