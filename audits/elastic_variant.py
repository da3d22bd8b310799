"""The elastic transform of the package imagecorruptions, which differs from the one in ImageNet-C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates

from ..corruptions.keys import Keys, sample_keys
from ..corruptions.registry import Images

ALPHAS = (12.5, 16.25, 21.25, 25.0, 30.0)
"""The factor by which displacements are multiplied, for each severity."""


def elastic_variant(clean: Images, severity: int, ids: Sequence[str], seed: int) -> Images:
    """Apply the elastic transform of imagecorruptions 1.1.2, with random draws determined by ids and a seed.

    This variant displaces pixels by smoothed uniform noise, in proportion to the side of the image. It has no affine
    part, and its parameters differ from those in ImageNet-C.

    References
    ----------
    imagecorruptions 1.1.2 and imagecorruptions-imaug 1.1.5, ``elastic_transform``
    """
    count, height, width, channels = clean.shape
    keys = Keys(np.uint64(seed * 8 + severity), sample_keys(ids))
    reach = height * 0.005
    noise = keys.uniforms(2, height, width, low=-reach, high=reach)
    rows, columns = np.mgrid[:height, :width].astype(np.float64)
    out = np.empty_like(clean)
    for i in range(count):
        across, down = (
            gaussian_filter(field, (height * 0.01, width * 0.01), mode="reflect", truncate=3) * ALPHAS[severity - 1]
            for field in noise[i]
        )
        for channel in range(channels):
            moved = map_coordinates(
                clean[i, :, :, channel].astype(np.float32) / 255.0,
                (rows + down, columns + across),
                order=1,
                mode="reflect",
            )
            out[i, :, :, channel] = np.clip(moved, 0, 1) * 255
    return out
