"""Compare random words with Random123 and the specification, and test the numbers computed from them."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from measures import MIN_P, chi_squared_p
from scipy import stats
from specification import plain

from corruptset.corruptions.arithmetic import exact_exp, hypotenuse, sine_cosine
from corruptset.corruptions.kernels import kernel
from corruptset.corruptions.keys import Keys, sample_keys, stage_key
from corruptset.corruptions.random.normal import fill_normals, inverse_upper_tail, normal_table, upper_tail
from corruptset.corruptions.random.philox import draw_word, fill_uniforms, fill_words, philox4x32

STAGE, SAMPLE = np.uint64(0x1234567890ABCDEF), np.uint64(0xFEDCBA0987654321)
MASK = 2**32 - 1
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
DEFAULT, MANY = 800_000, 60_000_000
"""Words in the default run, and in the long one."""


def reference_words(count, stage, sample, stream, first_block=0):
    """Return words of the specification's Philox for the key of a sample instead of its id."""
    blocks = range(first_block, first_block + count // 4 + 1)
    counters = [(block, stream, int(sample) & MASK, int(sample) >> 32) for block in blocks]
    return [word for c in counters for word in plain.philox(list(c), [int(stage) & MASK, int(stage) >> 32])][:count]


def words(count, stage=STAGE, sample=SAMPLE, stream=0, first_block=0):
    out = np.empty(count, np.uint32)
    fill_words(out, first_block, np.uint64(stage), np.uint64(sample), stream)
    return out


@kernel
def block_of(counter, key):  # type: ignore[no-untyped-def]
    return philox4x32(counter[0], counter[1], counter[2], counter[3], key[0], key[1])


# These are lines "philox4x32 10" of Random123's kat_vectors.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def test_philox_matches_published_vectors():
    for row in KNOWN:
        counter, key, expected = (np.array([int(w, 16) for w in text.split()], np.uint32) for text in row)
        assert list(block_of(counter, key)) == plain.philox(counter.tolist(), key.tolist()) == expected.tolist()


def test_words_follow_layout_of_counters_and_streams():
    for count in (0, 1, 2, 3, 4, 5, 63, 64, 65, 66, 67, 4099):
        for stream in (0, MASK):
            assert words(count, stream=stream).tolist() == reference_words(count, STAGE, SAMPLE, stream), (
                count,
                stream,
            )
    for block in (1, 1024, 2**31, 2**32 - 300):
        assert words(1003, first_block=block, stream=7).tolist() == reference_words(1003, STAGE, SAMPLE, 7, block), (
            block
        )
    assert [draw_word(np.int64(e), STAGE, SAMPLE, 5) for e in range(100, 203)] == words(203, stream=5)[100:].tolist()
    pinned = "c6907286 5b45cc3a 3bae4973 af226437 8b5aa0db b9fe65b6"
    assert bytes(words(6, stream=3).astype(">u4")).hex(" ", 4) == pinned, "a changed layout changes every byte"


def test_uniforms_integers_and_normals_are_computed_from_words():
    draws = words(300_000, stream=2)
    for dtype in (np.float64, np.float32):
        out = np.empty(9001, dtype)
        fill_uniforms(out, STAGE, SAMPLE, 2, -1.0, 3.0)
        np.testing.assert_array_equal(out, (-1.0 + 4.0 * (draws[:9001] * 2.0**-32)).astype(dtype))
    z = np.empty(draws.size, np.float32)
    fill_normals(z, STAGE, SAMPLE, 2, normal_table())
    sign = np.where(draws >> 31, -1, 1)
    assert np.abs(z - stats.norm.isf(((draws & 0x7FFFFFFF) + 0.5) / 2**32) * sign).max() < 4e-6, "scipy's quantiles"
    keys = Keys(STAGE, np.array([5, 2**40, SAMPLE], np.uint64))
    rows = np.array([reference_words(20, STAGE, sample, 1) for sample in keys.samples], np.float64).reshape(3, 4, 5)
    np.testing.assert_array_equal(keys.uniforms(4, 5, stream=1, low=-45.0, high=45.0), -45.0 + 90.0 * (rows * 2.0**-32))
    np.testing.assert_array_equal(keys.integers(7, 2, stream=1), rows[:, 0, :2] * [7, 2] // 2**32)
    alone = Keys(STAGE, keys.samples[1:2])
    np.testing.assert_array_equal(alone.normals(4, 5, stream=1)[0], keys.normals(4, 5, stream=1)[1])


def test_normal_table_and_tail_are_accurate():
    table = normal_table()
    assert abs(float(table[0, 0]) - stats.norm.isf(2.0**-33)) < 1e-6
    assert (np.diff(table[:, 0]) < 0).all(), "strictly falling: no segment is lost"
    assert abs(float(table[-1, 0] + table[-1, 1] / 128)) < 1e-8, "it ends at the median"
    z = np.linspace(-9.99, 9.99, 20011)
    assert np.abs(upper_tail(z) / stats.norm.sf(z) - 1).max() < 1e-13
    assert upper_tail(np.array([-11.0, 0.0, 11.0])).tolist() == [1.0, 0.5, 0.0]
    for place in (1, 3, 6):
        exact = plain.normal_below(Decimal(-place))
        assert abs(Decimal(float(upper_tail(np.array([float(place)]))[0])) / exact - 1) < Decimal("4e-16")
    p = 2.0 ** -np.linspace(1, 50, 5001)
    assert np.abs(inverse_upper_tail(p) - stats.norm.isf(p)).max() < 1e-13


# --- the distribution of words --------------------------------------------------------------------------------------


def joint_p(a, b, bits):
    """Return the p-value of the joint distribution of the top bits of two words."""
    shift = np.uint32(32 - bits)
    table = np.bincount(((a >> shift) << np.uint32(bits)) | (b >> shift), minlength=1 << (2 * bits))
    return chi_squared_p(table, np.full(table.size, 1 / table.size))


@pytest.mark.parametrize(("count", "bits"), [(DEFAULT, 5), pytest.param(MANY, 8, marks=pytest.mark.long)])
def test_words_are_uniform_and_independent(count, bits):
    """Test every bit, and neighbours, samples, streams and seeds. A bias or repetition of one percent fails."""
    a, b = sample_keys(["a", "b"])
    for seed in range(3):
        stage, other = (stage_key(s, [("independence@1", {})]) for s in (seed, seed + 100))
        w = words(count, stage, a)
        ones = np.array([np.count_nonzero(w & np.uint32(1 << bit)) for bit in range(32)])
        for share, fair in ((1.0, True), (1.01, False)):
            p = 2 * stats.norm.sf(np.abs(ones * share - count / 2) / np.sqrt(count / 4))
            assert (p > MIN_P).all() if fair else (p < MIN_P).all()
        pairs = [(w[:-lag], w[lag:]) for lag in (1, 2, 3, 4, 5, 8, 32, 96, 672)]
        pairs += [(w, words(count, *keys)) for keys in ((stage, b), (stage, a, 1), (other, a))]
        low = w << np.uint32(27)
        assert min(joint_p(x, y, bits) for x, y in pairs) > MIN_P
        assert min(joint_p(w, low, 5), joint_p(low[:-1], low[1:], 5)) > MIN_P
    repeated = np.where(np.arange(w.size - 1) % 100 == 0, w[:-1], w[1:])
    assert joint_p(w[:-1], repeated, bits) < MIN_P


# --- sine, cosine and hypotenuse ------------------------------------------------------------------------------------


@kernel
def sines_cosines(x):  # type: ignore[no-untyped-def]
    out = np.empty((x.size, 2))
    for i in range(x.size):
        out[i, 0], out[i, 1] = sine_cosine(x[i])
    return out


@kernel
def hypotenuses(x, y):  # type: ignore[no-untyped-def]
    out = np.empty(x.size)
    for i in range(x.size):
        out[i] = hypotenuse(x[i], y[i])
    return out


def test_sine_cosine_exp_and_hypotenuse_are_correctly_rounded():
    """Compare with decimals of 80 digits, because the last bit of libm depends on the machine."""
    rng = np.random.default_rng(20)
    degrees = np.append(np.arange(-720.0, 721.0, 7.5), [45, 30, 60, 53.13010235415598, 1e-9, 1e-160, -0.0])
    turns = np.arange(-40, 41) * (math.pi / 2)
    x = np.concatenate(
        [math.pi * degrees / 180, turns, rng.uniform(-math.pi, math.pi, 200), rng.uniform(-4e3, 4e3, 70)]
    )
    y, z = rng.uniform(-50, 50, 900), rng.uniform(-50, 50, 900) * 10.0 ** rng.integers(-18, 1, 900)
    y[:3], z[:3] = (3, 0, 0), (4, 7, 0)
    with localcontext() as context:
        context.prec = 85
        reduced = [Decimal(v) % (2 * PI) for v in x.tolist()]
        expected = [(float(plain.sine(r)), float(plain.sine(PI / 2 - r))) for r in reduced]
        squares = [Decimal(a) ** 2 + Decimal(b) ** 2 for a, b in zip(y.tolist(), z.tolist(), strict=True)]
        lengths = [float(square.sqrt()) for square in squares]
    np.testing.assert_array_equal(sines_cosines(x), expected)
    assert hypotenuses(y, z).tolist() == lengths
    assert [exact_exp(v) for v in (0.0, 1.0, -0.5, -5000.0)] == [1.0, 2.718281828459045, 0.6065306597126334, 0.0]
