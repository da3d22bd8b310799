"""The corruption `brightness`, which adds a constant to the HSV value."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from ...references import HENDRYCKS_2019
from ..kernels import kernel
from ..levels import ROUNDING, to_uint8
from ..registry import Images, Keys, Parameter, corruption


@functools.lru_cache(maxsize=64)
def _table(shift: float, rounding: str) -> NDArray[np.uint8]:
    """Return a lookup table for channels, as a (256 * 256,) array of uint8.

    The index is 256 times the largest channel of the pixel plus the value of the channel.
    """
    largest = np.arange(256)[:, None]
    level = np.minimum(np.arange(256)[None, :], largest)
    value = largest / 255.0
    saturation = np.where(largest > 0, (value - level / 255.0) / np.where(largest > 0, value, 1.0), 0.0)
    shifted = np.minimum(np.maximum(value + shift, 0.0), 1.0)
    # Hue and saturation do not change, so each channel keeps its ratio to the largest one. For the smallest channel x,
    # the result is V' (1 - s) = V' x / V.
    return to_uint8(np.minimum(shifted * (1.0 - saturation), 1.0) * 255.0, rounding).ravel()


@kernel
def _brighten(images, table):  # type: ignore[no-untyped-def]
    out = np.empty_like(images)
    source = images.ravel()
    target = out.ravel()
    if images.shape[3] == 1:
        for i in range(np.uint64(source.size)):
            target[i] = table[np.uint64(257) * np.uint64(source[i])]
        return out
    # numba omits the check for negative indices if they are unsigned.
    for i in range(np.uint64(source.size // 3)):
        p = np.uint64(3) * i
        q = p + np.uint64(1)
        s = q + np.uint64(1)
        r, g, b = np.uint64(source[p]), np.uint64(source[q]), np.uint64(source[s])
        row = max(r, g, b) << np.uint64(8)
        target[p] = table[row | r]
        target[q] = table[row | g]
        target[s] = table[row | b]
    return out


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, brightness",
    parameters=(
        Parameter("shift", float, -1.0, 1.0, "constant added to the HSV value, which ranges from 0 to 1"),
        ROUNDING,
    ),
    deterministic=True,
)
def brightness(images: Images, keys: Keys, *, shift: float, rounding: str = "floor") -> Images:
    """Add a constant to the HSV value of each pixel and clip it to [0, 1].

    Hue and saturation do not change. A channel x becomes ``floor(x V' / V)``, where V is the largest channel of the
    pixel and V' is V after the shift. Black becomes grey.

    Notes
    -----
    The published code converts to HSV and back in double precision and then floors. If ``x V' / V`` is a whole number,
    the rounding errors of this code decide between two neighbouring values. The middle channel can therefore differ by
    one (in under 5 % of all values).
    """
    return _brighten(images, _table(float(shift), rounding))  # type: ignore[no-any-return]
