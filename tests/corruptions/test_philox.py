"""Philox4x32-10 against the vectors published with Random123, and the layout of counters and streams."""

from __future__ import annotations

import numpy as np
import pytest

from corruptset.corruptions.kernels import kernel
from corruptset.corruptions.keys import Keys
from corruptset.corruptions.random.philox import draw_block, draw_word, fill_uniforms, fill_words, philox4x32

STAGE = np.uint64(0x1234567890ABCDEF)
SAMPLE = np.uint64(0xFEDCBA0987654321)
MASK = 0xFFFFFFFF
# words 0 .. 5 of stream 3 under these two keys
PINNED_WORDS = ["c6907286", "5b45cc3a", "3bae4973", "af226437", "8b5aa0db", "b9fe65b6"]


def python_philox(counter, key):
    """Philox4x32-10 from the paper (Salmon et al. 2011, figure and table 2), in Python's integers."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & MASK, (a >> 32) ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def python_words(count, stage, sample, stream, first_block=0):
    words = []
    for block in range(first_block, first_block + count // 4 + 1):
        words += python_philox((block, stream, sample & MASK, sample >> 32), (stage & MASK, stage >> 32))
    return words[:count]


@kernel
def block_of(counter, key):  # type: ignore[no-untyped-def]
    return philox4x32(counter[0], counter[1], counter[2], counter[3], key[0], key[1])


@kernel
def word_by_word(out, first, stage, sample, stream):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        out[i] = draw_word(first + i, stage, sample, stream)


@kernel
def one_block(block, stage, sample, stream):  # type: ignore[no-untyped-def]
    return draw_block(block, stage, sample, stream)


# Random123's kat_vectors, lines "philox4x32 10"
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_published_vectors(counter, key, expected):
    def words(text):
        return [int(w, 16) for w in text.split()]

    got = block_of(np.array(words(counter), np.uint32), np.array(words(key), np.uint32))
    assert [int(w) for w in got] == words(expected)
    assert python_philox(words(counter), words(key)) == words(expected)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 63, 64, 65, 66, 67, 1000, 4099])
def test_words_follow_the_layout(count):
    out = np.empty(count, np.uint32)
    for stream in (0, 3, MASK):
        fill_words(out, 0, STAGE, SAMPLE, stream)
        assert out.tolist() == python_words(count, int(STAGE), int(SAMPLE), stream)


@pytest.mark.parametrize("first_block", [0, 1, 1024, 2**31, 2**32 - 300])
def test_words_from_any_block(first_block):
    out = np.empty(1003, np.uint32)
    fill_words(out, first_block, STAGE, SAMPLE, 7)
    assert out.tolist() == python_words(1003, int(STAGE), int(SAMPLE), 7, first_block)


def test_an_element_is_addressable_alone():
    whole = np.empty(203, np.uint32)
    fill_words(whole, 0, STAGE, SAMPLE, 5)
    alone = np.empty(103, np.uint32)
    word_by_word(alone, 100, STAGE, SAMPLE, 5)
    assert (alone == whole[100:]).all()
    assert tuple(one_block(9, STAGE, SAMPLE, 5)) == tuple(whole[36:40])


def test_pinned_words():
    """Our own vectors: a changed layout changes every published byte."""
    out = np.empty(6, np.uint32)
    fill_words(out, 0, STAGE, SAMPLE, 3)
    assert [f"{w:08x}" for w in out] == PINNED_WORDS


def test_keys_and_stream_all_matter():
    def words(stage, sample, stream):
        out = np.empty(64, np.uint32)
        fill_words(out, 0, np.uint64(stage), np.uint64(sample), stream)
        return out.tobytes()

    variants = [(0, 0, 0), (1, 0, 0), (1 << 32, 0, 0), (0, 1, 0), (0, 1 << 32, 0), (0, 0, 1)]
    assert len({words(*v) for v in variants}) == len(variants)


def test_uniforms_are_scaled_words():
    words = np.empty(9001, np.uint32)
    fill_words(words, 0, STAGE, SAMPLE, 2)
    out = np.empty(9001, np.float64)
    fill_uniforms(out, STAGE, SAMPLE, 2, -1.0, 3.0)
    assert (out == -1.0 + 4.0 * (words * 2.0**-32)).all()
    singles = np.empty(9001, np.float32)
    fill_uniforms(singles, STAGE, SAMPLE, 2, -1.0, 3.0)
    assert (singles == out.astype(np.float32)).all()


def test_one_uniform_a_sample_does_not_depend_on_the_batch():
    samples = np.array([5, 2**40, SAMPLE], np.uint64)
    together = Keys(STAGE, samples).uniforms(stream=1, low=-45.0, high=45.0)
    assert [float(u) for u in together] == [
        float(Keys(STAGE, samples[i : i + 1]).uniforms(stream=1, low=-45.0, high=45.0)[0]) for i in range(3)
    ]
    expected = [-45.0 + 90.0 * (python_words(1, int(STAGE), int(s), 1)[0] * 2.0**-32) for s in samples]
    assert together.tolist() == expected
