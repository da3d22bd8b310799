"""The corruptions that add gaussian, shot, impulse, speckle and uniform noise.

Each element of an image uses one word of the random stream.
"""

from __future__ import annotations

import math

import numpy as np

from ...references import HENDRYCKS_2018, HENDRYCKS_2019
from ..kernels import kernel
from ..levels import ROUNDING, rounding_offset
from ..random.philox import fill_words
from ..registry import Images, Keys, Parameter, corruption
from .tables import Table, gaussian_cumulative, noise_table, shot_cumulative, speckle_cumulative

_NOISE = np.int64(0)  # This is the only stream.
_CHUNK = 4096  # This number of words stays in the first-level cache.
# The kinds of noise. For additive noise, one table maps a word to an offset. For noise that depends on the grey value,
# there is a table for each grey value, which maps a word to the new value. For salt and pepper, a word selects 0 or
# 255. For uniform noise, it gives the offset.
_NO_TABLE = np.zeros(1, np.uint32)
_ADDITIVE, _PER_VALUE, _SALT_PEPPER, _UNIFORM = (np.uint8(i) for i in range(4))


@kernel
def _add_noise(images, out, kind, table, share, span, half, stage_key, sample_keys):  # type: ignore[no-untyped-def]
    """Draw a word for every value of the images, (N, H * W * C), and write the noisy values."""
    words = np.empty(_CHUNK, np.uint32)
    offsets = np.empty(_CHUNK, np.int16)
    size = images.shape[1]
    for n in range(images.shape[0]):
        for start in range(0, size, _CHUNK):
            source = images[n, start : start + _CHUNK]
            target = out[n, start : start + _CHUNK]
            fill_words(words[: source.size], start >> 2, stage_key, sample_keys[n], _NOISE)
            # There is one loop for each kind, because a branch inside the loop would prevent vectorisation.
            if kind == _ADDITIVE:
                for i in range(np.uint32(source.size)):
                    word = words[i]
                    slot = word >> np.uint32(23)
                    entry = table[np.uint64(slot)]
                    offsets[i] = np.int16(
                        slot if (word & np.uint32(0x7FFFFF)) < (entry >> np.uint32(9)) else entry & np.uint32(511)
                    )
                # Values are clipped in a separate loop, which is vectorised. In the first loop, clipping would compile
                # to branches that the processor mispredicts.
                for i in range(np.uint32(source.size)):
                    value = np.int16(np.int16(source[i]) + offsets[i] - np.int16(256))
                    target[i] = min(max(value, np.int16(0)), np.int16(255))
            elif kind == _PER_VALUE:
                for i in range(np.uint32(source.size)):
                    word = words[i]
                    slot = word >> np.uint32(24)
                    entry = table[np.uint64((np.uint32(source[i]) << np.uint32(8)) | slot)]
                    target[i] = (
                        slot if (word & np.uint32(0xFFFFFF)) < (entry >> np.uint32(8)) else entry & np.uint32(255)
                    )
            elif kind == _SALT_PEPPER:
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
        Parameter("sigma", float, 0.0, 10.0, "standard deviation, as a fraction of the range of values"),
        ROUNDING,
        Parameter(
            "mean",
            low=-1.0,
            high=1.0,
            default=0.0,
            option=True,
            shapes_draws=True,
            about="mean of the noise, as a fraction of the range of values",
        ),
    ),
)
def gaussian_noise(images: Images, keys: Keys, *, sigma: float, rounding: str = "floor", mean: float = 0.0) -> Images:
    """Add gaussian noise to every element independently.

    An element x becomes ``floor(x + 255 * mean + 255 * sigma * z)``, clipped to [0, 255], where z is standard normal.

    Notes
    -----
    A standard normal number is drawn at random for each element.

    As in the released generator, the result is floored. The mean of the noise is therefore lower by half a grey value.
    With ``rounding="round"``, one half is added before the floor, as in MATLAB. The offset
    ``floor(255 * mean + 255 * sigma * z)`` is drawn from a table whose probabilities are rounded to 2**-32.

    MATLAB's ``imnoise(I, 'gaussian', m)`` has the variance 0.01 and rounds, which corresponds to ``sigma=0.1, mean=m,
    rounding="round"``. In benchmarks that were made with it, the mean serves as the severity. If the mean differs, new
    noise is therefore drawn, just as for a different severity.
    """
    if sigma == 0:
        # Only a constant shift remains, which is 0 if the mean is 0.
        shift = np.int16(math.floor(255.0 * mean + rounding_offset(rounding)))
        return np.asarray(np.clip(images + shift, 0, 255), np.uint8)
    return _noisy(images, keys, _ADDITIVE, noise_table(gaussian_cumulative, sigma, rounding_offset(rounding), mean))


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py and make_cifar_c.py, shot_noise",
    parameters=(
        Parameter("photons", float, 0.001, 1e6, "mean photon count of a white pixel; a lower count is noisier"),
        ROUNDING,
    ),
)
def shot_noise(images: Images, keys: Keys, *, photons: float, rounding: str = "floor") -> Images:
    """Replace every element independently by a Poisson count of photons.

    An element x becomes ``floor(255 * min(k / photons, 1))``, where k is a Poisson count with the mean
    ``photons * x / 255``.

    Notes
    -----
    A Poisson count is drawn at random for each element. Black stays black. The result is drawn from a table for each
    grey value, whose probabilities are rounded to 2**-32. The floor is applied to the same doubles as in the released
    generator.
    """
    return _noisy(images, keys, _PER_VALUE, noise_table(shot_cumulative, photons, rounding_offset(rounding)))


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py and make_cifar_c.py, impulse_noise "
    "(skimage.util.random_noise, mode 's&p')",
    parameters=(Parameter("amount", float, 0.0, 1.0, "fraction of elements that become 0 or 255"),),
)
def impulse_noise(images: Images, keys: Keys, *, amount: float) -> Images:
    """Replace random elements by 0 or 255.

    Elements are independent, including the channels of a pixel.

    Notes
    -----
    One number is drawn at random for each element. Each of the two probabilities is amount / 2, rounded to 2**-32.
    """
    return _noisy(images, keys, _SALT_PEPPER, share=amount)


