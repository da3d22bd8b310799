"""Correlation with symmetric weights, in a fixed order of operations.

A gaussian filter correlates the columns of an image, and then its rows. Results are floored, so the last bit of a sum
can change a flat area by a whole grey value. The order of additions therefore matters as much as the weights. SciPy's
filter cannot be used, because a compiler may fuse its multiplications and additions, so that results differ between
machines. Numba does not fuse them, because kernels are compiled without fastmath.
"""

from __future__ import annotations

from .kernels import inlined, inner

_CHUNK = 1024
"""The number of sums that are computed together, chosen so that they fit into the first-level cache."""
_MIN_BAND_ROWS = 32


@inner
def correlate(source, start, step, weights, inwards, out):  # type: ignore[no-untyped-def]
    """Correlate a flat array with symmetric weights.

    ``out[i] = x[0] w[0] + (x[-1] + x[1]) w[1] + (x[-2] + x[2]) w[2] + ...``, where ``x[k]`` is
    ``source[start + i + k * step]``.

    Parameters
    ----------
    source : (n,) ndarray of float64
        The input, with a padding of `step` times the radius on both sides.
    start : int
        The index of the element of `source` at the position of ``out[0]``.
    step : int
        The distance between elements that are combined. Pass the number of channels to filter along a row, or the
        length of a row to filter along a column.
    weights : (radius + 1,) ndarray of float64
        The weights, from the centre outwards.
    inwards : bool
        True to add pairs from the outermost to the innermost, as in SciPy. False to add pairs in the opposite order.
    out : (m,) ndarray of float64
        The array for the result, which must not overlap with `source`.
    """
    radius = weights.size - 1
    for first in range(0, out.size, _CHUNK):
        sums = out[first : first + _CHUNK]
        at, n = start + first, sums.size
        centre, weight = source[at : at + n], weights[0]
        for i in range(n):
            sums[i] = centre[i] * weight
        # Each pass adds two pairs, so that the sums are read and written half as often.
        for turn in range(0, radius - 1, 2):
            k = radius - turn if inwards else 1 + turn
            m = k - 1 if inwards else k + 1
            a, b = source[at - k * step :][:n], source[at + k * step :][:n]
            c, d = source[at - m * step :][:n], source[at + m * step :][:n]
            weight_ab, weight_cd = weights[k], weights[m]
            for i in range(n):
                sums[i] = (sums[i] + (a[i] + b[i]) * weight_ab) + (c[i] + d[i]) * weight_cd
        if radius % 2 == 1:
            k = 1 if inwards else radius
            a, b, weight = source[at - k * step :][:n], source[at + k * step :][:n], weights[k]
            for i in range(n):
                sums[i] += (a[i] + b[i]) * weight


@inlined
def band_rows(height, radius):  # type: ignore[no-untyped-def]
    """Return the number of rows to filter together. These rows and their padding stay in the cache."""
    return min(height, max(2 * radius, _MIN_BAND_ROWS))
