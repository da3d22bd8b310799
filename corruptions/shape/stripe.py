"""The corruption `stripe`, which inverts the columns at both sides of the image."""

from __future__ import annotations

from ...references import MU_2019
from ..registry import Images, Keys, Parameter, corruption


@corruption(
    reference=f"{MU_2019}; released corruptions.py, stripe",
    parameters=(Parameter("share", float, 0.0, 0.5, "fraction of the columns that are inverted on each side"),),
    deterministic=True,
)
def stripe(images: Images, keys: Keys, *, share: float) -> Images:
    """Invert the columns at both sides of the image, so that a stripe in the middle remains.

    ``int(W * share)`` columns are inverted on each side. The published share is a quarter, so 7 of 28 columns are
    inverted on each side.
    """
    out = images.copy()
    width = int(images.shape[2] * share)
    if width:
        out[:, :, :width] = 255 - out[:, :, :width]
        out[:, :, -width:] = 255 - out[:, :, -width:]
    return out