@corruption(
    reference="MATLAB, Image Processing Toolbox, imnoise(I, 'salt & pepper', d)",
    parameters=(Parameter("density", float, 0.0, 1.0, "fraction of elements that become 0 or 255"),),
)
def salt_pepper(images: Images, keys: Keys, *, density: float) -> Images:
    """Replace random elements by 0 or 255, as MATLAB's salt & pepper noise does for each channel.

    Notes
    -----
    One number is drawn at random for each element. MATLAB draws x, uniform on [0, 1), for every element. The element
    becomes 0 if x is below d / 2, and 255 if x is from d / 2 to d. Here the interval for 255 is at the upper end of the
    range instead, which does not change probabilities. If two densities share their draws, an element that is replaced
    at a lower density is therefore also replaced at a higher density. Each of the two probabilities is density / 2,
    rounded to 2**-32.

    The distribution is that of ``impulse_noise``. The name and the parameter are those of benchmarks that were made
    with MATLAB. These benchmarks publish densities instead of five severities, so no severity table contains this
    corruption.
    """
    return _noisy(images, keys, _SALT_PEPPER, share=density)


@corruption(
    role="validation",
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py and make_cifar_c.py, speckle_noise (extra)",
    parameters=(
        Parameter("sigma", float, 0.0, 10.0, "standard deviation, as a fraction of the element's value"),
        ROUNDING,
    ),
)
def speckle_noise(images: Images, keys: Keys, *, sigma: float, rounding: str = "floor") -> Images:
    """Add gaussian noise to every element independently, in proportion to its value.

    An element x becomes ``floor(x + x * sigma * z)``, clipped to [0, 255], where z is standard normal.

    Notes
    -----
    A standard normal number is drawn at random for each element. Black stays black. The result is drawn from a table
    for each grey value, whose probabilities are rounded to 2**-32.
    """
    if sigma == 0:
        return images.copy()
    return _noisy(images, keys, _PER_VALUE, noise_table(speckle_cumulative, sigma, rounding_offset(rounding)))


@corruption(
    role="train",
    reference=f"{HENDRYCKS_2018}, section 3, names it and section 4.1 (stability training) has three amplitudes",
    parameters=(
        Parameter("amplitude", float, 0.0, 10.0, "maximum change, as a fraction of the range of values"),
        ROUNDING,
    ),
)
def uniform_noise(images: Images, keys: Keys, *, amplitude: float, rounding: str = "floor") -> Images:
    """Add noise that is uniform on [-amplitude, amplitude) to every element independently.

    An element x becomes ``floor(x + 255 * amplitude * u)``, clipped to [0, 255], where u is uniform on [-1, 1).

    Notes
    -----
    One uniform number is drawn at random for each element.

    The paper uses uniform noise as a distortion for training, because uniform noise is not among the tested
    distortions. The paper's amplitudes for training are 0.01, 0.05 and 0.1, which are severities 1 to 3. corruptset
    adds severities 4 and 5, and doubles the amplitude for each of them. As in the published generator of the other
    kinds of noise, the result is floored. The mean of the noise is therefore lower by half a grey value.
    """
    if amplitude == 0:
        return images.copy()
    return _noisy(images, keys, _UNIFORM, span=255.0 * amplitude, more=rounding_offset(rounding))
