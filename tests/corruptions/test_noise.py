"""Test the tables of noise, and the value that each word gives for a grey value."""

from __future__ import annotations

import hashlib
import itertools

import numpy as np
import pytest
from scipy import stats
from specification import plain

import corruptset
from corruptset.corruptions.calibrations import SHIPPED, shipped
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.noise import tables
from corruptset.corruptions.registry import get_corruption
from corruptset.corruptions.stages import chain_keys, resolve_stage
from corruptset.errors import ParameterError
from example_images import synthetic_image

STAGE = np.uint64(0x9E3779B97F4A7C15)
HALF = {"floor": 0.0, "round": 0.5}
LEVELS = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)


def apply(name, images, stage=STAGE, ids=None, **parameters):
    ids = ids or [str(i) for i in range(len(images))]
    return get_corruption(name).apply(images, parameters, stage, sample_keys(ids))


# --- tables ---------------------------------------------------------------------------------------------------------


def gaussian_weights(sigma, half, mean=0.0):
    """Return the cumulative weights of the definition. An offset is at most s - 256 if the noise is below s - 255."""
    below = stats.norm.cdf((np.arange(512) - 255 - half - 255 * mean) / (255 * sigma))
    below[0], below[511] = 0, 1
    return below[None]


def speckle_weights(sigma, half):
    level = np.arange(1, 256)[:, None]
    below = stats.norm.cdf((np.arange(1, 257) - half - level) / (level * sigma))
    below[:, -1] = 1
    return np.concatenate([np.ones((1, 256)), below])


def shot_weights(photons, half):
    counts = np.arange(int(photons + 60 + 12 * photons**0.5))
    value = (np.clip(counts / photons, 0, 1) * 255 + half).astype(int)
    rows = [np.bincount(value, stats.poisson.pmf(counts, x / 255 * photons), minlength=256) for x in range(256)]
    return np.cumsum(rows, axis=1)


@pytest.mark.parametrize("half", [0.0, 0.5])
def test_tables_have_weights_of_definitions(half):
    for cumulative, weights, parameters, bits in (
        (tables.gaussian_cumulative, gaussian_weights, [(0.04,), (0.38, 0.2), (1e-9, 0.0), (10.0, -1.0)], 9),
        (tables.speckle_cumulative, speckle_weights, [(0.06,), (0.6,), (10.0,)], 8),
        (tables.shot_cumulative, shot_weights, [(3.0,), (60.0,), (7.3,), (0.001,)], 8),
    ):
        for first, *more in parameters:
            result = cumulative(first, half, *more)
            assert np.abs(result - weights(first, half, *more) * 2**32).max() <= 0.51, (cumulative.__name__, first)
            table = tables.alias_tables(result, bits).astype(np.int64)
            own, other = table >> bits, table & ((1 << bits) - 1)
            draws = own.copy()
            for row, to, share in zip(draws, other, (1 << (32 - bits)) - own, strict=True):
                np.add.at(row, to, share)
            np.testing.assert_array_equal(np.cumsum(draws, axis=1), result)


def test_shot_noise_works_at_a_million_photons():
    """Test that the longest recurrence still gives the Poisson distribution, except for rounding."""
    edges = np.append(np.ceil(np.arange(1, 256) / 255 * 1e6), np.inf)
    result = tables.shot_cumulative(1e6)[200] / 2**32
    assert np.abs(result - stats.poisson.cdf(edges - 1, 200 / 255 * 1e6)).max() < 1e-9


PINNED = {
    "gaussian": "ec7c58ff34bed985b44f5d046b9228ba0d4a0d98edf3a6488ddc3a3fac7bd830",
    "shot": "33fc719aacc83123b18beda6b2706d1aeb5e43bc3bd348b712dd37174436b68c",
    "speckle": "7066a6048ee3cca0465c3cc8983e81298b2373851bda0a210cb481c6f0010310",
}
"""The sha256 of all shipped tables of a noise, from the least parameter to the greatest."""


@pytest.mark.parametrize("name", PINNED)
def test_shipped_tables_are_pinned(name):
    rows = [row for c in SHIPPED if c != "mnist" for row in shipped(c).rows[f"{name}_noise"].values()]
    values = sorted({next(iter(row.parameters.values())) for row in rows})
    content = b"".join(
        tables.noise_table(getattr(tables, f"{name}_cumulative"), value).astype("<u4").tobytes() for value in values
    )
    assert hashlib.sha256(content).hexdigest() == PINNED[name]


