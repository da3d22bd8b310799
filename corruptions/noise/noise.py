"""Gaussian, shot, impulse and speckle noise: every element of an image draws its own word of the stream."""

from __future__ import annotations

import math

import numpy as np

from ...references import HENDRYCKS_2019
from ..kernels import kernel
from ..keys import Keys
from ..random.philox import fill_words
from ..registry import Images, Parameter, corruption
from ..rounding import ROUNDING, half
from .tables import gaussian_table, shot_table, speckle_table

_NOISE = np.int64(0)  # the only stream
_CHUNK = 4096  # words at a time: they stay in the first-level cache


@kernel
def _add_offsets(images, out, stage_key, sample_keys, table):  # type: ignore[no-untyped-def]
    words = np.empty(_CHUNK, np.uint32)
    offsets = np.empty(_CHUNK, np.int16)
    size = images.shape[1]
    for n in range(images.shape[0]):
        for start in range(0, size, _CHUNK):
            source = images[n, start : start + _CHUNK]
            target = out[n, start : start + _CHUNK]
            fill_words(words[: source.size], start >> 2, stage_key, sample_keys[n], _NOISE)
            for i in range(np.uint32(source.size)):
                word = words[i]
                slot = word >> np.uint32(23)
                entry = table[np.uint64(slot)]
                offsets[i] = np.int16(slot if (word & np.uint32(0x7FFFFF)) < (entry >> np.uint32(9)) else entry & np.uint32(511))
            # A loop of its own vectorises; clipping inside the look-up became branches that the processor guesses wrong.
            for i in range(np.uint32(source.size)):
                value = np.int16(np.int16(source[i]) + offsets[i] - np.int16(256))
                target[i] = min(max(value, np.int16(0)), np.int16(255))


@kernel
def _replace_levels(images, out, stage_key, sample_keys, table):  # type: ignore[no-untyped-def]
    words = np.empty(_CHUNK, np.uint32)
    size = images.shape[1]
    for n in range(images.shape[0]):
        for start in range(0, size, _CHUNK):
            source = images[n, start : start + _CHUNK]
            target = out[n, start : start + _CHUNK]
            fill_words(words[: source.size], start >> 2, stage_key, sample_keys[n], _NOISE)
            for i in range(np.uint32(source.size)):
                word = words[i]
                slot = word >> np.uint32(24)
                entry = table[np.uint64((np.uint32(source[i]) << np.uint32(8)) | slot)]
                target[i] = slot if (word & np.uint32(0xFFFFFF)) < (entry >> np.uint32(8)) else entry & np.uint32(255)


@kernel
def _salt_and_pepper(images, out, stage_key, sample_keys, share):  # type: ignore[no-untyped-def]
    words = np.empty(_CHUNK, np.uint32)
    size = images.shape[1]
    for n in range(images.shape[0]):
        for start in range(0, size, _CHUNK):
            source = images[n, start : start + _CHUNK]
            target = out[n, start : start + _CHUNK]
            fill_words(words[: source.size], start >> 2, stage_key, sample_keys[n], _NOISE)
            for i in range(np.uint32(source.size)):
                word = words[i]
                kept = np.uint8(0) if word < share else source[i]
                target[i] = np.uint8(255) if np.uint32(~word) < share else kept


