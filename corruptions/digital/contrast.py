"""The corruption `contrast`, which scales the distance of each value from the mean of its channel."""

from __future__ import annotations

import numpy as np

from ...references import HENDRYCKS_2019
from ..kernels import kernel
from ..levels import ROUNDING
from ..registry import Images, Keys, Parameter, corruption

# Rounding errors must not floor a whole number to the next lower number, because factor 1 must not change the image.
_TIE = 1e-9
_1 = np.uint64(1)
_2 = np.uint64(2)


@kernel
def _contrast(images, out, factor, rounded):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    table = np.empty((channels, 256), np.uint8)
    sums = np.empty(channels, np.int64)
    for i in range(count):
        for c in range(channels):
            sums[c] = 0
        for y in range(height):
            # The sums of a row fit in 32 bits and must be added in 32 bits. If bytes are summed in 64 bits, LLVM 22
            # loses half of them on aarch64 with vectors wider than 128 bits (SVE; LLVM issue 204939). numba omits the
            # check for negative indices if they are unsigned.
            row = images[i, y].reshape(-1)
            s0, s1, s2 = np.uint32(0), np.uint32(0), np.uint32(0)
            if channels == 3:
                for x in range(np.uint64(width)):
                    p = np.uint64(3) * x
                    s0 = np.uint32(s0 + np.uint32(row[p]))
                    s1 = np.uint32(s1 + np.uint32(row[p + _1]))
                    s2 = np.uint32(s2 + np.uint32(row[p + _2]))
                sums[1] += np.int64(s1)
                sums[2] += np.int64(s2)
            else:
                for x in range(np.uint64(width)):
                    s0 = np.uint32(s0 + np.uint32(row[x]))
            sums[0] += np.int64(s0)
        for c in range(channels):
            mean = np.float64(sums[c]) / np.float64(height * width) / 255.0
            for v in range(256):
                moved = (np.float64(v) / 255.0 - mean) * factor + mean
                level = min(max(moved, 0.0), 1.0) * 255.0
                table[c, v] = np.uint8(np.rint(np.float32(level))) if rounded else np.uint8(level + _TIE)
        source = images[i].reshape(-1)
        target = out[i].reshape(-1)
        if channels == 3:
            reds, greens, blues = table[0], table[1], table[2]
            for x in range(np.uint64(source.size // 3)):
                p = np.uint64(3) * x
                target[p] = reds[source[p]]
                target[p + _1] = greens[source[p + _1]]
                target[p + _2] = blues[source[p + _2]]
        else:
            levels = table[0]
            for x in range(np.uint64(source.size)):
                target[x] = levels[source[x]]


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, contrast",
    parameters=(
        Parameter("factor", float, 0.0, 1000.0, "factor on the distance of each value to the mean of its channel"),
        ROUNDING,
    ),
    deterministic=True,
)
def contrast(images: Images, keys: Keys, *, factor: float, rounding: str = "floor") -> Images:
    """Scale the distance of every value from the mean of its channel.

    Notes
    -----
    The mean is an exact integer sum that is divided once, so the result does not depend on the machine, even for large
    images.
    """
    out = np.empty_like(images)
    _contrast(images, out, float(factor), rounding == "round")
    return out
