"""Salt & pepper noise at a density: shares, independence of the channels, and MATLAB's definition word by word."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import corruptset
from corruptset.corruptions.calibrations import calibrations_of, parse_table
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.random.philox import fill_words
from corruptset.corruptions.registry import get_corruption
from corruptset.errors import ParameterError
from pictures import painted

SEEDS = (0, 1, 2, 3, 4)
DENSITIES = (0.1, 0.15, 0.2)
LEAST = 1e-4
KEPT = 99


def struck(density, seed, size=(1000, 800)):
    """Return 2.4 million elements of one grey level, struck: 0 for pepper, 1 for what is kept, 2 for salt."""
    out = corruptset.corrupt(np.full((*size, 3), KEPT, np.uint8), "salt_pepper", density=density, seed=seed)
    assert set(np.unique(out)) == {0, KEPT, 255}
    return np.searchsorted([0, KEPT, 255], out)


def expected(density):
    return np.array([density / 2, 1 - density, density / 2])


def p_of_shares(kinds, density):
    """Return the least p-value, over the channels, of the counts of pepper, kept and salt."""
    found = [np.bincount(kinds[..., c].ravel(), minlength=3) for c in range(3)]
    return min(stats.chisquare(f, expected(density) * f.sum()).pvalue for f in found)


def p_of_independence(kinds, density):
    """Return the p-value of the counts of all 27 outcomes of a pixel's three channels, had each been drawn by
    itself.
    """
    joint = np.bincount((kinds @ np.array([9, 3, 1])).ravel(), minlength=27)
    share = expected(density)
    each = (share[:, None, None] * share[:, None] * share).ravel()
    return stats.chisquare(joint, each * joint.sum()).pvalue


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_shares_and_channels(density, seed):
    kinds = struck(density, seed)
    assert p_of_shares(kinds, density) > LEAST
    assert p_of_independence(kinds, density) > LEAST


@pytest.mark.parametrize("density", DENSITIES)
def test_the_same_tests_refuse_what_is_wrong(density):
    """Draws for whole pixels have the right shares and fail the other test; wrong shares fail the first."""
    kinds = struck(density, 0)
    whole = np.repeat(struck(density, 1, (1000, 2400))[..., :1], 3, axis=2)
    assert p_of_shares(whole, density) > LEAST
    assert p_of_independence(whole, density) == 0
    two = np.where(np.arange(3) == 2, kinds[..., :1], kinds)  # blue with red
    assert p_of_independence(two, density) == 0
    assert p_of_shares(struck(min(2 * density, 1), 0), density) == 0
    assert p_of_shares(struck(density * 1.02, 0), density) < LEAST
    assert (
        p_of_shares(np.where((kinds == 2) & (np.arange(kinds.size).reshape(kinds.shape) % 20 == 0), 0, kinds), density)
        < LEAST
    )


@pytest.mark.parametrize("density", [0.0, 1e-9, 0.1, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("shape", [(8, 8, 1), (31, 57, 3), (80, 64, 3)])
def test_equals_the_definition_word_by_word(density, shape):
    image = painted(*shape)
    key = np.uint64(0x1234567)
    words = np.empty(image.size, np.uint32)
    fill_words(words, 0, key, sample_keys(["a"])[0], np.uint32(0))
    x = words.reshape(shape).astype(np.float64)
    # pepper at the lower end of the words, salt at the upper: half the density each
    want = np.where(x < density * 2.0**31, 0, np.where(2.0**32 - 1 - x < density * 2.0**31, 255, image))
    got = get_corruption("salt_pepper").apply(image[None], {"density": density}, key, sample_keys(["a"]))[0]
    np.testing.assert_array_equal(got, want)
    impulse = get_corruption("impulse_noise").apply(image[None], {"amount": density}, key, sample_keys(["a"]))[0]
    np.testing.assert_array_equal(got, impulse)


def test_nothing_and_everything():
    image = np.full((400, 400, 3), KEPT, np.uint8)
    np.testing.assert_array_equal(corruptset.corrupt(image, "salt_pepper", density=0), image)
    everything = corruptset.corrupt(image, "salt_pepper", density=1)
    assert set(np.unique(everything)) == {0, 255}
    assert abs((everything == 255).mean() - 0.5) < 0.005


def test_a_higher_density_strikes_anew_unless_a_table_couples_them():
    image = np.full((200, 200, 3), KEPT, np.uint8)
    low, high = (corruptset.corrupt(image, "salt_pepper", density=d) for d in (0.1, 0.2))
    assert abs((high[low != KEPT] != KEPT).mean() - 0.2) < 0.02
    rows = "".join(f'[[salt_pepper]]\nseverity = {s}\ndensity = {d}\nsource = "me"\n' for s, d in ((1, 0.1), (2, 0.2)))
    own = parse_table(f'name = "own"\nside = 32\n[sources]\nme = "myself"\n{rows}', "own.toml")
    low, high = (
        corruptset.corrupt(image, "salt_pepper", severity=s, calibration=own, coupling="severity") for s in (1, 2)
    )
    np.testing.assert_array_equal(high[low != KEPT], low[low != KEPT])


def test_what_has_no_rows_says_so():
    assert calibrations_of("salt_pepper") == []
    with pytest.raises(
        ParameterError, match=r"salt_pepper has no published severities; give its parameters instead: density\."
    ):
        corruptset.corrupt(painted(32, 32), "salt_pepper", severity=1)
    for bad in (-0.1, 1.1, float("nan"), "much"):
        with pytest.raises(ParameterError, match="density"):
            corruptset.corrupt(painted(32, 32), "salt_pepper", density=bad)
