"""The corruption `inverse`, which inverts the values."""

from __future__ import annotations

import numpy as np

from ...references import MU_2019
from ..registry import Images, Keys, corruption


@corruption(
    reference=f"{MU_2019}; released corruptions.py, inverse (not among its fifteen)",
    parameters=(),
    deterministic=True,
)
def inverse(images: Images, keys: Keys) -> Images:
    """Invert the image, so that a value x becomes 255 - x."""
    return np.asarray(255 - images, np.uint8)
