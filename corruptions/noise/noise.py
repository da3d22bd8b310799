"""Gaussian, shot, impulse, speckle and uniform noise.

Every element of an image draws its own word of the stream.
"""

from __future__ import annotations

import math

import numpy as np

from ...references import HENDRYCKS_2018, HENDRYCKS_2019
from ..kernels import kernel
from ..levels import ROUNDING, half
from ..random.philox import fill_words
from ..registry import Images, Keys, Parameter, corruption
from .tables import Table, gaussian_cumulative, noise_table, shot_cumulative, speckle_cumulative

_NOISE = np.int64(0)  # the only stream
_CHUNK = 4096  # words at a time: they stay in the first-level cache
# What a word means: an offset, or a new level, by a table; 0 or 255; a place on a span
_NO_TABLE = np.zeros(1, np.uint32)
_OFFSET, _LEVEL, _STRIKE, _SPREAD = (np.uint8(i) for i in range(4))


@kernel
def _add_noise(images, out, kind, table, share, span, half, stage_key, sample_keys):  # type: ignore[no-untyped-def]
    """Draw a word for every value of images, and write what becomes of it.

    Images are (N, H * W * C).
    """
    words = np.empty(_CHUNK, np.uint32)
    offsets = np.empty(_CHUNK, np.int16)
    size = images.shape[1]
    for n in range(images.shape[0]):
        for start in range(0, size, _CHUNK):
            source = images[n, start : start + _CHUNK]
            target = out[n, start : start + _CHUNK]
            fill_words(words[: source.size], start >> 2, stage_key, sample_keys[n], _NOISE)
            # A loop each: a branch inside of one would keep it from vectorising.
            if kind == _OFFSET:
                for i in range(np.uint32(source.size)):
                    word = words[i]
                    slot = word >> np.uint32(23)
                    entry = table[np.uint64(slot)]
                    offsets[i] = np.int16(
                        slot if (word & np.uint32(0x7FFFFF)) < (entry >> np.uint32(9)) else entry & np.uint32(511)
                    )
                # A loop of its own vectorises; clipping inside the look-up became branches that the processor guesses
                # wrong.
                for i in range(np.uint32(source.size)):
                    value = np.int16(np.int16(source[i]) + offsets[i] - np.int16(256))
                    target[i] = min(max(value, np.int16(0)), np.int16(255))
            elif kind == _LEVEL:
                for i in range(np.uint32(source.size)):
                    word = words[i]
                    slot = word >> np.uint32(24)
                    entry = table[np.uint64((np.uint32(source[i]) << np.uint32(8)) | slot)]
                    target[i] = (
                        slot if (word & np.uint32(0xFFFFFF)) < (entry >> np.uint32(8)) else entry & np.uint32(255)
                    )
            elif kind == _STRIKE:
                for i in range(np.uint32(source.size)):
                    word = words[i]
                    kept = np.uint8(0) if word < share else source[i]
                    target[i] = np.uint8(255) if np.uint32(~word) < share else kept
            else:
                for i in range(np.uint32(source.size)):
                    spread = np.floor(source[i] + span * (words[i] * 2.0**-31 - 1.0) + half)
                    target[i] = np.uint8(np.int32(min(max(spread, 0.0), 255.0)))


