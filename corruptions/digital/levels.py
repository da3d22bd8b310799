"""Quantize and inverse: one table from level to level."""

from __future__ import annotations

import numpy as np

from ...references import MU_2019
from ..keys import Keys
from ..registry import Images, Parameter, corruption


@corruption(
    revision=1,
    reference=f"{MU_2019}; released corruptions.py, quantize (not among its fifteen)",
    parameters=(Parameter("bits", kind=int, low=1, high=8, about="bits left of each value"),),
    deterministic=True,
)
def quantize(images: Images, keys: Keys, *, bits: int) -> Images:
    """Keep fewer levels: ``2**bits`` from black to white, evenly spaced. Values and levels are rounded."""
    steps = 2 ** int(bits) - 1
    nearest = (2 * np.arange(256) * steps + 255) // 510
    table = ((2 * nearest * 255 + steps) // (2 * steps)).astype(np.uint8)
    return np.asarray(table[images])


@corruption(
    revision=1,
    reference=f"{MU_2019}; released corruptions.py, inverse (not among its fifteen)",
    parameters=(),
    deterministic=True,
)
def inverse(images: Images, keys: Keys) -> Images:
    """Turn black into white and white into black: 255 - x."""
    return np.asarray(255 - images, np.uint8)
