"""The corruption `quantize`, which reduces the number of grey values."""

from __future__ import annotations

import numpy as np

from ...references import MU_2019
from ..registry import Images, Keys, Parameter, corruption


@corruption(
    reference=f"{MU_2019}; released corruptions.py, quantize (not among its fifteen)",
    parameters=(Parameter("bits", int, 1, 8, "number of bits that are kept of each value"),),
    deterministic=True,
)
def quantize(images: Images, keys: Keys, *, bits: int) -> Images:
    """Reduce the number of grey values to ``2**bits``.

    The remaining grey values are evenly spaced from black to white. Each value becomes the nearest remaining value,
    rounded to a whole number.
    """
    steps = 2 ** int(bits) - 1
    nearest = (2 * np.arange(256) * steps + 255) // 510
    table = ((2 * nearest * 255 + steps) // (2 * steps)).astype(np.uint8)
    return np.asarray(table[images])
