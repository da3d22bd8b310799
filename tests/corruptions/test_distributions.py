"""Whatever is drawn has the distribution it should: chi-squared tests of millions of draws under five fixed seeds.

The expected probabilities come from scipy and the published formulas, not from the package's tables. Every test is
also run on draws from a distribution that is off by one per cent, which it must refuse.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import stats

import corruptset
from corruptset.corruptions.keys import Keys, sample_keys, stage_key
from corruptset.corruptions.noise import noise, tables
from corruptset.corruptions.random.normal import fill_normals, normal_table
from corruptset.corruptions.random.philox import fill_uniforms, fill_words
from corruptset.corruptions.registry import get_corruption

SEEDS = (0, 1, 2, 3, 4)
LEAST = 1e-4
DEFAULT = 3_000_000
"""Draws for each seed in the default run; the `long` run takes as many as `MANY`."""
MANY = 60_000_000
PIECE = 3_000_000
counts = pytest.mark.parametrize("count", [DEFAULT, pytest.param(MANY, marks=pytest.mark.long)])


def chi_squared(observed, probabilities):
    """Return the p-value of counts, neighbouring bins pooled until each expects 25."""
    expected = np.asarray(probabilities) * observed.sum()
    edges, total = [0], 0.0
    for i, e in enumerate(expected):
        total += e
        if total >= 25 and expected[i + 1 :].sum() >= 25:
            edges.append(i + 1)
            total = 0.0
    o, e = np.add.reduceat(observed, edges), np.add.reduceat(expected, edges)
    return float(stats.chi2.sf(((o - e) ** 2 / e).sum(), len(o) - 1))


def keys_of(seed, piece):
    return stage_key(seed, [("distribution@1", {})]), sample_keys([f"piece {piece}"])


def pieces(count):
    return [(i, min(PIECE, count - i * PIECE)) for i in range(-(-count // PIECE))]


def judge(p_values, off_values):
    """Every seed's p-value is above 1e-4, and one per cent off is below it under every seed."""
    assert min(p_values) > LEAST, p_values
    assert max(off_values) < LEAST, off_values


# --- the noises on flat images -------------------------------------------------------------------------------------


def histogram(level, count, seed, *what, **more):
    """Return how often each value comes of a level."""
    out = np.zeros(256, np.int64)
    for piece, size in pieces(count):
        stage, samples = keys_of(seed, piece)
        image = np.full((1, size), level, np.uint8)
        noisy = noise._noisy(image, Keys(stage, samples), *what, **more)
        out += np.bincount(noisy[0], minlength=256)
    return out


def normal_levels(mean, deviation):
    """The probabilities of 0 .. 255 for floor(mean + deviation * z), clipped."""
    edges = np.concatenate([[-np.inf], np.arange(1, 256), [np.inf]])
    return np.diff(stats.norm.cdf(edges, mean, deviation))


def shot_levels(level, photons):
    """The probabilities of 0 .. 255 for the released generator's shot noise."""
    k = np.arange(int(photons * 3 + 200))
    values = np.uint8(np.clip(k / photons, 0, 1) * 255)
    return np.bincount(values, stats.poisson.pmf(k, level / 255.0 * photons), minlength=256)


@counts
@pytest.mark.parametrize(("sigma", "level"), [(0.04, 128), (0.18, 100), (0.38, 128)])
def test_gaussian_noise(sigma, level, count):
    def p(drawn_with, seed):
        observed = histogram(level, count, seed, noise._OFFSET, tables.gaussian_table(drawn_with))
        return chi_squared(observed, normal_levels(level, 255 * sigma))

    judge([p(sigma, s) for s in SEEDS], [p(sigma * 1.01, s) for s in SEEDS])


@counts
@pytest.mark.parametrize(("sigma", "level"), [(0.06, 100), (0.35, 180), (0.6, 60)])
def test_speckle_noise(sigma, level, count):
    def p(drawn_with, seed):
        observed = histogram(level, count, seed, noise._LEVEL, tables.speckle_table(drawn_with))
        return chi_squared(observed, normal_levels(level, level * sigma))

    judge([p(sigma, s) for s in SEEDS], [p(sigma * 1.01, s) for s in SEEDS])