# --- what becomes of a level ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounding", HALF)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("gaussian_noise", {"sigma": 0.18, "mean": 0.1}),
        ("speckle_noise", {"sigma": 0.35}),
        ("shot_noise", {"photons": 12.0}),
    ],
)
def test_noisy_value_is_chosen_from_table_by_its_own_random_word(name, arguments, rounding):
    """Test two images that are larger than a chunk of a kernel, so that nothing is shared or repeated."""
    images = np.stack([synthetic_image(31, 57, 3, which) for which in range(2)])
    value, *mean = arguments.values()
    cumulative = getattr(tables, f"{name.removesuffix('_noise')}_cumulative")
    table = tables.noise_table(cumulative, value, HALF[rounding], *mean).astype(np.int64)
    bits = 9 if mean else 8
    result = apply(name, images, ids=["a", "b"], rounding=rounding, **arguments)
    for image, sample, out in zip(images, "ab", result, strict=True):
        draws = np.reshape(plain.words(image.size, int(STAGE), sample), image.shape).astype(np.int64)
        slot = draws >> (32 - bits)
        entry = table[slot if mean else 256 * image.astype(np.int64) + slot]
        chosen = np.where(draws % 2 ** (32 - bits) < entry >> bits, slot, entry % 2**bits)
        np.testing.assert_array_equal(out, np.clip(image + chosen - 256, 0, 255) if mean else chosen)


def test_mean_and_deviation_of_clipped_noise_on_black_match_theory():
    """Test the mean and standard deviation of black with sigma 0.1 after clipping against theory."""
    black = np.zeros((600, 800, 3), np.uint8)
    for mean, expected in {0.1: (0.1083, 0.0867), 0.15: (0.1529, 0.0942), 0.2: (0.2008, 0.0980)}.items():
        out = corruptset.corrupt(black, "gaussian_noise", sigma=0.1, mean=mean, rounding="round") / 255.0
        assert (out.mean(), out.std()) == pytest.approx(expected, abs=0.001)


def test_mean_shifts_without_spread_and_other_mean_changes_draws():
    for rounding, mean in itertools.product(HALF, (-1.0, -0.5, -0.1, -1e-9, 0.0, 1e-9, 0.1, 1.0)):
        result = apply("gaussian_noise", LEVELS, sigma=0.0, mean=mean, rounding=rounding)
        np.testing.assert_array_equal(result, np.clip(np.floor(LEVELS + 255 * mean + HALF[rounding]), 0, 255))
    none, zero, other = (
        chain_keys([resolve_stage("gaussian_noise", shipped("cifar"), parameters={"sigma": 0.1} | more)], 0)
        for more in ({}, {"mean": -0.0}, {"mean": 0.1})
    )
    assert none == zero != other
    for bad in (-1.01, True):
        with pytest.raises(ParameterError, match="mean"):
            corruptset.corrupt(LEVELS[0], "gaussian_noise", sigma=0.1, mean=bad)


@pytest.mark.parametrize("density", [0.0, 1e-9, 0.1, 0.5, 1.0])
def test_changed_elements_match_specification(density):
    image = synthetic_image(31, 57)
    expected = plain.impulse_noise(image.tolist(), int(STAGE), "a", amount=density)
    for name, column in (("salt_pepper", "density"), ("impulse_noise", "amount")):
        np.testing.assert_array_equal(apply(name, image[None], ids=["a"], **{column: density})[0], expected)


@pytest.mark.parametrize("amplitude", [1e-9, 0.01, 0.4, 3.0])
def test_uniform_noise_follows_random_words(amplitude):
    image = synthetic_image(80, 64)
    draws = [np.reshape(plain.words(image.size, int(STAGE), sample), image.shape) / 2.0**31 - 1.0 for sample in "ab"]
    for rounding in HALF:
        result = apply("uniform_noise", np.stack([image] * 2), ids="ab", amplitude=amplitude, rounding=rounding)
        expected = np.clip(np.floor(image + 255 * amplitude * np.stack(draws) + HALF[rounding]), 0, 255)
        np.testing.assert_array_equal(result, expected)


def test_zero_strength_changes_nothing_and_extreme_strengths_are_accepted():
    for name, column in (("speckle_noise", "sigma"), ("uniform_noise", "amplitude")):
        np.testing.assert_array_equal(apply(name, LEVELS, **{column: 0.0}), LEVELS)
    for name, row in (("gaussian_noise", {"sigma": 1e-300}), ("shot_noise", {"photons": 0.001})):
        assert apply(name, LEVELS, **row).shape == LEVELS.shape
    floored = apply("gaussian_noise", np.full((1, 100, 100, 1), 99, np.uint8), sigma=1e-9)
    assert set(np.unique(floored)) == {98, 99}, "the floor takes a level off where the noise is negative"
