"""Uniform noise: every element of an image draws its own word of the stream."""

from __future__ import annotations

import numpy as np

from ...references import HENDRYCKS_2018
from ..kernels import kernel
from ..keys import Keys
from ..random.philox import fill_words
from ..registry import Images, Parameter, corruption
from ..rounding import ROUNDING, half

_NOISE = np.int64(0)  # the only stream
_CHUNK = 4096  # words at a time: they stay in the first-level cache


@kernel
def _add_uniform(images, out, stage_key, sample_keys, span, half):  # type: ignore[no-untyped-def]
    words = np.empty(_CHUNK, np.uint32)
    size = images.shape[1]
    for n in range(images.shape[0]):
        for start in range(0, size, _CHUNK):
            source = images[n, start : start + _CHUNK]
            target = out[n, start : start + _CHUNK]
            fill_words(words[: source.size], start >> 2, stage_key, sample_keys[n], _NOISE)
            for i in range(np.uint32(source.size)):
                value = np.floor(source[i] + span * (words[i] * 2.0**-31 - 1.0) + half)
                target[i] = np.uint8(np.int32(min(max(value, 0.0), 255.0)))


@corruption(
    revision=1,
    role="train",
    reference=f"{HENDRYCKS_2018}, section 3, names it and section 4.1 (stability training) has three amplitudes",
    parameters=(Parameter("amplitude", low=0.0, high=10.0, about="greatest change, as a share of the range of levels"), ROUNDING),
)
def uniform_noise(images: Images, keys: Keys, *, amplitude: float, rounding: str = "floor") -> Images:
    """Add noise, uniform on [-amplitude, amplitude), to every element, independently: ``floor(x + 255 * amplitude * u)``, clipped.

    Notes
    -----
    The paper names uniform noise among the distortions to train with, for it is none of those that are tested, and trains with
    amplitudes 0.01, 0.05 and 0.1: severities 1 to 3. Severities 4 and 5 double the last one, and double it again; they are
    corruptset's own. The result is floored, as that of the generator's other noises is, so the noise's mean is half a level below 0.
    """
    if amplitude == 0:
        return images.copy()
    out = np.empty_like(images)
    flat = images.reshape(len(images), -1), out.reshape(len(images), -1)
    _add_uniform(*flat, keys.stage, keys.samples, 255.0 * amplitude, half(rounding))
    return out
