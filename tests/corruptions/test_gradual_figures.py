"""Gradual degradations on the eight photographs: the released notebook's figures, and the paper's shares of changed
pixels.

The figures were measured by running the notebook on the same crops, with two seeds where it draws. What it defines
otherwise than the paper's tables do is left out: its adjacent swaps can hit the pixel itself, and its posterize and
JPEG have one bin, or one step of quality, more at each level (so its level k + 1 is compared with our level k).
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from skimage.metrics import structural_similarity

import corruptset
from corruptset.corruptions.registry import get_corruption
from corruptset.generate.pixels.preprocessing import ResizeCrop, preprocess
from corruptset.generate.sources.source import open_source

LEVELS = (1, 5, 10, 20, 30)
FIGURES = {
    "black_lines": (
        (
            (32.48297, 98.28494, 0.01068),
            (24.59651, 96.05067, 0.05364),
            (21.73524, 93.41267, 0.10464),
            (18.94321, 88.56911, 0.19707),
            (17.24393, 83.78123, 0.27862),
        ),
        0.81178,
    ),
    "white_lines": (
        (
            (29.55414, 99.6302, 0.01094),
            (21.07851, 102.98826, 0.05534),
            (17.91918, 107.20143, 0.10771),
            (14.92254, 115.24013, 0.20303),
            (13.24987, 122.56707, 0.28663),
        ),
        0.75923,
    ),
    "random_boxes": (
        (
            (25.22957, 97.13695, 0.01727),
            (18.42916, 90.54672, 0.0839),
            (15.6537, 82.97867, 0.16016),
            (12.96386, 69.56994, 0.29473),
            (11.58739, 58.3822, 0.40607),
        ),
        0.57366,
    ),
    "global_blur": (
        (
            (27.61935, 98.86352, 0.92991),
            (24.12914, 98.86478, 0.95483),
            (22.67854, 98.86062, 0.96374),
            (21.37886, 98.84661, 0.97123),
            (20.70015, 98.83238, 0.97438),
        ),
        0.57655,
    ),
    "local_blur": (
        (
            (32.27703, 98.85512, 0.25529),
            (26.98327, 98.8636, 0.74321),
            (25.33055, 98.87437, 0.89943),
            (23.85924, 98.87794, 0.95125),
            (22.99841, 98.87919, 0.96303),
        ),
        0.71813,
    ),
    "random_noise": (
        (
            (24.84171, 99.41844, 0.01981),
            (18.01476, 101.60103, 0.09515),
            (15.21558, 104.07367, 0.18125),
            (12.6301, 108.27443, 0.32938),
            (11.26293, 111.73443, 0.45092),
        ),
        0.22687,
    ),
    "pixel_swap": (
        (
            (25.3599, 98.86559, 0.04819),
            (18.80304, 98.89187, 0.21893),
            (16.31459, 98.86752, 0.38956),
            (14.24478, 98.87827, 0.62664),
            (13.32824, 98.93502, 0.77144),
        ),
        0.26407,
    ),
    "white_fog": (
        (
            (28.38748, 102.8107, 0.18111),
            (19.36304, 118.29496, 0.63227),
            (14.80532, 136.74016, 0.86458),
            (10.04502, 170.17183, 0.9816),
            (7.4068, 198.30899, 0.99746),
        ),
        0.32349,
    ),
    "fade_black": (
        (
            (27.71503, 88.98304, 0.97668),
            (15.45808, 58.37446, 0.97668),
            (11.41974, 34.44334, 0.97668),
            (8.85908, 12.453, 0.97668),
            (8.15549, 5.29437, 0.97668),
        ),
        0.50615,
    ),
    "fade_white": (
        (
            (27.9299, 108.49895, 0.97668),
            (14.71716, 143.28004, 0.97668),
            (9.54518, 178.57181, 0.97668),
            (5.92424, 217.27702, 0.97668),
            (4.64659, 237.45914, 0.97668),
        ),
        0.53034,
    ),
    "fade_grey": (
        (
            (35.94836, 102.22241, 0.80982),
            (23.71377, 112.69282, 0.80982),
            (19.69417, 120.80904, 0.80982),
            (17.14966, 128.19655, 0.80982),
            (16.6386, 130.14029, 0.80982),
        ),
        0.88434,
    ),
    "posterize": (
        (
            (37.48013, 97.74762, 0.98861),
            (36.3828, 97.53684, 0.98911),
            (34.43757, 97.30984, 0.98902),
            (29.01821, 96.10943, 0.98984),
            (15.89273, 91.68584, 0.98998),
        ),
        0.91923,
    ),
    "jpeg": (
        (
            (30.50167, 98.98486, 0.99743),
            (30.09772, 99.01892, 0.99762),
            (29.43094, 98.92433, 0.99846),
            (27.38544, 99.01166, 0.9987),
            (21.38744, 99.05222, 0.99842),
        ),
        0.85093,
    ),
}
"""At levels 1, 5, 10, 20, 30 (posterize and jpeg: 29 in place of 30): PSNR, mean, share of changed pixels; then SSIM at
10.
"""

# How far means over eight photographs and two seeds may lie from the notebook's, each with its own draws: PSNR at the
# five levels, mean, share changed, SSIM. Three to four standard deviations of what was seen over seeds.
TOLERANCE = {
    "black_lines": ((2.5, 1.0, 0.8, 0.6, 0.5), 1.0, 0.012, 0.02),
    "white_lines": ((2.5, 1.0, 0.6, 0.5, 0.4), 1.0, 0.012, 0.02),
    "random_boxes": ((0.6, 0.4, 0.3, 0.2, 0.2), 0.6, 0.005, 0.01),
    "local_blur": ((0.4, 0.15, 0.15, 0.15, 0.15), 0.1, 0.006, 0.006),
    "random_noise": ((0.15, 0.1, 0.06, 0.05, 0.04), 0.25, 0.002, 0.004),
    # the notebook's share of changed pixels is 0.4 points lower at level 20, as if its last row and column were never
    # drawn
    "pixel_swap": ((0.1, 0.1, 0.1, 0.1, 0.1), 0.25, 0.006, 0.006),
    "white_fog": ((0.03, 0.02, 0.02, 0.02, 0.02), 0.08, 0.002, 0.002),
}
EXACT = ((2e-4,) * 5, 2e-4, 2e-5, 2e-4)


@functools.cache
def photographs():
    """The eight, shortest side 256, centre crop 224."""
    source = open_source("sample")
    spec = ResizeCrop(kind="resize-crop", resize=256, crop=224, interpolation="bilinear", channels="rgb")
    assert len(source.samples) == 8
    return np.ascontiguousarray(np.stack([preprocess(source.load(sample).image, spec) for sample in source.samples]))


def measured(images, outs):
    away = np.mean((images.astype(float) - outs) ** 2, axis=(1, 2, 3))
    return np.mean(10 * np.log10(255**2 / away)), outs.mean(), changed(images, outs)


def changed(images, outs):
    return (images != outs).any(axis=3).mean()


@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_the_released_notebook(name):
    images = photographs()
    figures, ssim = FIGURES[name]
    assert get_corruption(name).deterministic == (name not in TOLERANCE)
    psnr_within, mean_within, changed_within, ssim_within = TOLERANCE.get(name, EXACT)
    seeds = range(2) if name in TOLERANCE else range(1)
    for level, within, (psnr, mean, share) in zip(LEVELS, psnr_within, figures, strict=True):
        level = min(level, 29) if name in ("posterize", "jpeg") else level
        outs = [corruptset.corrupt(images, name, level=level, seed=seed) for seed in seeds]
        found = np.mean([measured(images, out) for out in outs], axis=0)
        assert abs(found[0] - psnr) < within, (level, found[0], psnr)
        assert abs(found[1] - mean) < mean_within, (level, found[1], mean)
        assert abs(found[2] - share) < changed_within, (level, found[2], share)
        if level == 10:
            alike = [structural_similarity(a, b, channel_axis=2) for a, b in zip(images, outs[0], strict=True)]
            assert abs(np.mean(alike) - ssim) < ssim_within


# name -> level -> per cent of pixels with any channel changed
PAPER = {
    "black_lines": {6: 6.4, 10: 10.6, 13: 13.4},
    "white_lines": {7: 7.3, 12: 11.9, 14: 13.8},
    "random_boxes": {2: 3.4, 4: 6.9, 5: 8.5},
    "pixel_swap": {2: 9.5, 3: 13.9, 5: 22.1},
    "adjacent_pixel_swap": {2: 56.6, 4: 76.8},
    "white_fog": {10: 86.4, 11: 88.9},
    "random_noise": {4: 7.7, 8: 14.8, 12: 21.3},
    # The paper has 70 there. What is compared with is the released notebook's on these photographs, one of which is
    # half flat sky (53 %; the other seven have 66 to 72).
    "local_blur": {4: 67.1},
}


@pytest.mark.parametrize("name", PAPER)
def test_shares_of_changed_pixels_are_the_papers(name):
    images = photographs()
    for level, per_cent in PAPER[name].items():
        # lines vary most: 0.4 points a seed
        seeds = range(20) if name.endswith("lines") else range(5)
        found = 100 * np.mean(
            [changed(images, corruptset.corrupt(images, name, level=level, seed=seed)) for seed in seeds]
        )
        print(f"{name} {level}: {found:.1f} % changed, {per_cent} % in the table")
        assert abs(found - per_cent) < 1, level


def test_the_texts_swaps_change_less():
    """The paper's tables and its text disagree: the text's exchanges of neighbours reach 17 % where the table
    has 56 %.
    """
    images = photographs()
    text = [
        100 * changed(images, corruptset.corrupt(images, "adjacent_pixel_swap", level=level, ladder="text"))
        for level in (2, 4)
    ]
    assert text[0] < 20
    assert text[1] < 35
