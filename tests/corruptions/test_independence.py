"""Draws are independent across channels, neighbours, images, severities, seeds and corruptions.

Correlations of residuals on flat images, as z-scores; and the joint distribution of neighbouring words. Every check is
also run on noise that shares or repeats its draws, which it must refuse.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from corruptset.corruptions.keys import sample_keys, stage_key
from corruptset.corruptions.random.philox import fill_words
from corruptset.corruptions.registry import get_corruption

SEEDS = (0, 1, 2, 3, 4)
LEAST = 1e-4
ROWS = {
    "gaussian_noise": ("sigma", 0.12, 0.26),
    "shot_noise": ("photons", 25.0, 5.0),
    "impulse_noise": ("amount", 0.06, 0.17),
    "speckle_noise": ("sigma", 0.2, 0.45),
}
LAGS = [(0, 1), (1, 0), (1, 1), (1, -1), (0, 2), (0, 4), (0, 16), (0, 32), (16, 0), (32, 0), (64, 64), (0, 85)]


def residual(name, ids=("one",), seed=0, which=2, size=(192, 208)):
    """Return a noise's residual on flat grey images, each with mean 0 and variance 1: (N, H, W, 3)."""
    parameter = ROWS[name][0]
    value = ROWS[name][which]
    flat = np.full((len(ids), *size, 3), 128, np.uint8)
    key = stage_key(seed, [(f"{name}@1", {parameter: value})])
    out = get_corruption(name).apply(flat, {parameter: value}, key, sample_keys(ids)).astype(float)
    return (out - out.mean((1, 2), keepdims=True)) / out.std((1, 2), keepdims=True)


def p_of(a, b):
    """Return the p-value of the correlation of two residuals."""
    return float(2 * stats.norm.sf(abs((a * b).mean()) * np.sqrt(a.size)))


def channels(r):
    return [p_of(r[..., i], r[..., j]) for i, j in ((0, 1), (0, 2), (1, 2))]


def neighbours(r):
    return [p_of(r, np.roll(r, lag, (1, 2))) for lag in LAGS]


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("seed", SEEDS)
def test_channels_and_neighbours(name, seed):
    r = residual(name, seed=seed)
    assert min(channels(r) + neighbours(r)) > LEAST


@pytest.mark.parametrize("name", ROWS)
def test_images_severities_and_seeds(name):
    several = residual(name, [str(i) for i in range(6)])
    p = [p_of(several[i], several[j]) for i, j in itertools.combinations(range(6), 2)]
    p += [p_of(residual(name, seed=s), residual(name, seed=s, which=1)) for s in SEEDS]
    p += [p_of(residual(name, seed=a), residual(name, seed=b)) for a, b in itertools.combinations(SEEDS, 2)]
    assert min(p) > LEAST


def test_corruptions():
    for seed in SEEDS:
        r = {name: residual(name, seed=seed) for name in ROWS}
        assert min(p_of(r[a], r[b]) for a, b in itertools.combinations(ROWS, 2)) > LEAST


@pytest.mark.parametrize("name", ROWS)
def test_the_size_of_noise_does_not_carry_over_either(name):
    """Squared residuals: what a correlation of the residuals themselves cannot see."""
    squared = residual(name, ["one", "two"]) ** 2
    r = (squared - squared.mean((1, 2), keepdims=True)) / squared.std((1, 2), keepdims=True)
    assert min(channels(r) + neighbours(r) + [p_of(r[0], r[1])]) > LEAST


@pytest.mark.parametrize("name", ROWS)
def test_shared_and_repeated_draws_are_noticed(name):
    r = residual(name)
    same_in_all_channels = np.repeat(r[..., :1], 3, axis=-1)
    assert max(channels(same_in_all_channels)) < LEAST
    tiled = np.tile(r[:, :32, :32], (1, 6, 6, 1))
    assert min(neighbours(tiled)) < LEAST
    # A twentieth of another image's noise, mixed in, is enough.
    a, b = residual(name, ["one", "two"])
    assert p_of(a, b + 0.05 * a) < LEAST
    assert p_of(r, residual(name)) < LEAST


# --- words ---------------------------------------------------------------------------------------------------------


def words(seed, sample="a", stream=0, count=2_000_000):
    out = np.empty(count, np.uint32)
    fill_words(out, 0, stage_key(seed, [("independence@1", {})]), sample_keys([sample])[0], stream)
    return out


def joint_p(a, b, bits=5):
    """Return the p-value of the joint distribution of two words' top bits."""
    shift = np.uint32(32 - bits)
    table = np.bincount(((a >> shift) << np.uint32(bits)) | (b >> shift), minlength=1 << (2 * bits))
    expected = a.size / table.size
    return float(stats.chi2.sf(((table - expected) ** 2 / expected).sum(), table.size - 1))


@pytest.mark.parametrize("seed", SEEDS)
def test_pairs_of_words(seed):
    w = words(seed)
    assert min(joint_p(w[:-lag], w[lag:]) for lag in (1, 2, 3, 4, 8, 32, 672)) > LEAST
    others = [words(seed, sample="b"), words(seed, stream=1), words(seed + 100)]
    assert min(joint_p(w, o) for o in others) > LEAST
    low = w << np.uint32(27)
    assert min(joint_p(w, low), joint_p(low[:-1], low[1:])) > LEAST


def test_related_words_are_noticed():
    w = words(0)
    assert joint_p(w, w) < LEAST
    assert joint_p(w[:-1], np.where(np.arange(w.size - 1) % 100 == 0, w[:-1], w[1:])) < LEAST, (
        "one word in a hundred repeated"
    )


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_pairs_of_words_at_length(seed):
    w = words(seed, count=60_000_000)
    assert min(joint_p(w[:-lag], w[lag:], 8) for lag in (1, 2, 3, 4, 5, 8, 96, 672)) > LEAST
    assert (
        min(joint_p(w, words(seed, sample="b", count=w.size), 8), joint_p(w, words(seed, stream=1, count=w.size), 8))
        > LEAST
    )
