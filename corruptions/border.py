"""Border modes, which define the values outside of an image.

The names are those of `numpy.pad`. SciPy and OpenCV use different names:

=========  =============  ============  ==========
here       row ``abcd``   SciPy         OpenCV
=========  =============  ============  ==========
EDGE       aaa|abcd|ddd   nearest       REPLICATE
REFLECT    dcb|abcd|cba   mirror        REFLECT_101
SYMMETRIC  cba|abcd|dcb   **reflect**   REFLECT
CONSTANT   000|abcd|000   constant      CONSTANT
=========  =============  ============  ==========
"""

from __future__ import annotations

from .kernels import inlined

EDGE, REFLECT, SYMMETRIC, CONSTANT = range(4)


@inlined
def border_index(i, n, border):  # type: ignore[no-untyped-def]
    """Return the index of the pixel to read at position `i`, which can be outside of the row of `n` pixels.

    For CONSTANT, the caller must replace the value that is read for a position outside of the row.
    """
    if 0 <= i < n:
        return i
    if border in (EDGE, CONSTANT):
        return 0 if i < 0 else n - 1
    # SYMMETRIC repeats the outermost pixel, REFLECT does not.
    repeated = 1 if border == SYMMETRIC else 0
    once = -i - repeated if i < 0 else 2 * n - 2 + repeated - i
    if 0 <= once < n:  # This is nearly always true, and cheaper than a division.
        return once
    i = i % (2 * (n - 1 + repeated))
    return i if i < n else 2 * n - 2 + repeated - i


@inlined
def pad_row(line, pad, channels, border):  # type: ignore[no-untyped-def]
    """Fill the padding of `pad` pixels at both ends of a flat row, according to a border mode."""
    width = line.size // channels - 2 * pad
    for x in range(pad):
        before = (pad + border_index(x - pad, width, border)) * channels
        after = (pad + border_index(width + x, width, border)) * channels
        for c in range(channels):
            line[x * channels + c] = 0.0 if border == CONSTANT else line[before + c]
            line[(pad + width + x) * channels + c] = 0.0 if border == CONSTANT else line[after + c]
