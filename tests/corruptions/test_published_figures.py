"""Distortion of photographs is that of the released generators: mean PSNR, in dB, one case for each corruption."""

from __future__ import annotations

import numpy as np
import pytest
from measures import psnr

import corruptset
from pictures import numbers, photograph

TWO = ("astronaut", "coffee")
FOUR = (*TWO, "chelsea", "rocket")
SIX = (*FOUR, "hubble_deep_field", "retina")
SIDES = {"imagenet": 224, "cifar": 32}

# corruption -> photographs, how many draws of each at 224 and at 32, and for each calibration and severity the mean
# and the tolerance:
# of what is deterministic the last digit, else four to five standard deviations over seeds; frost has textures of its
# own
PUBLISHED = {
    "gaussian_noise": (
        TWO[:1],
        (4, 4),
        {("imagenet", s): (v, 0.08) for s, v in enumerate((22.496, 19.167, 15.98, 13.252, 10.723), 1)},
    ),
    "shot_noise": (
        TWO[:1],
        (4, 4),
        {("imagenet", s): (v, 0.08) for s, v in enumerate((21.568, 18.143, 15.423, 12.255, 10.46), 1)},
    ),
    "impulse_noise": (
        TWO[:1],
        (4, 4),
        {("imagenet", s): (v, 0.35) for s, v in enumerate((19.84, 16.687, 15.086, 12.273, 10.242), 1)},
    ),
    "speckle_noise": (
        TWO[:1],
        (4, 4),
        {("imagenet", s): (v, 0.08) for s, v in enumerate((22.118, 19.859, 15.594, 13.807, 12.027), 1)},
    ),
    "gaussian_blur": (
        TWO,
        (1, 1),
        {
            ("imagenet", 1): (29.66, 0.001),
            ("imagenet", 3): (22.065, 0.001),
            ("imagenet", 5): (18.563, 0.001),
            ("cifar", 1): (37.6225, 0.001),
            ("cifar", 5): (21.037, 0.001),
        },
    ),
    "defocus_blur": (
        TWO,
        (1, 1),
        {
            ("imagenet", 1): (25.258, 0.002),
            ("imagenet", 4): (19.7235, 0.002),
            ("imagenet", 5): (18.5565, 0.002),
            ("cifar", 1): (37.262, 0.002),
            ("cifar", 5): (20.9425, 0.002),
        },
    ),
    "zoom_blur": (
        TWO,
        (1, 1),
        {
            ("imagenet", 1): (18.5835, 0.002),
            ("imagenet", 3): (16.853, 0.002),
            ("imagenet", 5): (15.75, 0.002),
            ("cifar", 1): (21.5095, 0.002),
            ("cifar", 5): (16.8615, 0.002),
        },
    ),
    "motion_blur": (
        TWO,
        (40, 40),
        {
            ("imagenet", 1): (22.288, 0.9),
            ("imagenet", 5): (15.4595, 0.9),
            ("cifar", 1): (23.738, 0.9),
            ("cifar", 5): (17.678, 0.9),
        },
    ),
    "glass_blur": (
        TWO[:1],
        (2, 12),
        {
            ("imagenet", 1): (21.824, 0.2),
            ("imagenet", 3): (17.742, 0.2),
            ("imagenet", 5): (17.499, 0.2),
            ("cifar", 1): (16.179, 0.5),
            ("cifar", 5): (14.086, 0.5),
        },
    ),
    "fog": (
        FOUR,
        (12, 12),
        {
            ("imagenet", 1): (14.5245, 1.8),
            ("imagenet", 3): (13.0815, 1.1),
            ("imagenet", 5): (12.7795, 0.55),
            ("cifar", 1): (25.639, 1.6),
            ("cifar", 3): (17.606, 1.8),
            ("cifar", 5): (14.7888, 1.0),
        },
    ),
    "snow": (
        FOUR,
        (6, 24),
        {
            ("imagenet", 1): (15.1625, 0.21),
            ("imagenet", 3): (10.8318, 0.21),
            ("imagenet", 5): (7.8798, 0.21),
            ("cifar", 1): (25.6428, 2.3),
            ("cifar", 3): (18.1363, 2.2),
            ("cifar", 5): (12.8328, 3.1),
        },
    ),
    "spatter": (
        FOUR,
        (6, 24),
        {
            ("imagenet", 2): (24.2173, 1.0),
            ("imagenet", 3): (21.9478, 0.36),
            ("imagenet", 4): (20.2768, 0.56),
            ("imagenet", 5): (18.188, 0.5),
            ("cifar", 2): (25.722, 3.2),
            ("cifar", 3): (22.1065, 0.76),
            ("cifar", 5): (23.2043, 1.9),
        },
    ),
    "frost": (
        SIX,
        (10, 10),
        {
            **{("imagenet", s): (v, 2.5) for s, v in enumerate((12.08, 10.14, 9.28, 9.58, 9.13), 1)},
            **{("cifar", s): (v, 2.5) for s, v in enumerate((18.16, 14.72, 13.52, 14.18, 14.06), 1)},
        },
    ),
    "elastic_transform": (
        SIX,
        (4, 4),
        {("imagenet", s): (v, 2.0) for s, v in enumerate((15.33, 14.00, 20.04, 19.86, 19.33), 1)},
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_distortion_is_the_published_one(name):
    photographs, counts, figures = PUBLISHED[name]
    for (calibration, severity), (want, tolerance) in figures.items():
        side = SIDES[calibration]
        count = counts[0] if side == 224 else counts[1]
        found = []
        for which in photographs:
            image = photograph(which, side)
            batch = np.repeat(image[None], count, axis=0)
            found.append(
                psnr(
                    image,
                    corruptset.corrupt(batch, name, severity=severity, calibration=calibration, key=numbers(count)),
                )
            )
        assert np.mean(found) == pytest.approx(want, abs=tolerance), (calibration, severity)