@counts
@pytest.mark.parametrize(
    ("photons", "level"), [(3.0, 90), (5.0, 200), (12.0, 128), (60.0, 40), (60.0, 200), (500.0, 230)]
)
def test_shot_noise(photons, level, count):
    def p(drawn_with, seed):
        """Draw counts of a mean that is off, shown at the same photons: rows of levels are means."""
        weights = shot_levels(level * drawn_with / photons, photons)
        return chi_squared(
            histogram(level, count, seed, noise._LEVEL, one_row(weights, level)), shot_levels(level, photons)
        )

    right = [
        chi_squared(histogram(level, count, s, noise._LEVEL, tables.shot_table(photons)), shot_levels(level, photons))
        for s in SEEDS
    ]
    judge(right, [p(photons * 1.01, s) for s in SEEDS])


def one_row(probabilities, level):
    """Return alias tables whose row `level` draws from these probabilities."""
    cumulative = np.full((256, 256), 2**32, np.int64)
    cumulative[level] = np.round(np.cumsum(probabilities) * 2**32).astype(np.int64)
    cumulative[level, -1] = 2**32
    return tables.alias_tables(cumulative, 8).reshape(-1)


@counts
@pytest.mark.parametrize("amount", [0.17, 0.27])
def test_impulse_noise(amount, count):
    def p(drawn_with, seed):
        observed = histogram(99, count, seed, noise._STRIKE, share=drawn_with)[[0, 99, 255]]
        return chi_squared(observed, [amount / 2, 1 - amount, amount / 2])

    judge([p(amount, s) for s in SEEDS], [p(amount * 1.01, s) for s in SEEDS])


@pytest.mark.parametrize(
    ("name", "value", "level", "expected"),
    [
        ("gaussian_noise", 0.18, 100, lambda v: normal_levels(100, 255 * v)),
        ("speckle_noise", 0.35, 180, lambda v: normal_levels(180, 180 * v)),
        ("shot_noise", 12.0, 128, lambda v: shot_levels(128, v)),
        ("impulse_noise", 0.17, 99, lambda v: np.bincount([0, 99, 255], [v / 2, 1 - v, v / 2], minlength=256)),
    ],
)
def test_a_corruption_draws_what_its_parameter_says(name, value, level, expected):
    """Through the public call: what the kernels can draw and the tables hold is tested above, this is which is used."""
    (column,) = (p.name for p in get_corruption(name).columns)
    flat = np.full((1000, 1000, 3), level, np.uint8)
    right, off = [], []
    for seed in SEEDS:
        observed = np.bincount(corruptset.corrupt(flat, name, seed=seed, **{column: value}).ravel(), minlength=256)
        right.append(chi_squared(observed, expected(value)))
        off.append(chi_squared(observed, expected(value * 1.01)))
    judge(right, off)


# --- normals -------------------------------------------------------------------------------------------------------

EDGES = np.concatenate([-np.arange(5.0, 3.0, -0.25), np.arange(-300, 301) / 100, np.arange(3.25, 5.01, 0.25)])


def normal_counts(count, seed, scale):
    """Return how many normals fall between the edges, the outer bins open."""
    out = np.zeros(EDGES.size + 1, np.int64)
    table = normal_table() * np.float32(scale)
    for piece, size in pieces(count):
        stage, samples = keys_of(seed, piece)
        z = np.empty(size, np.float32)
        fill_normals(z, stage, samples[0], 5, table)
        out += np.bincount(np.searchsorted(EDGES.astype(np.float32), z), minlength=out.size)
    return out


def tail_p(observed, least=3.5):
    """Return the p-value of the counts beyond `least` alone."""
    probabilities = np.diff(stats.norm.cdf(np.concatenate([[-np.inf], EDGES, [np.inf]])))
    outer = np.concatenate([[True], np.abs(EDGES[:-1] + EDGES[1:]) / 2 > least, [True]])
    grouped = np.append(observed[outer], observed[~outer].sum())
    return chi_squared(grouped, np.append(probabilities[outer], probabilities[~outer].sum()))


@counts
def test_normals(count):
    def p(scale, seed):
        return chi_squared(
            normal_counts(count, seed, scale), np.diff(stats.norm.cdf(np.concatenate([[-np.inf], EDGES, [np.inf]])))
        )

    judge([p(1.0, s) for s in SEEDS], [p(1.01, s) for s in SEEDS])


