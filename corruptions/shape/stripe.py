"""Stripe: the left and the right part of the image inverted."""

from __future__ import annotations

from ...references import MU_2019
from ..keys import Keys
from ..registry import Images, Parameter, corruption


@corruption(
    revision=1,
    reference=f"{MU_2019}; released corruptions.py, stripe",
    parameters=(Parameter("share", low=0.0, high=0.5, about="of the columns that are inverted, on each side"),),
    deterministic=True,
)
def stripe(images: Images, keys: Keys, *, share: float) -> Images:
    """Invert the columns at the left and at the right, so that the middle stands as a stripe.

    ``int(W * share)`` columns are inverted on each side. Published: a quarter, 7 of 28.
    """
    out = images.copy()
    width = int(images.shape[2] * share)
    if width:
        out[:, :, :width] = 255 - out[:, :, :width]
        out[:, :, -width:] = 255 - out[:, :, -width:]
    return out
