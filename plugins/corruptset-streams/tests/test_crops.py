"""Random crops: their distribution, that they fit, and that they follow from their key alone."""

from __future__ import annotations

import numpy as np
import pytest
from corruptset_streams.crops import cropped, draw_crop
from PIL import Image

from pictures import painted


def test_crops_are_distributed_as_torchvisions():
    boxes, flips = zip(*(draw_crop(400, 400, ["a", n]) for n in range(4000)), strict=True)
    left, top, right, bottom = np.array(boxes).T
    assert left.min() >= 0 and top.min() >= 0 and right.max() <= 400 and bottom.max() <= 400  # noqa: PT018
    area, ratio = (right - left) * (bottom - top) / 400**2, (right - left) / (bottom - top)
    assert 0.079 < area.min() < 0.085
    assert area.max() > 0.97
    assert ratio.min() >= 0.74
    assert ratio.max() <= 1.35
    assert abs(np.log(ratio).mean()) < 0.02
    assert abs(np.mean(flips) - 0.5) < 0.03


def test_an_extreme_image_gets_its_middle():
    assert draw_crop(2000, 10, [1])[0] == (993, 0, 1006, 10)
    assert draw_crop(10, 2000, [1])[0] == (0, 993, 10, 1006)


def test_a_crop_follows_from_its_key():
    assert draw_crop(500, 375, ["a", 1]) == draw_crop(500, 375, ["a", 1]) != draw_crop(500, 375, ["a", 2])
    assert draw_crop(500, 375, ["stream", 1, 43, "crop", "n01440764_10026@0"]) == ((76, 146, 265, 294), False)


@pytest.mark.parametrize("channels", [1, 3])
def test_a_crop_is_pillows(channels):
    image = painted(60, 80)[:, :, :channels]
    image = np.ascontiguousarray(image)
    out = cropped(image, (5, 10, 45, 50), True, (32, 24), "bilinear")
    want = Image.fromarray(image.squeeze()).crop((5, 10, 45, 50)).resize((32, 24), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(out, np.asarray(want).reshape(24, 32, channels)[:, ::-1])
