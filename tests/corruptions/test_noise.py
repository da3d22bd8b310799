"""The noises: exact tables, what becomes of a grey level, independence of all draws."""

from __future__ import annotations

import hashlib
import itertools

import numpy as np
import pytest
from measures import LEAST, p_of_counts
from scipy import stats
from specification import plain

import corruptset
from corruptset.corruptions.calibrations import SHIPPED, shipped
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.noise import tables
from corruptset.corruptions.registry import get_corruption
from corruptset.corruptions.stages import chain_keys, resolve_stage
from corruptset.errors import ParameterError
from pictures import painted

SEEDS = range(5)
STAGE = np.uint64(0x9E3779B97F4A7C15)
HALF = {"floor": 0.0, "round": 0.5}


def apply(name, images, stage=STAGE, ids=None, **parameters):
    ids = ids or [str(i) for i in range(len(images))]
    return get_corruption(name).apply(images, parameters, stage, sample_keys(ids))


# --- tables ---------------------------------------------------------------------------------------------------------


def gaussian_weights(sigma, half, mean=0.0):
    """Return the definition's cumulative weights.

    An offset is at most s - 256 where the noise is below s - 255.
    """
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
def test_tables_have_the_weights_of_the_definitions(half):
    for cumulative, weights, parameters, bits in (
        (tables.gaussian_cumulative, gaussian_weights, [(0.04,), (0.38, 0.2), (1e-9, 0.0), (10.0, -1.0)], 9),
        (tables.speckle_cumulative, speckle_weights, [(0.06,), (0.6,), (10.0,)], 8),
        (tables.shot_cumulative, shot_weights, [(3.0,), (60.0,), (500.0,), (7.3,), (0.001,)], 8),
    ):
        for first, *more in parameters:
            got = cumulative(first, half, *more)
            assert np.abs(got - weights(first, half, *more) * 2**32).max() <= 0.51, (cumulative.__name__, first)
            table = tables.alias_tables(got, bits).astype(np.int64)
            own, other = table >> bits, table & ((1 << bits) - 1)
            drawn = own.copy()
            for row, to, share in zip(drawn, other, (1 << (32 - bits)) - own, strict=True):
                np.add.at(row, to, share)
            np.testing.assert_array_equal(np.cumsum(drawn, axis=1), got)


def test_shot_at_a_million_photons():
    """The longest recurrence: still the Poisson distribution, within rounding."""
    edges = np.append(np.ceil(np.arange(1, 256) / 255 * 1e6), np.inf)
    got = tables.shot_cumulative(1e6)[200] / 2**32
    assert np.abs(got - stats.poisson.cdf(edges - 1, 200 / 255 * 1e6)).max() < 1e-9


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
    whole = b"".join(
        tables.noise_table(getattr(tables, f"{name}_cumulative"), value).astype("<u4").tobytes() for value in values
    )
    assert hashlib.sha256(whole).hexdigest() == PINNED[name]


# --- what comes of a level ------------------------------------------------------------------------------------------


def of_edges(cdf, half):
    """Return the probabilities of 0 .. 255 for a floored, clipped value.

    Floor(v + half) is y where y <= v + half < y + 1.
    """
    return np.diff(cdf(np.arange(1, 256) - half), prepend=0, append=1)


def struck(x, share, half=0.0):
    return np.bincount([0, x, 255], [share / 2, 1 - share, share / 2], minlength=256)


DEFINITIONS = {
    "gaussian_noise": lambda x, v, half, mean=0.0: of_edges(lambda e: stats.norm.cdf(e, x + 255 * mean, 255 * v), half),
    "speckle_noise": lambda x, v, half: of_edges(lambda e: stats.norm.cdf(e, x, x * v), half),
    "shot_noise": lambda x, v, half: np.diff(shot_weights(v, half)[x], prepend=0),
    "uniform_noise": lambda x, v, half: of_edges(lambda e: stats.uniform.cdf(e, x - 255 * v, 510 * v), half),
    "impulse_noise": struck,
    "salt_pepper": struck,
}


