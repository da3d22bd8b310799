"""Compute sines, arctangents and powers with code that vectorises and gives equal results on all machines.

The functions are polynomials that use only + - * /. Their error is about 1e-12. The functions in `arithmetic` round
correctly, but they are a hundred times slower. This is too slow for fields that are evaluated at every pixel. Angles
are given in turns, so that whole turns can be subtracted exactly. The coefficients come from Chebyshev interpolation.
"""

import numpy as np

from corruptset.corruptions.kernels import inlined

TURNS = 0.15915494309189535
"""One radian in turns."""
_ROUND = 6755399441055744.0  # This is 1.5 * 2**52. Adding it rounds a number to an integer.
_ROUND_SINGLE, _HALF_SINGLE = np.float32(12582912.0), np.float32(0.5)
_ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
# These are the coefficients of polynomials, from the highest degree to the lowest.
_SINE = (
    3.665921746239467, -15.081496578095564, 42.05813588586463, -76.70584757970379,
    81.6052491496028, -41.34170223990727, 6.283185307179273,
)  # fmt: skip
_ROUGH_SINE = tuple(
    np.float32(term)
    for term in (39.75982708744148, -76.58117264453763, 81.60247636893608, -41.341680613346696, 6.283185280154406)
)
_ARCTANGENT = (
    6.672228923341607e-05, -0.0005085683286933345, 0.0018187658854371773, -0.0041389851205196745, 0.006946572628544215,
    -0.009584624581082024, 0.011929081131243852, -0.014402215989864669, 0.017674644636795717, -0.02273564268995384,
    0.031830954139541186, -0.05305164708984464, 0.15915494309010295,
)  # fmt: skip
_LOGARITHM = (
    0.2828931264457299, 0.3199061900837562, 0.4122092403463017, 0.577077942489318, 0.9617966941127938,
    2.8853900817778513
)  # fmt: skip
_EXPONENTIAL = (
    1.0205351754684491e-07, 1.325969688076903e-06, 1.5252677283735056e-05, 0.00015403433546737078,
    0.0013333558189902418,
    0.009618129194169324, 0.055504108664752055, 0.2402265069563951, 0.6931471805599434, 1.0000000000000135,
)  # fmt: skip


@inlined
def along(line):  # type: ignore[no-untyped-def]
    """Return the indices of an array as unsigned integers, which need no check for negative values."""
    return range(np.uint64(line.size))


@inlined
def real(x):  # type: ignore[no-untyped-def]
    """Convert an index to a double. It is converted from 32 bits, because processors vectorise this conversion."""
    return np.float64(np.int32(x))


@inlined
def nearest(x):  # type: ignore[no-untyped-def]
    """Return the integer that is nearest to a double below 2**51. Halves are rounded to even."""
    return (x + _ROUND) - _ROUND


@inlined
def _polynomial(x, terms):  # type: ignore[no-untyped-def]
    total = terms[0]
    for term in terms[1:]:
        total = term + x * total
    return total


@inlined
def _sine_cosine(turns, half, whole, terms):  # type: ignore[no-untyped-def]
    t = turns - ((turns + whole) - whole)
    s, c = max(min(t, half - t), -half - t), half * half - abs(t)
    return s * _polynomial(s * s, terms), c * _polynomial(c * c, terms)


@inlined
def rough_sine_cosine(turns):  # type: ignore[no-untyped-def]
    """Return the sine and the cosine of an angle in turns, computed in single precision with an error of 2e-7."""
    return _sine_cosine(turns, _HALF_SINGLE, _ROUND_SINGLE, _ROUGH_SINE)


@inlined
def sine_cosine(turns):  # type: ignore[no-untyped-def]
    """Return the sine and the cosine of an angle in turns."""
    return _sine_cosine(turns, 0.5, _ROUND, _SINE)


@inlined
def single_sine_cosine(turns):  # type: ignore[no-untyped-def]
    """Return the sine and the cosine of an angle in turns, rounded to single precision."""
    s, c = sine_cosine(turns)
    return np.float32(s), np.float32(c)


@inlined
def sine(turns):  # type: ignore[no-untyped-def]
    """Return the sine of an angle in turns."""
    return sine_cosine(turns)[0]


@inlined
def cosine(turns):  # type: ignore[no-untyped-def]
    """Return the cosine of an angle in turns."""
    return sine_cosine(turns)[1]


@inlined
def arctangent(y, x):  # type: ignore[no-untyped-def]
    """Return the angle of the point (x, y), from -1/2 to 1/2 turn. The angle of the origin is 0."""
    a, b = abs(y), abs(x)
    q = min(a, b) / max(a, b, 1e-300)
    r = _polynomial(q * q, _ARCTANGENT) * q
    r = 0.25 - r if a > b else r
    r = 0.5 - r if x < 0.0 else r
    return -r if y < 0.0 else r


@inlined
def power(base, exponent):  # type: ignore[no-untyped-def]
    """Return a power of a positive double, limited to 2**-1000 to 2**1000, with a relative error of about 1e-13."""
    bits = np.float64(base).view(np.int64)
    e = (bits - _ROOT_HALF) >> 52
    m = np.int64(bits - (e << 52)).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    v = min(max((real(e) + s * _polynomial(s * s, _LOGARITHM)) * exponent, -1000.0), 1000.0)
    k = nearest(v)
    return _polynomial(v - k, _EXPONENTIAL) * np.int64((np.int64(np.int32(k)) + 1023) << 52).view(np.float64)
