"""Fields of numbers laid over images."""

from __future__ import annotations

import numpy as np

from corruptset.corruptions.kernels import inlined, kernel


@inlined
def level(value):  # type: ignore[no-untyped-def]
    """Return a value clipped to 0..255 and floored, as the released generator stores it."""
    return np.uint8(np.int32(min(max(value, 0.0), 255.0)))


@kernel
def blend(images, fields, keep, weight, out):  # type: ignore[no-untyped-def]
    """Write ``keep * image + weight * field``; fields are (N or 1, planes, H, W) of float32, of one plane or one for each channel."""
    count, height, width, channels = images.shape
    own, planes = fields.shape[:2]
    for n in range(count):
        m = n if own > 1 else 0
        for y in range(height):
            source, target = images[n, y].reshape(-1), out[n, y].reshape(-1)
            for c in range(channels):
                line = fields[m, c if planes > 1 else 0, y]
                for x in range(np.uint64(width)):
                    at = np.uint64(channels) * x + np.uint64(c)
                    target[at] = level(keep * np.float64(source[at]) + weight * np.float64(line[x]))