@pytest.mark.parametrize(
    ("name", "level", "value", "options"),
    [
        ("gaussian_noise", 100, 0.18, {}),
        ("gaussian_noise", 128, 0.05, {"mean": -0.15, "rounding": "round"}),
        ("gaussian_noise", 0, 0.1, {"mean": 0.1, "rounding": "round"}),
        ("gaussian_noise", 255, 0.3, {"mean": -0.3}),
        ("speckle_noise", 180, 0.35, {}),
        ("speckle_noise", 90, 0.2, {"rounding": "round"}),
        ("shot_noise", 128, 12.0, {}),
        ("shot_noise", 200, 60.0, {"rounding": "round"}),
        ("impulse_noise", 99, 0.17, {}),
        ("salt_pepper", 99, 0.15, {}),
        ("uniform_noise", 100, 0.2, {}),
        ("uniform_noise", 250, 0.05, {"rounding": "round"}),
    ],
)
def test_a_level_becomes_what_the_definition_says(name, level, value, options):
    """Three million draws under each of five seeds.

    One per cent more of the parameter, or the other rounding, is refused.
    """
    (column,) = (p.name for p in get_corruption(name).columns)
    flat = np.full((1000, 1000, 3), level, np.uint8)
    given = {key: v for key, v in options.items() if key != "rounding"}
    half = HALF[options.get("rounding", "floor")]
    define = DEFINITIONS[name]
    for seed in SEEDS:
        got = corruptset.corrupt(flat, name, seed=seed, **{column: value}, **options)
        observed = np.bincount(got.ravel(), minlength=256)
        assert p_of_counts(observed, define(level, value, half, **given)) > LEAST
        assert p_of_counts(observed, define(level, value * 1.01, half, **given)) < LEAST
        if "rounding" in options:
            assert p_of_counts(observed, define(level, value, 0.0, **given)) < LEAST


def test_black_with_a_mean_is_what_the_two_factor_sets_need():
    """Mean and standard deviation of black after clipping, of sigma 0.1, by theory."""
    for mean, want in {0.1: (0.1083, 0.0867), 0.15: (0.1529, 0.0942), 0.2: (0.2008, 0.0980)}.items():
        black = np.zeros((1000, 800, 3), np.uint8)
        out = corruptset.corrupt(black, "gaussian_noise", sigma=0.1, mean=mean, rounding="round") / 255.0
        assert (out.mean(), out.std()) == pytest.approx(want, abs=0.001)


@pytest.mark.parametrize("rounding", HALF)
def test_without_spread_the_mean_still_shifts(rounding):
    image = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)
    for mean in (-1.0, -0.5, -0.1, -1e-9, 0.0, 1e-9, 0.1, 0.5, 1.0):
        got = apply("gaussian_noise", image, sigma=0.0, mean=mean, rounding=rounding)
        np.testing.assert_array_equal(got, np.clip(np.floor(image + 255 * mean + HALF[rounding]), 0, 255))
        assert not np.shares_memory(got, image)
    table = shipped("cifar")
    keys = [
        chain_keys([resolve_stage("gaussian_noise", table, parameters={"sigma": 0.1} | more)], 0)
        for more in ({}, {"mean": -0.0})
    ]
    assert keys[0] == keys[1], "a mean of 0 is no mean"


@pytest.mark.parametrize("density", [0.0, 1e-9, 0.1, 0.5, 1.0])
def test_struck_elements_are_those_of_the_specification(density):
    for shape in ((8, 8, 1), (31, 57, 3)):
        image = painted(*shape)
        want = plain.impulse_noise(image.tolist(), int(STAGE), "a", amount=density)
        for name, column in (("salt_pepper", "density"), ("impulse_noise", "amount")):
            np.testing.assert_array_equal(apply(name, image[None], ids=["a"], **{column: density})[0], want)


@pytest.mark.parametrize("amplitude", [1e-9, 0.01, 0.4, 3.0])
def test_uniform_noise_is_its_words(amplitude):
    for shape, rounding in (((8, 8, 1), "floor"), ((80, 64, 3), "floor"), ((31, 57, 3), "round")):
        image = painted(*shape)
        drawn = np.reshape(plain.words(image.size, int(STAGE), "a"), shape) / 2.0**31 - 1.0
        want = np.clip(np.floor(image + 255 * amplitude * drawn + HALF[rounding]), 0, 255)
        np.testing.assert_array_equal(
            apply("uniform_noise", image[None], ids=["a"], amplitude=amplitude, rounding=rounding)[0], want
        )


def test_where_nothing_or_everything_is_changed():
    levels = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)
    for name, parameters in (
        ("speckle_noise", {"sigma": 0.0}),
        ("uniform_noise", {"amplitude": 0.0}),
        ("salt_pepper", {"density": 0.0}),
    ):
        np.testing.assert_array_equal(apply(name, levels, **parameters), levels)
    grey = np.full((1, 100, 100, 1), 99, np.uint8)
    for name in ("gaussian_noise", "speckle_noise"):
        assert set(np.unique(apply(name, grey, sigma=1e-9))) == {98, 99}, (
            "the floor takes a level off wherever the noise is negative"
        )
    for name, parameters in (("shot_noise", {"photons": 3.0}), ("speckle_noise", {"sigma": 0.6})):
        assert not apply(name, np.zeros((1, 64, 64, 3), np.uint8), **parameters).any(), "black stays black"
    assert set(np.unique(apply("impulse_noise", grey, amount=1.0))) == {0, 255}
    for name, parameters in (
        ("gaussian_noise", {"sigma": 1e-300}),
        ("shot_noise", {"photons": 0.001}),
        ("shot_noise", {"photons": 1e6}),
    ):
        assert apply(name, levels, **parameters).shape == levels.shape
    for bad in (-1.01, 1.01, "much", None, True):
        with pytest.raises(ParameterError, match="mean"):
            corruptset.corrupt(grey, "gaussian_noise", sigma=0.1, mean=bad)