@corruption(
    revision=1,
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py and make_cifar_c.py, gaussian_noise; its mean: MATLAB's imnoise",
    parameters=(
        Parameter("sigma", low=0.0, high=10.0, about="standard deviation, as a share of the range of levels"),
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
    """Add normal noise to every element, independently: ``floor(x + 255 * mean + 255 * sigma * z)``, clipped, z standard normal.

    Notes
    -----
    The result is floored, as in the released generator, so the noise's mean is half a level below 0; with half a level more it is
    rounded, as in MATLAB. The offset floor(255 * mean + 255 * sigma * z) is drawn from a table with probabilities rounded to 2**-32.

    MATLAB's ``imnoise(I, 'gaussian', m)`` has variance 0.01 and rounds: ``sigma=0.1, mean=m, rounding="round"``. There
    the mean is the level, so another mean draws anew, as another severity does.
    """
    if sigma == 0:
        # all that is left is a shift, of none for a mean of 0
        shift = np.int16(math.floor(255.0 * mean + half(rounding)))
        return np.asarray(np.clip(images + shift, 0, 255), np.uint8)
    out = np.empty_like(images)
    _add_offsets(_rows(images), _rows(out), keys.stage, keys.samples, gaussian_table(sigma, half(rounding), mean))
    return out


@corruption(
    revision=1,
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py and make_cifar_c.py, shot_noise",
    parameters=(Parameter("photons", low=0.001, high=1e6, about="mean photon count of a white pixel: fewer means more noise"), ROUNDING),
)
def shot_noise(images: Images, keys: Keys, *, photons: float, rounding: str = "floor") -> Images:
    """Replace every element by ``floor(255 * min(k / photons, 1))``, k a Poisson count of mean photons * x / 255, independently.

    Notes
    -----
    Black stays black. Drawn from a table for each level, with probabilities rounded to 2**-32. The floor acts on the
    doubles that the released generator computes.
    """
    out = np.empty_like(images)
    _replace_levels(_rows(images), _rows(out), keys.stage, keys.samples, shot_table(photons, half(rounding)))
    return out


@corruption(
    revision=1,
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py and make_cifar_c.py, impulse_noise (skimage.util.random_noise, mode 's&p')",
    parameters=(Parameter("amount", low=0.0, high=1.0, about="share of elements that become 0 or 255"),),
)
def impulse_noise(images: Images, keys: Keys, *, amount: float) -> Images:
    """Replace elements by 0 or 255, independently of each other: a pixel's channels too.

    Notes
    -----
    Each of the two probabilities is amount / 2 rounded to 2**-32.
    """
    return _struck(images, keys, amount)


@corruption(
    revision=1,
    reference="MATLAB, Image Processing Toolbox, imnoise(I, 'salt & pepper', d)",
    parameters=(Parameter("density", low=0.0, high=1.0, about="share of elements that become 0 or 255"),),
)
def salt_pepper(images: Images, keys: Keys, *, density: float) -> Images:
    """Replace elements by 0 or 255 at a density: MATLAB's salt & pepper noise, on each channel by itself.

    Notes
    -----
    MATLAB draws x, uniform on [0, 1), for every element: below d / 2 it becomes 0, from there to d it becomes 255. Here
    255 stands at the upper end of the range instead, which changes no probability, and where densities share their draws an element
    struck at a lower density stays struck. Each of the two probabilities is density / 2 rounded to 2**-32.
    It is the distribution of ``impulse_noise``, under the name and the column of the benchmarks that were made with
    MATLAB; those publish densities, not five severities, so no table has rows for it.
    """
    return _struck(images, keys, density)


@corruption(
    revision=1,
    role="validation",
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py and make_cifar_c.py, speckle_noise (extra)",
    parameters=(Parameter("sigma", low=0.0, high=10.0, about="standard deviation, as a share of the element's own level"), ROUNDING),
)
def speckle_noise(images: Images, keys: Keys, *, sigma: float, rounding: str = "floor") -> Images:
    """Add normal noise in proportion to every element's level, independently: ``floor(x + x * sigma * z)``, clipped.

    Notes
    -----
    Black stays black. Drawn from a table for each level, with probabilities rounded to 2**-32.
    """
    if sigma == 0:
        return images.copy()
    out = np.empty_like(images)
    _replace_levels(_rows(images), _rows(out), keys.stage, keys.samples, speckle_table(sigma, half(rounding)))
    return out


def _struck(images: Images, keys: Keys, share: float) -> Images:
    """Return images with this share of their elements replaced, half by 0 and half by 255."""
    out = np.empty_like(images)
    _salt_and_pepper(_rows(images), _rows(out), keys.stage, keys.samples, np.uint32(int(share * 2.0**31 + 0.5)))
    return out


def _rows(images: Images) -> Images:
    return images.reshape(len(images), -1)
