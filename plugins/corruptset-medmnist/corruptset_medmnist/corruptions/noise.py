"""Add noise to the three channels of an image.

The distributions are those of corruptset's `gaussian_noise`, `speckle_noise`, `impulse_noise` and `shot_noise`. Unlike
in those corruptions, a caller can specify the random values. In a grey image, the conversion back to grey averages the
noise in three channels, so the noise is weaker and has a different distribution.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.keys import Floats, Keys
from corruptset.corruptions.noise.tables import shot_cumulative
from corruptset.corruptions.registry import Draw, Given, Images, Parameter, Shape, corruption

from .rgb import REFERENCE, as_rgb


def _size(shape: Shape, parameters: Given) -> tuple[int, ...]:
    return (*shape[:2], 3)


_NORMALS = Draw(
    "normals",
    "(H, W, 3) standard normal numbers",
    lambda keys, shape, parameters: keys.normals(*shape[:2], 3),
    _size,
)
_CHANCES = Draw(
    "chances",
    "(H, W, 3) numbers from 0 to 1, which are positions in the distribution of the noisy value",
    lambda keys, shape, parameters: keys.uniforms(*shape[:2], 3),
    _size,
    low=0.0,
    high=1.0,
)


def _noisy(images: Images, noise: NDArray[np.floating], sigma: float, *, in_proportion: bool) -> Images:
    out = np.empty_like(images)
    for image, normals, target in zip(images, noise, out, strict=True):
        value = image / 255.0
        added = normals.astype(np.float64) * sigma
        target[:] = np.clip(value + (value * added if in_proportion else added), 0.0, 1.0) * 255.0
    return out


@corruption(
    reference=f"{REFERENCE}, GaussianNoise",
    parameters=(Parameter("sigma", low=0.0, high=10.0, about="standard deviation, as a fraction of the range"),),
    draws=(_NORMALS,),
)
@as_rgb
def rgb_gaussian_noise(images: Images, keys: Keys, *, sigma: float, normals: Floats) -> Images:
    """Add gaussian noise to every channel of every pixel independently.

    Notes
    -----
    A standard normal number is drawn for each channel of each pixel. The result is rounded down.
    """
    return _noisy(images, normals, sigma, in_proportion=False)


@corruption(
    reference=f"{REFERENCE}, SpeckleNoise",
    parameters=(Parameter("sigma", low=0.0, high=10.0, about="standard deviation, as a fraction of the value"),),
    draws=(_NORMALS,),
)
@as_rgb
def rgb_speckle_noise(images: Images, keys: Keys, *, sigma: float, normals: Floats) -> Images:
    """Add gaussian noise in proportion to the value, to every channel of every pixel independently.

    Notes
    -----
    A standard normal number is drawn for each channel of each pixel. The result is rounded down.
    """
    return _noisy(images, normals, sigma, in_proportion=True)


@corruption(
    reference=f"{REFERENCE}, ImpulseNoise",
    parameters=(Parameter("amount", low=0.0, high=1.0, about="fraction of values that become 0 or 255"),),
    draws=(_CHANCES,),
)
@as_rgb
def rgb_impulse_noise(images: Images, keys: Keys, *, amount: float, chances: Floats) -> Images:
    """Replace random values by 0 or 255 with equal probability, in every channel independently.

    Notes
    -----
    A number from 0 to 1 is drawn for each channel of each pixel. The value becomes 0 if this number is below
    ``amount / 2``, and 255 if this number is at least ``1 - amount / 2``.
    """
    out = images.copy()
    out[chances < amount / 2] = 0
    out[chances >= 1 - amount / 2] = 255
    return out


@functools.lru_cache(maxsize=32)
def _shot_table(photons: float) -> NDArray[np.int64]:
    """Return the cumulative weights of the noisy values for all values, as one ascending sequence."""
    return (shot_cumulative(photons) + (np.arange(256) << 33)[:, None]).ravel()


@corruption(
    reference=f"{REFERENCE}, ShotNoise",
    parameters=(Parameter("photons", low=0.001, high=1e6, about="mean photon count of a white pixel"),),
    draws=(_CHANCES,),
)
@as_rgb
def rgb_shot_noise(images: Images, keys: Keys, *, photons: float, chances: Floats) -> Images:
    """Replace the value of every channel of every pixel by a Poisson count of photons.

    Notes
    -----
    A number is drawn for each channel of each pixel. The inverse of the cumulative distribution turns this number into
    a count. The result is rounded down.
    """
    out = np.empty_like(images)
    for image, positions, target in zip(images, chances, out, strict=True):
        value = image.astype(np.int64)
        wanted = (value << 33) + np.minimum(positions * 2.0**32, 2.0**32 - 1).astype(np.int64)
        target[:] = np.searchsorted(_shot_table(photons), wanted, side="right") - (value << 8)
    return out
