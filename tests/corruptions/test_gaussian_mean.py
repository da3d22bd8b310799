"""Gaussian noise with a mean, as MATLAB's imnoise adds it: against theory after clipping, and what stays as it was."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

import corruptset
from corruptset.corruptions.calibrations import shipped
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.registry import get_corruption
from corruptset.corruptions.stages import chain_keys, resolve_stage
from corruptset.errors import ParameterError
from pictures import painted

LEVELS = {0.1: (0.1083, 0.0867), 0.15: (0.1529, 0.0942), 0.2: (0.2008, 0.0980)}
"""The paper's means: mean and standard deviation of black after clipping, of sigma 0.1, by theory."""
LEAST = 1e-4


def noisy(level=0, size=(1000, 800), **options):
    return corruptset.corrupt(np.full((*size, 3), level, np.uint8), "gaussian_noise", **({"sigma": 0.1} | options))


def expected(level, mean, sigma, rounding):
    """Return the probabilities of the 256 levels: the normal's between the edges at which the result changes."""
    edges = np.arange(1, 256) - (0.5 if rounding == "round" else 0.0)
    return np.diff(stats.norm.cdf(edges, level + 255 * mean, 255 * sigma), prepend=0, append=1)


@pytest.mark.parametrize("mean", LEVELS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_black_after_clipping_is_what_theory_says(mean, seed):
    rounded = noisy(mean=mean, rounding="round", seed=seed) / 255.0
    assert abs(rounded.mean() - LEVELS[mean][0]) < 0.001
    assert abs(rounded.std() - LEVELS[mean][1]) < 0.001
    # floored, it is nearly half a level lower: outside of what is allowed
    floored = noisy(mean=mean, seed=seed) / 255.0
    assert abs(floored.mean() - LEVELS[mean][0]) > 0.0015
    assert 0.4 < 255 * (rounded.mean() - floored.mean()) < 0.5


@pytest.mark.parametrize("rounding", ["round", "floor"])
@pytest.mark.parametrize(
    ("level", "mean", "sigma"),
    [(0, 0.1, 0.1), (0, 0.2, 0.1), (128, -0.15, 0.05), (255, -0.3, 0.3), (40, 0.9, 0.02), (7, -1.0, 0.5)],
)
def test_every_level_is_as_likely_as_the_definition_says(level, mean, sigma, rounding):
    for seed in range(3):
        found = np.bincount(noisy(level, sigma=sigma, mean=mean, rounding=rounding, seed=seed).ravel(), minlength=256)
        probability = expected(level, mean, sigma, rounding)
        often = probability * found.sum() >= 10
        rest = [found[~often].sum()], [probability[~often].sum() * found.sum()]
        keep = rest[1][0] >= 10
        counts = np.concatenate([found[often], rest[0] if keep else []])
        means = np.concatenate([probability[often] * found.sum(), rest[1] if keep else []])
        assert stats.chisquare(counts, means * counts.sum() / means.sum()).pvalue > LEAST
        assert keep or rest[0][0] < 40


def test_that_test_refuses_another_rounding_and_another_mean():
    found = np.bincount(noisy(128, mean=0.1).ravel(), minlength=256)
    for wrong in (
        expected(128, 0.1, 0.1, "round"),
        expected(128, 0.102, 0.1, "floor"),
        expected(128, 0.2, 0.1, "floor"),
    ):
        often = wrong * found.sum() >= 10
        assert stats.chisquare(found[often], wrong[often] * found[often].sum() / wrong[often].sum()).pvalue < LEAST


@pytest.mark.parametrize("rounding", ["round", "floor"])
@pytest.mark.parametrize("mean", [-1.0, -0.5, -0.1, -1e-9, 0.0, 1e-9, 0.1, 0.5, 1.0])
def test_without_spread_the_mean_still_shifts(mean, rounding):
    image = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    got = corruptset.corrupt(image, "gaussian_noise", sigma=0.0, mean=mean, rounding=rounding)
    want = np.clip(np.floor(image + 255 * mean + (0.5 if rounding == "round" else 0.0)), 0, 255)
    np.testing.assert_array_equal(got, want)
    assert not np.shares_memory(got, image)
    # and next to no spread does the same, where the shift is not at the edge of a level
    if abs(mean) in (0.1, 1e-9) and not (abs(mean) == 0.1 and rounding == "round"):
        near = corruptset.corrupt(image, "gaussian_noise", sigma=1e-15, mean=mean, rounding=rounding)
        np.testing.assert_array_equal(near, got)


def test_a_mean_of_none_is_as_it_was():
    image = painted(40, 50)
    for rounding in ("floor", "round"):
        plain = corruptset.corrupt(image, "gaussian_noise", severity=3, rounding=rounding)
        for nothing in (0, 0.0, -0.0):
            np.testing.assert_array_equal(
                plain, corruptset.corrupt(image, "gaussian_noise", severity=3, rounding=rounding, mean=nothing)
            )
    table = shipped("cifar")
    assert "mean" not in resolve_stage("gaussian_noise", table, parameters={"sigma": 0.1, "mean": 0}).parameters
    keys = [
        chain_keys([resolve_stage("gaussian_noise", table, parameters={"sigma": 0.1} | more)], 0)[0]
        for more in ({}, {"mean": 0.0})
    ]
    assert keys[0] == keys[1]


def test_means_do_not_share_their_noise():
    """The mean is the level of the published sets: under one key, the noise of two of them is nearly the same."""
    grey = [noisy(100, mean=m, rounding="round", size=(300, 300)).ravel().astype(float) for m in (0.0, *LEVELS)]
    for a, b in itertools.combinations(grey, 2):
        assert stats.pearsonr(a, b).pvalue > LEAST
    image = np.full((1, 300, 300, 3), 100, np.uint8)
    one = [
        get_corruption("gaussian_noise")
        .apply(image, {"sigma": 0.1, "mean": m}, np.uint64(5), sample_keys(["a"]))
        .ravel()
        .astype(float)
        for m in LEVELS
    ]
    assert min(stats.pearsonr(a, b).statistic for a, b in itertools.combinations(one, 2)) > 0.6


@pytest.mark.parametrize("bad", [-1.01, 1.01, float("nan"), "much", None, True])
def test_nonsense_is_refused(bad):
    with pytest.raises(ParameterError, match="mean"):
        corruptset.corrupt(painted(32, 32), "gaussian_noise", sigma=0.1, mean=bad)
