"""Compare the mean PSNR of photographs under random corruptions with that of the released generators, in dB."""

from __future__ import annotations

import numpy as np
import pytest
from measures import psnr

import corruptset
from example_images import number_keys, photograph

PHOTOGRAPHS = ("astronaut", "coffee", "chelsea", "rocket", "hubble_deep_field", "retina")
CALIBRATIONS = {224: "imagenet", 32: "cifar"}
PUBLISHED = """
motion_blur       224 2 40  1 22.288  0.9   5 15.4595 0.9
motion_blur        32 2 40  1 23.738  0.9   5 17.678  0.9
glass_blur        224 1  2  1 21.824  0.2   3 17.742  0.2   5 17.499  0.2
glass_blur         32 1 12  1 16.179  0.5   5 14.086  0.5
fog               224 4 12  1 14.5245 1.8   3 13.0815 1.1   5 12.7795 0.55
fog                32 4 12  1 25.639  1.6   3 17.606  1.8   5 14.7888 1.0
snow              224 4  6  1 15.1625 0.21  3 10.8318 0.21  5 7.8798  0.21
snow               32 4 24  1 25.6428 2.3   3 18.1363 2.2   5 12.8328 3.1
spatter           224 4  6  2 24.2173 1.0   3 21.9478 0.36  4 20.2768 0.56  5 18.188 0.5
spatter            32 4 24  2 25.722  3.2   3 22.1065 0.76  5 23.2043 1.9
frost             224 6 10  1 12.08 2.5  2 10.14 2.5  3 9.28  2.5  4 9.58  2.5  5 9.13  2.5
frost              32 6 10  1 18.16 2.5  2 14.72 2.5  3 13.52 2.5  4 14.18 2.5  5 14.06 2.5
elastic_transform 224 6  4  1 15.33 2.0  2 14.00 2.0  3 20.04 2.0  4 19.86 2.0  5 19.33 2.0
"""
"""A line: corruption, side, how many photographs, draws of each; and then the severity, the published mean, and the
tolerance, for each severity: four to five standard deviations over seeds; frost has textures of its own.
"""


@pytest.mark.parametrize("line", PUBLISHED.split("\n")[1:-1], ids=lambda line: "-".join(line.split()[:2]))
def test_distortion_matches_published_figures(line):
    name, *numerals = line.split()
    side, photographs, draws = map(int, numerals[:3])
    images = [photograph(which, side) for which in PHOTOGRAPHS[:photographs]]
    for severity, expected, tolerance in zip(*(map(float, numerals[first::3]) for first in (3, 4, 5)), strict=True):
        options = {"severity": severity, "calibration": CALIBRATIONS[side], "key": number_keys(draws)}
        batches = [corruptset.corrupt(np.repeat(image[None], draws, axis=0), name, **options) for image in images]
        result = np.mean([psnr(image, batch) for image, batch in zip(images, batches, strict=True)])
        assert result == pytest.approx(expected, abs=tolerance), severity
