"""Stripe: the left and the right part of the image inverted."""

from __future__ import annotations

from ..keys import Keys
from ..references import MU_2019
from ..registry import Images, Parameter, corruption


@corruption(
    revision=1,
    reference=f"{MU_2019}; released corruptions.py, stripe",
    parameters=(Parameter("share", low=0.0, high=0.5, about="of the columns that are inverted, on each side"),),
    deterministic=True,
)
def stripe(images: Images, keys: Keys, *, share: float) -> Images:
    """Invert the columns at the left and at the right, so that the middle stands as a stripe.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
    keys : Keys
        Not used: nothing is drawn.
    share : float
        0..0.5: ``int(W * share)`` columns are inverted on each side. Published: a quarter, 7 of 28.

    Returns
    -------
    (N, H, W, C) ndarray of uint8

    References
    ----------
    Mu and Gilmer 2019, MNIST-C, section 3; released code, stripe
    """
    out = images.copy()
    width = int(images.shape[2] * share)
    if width:
        out[:, :, :width] = 255 - out[:, :, :width]
        out[:, :, -width:] = 255 - out[:, :, -width:]
    return out
