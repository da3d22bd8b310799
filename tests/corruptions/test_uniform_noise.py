"""Uniform noise: its definition word by word, its distribution, its published amplitudes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import corruptset
from corruptset.corruptions.calibrations import calibrations_of, shipped
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.random.philox import fill_words
from corruptset.corruptions.registry import get_corruption
from corruptset.errors import ParameterError
from pictures import numbers, painted


@pytest.mark.parametrize("rounding", ["floor", "round"])
@pytest.mark.parametrize("amplitude", [1e-9, 0.01, 0.1, 0.4, 3.0])
@pytest.mark.parametrize("shape", [(8, 8, 1), (31, 57, 3), (80, 64, 3)])
def test_equals_the_definition_word_by_word(shape, amplitude, rounding):
    image = painted(*shape)
    key = np.uint64(0x1234567)
    words = np.empty(image.size, np.uint32)
    fill_words(words, 0, key, sample_keys(["a"])[0], np.uint32(0))
    drawn = words.reshape(shape).astype(np.float64) / 2.0**31 - 1.0
    want = np.clip(np.floor(image + 255 * amplitude * drawn + (0.5 if rounding == "round" else 0.0)), 0, 255)
    given = {"amplitude": amplitude} | ({"rounding": rounding} if rounding == "round" else {})
    got = get_corruption("uniform_noise").apply(image[None], given, key, sample_keys(["a"]))[0]
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("severity", [1, 2, 3, 4])
def test_every_offset_is_as_frequent_as_the_definition_says(severity):
    """Of 1.2 million elements of one grey level, by channel: floor(255 a u) for u uniform on [-1, 1)."""
    amplitude = [0.01, 0.05, 0.1, 0.2][severity - 1]
    out = corruptset.corrupt(
        np.full((800, 500, 3), 100, np.uint8), "uniform_noise", severity=severity, calibration="imagenet", seed=4
    )
    span = 255 * amplitude
    low = int(np.floor(-span))
    edges = np.clip(np.arange(low, int(np.floor(span)) + 2), -span, span)
    shares = np.trim_zeros(np.diff(edges) / (2 * span), "b")
    for channel in range(3):
        counts = np.bincount(out[..., channel].ravel().astype(int) - 100 - low, minlength=len(shares))
        assert len(counts) == len(shares)
        assert stats.chisquare(counts, shares * counts.sum()).pvalue > 1e-4
    assert abs(out.mean() - 99.5) < 0.1  # floored: half a level below


def test_images_channels_and_severities_draw_for_themselves():
    grey = np.full((2, 60, 60, 3), 128, np.uint8)
    one, other = corruptset.corrupt(grey, "uniform_noise", amplitude=0.2, key=numbers(2)).astype(float)
    again = corruptset.corrupt(grey[0], "uniform_noise", amplitude=0.21, key="0").astype(float)
    for a, b in ((one, other), (one[..., 0], one[..., 2]), (one, again), (one[:30], one[30:])):
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.05


def test_published_amplitudes_and_those_of_ours():
    rows = shipped("imagenet").rows["uniform_noise"]
    assert [rows[s].parameters["amplitude"] for s in range(1, 6)] == [0.01, 0.05, 0.1, 0.2, 0.4]
    assert [rows[s].source.startswith("Hendrycks & Dietterich 2018") for s in range(1, 6)] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert calibrations_of("uniform_noise") == ["imagenet"]


def test_no_amplitude_changes_nothing_and_bad_ones_are_refused():
    image = painted(16, 16)
    np.testing.assert_array_equal(corruptset.corrupt(image, "uniform_noise", amplitude=0), image)
    for bad in (-0.1, 11, float("nan"), "much"):
        with pytest.raises(ParameterError, match="amplitude"):
            corruptset.corrupt(image, "uniform_noise", amplitude=bad)
