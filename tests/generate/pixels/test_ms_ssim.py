"""MS-SSIM equals a slow reference implementation and recorded values of pytorch-msssim."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import correlate1d

from corruptset import corrupt
from corruptset.generate.level_effects import _photographs
from corruptset.generate.pixels.ms_ssim import WEIGHTS, ms_ssim

Image = NDArray[np.uint8]


def reference_ms_ssim(clean: Image, image: Image) -> float:
    """Return MS-SSIM, computed with float64 arrays."""
    window = np.exp(-((np.arange(11) - 5.0) ** 2) / 4.5)
    window /= window.sum()

    def filtered(values: NDArray[np.float64]) -> NDArray[np.float64]:
        for axis in (0, 1):
            values = correlate1d(values, window, axis=axis)
        return values[5:-5, 5:-5]

    def halved(values: NDArray[np.float64]) -> NDArray[np.float64]:
        values = np.pad(values, [(0, values.shape[0] % 2), (0, values.shape[1] % 2), (0, 0)], mode="edge")
        return (values[::2, ::2] + values[1::2, ::2] + values[::2, 1::2] + values[1::2, 1::2]) / 4

    a, b = clean.astype(float), image.astype(float)
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    product = np.ones(clean.shape[2])
    for scale, weight in enumerate(WEIGHTS):
        if scale:
            a, b = halved(a), halved(b)
        mean_a, mean_b = filtered(a), filtered(b)
        variances = filtered(a * a) - mean_a**2 + filtered(b * b) - mean_b**2
        similarity = (2 * (filtered(a * b) - mean_a * mean_b) + c2) / (variances + c2)
        if scale == len(WEIGHTS) - 1:
            similarity = similarity * (2 * mean_a * mean_b + c1) / (mean_a**2 + mean_b**2 + c1)
        product *= np.maximum(similarity.mean((0, 1)), 0) ** weight
    return float(product.mean())


def image_pair(shape: tuple[int, int, int], noise: float, seed: int = 7) -> tuple[Image, Image]:
    rng = np.random.Generator(np.random.Philox(seed))
    clean = (np.add.outer(np.arange(shape[0]), np.arange(shape[1]))[:, :, None] * 3 + np.arange(shape[2]) * 20) % 256
    return clean.astype(np.uint8), np.clip(clean + rng.normal(0, noise, shape), 0, 255).astype(np.uint8)


def test_ms_ssim_matches_reference():
    # the treatment of the last column of an odd side changes the result by 2e-6
    for shape, noise in (((176, 193, 3), 60.0), ((179, 181, 1), 30.0)):
        clean, image = image_pair(shape, noise)
        assert ms_ssim(clean, image) == pytest.approx(reference_ms_ssim(clean, image), abs=2e-7), shape


STORED = {
    ("fog", 1): 0.696385950283417,
    ("contrast", 5): 0.19961354895320882,
    ("pixelate", 3): 0.9740247956021282,
    ("elastic_transform", 5): 0.6297576575885026,
    ("brightness", 5): 0.7736880828874898,
}
"""MS-SSIM of the first photograph of the source ``sample`` at 224x224 with the key "0", computed in float64 by
pytorch-msssim 1.0.0.
"""


def test_ms_ssim_matches_recorded_pytorch_msssim_values():
    clean = _photographs()[1][0]
    for (corruption, severity), expected in STORED.items():
        image = corrupt(clean, corruption, severity=severity, key="0")
        assert ms_ssim(clean, image) == pytest.approx(expected, abs=1e-5), corruption


def test_ms_ssim_of_equal_and_of_unsuitable_images():
    clean, image = image_pair((176, 200, 3), 30.0)
    assert ms_ssim(clean, clean.copy()) == pytest.approx(1.0, abs=1e-6)
    assert ms_ssim(clean, image) == pytest.approx(ms_ssim(image, clean), abs=1e-6)
    assert ms_ssim(clean[:175], image[:175]) is None
    assert ms_ssim(clean, image[:, :190]) is None
    # a negative similarity counts as 0
    clean, _ = image_pair((176, 176, 1), 1.0)
    assert ms_ssim(clean, 255 - clean) == 0.0