# --- independence ---------------------------------------------------------------------------------------------------

ROWS = {
    "gaussian_noise": {"sigma": 0.26},
    "shot_noise": {"photons": 5.0},
    "impulse_noise": {"amount": 0.17},
    "speckle_noise": {"sigma": 0.45},
    "salt_pepper": {"density": 0.2},
    "uniform_noise": {"amplitude": 0.2},
}
LAGS = [(0, 1), (1, 0), (1, 1), (1, -1), (0, 2), (0, 4), (0, 16), (0, 32), (16, 0), (32, 0), (64, 64), (0, 85)]


def residual(name, ids=("one",), seed=0, **more):
    """Return a noise on flat grey images, each with mean 0 and variance 1.

    (N, H, W, 3).
    """
    flat = np.full((len(ids), 192, 208, 3), 128, np.uint8)
    out = corruptset.corrupt(flat, name, key=list(ids), seed=seed, **ROWS[name] | more).astype(float)
    return standard(out)


def standard(values):
    return (values - values.mean((1, 2), keepdims=True)) / values.std((1, 2), keepdims=True)


def p_of(a, b):
    """Return the p-value of the correlation of two residuals."""
    return float(2 * stats.norm.sf(abs((a * b).mean()) * np.sqrt(a.size)))


def within(r):
    """Return the least p-value between the channels of residuals, and between neighbours."""
    pairs = [(r[..., i], r[..., j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    return min(p_of(a, b) for a, b in [*pairs, *((r, np.roll(r, lag, (1, 2))) for lag in LAGS)])


@pytest.mark.parametrize("name", ROWS)
def test_draws_are_independent(name):
    """Channels, neighbours, images, seeds and severities do not follow each other.

    Nor do the squares, which correlations cannot see.
    """
    seeds = [residual(name, seed=seed) for seed in SEEDS]
    images = residual(name, [str(i) for i in range(6)])
    column, value = next(iter(ROWS[name].items()))
    p = [within(r) for r in [*seeds, standard(images**2)]]
    p += [p_of(a, b) for group in (seeds, images) for a, b in itertools.combinations(group, 2)]
    p += [p_of(seeds[0], residual(name, **{column: value / 2}))]
    if name == "gaussian_noise":
        p += [p_of(seeds[0], residual(name, mean=0.1, rounding="round"))]
    assert min(p) > LEAST
    # the same checks notice what is shared or repeated
    r = seeds[0]
    assert within(np.repeat(r[..., :1], 3, axis=-1)) < LEAST
    assert within(np.tile(r[:, :32, :32], (1, 6, 6, 1))) < LEAST
    assert p_of(images[0], images[1] + 0.05 * images[0]) < LEAST
    assert p_of(r, residual(name)) < LEAST


def test_corruptions_do_not_share_their_draws():
    for seed in SEEDS:
        r = {name: residual(name, seed=seed) for name in ROWS}
        assert min(p_of(r[a], r[b]) for a, b in itertools.combinations(ROWS, 2)) > LEAST


@pytest.mark.parametrize("name", ["impulse_noise", "salt_pepper"])
def test_every_channel_is_struck_by_itself(name):
    """The counts of all 27 outcomes of a pixel's three channels.

    Draws for whole pixels are refused.
    """
    ((column, share),) = ROWS[name].items()
    kinds = np.searchsorted(
        [0, 99, 255], corruptset.corrupt(np.full((1000, 800, 3), 99, np.uint8), name, **{column: share})
    )
    each = np.array([share / 2, 1 - share, share / 2])
    joint = (each[:, None, None] * each[:, None] * each).ravel()
    for found, independent in ((kinds, True), (np.repeat(kinds[..., :1], 3, axis=2), False)):
        counts = np.bincount((found @ np.array([9, 3, 1])).ravel(), minlength=27)
        assert (p_of_counts(counts, joint) > LEAST) == independent


def test_the_first_elements_do_not_depend_on_the_size():
    """Element e is made of word e, across the chunks in which a kernel works.

    A higher density keeps what a lower one struck.
    """
    for name, parameters in ROWS.items():
        large, small = (
            apply(name, np.full((1, *shape), 77, np.uint8), **parameters).ravel()
            for shape in ((100, 100, 3), (60, 80, 1))
        )
        np.testing.assert_array_equal(large[: small.size], small)
    grey = np.full((1, 200, 200, 3), 77, np.uint8)
    low, high = (apply("salt_pepper", grey, density=d) for d in (0.1, 0.2))
    np.testing.assert_array_equal(high[low != 77], low[low != 77])
