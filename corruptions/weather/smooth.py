"""The weights of a gaussian that smooths a random layer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import gaussian_weights


def half_weights(sigma: float) -> NDArray[np.float64]:
    """Return the weights at distance 0, 1, ... of a gaussian cut off after 4 sigma; sigma 0 leaves things as they are."""
    radius = int(4.0 * sigma + 0.5)
    return gaussian_weights(sigma, radius)[radius:].copy() if radius > 0 else np.ones(1)
