"""Provide the corruptions of ImageNet-3DCC that need neither the depth of a scene nor a video.

The formulas and tables are those of the published generator. The licence of its code excludes commercial use, so this
code was written from the formulas.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.arithmetic import exact_exp
from corruptset.corruptions.keys import Floats, Keys
from corruptset.corruptions.levels import look_up
from corruptset.corruptions.registry import Draw, Given, Images, Parameter, Shape, corruption

_REFERENCE = "Kar, Yeo, Atanov & Zamir 2022, 3D Common Corruptions and Data Augmentation; released create_non3d.py"
_ISO_PHOTONS, _LOW_LIGHT_PHOTONS, _LOW_LIGHT_SIGMA = 25.0, 120.0, 0.018
_COUNTS = 256
"""The number of possible photon counts. Larger counts have a probability below 1e-24."""


def _size(shape: Shape, parameters: Given) -> tuple[int, ...]:
    return shape


_DRAWS = (
    Draw(
        "chances",
        "(H, W, C) numbers from 0 to 1, which are positions in the distribution of the photon count",
        lambda keys, shape, parameters: keys.uniforms(*shape, stream=0),
        _size,
        low=0.0,
        high=1.0,
    ),
    Draw(
        "normals",
        "(H, W, C) standard normal numbers of the electronic noise",
        lambda keys, shape, parameters: keys.normals(*shape, stream=1),
        _size,
    ),
)


@functools.lru_cache(maxsize=64)
def _cumulative(means: tuple[float, ...]) -> Floats:
    """Return the cumulative probabilities of Poisson counts for all means, as one ascending sequence."""
    mean = np.array(means)
    weights = np.empty((len(means), _COUNTS))
    weights[:, 0] = [exact_exp(-one) for one in means]
    for count in range(1, _COUNTS):
        weights[:, count] = weights[:, count - 1] * (mean / count)
    cumulative = np.minimum(np.cumsum(weights, axis=1), 1.0)
    cumulative[:, -1] = 1.0
    sequence: Floats = (cumulative + 2.0 * np.arange(len(means))[:, None]).ravel()
    return sequence


def _noisy(
    image: NDArray[np.uint8],
    light: Floats,
    photons: float,
    sigma: float,
    chances: Floats,
    normals: NDArray[np.floating],
) -> Floats:
    """Return the noisy values of an image, from 0 to 255. `light` is the brightness of each grey value, from 0 to 1."""
    value = image.astype(np.int64)
    cumulative = _cumulative(tuple((light * photons).tolist()))
    counts = (
        np.searchsorted(cumulative, np.minimum(chances, 1 - 2.0**-40) + 2.0 * value, side="right") - _COUNTS * value
    )
    seen = np.minimum(counts / photons, 1.0)
    noisy: Floats = np.clip(seen + normals.astype(np.float64) * sigma, 0.0, 1.0) * 255.0
    return noisy


@corruption(
    reference=f"{_REFERENCE}, iso_noise",
    parameters=(Parameter("sigma", low=0.0, high=10.0, about="standard deviation of the electronic noise, of 0 to 1"),),
    draws=_DRAWS,
)
def iso_noise(images: Images, keys: Keys, *, sigma: float, chances: Floats, normals: Floats) -> Images:
    """Replace every value by a Poisson count of photons, and add gaussian noise.

    Notes
    -----
    At all severities, a white value corresponds to 25 photons on average. The count is drawn by inverting its
    cumulative distribution function. It is clipped before the gaussian noise is added, and the result is rounded down.
    """
    out = np.empty_like(images)
    for image, chance, normal, target in zip(images, chances, normals, out, strict=True):
        target[:] = _noisy(image, np.arange(256) / 255.0, _ISO_PHOTONS, sigma, chance, normal)
    return out


@corruption(
    reference=f"{_REFERENCE}, low_light, imadjust and poisson_gaussian_noise",
    parameters=(Parameter("brightness", low=0.0, high=1.0, about="brightness of the lightest value, from 0 to 1"),),
    draws=_DRAWS,
)
def low_light(images: Images, keys: Keys, *, brightness: float, chances: Floats, normals: Floats) -> Images:
    """Darken the image and add the noise of a camera in low light.

    Notes
    -----
    The values of all channels together are stretched, so that their minimum becomes 0 and their maximum becomes 1. They
    are then squared and multiplied by `brightness`. Then photon noise and gaussian noise are applied. At all
    severities, 120 photons correspond to the value 1, and the standard deviation of the gaussian noise is 0.018. An
    image whose values are all equal becomes black before the noise. The published code divides by zero in this case.
    """
    out = np.empty_like(images)
    for image, chance, normal, target in zip(images, chances, normals, out, strict=True):
        low, high = int(image.min()), int(image.max())
        share = np.clip((np.arange(256) - low) / max(high - low, 1), 0.0, 1.0)
        target[:] = _noisy(image, share * share * brightness, _LOW_LIGHT_PHOTONS, _LOW_LIGHT_SIGMA, chance, normal)
    return out


@corruption(
    reference=f"{_REFERENCE}, color_quant (Pillow's ImageOps.posterize)",
    parameters=(Parameter("bits", int, 1, 8, "number of bits that are kept of each value"),),
    deterministic=True,
)
def color_quant(images: Images, keys: Keys, *, bits: int) -> Images:
    """Keep the upper bits of each value, and set the lower bits to 0."""
    return look_up(images, (np.arange(256) >> (8 - bits) << (8 - bits)).astype(np.uint8))
