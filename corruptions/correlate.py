"""Correlation with symmetric weights, in a fixed order of operations.

A gaussian filter correlates the columns of an image, and then its rows. A floor turns the last bit of a flat area into
a whole level, so the order of the sums counts as much as the weights. SciPy's own filter is not a substitute, because
its compiler may fuse a multiplication and an addition, which gives other bits on other machines. Numba does not fuse
them, because the kernels are compiled without fastmath.
"""

from __future__ import annotations

from .kernels import inlined, inner

_AT_ONCE = 1024
"""Sums that are computed together, because they fit into the first-level cache."""
_LEAST_ROWS = 32


@inner
def correlate(source, start, step, weights, inwards, out):  # type: ignore[no-untyped-def]
    """Correlate a flat array with symmetric weights.

    ``out[i] = x[0] w[0] + (x[-1] + x[1]) w[1] + (x[-2] + x[2]) w[2] + ...``, where ``x[k]`` is
    ``source[start + i + k * step]``.

    Parameters
    ----------
    source : (n,) ndarray of float64
        It reaches `step` times the radius beyond both ends of what is correlated.
    start, step : int
        The element that ``out[0]`` belongs to, and the distance between the elements that are weighed: the channels
        along a row, or the length of a row down the columns.
    weights : (radius + 1,) ndarray of float64
    inwards : bool
        Whether pairs are added from the outermost one to the nearest one, as SciPy does, or the other way round.
    out : (m,) ndarray of float64
        It shares no memory with `source`.
    """
    radius = weights.size - 1
    for first in range(0, out.size, _AT_ONCE):
        sums = out[first : first + _AT_ONCE]
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
    """Return how many rows are read at a time.

    Together with the rows within the radius they stay in a cache, however large the image is.
    """
    return min(height, max(2 * radius, _LEAST_ROWS))