def _noisy(
    images: Images,
    keys: Keys,
    kind: np.uint8,
    table: Table = _NO_TABLE,
    share: float = 0.0,
    span: float = 0.0,
    more: float = 0.0,
) -> Images:
    out = np.empty_like(images)
    flat = images.reshape(len(images), -1), out.reshape(len(images), -1)
    _add_noise(*flat, kind, table, np.uint32(int(share * 2.0**31 + 0.5)), span, more, *keys)
    return out


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py and make_cifar_c.py, gaussian_noise; its mean: MATLAB's "
    "imnoise",
    parameters=(
        Parameter("sigma", float, 0.0, 10.0, "standard deviation, as a share of the range of levels"),
        ROUNDING,
        Parameter(
            "mean",
            low=-1.0,
            high=1.0,
            default=0.0,
            option=True,
            shapes_draws=True,
            about="the noise's mean, as a share of the range of levels",
        ),
    ),
)
def gaussian_noise(images: Images, keys: Keys, *, sigma: float, rounding: str = "floor", mean: float = 0.0) -> Images:
    """Add normal noise to every element, independently.

    It becomes ``floor(x + 255 * mean + 255 * sigma * z)``, clipped, z standard normal.

    Notes
    -----
    The result is floored, as in the released generator, so the noise's mean is half a level below 0; with half a level
    more it is rounded, as in MATLAB. The offset floor(255 * mean + 255 * sigma * z) is drawn from a table with
    probabilities rounded to 2**-32.

    MATLAB's ``imnoise(I, 'gaussian', m)`` has variance 0.01 and rounds: ``sigma=0.1, mean=m, rounding="round"``. There
    the mean is the level, so another mean draws anew, as another severity does.
    """
    if sigma == 0:
        # all that is left is a shift, of none for a mean of 0
        shift = np.int16(math.floor(255.0 * mean + half(rounding)))
        return np.asarray(np.clip(images + shift, 0, 255), np.uint8)
    return _noisy(images, keys, _OFFSET, noise_table(gaussian_cumulative, sigma, half(rounding), mean))


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py and make_cifar_c.py, shot_noise",
    parameters=(
        Parameter("photons", float, 0.001, 1e6, "mean photon count of a white pixel: fewer means more noise"),
        ROUNDING,
    ),
)
def shot_noise(images: Images, keys: Keys, *, photons: float, rounding: str = "floor") -> Images:
    """Replace every element by a Poisson count of photons, independently.

    It becomes ``floor(255 * min(k / photons, 1))``, k a Poisson count of mean photons * x / 255.

    Notes
    -----
    Black stays black. Drawn from a table for each level, with probabilities rounded to 2**-32. The floor acts on the
    doubles that the released generator computes.
    """
    return _noisy(images, keys, _LEVEL, noise_table(shot_cumulative, photons, half(rounding)))


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py and make_cifar_c.py, impulse_noise "
    "(skimage.util.random_noise, mode 's&p')",
    parameters=(Parameter("amount", float, 0.0, 1.0, "share of elements that become 0 or 255"),),
)
def impulse_noise(images: Images, keys: Keys, *, amount: float) -> Images:
    """Replace elements by 0 or 255, independently of each other: a pixel's channels too.

    Notes
    -----
    Each of the two probabilities is amount / 2 rounded to 2**-32.
    """
    return _noisy(images, keys, _STRIKE, share=amount)


@corruption(
    reference="MATLAB, Image Processing Toolbox, imnoise(I, 'salt & pepper', d)",
    parameters=(Parameter("density", float, 0.0, 1.0, "share of elements that become 0 or 255"),),
)
def salt_pepper(images: Images, keys: Keys, *, density: float) -> Images:
    """Replace elements by 0 or 255 at a density.

    It is MATLAB's salt & pepper noise, on each channel by itself.

    Notes
    -----
    MATLAB draws x, uniform on [0, 1), for every element: below d / 2 it becomes 0, from there to d it becomes 255. Here
    255 stands at the upper end of the range instead, which changes no probability, and where densities share their
    draws an element struck at a lower density stays struck. Each of the two probabilities is density / 2 rounded to
    2**-32. It is the distribution of ``impulse_noise``, under the name and the column of the benchmarks that were made
    with MATLAB; those publish densities, not five severities, so no table has rows for it.
    """
    return _noisy(images, keys, _STRIKE, share=density)


@corruption(
    role="validation",
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py and make_cifar_c.py, speckle_noise (extra)",
    parameters=(
        Parameter("sigma", float, 0.0, 10.0, "standard deviation, as a share of the element's own level"),
        ROUNDING,
    ),
)
def speckle_noise(images: Images, keys: Keys, *, sigma: float, rounding: str = "floor") -> Images:
    """Add normal noise in proportion to every element's level, independently.

    It becomes ``floor(x + x * sigma * z)``, clipped.

    Notes
    -----
    Black stays black. Drawn from a table for each level, with probabilities rounded to 2**-32.
    """
    if sigma == 0:
        return images.copy()
    return _noisy(images, keys, _LEVEL, noise_table(speckle_cumulative, sigma, half(rounding)))


@corruption(
    role="train",
    reference=f"{HENDRYCKS_2018}, section 3, names it and section 4.1 (stability training) has three amplitudes",
    parameters=(
        Parameter("amplitude", float, 0.0, 10.0, "greatest change, as a share of the range of levels"),
        ROUNDING,
    ),
)
def uniform_noise(images: Images, keys: Keys, *, amplitude: float, rounding: str = "floor") -> Images:
    """Add noise, uniform on [-amplitude, amplitude), to every element, independently.

    It becomes ``floor(x + 255 * amplitude * u)``, clipped.

    Notes
    -----
    The paper names uniform noise among the distortions to train with, for it is none of those that are tested, and
    trains with amplitudes 0.01, 0.05 and 0.1: severities 1 to 3. Severities 4 and 5 double the last one, and double it
    again; they are corruptset's own. The result is floored, as that of the generator's other noises is, so the noise's
    mean is half a level below 0.
    """
    if amplitude == 0:
        return images.copy()
    return _noisy(images, keys, _SPREAD, span=255.0 * amplitude, more=half(rounding))
