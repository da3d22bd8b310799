"""Metrics equal those of scikit-image, and are None if they are not defined."""

from itertools import product

import numpy as np
import pytest
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from corruptset.generate.pixels.metrics import mean_metrics, measure, measured_indices


def image_pair(shape: tuple[int, int, int], noise: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.Generator(np.random.Philox(7))
    clean = (np.add.outer(np.arange(shape[0]), np.arange(shape[1]))[:, :, None] * 3 + np.arange(shape[2]) * 20) % 256
    image = np.clip(clean + rng.normal(0, noise, shape), 0, 255)
    return clean.astype(np.uint8), image.astype(np.uint8)


def test_metrics_equal_scikit_image():
    for shape, noise in product([(32, 48, 3), (61, 37, 1), (8, 9, 3)], [2.0, 60.0]):
        clean, image = image_pair(shape, noise)
        psnr, similarity, changed = measure(clean, image)
        expected = structural_similarity(clean, image, channel_axis=2, data_range=255)
        assert psnr == pytest.approx(peak_signal_noise_ratio(clean, image), abs=1e-9)
        assert similarity == pytest.approx(expected, abs=1e-9)
        assert changed == pytest.approx(np.mean((clean != image).any(axis=2)))
    clean, _ = image_pair((16, 16, 3), 1.0)
    assert measure(clean, clean.copy()) == (None, pytest.approx(1.0), 0.0)
    assert measure(clean, clean[:, :12]) == (None, None, None)


def test_means_cover_rows_with_values_but_psnr_needs_all():
    assert mean_metrics([]) is None
    spread = {"psnr": 5.0, "ssim": 0.125, "changed": 0.125}
    expected_metrics = {"images": 2, "psnr": 25.0, "ssim": 0.375, "changed": 0.375, "spread": spread}
    for rows, expected in (
        ([(30.0, 0.5, 0.25), (20.0, 0.25, 0.5)], expected_metrics),
        ([(30.0, 0.5, 0.25, None), (20.0, 0.25, 0.5, None)], expected_metrics),
        ([(30.0, 0.5, 0.25), (None, 1.0, 0.0)], {"psnr": None, "ssim": 0.75}),
        (
            [(30.0, 0.5, 0.25, 0.9), (20.0, 0.25, 0.5, 0.7), (20.0, 0.25, 0.5, None), (20.0, 0.25, 0.5)],
            {"images": 4, "ms_ssim": 0.8, "ms_ssim_images": 2},
        ),
    ):
        result = mean_metrics(rows)
        assert result is not None
        assert result.as_json().items() >= expected.items()
        assert ("ms_ssim" in result.as_json()) == ("ms_ssim" in expected)


def test_first_samples_by_id_are_measured():
    assert measured_indices(["b", "a", "c", "B"], 2) == {1, 3}
    assert measured_indices(["b", "a"], "all") == {0, 1}
    assert measured_indices(["b", "a"], 0) == frozenset()
