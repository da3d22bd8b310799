"""Integer tables that map a 32-bit word to a noisy value.

The noise at a grey value is a distribution over at most 512 whole numbers, because images have only 256 grey values.
Its cumulative probabilities are rounded to multiples of 2**-32 and stored with Walker's alias method. The top bits of a
word select a slot, and the other bits are compared with the threshold of the slot. The result is the number of the slot
or its alias. Images are therefore computed without floating-point numbers, and follow the distribution in the table
exactly.

The table for any parameter is computed within milliseconds (0.6 for gaussian, 7 for shot, 22 for speckle noise). The
computation uses only elementwise + - * / of doubles, and integers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel
from ..keys import Floats, Int64Array
from ..random.normal import upper_tail

Table = NDArray[np.uint32]

LEVELS = 256
OFFSETS = 512
"""The number of slots in the gaussian table, where slot s is the offset s - 256."""
_WHOLE = 2**32


@kernel
def alias_tables(cumulative, bits):  # type: ignore[no-untyped-def]
    """Return alias tables of integer distributions.

    Parameters
    ----------
    cumulative : (R, 2**bits) ndarray of int64
        The cumulative weights of the outcomes in each row. The last weight of a row is 2**32.
    bits : int
        The number of bits that select a slot.

    Returns
    -------
    (R, 2**bits) ndarray of uint32
        In each entry, the lower `bits` bits are the alias of a slot, and the other bits are its threshold. The top bits
        of a word select a slot. The word is mapped to this slot if its other bits are below the threshold, and
        otherwise to the alias.
    """
    rows, slots = cumulative.shape
    capacity = np.int64(1) << (32 - bits)
    out = np.empty((rows, slots), np.uint32)
    left = np.empty(slots, np.int64)
    small = np.empty(slots, np.int64)
    large = np.empty(slots, np.int64)
    for row in range(rows):
        smalls = larges = 0
        for slot in range(slots):
            left[slot] = cumulative[row, slot] - (cumulative[row, slot - 1] if slot else 0)
            if left[slot] < capacity:
                small[smalls] = slot
                smalls += 1
            else:
                large[larges] = slot
                larges += 1
        # The weights sum to slots * capacity, so if a slot is below its capacity, another slot is above its own.
        while smalls:
            smalls -= 1
            slot = small[smalls]
            donor = large[larges - 1]
            out[row, slot] = np.uint32((left[slot] << bits) | donor)
            left[donor] -= capacity - left[slot]
            if left[donor] < capacity:
                larges -= 1
                small[smalls] = donor
                smalls += 1
        # A threshold equal to the full capacity needs one bit too many, so such a slot is made its own alias instead.
        for i in range(larges):
            out[row, large[i]] = np.uint32(large[i])
    return out


def gaussian_cumulative(sigma: float, half: float = 0.0, mean: float = 0.0) -> Int64Array:
    """Return the cumulative weights of the offsets of gaussian noise.

    The offsets are floor(255 * mean + half + 255 * sigma * z), clipped to -255 .. 255, where z is standard normal.
    Because grey values are whole numbers, floor(x + 255 * sigma * z) is x plus this offset. With mean 0, this sum is
    the published ``np.uint8(np.clip(x / 255 + normal(scale=sigma), 0, 1) * 255)``.

    Returns
    -------
    (1, 512) ndarray of int64
        Entry s is 2**32 times the probability that the offset is at most s - 256, rounded.
    """
    # The offset is at most s - 256 if the noise is below s - 255.
    edge = np.arange(OFFSETS, dtype=np.float64) - (OFFSETS // 2 - 1) - half - 255.0 * mean
    out = _rounded(upper_tail(_over(-edge, 255.0 * sigma)))
    out[0] = 0
    out[2 * LEVELS - 1 :] = _WHOLE
    return out[None]


def speckle_cumulative(sigma: float, half: float = 0.0) -> Int64Array:
    """Return the cumulative weights of speckle noise for each grey value x.

    The noisy values are floor(x + half + x * sigma * z), clipped to 0 .. 255, where z is standard normal.

    Returns
    -------
    (256, 256) ndarray of int64
        Entry (x, y) is 2**32 times the probability that the grey value x becomes at most y, rounded.
    """
    level = np.arange(LEVELS, dtype=np.float64)[:, None]
    edge = np.arange(1.0, LEVELS + 1)[None, :] - half
    out = _rounded(upper_tail(_over(level - edge, np.broadcast_to(level * sigma, (LEVELS, LEVELS)))))
    out[0] = _WHOLE  # Black stays black.
    out[:, -1] = _WHOLE
    return out


def shot_cumulative(photons: float, half: float = 0.0) -> Int64Array:
    """Return the cumulative weights of shot noise for each grey value x.

    The noisy values are floor(255 * min(k / photons, 1) + half), where k is a Poisson count with the mean photons * x /
    255. As in the published generator, the quotient and the product are rounded to doubles before the floor. For
    example, if white has 60 photons, 4 photons give the value 16 or 17, depending on the last bit.

    Returns
    -------
    (256, 256) ndarray of int64
        The entries have the same meaning as in `speckle_cumulative`.
    """
    mean = np.arange(LEVELS) / 255.0 * photons
    mode = np.floor(mean)
    each = np.arange(LEVELS)
    weights = np.zeros((LEVELS, LEVELS))

    def add(count: Floats, weight: Floats) -> None:
        value = np.minimum(np.maximum(count, 0.0) / photons, 1.0) * 255.0 + half
        weights[each, value.astype(np.int64)] += weight

    # The weights are computed outwards from the mode, whose weight is set to 1, by the ratios of neighbouring
    # probabilities. This needs neither exp nor factorials.
    up = np.ones(LEVELS)
    down = np.ones(LEVELS)
    add(mode, up)
    step = 0
    divisor = np.maximum(mean, 1e-300)
    while max(up.max(), down.max()) > 2.0**-80:
        step += 1
        up = up * (mean / (mode + step))
        down = down * (np.maximum(mode - step + 1, 0.0) / divisor)
        add(mode + step, up)
        add(mode - step, down)
    total = np.zeros(LEVELS)
    for value in range(LEVELS):  # The order of np.sum depends on the machine.
        total = total + weights[:, value]
    shares = (weights / total[:, None] * 2.0**62).astype(np.int64)
    out = (np.cumsum(shares, axis=1) + (1 << 29)) >> 30
    out[:, -1] = _WHOLE
    return out


def _over(numerator: Floats, denominator: Floats | float) -> Floats:
    """Return a quotient, where 0 / 0 gives 0 and an overflow gives infinity."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return np.where(numerator == 0, 0.0, numerator / denominator)


def _rounded(probability: Floats) -> Int64Array:
    return np.floor(probability * _WHOLE + 0.5).astype(np.int64)


@functools.lru_cache(maxsize=128)
def noise_table(cumulative: Callable[..., Int64Array], *parameters: float) -> Table:
    """Return the concatenated alias tables for a kind of noise."""
    weights = cumulative(*parameters)
    return np.asarray(alias_tables(weights, weights.shape[1].bit_length() - 1).reshape(-1))
