"""Gradual degradations on the eight photographs.

The released notebook's figures, and the paper's shares of change. The figures were measured by running the notebook on
the same crops, with two seeds where it draws. What it defines otherwise than the paper's tables do is left out: its
adjacent swaps can hit the pixel itself, and its posterize and JPEG have one bin, or one step of quality, more at each
level (so its level k + 1 is compared with our level k).
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

import corruptset
from corruptset.corruptions.registry import get_corruption
from corruptset.generate.pixels.preprocessing import ResizeCrop, preprocess
from corruptset.generate.sources.source import open_source

LEVELS = (1, 10, 30)
ENDS_AT_29 = ("posterize", "jpeg")
# name -> PSNR and per cent of changed pixels at each level; the tolerances where it draws: three to four standard
# deviations over seeds
FIGURES = {
    "black_lines": ((32.48297, 21.73524, 17.24393), (1.068, 10.464, 27.862), (2.5, 0.8, 0.6), 1.2),
    "white_lines": ((29.55414, 17.91918, 13.24987), (1.094, 10.771, 28.663), (2.5, 0.6, 0.5), 1.2),
    "random_boxes": ((25.22957, 15.6537, 11.58739), (1.727, 16.016, 40.607), (0.6, 0.3, 0.2), 0.6),
    "global_blur": ((27.61935, 22.67854, 20.70015), (92.991, 96.374, 97.438), None, None),
    "local_blur": ((32.27703, 25.33055, 22.99841), (25.529, 89.943, 96.303), (0.4, 0.15, 0.15), 0.6),
    "random_noise": ((24.84171, 15.21558, 11.26293), (1.981, 18.125, 45.092), (0.15, 0.06, 0.05), 0.3),
    "pixel_swap": ((25.3599, 16.31459, 13.32824), (4.819, 38.956, 77.144), (0.1, 0.1, 0.1), 0.7),
    "white_fog": ((28.38748, 14.80532, 7.4068), (18.111, 86.458, 99.746), (0.03, 0.02, 0.02), 0.2),
    "fade_black": ((27.71503, 11.41974, 8.15549), (97.668, 97.668, 97.668), None, None),
    "fade_white": ((27.9299, 9.54518, 4.64659), (97.668, 97.668, 97.668), None, None),
    "fade_grey": ((35.94836, 19.69417, 16.6386), (80.982, 80.982, 80.982), None, None),
    "posterize": ((37.48013, 34.43757, 15.89273), (98.861, 98.902, 98.998), None, None),
    "jpeg": ((30.50167, 29.43094, 21.38744), (99.743, 99.846, 99.842), None, None),
}
# name -> level -> per cent of pixels with any channel changed, in the paper; of local_blur in the notebook, on these
# photographs, one of
# which is half flat sky
PAPER = {
    "black_lines": {6: 6.4, 10: 10.6, 13: 13.4},
    "white_lines": {7: 7.3, 12: 11.9, 14: 13.8},
    "random_boxes": {2: 3.4, 4: 6.9, 5: 8.5},
    "pixel_swap": {2: 9.5, 3: 13.9, 5: 22.1},
    "adjacent_pixel_swap": {2: 56.6, 4: 76.8},
    "white_fog": {10: 86.4, 11: 88.9},
    "random_noise": {4: 7.7, 8: 14.8, 12: 21.3},
    "local_blur": {4: 67.1},
}


@functools.cache
def photographs():
    """The eight, shortest side 256, centre crop 224."""
    source = open_source("sample")
    spec = ResizeCrop(kind="resize-crop", resize=256, crop=224, interpolation="bilinear", channels="rgb")
    return np.ascontiguousarray(np.stack([preprocess(source.load(sample).image, spec) for sample in source.samples]))


def changed(outs):
    return 100 * (photographs() != outs).any(axis=3).mean()


@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_the_released_notebook(name):
    images = photographs()
    psnrs, shares, within, share_within = FIGURES[name]
    assert get_corruption(name).deterministic == (within is None)
    for level, psnr, share, tolerance in zip(LEVELS, psnrs, shares, within or (2e-4,) * 3, strict=True):
        level = 29 if level == 30 and name in ENDS_AT_29 else level
        outs = [corruptset.corrupt(images, name, level=level, seed=seed) for seed in range(2 if within else 1)]
        errors = [np.mean((images.astype(float) - out) ** 2, axis=(1, 2, 3)) for out in outs]
        assert np.mean(10 * np.log10(255**2 / np.array(errors))) == pytest.approx(psnr, abs=tolerance), level
        assert np.mean([changed(out) for out in outs]) == pytest.approx(share, abs=share_within or 2e-3), level


@pytest.mark.parametrize("name", PAPER)
def test_shares_of_changed_pixels_are_the_papers(name):
    for level, per_cent in PAPER[name].items():
        seeds = range(20 if name.endswith("lines") else 5)  # lines vary most: 0.4 points a seed
        found = np.mean([changed(corruptset.corrupt(photographs(), name, level=level, seed=seed)) for seed in seeds])
        assert found == pytest.approx(per_cent, abs=1), level


def test_the_texts_swaps_change_less():
    """The paper's tables and its text disagree.

    The text's exchanges of neighbours reach 17 % where the table has 56 %.
    """
    two, four = (
        changed(corruptset.corrupt(photographs(), "adjacent_pixel_swap", level=k, ladder="text")) for k in (2, 4)
    )
    assert (two < 20, four < 35) == (True, True)
