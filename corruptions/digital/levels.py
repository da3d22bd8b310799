"""Quantize and inverse: one table from level to level."""

from __future__ import annotations

import numpy as np

from ..keys import Keys
from ..references import MU_2019
from ..registry import Images, Parameter, corruption

_RELEASED = f"{MU_2019} (not among its fifteen); released corruptions.py, "


@corruption(
    revision=1,
    reference=_RELEASED + "quantize",
    parameters=(Parameter("bits", kind=int, low=1, high=8, about="bits left of each value"),),
    deterministic=True,
)
def quantize(images: Images, keys: Keys, *, bits: int) -> Images:
    """Keep fewer levels: ``2**bits`` from black to white, evenly spaced.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
    keys : Keys
        Not used: nothing is drawn.
    bits : int
        1..8; 8 leaves images as they are.

    Returns
    -------
    (N, H, W, C) ndarray of uint8
        Rounded to the nearest of the levels, which are rounded themselves.

    References
    ----------
    Mu and Gilmer 2019, MNIST-C; released code, quantize
    """
    steps = 2 ** int(bits) - 1
    nearest = (2 * np.arange(256) * steps + 255) // 510
    table = ((2 * nearest * 255 + steps) // (2 * steps)).astype(np.uint8)
    return np.asarray(table[images])


@corruption(
    revision=1,
    reference=_RELEASED + "inverse",
    parameters=(),
    deterministic=True,
)
def inverse(images: Images, keys: Keys) -> Images:
    """Turn black into white and white into black.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
    keys : Keys
        Not used: nothing is drawn.

    Returns
    -------
    (N, H, W, C) ndarray of uint8
        255 - x.

    References
    ----------
    Mu and Gilmer 2019, MNIST-C; released code, inverse
    """
    return np.asarray(255 - images, np.uint8)