@pytest.mark.parametrize(("count", "off"), [(5 * DEFAULT, 1.05), pytest.param(5 * MANY, 1.01, marks=pytest.mark.long)])
def test_the_normal_tails(count, off):
    """Beyond 3.5 standard deviations alone: few draws, so the default run refuses five per cent, the long run one."""
    right, wrong = (sum(normal_counts(count // len(SEEDS), s, scale) for s in SEEDS) for scale in (1.0, off))
    assert tail_p(right) > LEAST
    assert tail_p(wrong) < LEAST
    cut = right.copy()  # a generator that stops at four, as a table without octaves would
    middle = cut.size // 2
    beyond = np.concatenate([[True], np.abs(EDGES[:-1] + EDGES[1:]) / 2 > 4, [True]])
    cut[middle] += cut[beyond].sum()
    cut[beyond] = 0
    assert tail_p(cut) < LEAST


def test_every_normal_is_the_inverse_of_its_word():
    """A million words, the extreme ones among them, against scipy's quantiles."""
    stage, samples = keys_of(0, 0)
    words = np.empty(1_000_000, np.uint32)
    fill_words(words, 0, stage, samples[0], 9)
    z = np.empty(words.size, np.float32)
    fill_normals(z, stage, samples[0], 9, normal_table())
    tail = ((words & 0x7FFFFFFF) + 0.5) / 2**32
    expected = stats.norm.isf(tail) * np.where(words >> 31, -1, 1)
    assert np.abs(z - expected).max() < 4e-6


def test_the_outermost_normals():
    table = normal_table()
    assert table.shape == (4096, 2)
    assert abs(float(table[0, 0]) - stats.norm.isf(2.0**-33)) < 1e-6
    assert (np.diff(table[:, 0]) < 0).all(), "strictly falling: no segment is lost"
    assert abs(float(table[-1, 0] + table[-1, 1] / 128)) < 1e-8, "it ends at the median"


# --- uniforms ------------------------------------------------------------------------------------------------------


@counts
def test_uniforms(count):
    def p(power, seed):
        observed = np.zeros(256, np.int64)
        for piece, size in pieces(count):
            stage, samples = keys_of(seed, piece)
            u = np.empty(size, np.float64)
            fill_uniforms(u, stage, samples[0], 1, 0.0, 1.0)
            observed += np.bincount(np.floor(u**power * 256).astype(np.int64), minlength=256)
        return chi_squared(observed, np.full(256, 1 / 256))

    judge([p(1.0, s) for s in SEEDS], [p(1.01, s) for s in SEEDS])


@counts
def test_one_uniform_a_sample(count):
    """What angles are drawn with: one number an image, on [-45, 45)."""

    @functools.cache
    def angles(seed):
        return Keys(keys_of(seed, 0)[0], np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)).uniforms(
            stream=0, low=-45.0, high=45.0
        )

    def p(power, seed):
        share = ((angles(seed) + 45.0) / 90.0) ** power
        return chi_squared(np.bincount(np.floor(share * 180).astype(np.int64), minlength=180), np.full(180, 1 / 180))

    assert all(a.min() >= -45 and a.max() < 45 for a in map(angles, SEEDS))
    judge([p(1.0, s) for s in SEEDS], [p(1.01, s) for s in SEEDS])


@counts
def test_every_bit_of_a_word(count):
    """Each of 32 bits is one half of the time: a z-score each; a bias of one per cent is refused."""
    for seed in SEEDS:
        ones = np.zeros(32)
        for piece, size in pieces(count):
            stage, samples = keys_of(seed, piece)
            words = np.empty(size, np.uint32)
            fill_words(words, 0, stage, samples[0], 2)
            ones += [np.count_nonzero(words & np.uint32(1 << bit)) for bit in range(32)]
        p = 2 * stats.norm.sf(np.abs(ones - count / 2) / np.sqrt(count / 4))
        assert p.min() > LEAST
        assert (2 * stats.norm.sf(np.abs(ones * 1.01 - count / 2) / np.sqrt(count / 4)) < LEAST).all()
