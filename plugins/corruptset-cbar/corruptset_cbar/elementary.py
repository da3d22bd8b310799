"""Sine, arctangent and powers of doubles that vectorise, and are the same on every machine: polynomials of + - * / only.

They are good to about 1e-12, where `arithmetic` rounds correctly at a hundred times the cost: for fields of which every pixel asks.
Angles are in turns, so that a reduction by whole turns is exact. The coefficients are Chebyshev interpolations.
"""

import numpy as np

from corruptset.corruptions.kernels import inlined

TURNS = 0.15915494309189535
"""One radian in turns."""
_ROUND = 6755399441055744.0  # 1.5 * 2**52: what is added to it loses its fraction
_ROOT_HALF = np.int64(0x3FE6A09E667F3BCD)  # the bits of sqrt(1/2)
_R0, _R1, _R2, _R3, _R4 = (
    np.float32(c) for c in (6.283185280154406, -41.341680613346696, 81.60247636893608, -76.58117264453763, 39.75982708744148)
)
_ROUND_SINGLE, _HALF, _QUARTER = np.float32(12582912.0), np.float32(0.5), np.float32(0.25)
_52 = np.int64(52)
_BIAS = np.int64(1023)


@inlined
def along(line):  # type: ignore[no-untyped-def]
    """Return the places of an array, without a sign: with one, each would be checked for counting from the end."""
    return range(np.uint64(line.size))


@inlined
def nearest(x):  # type: ignore[no-untyped-def]
    """Return the whole number nearest to a double below 2**51, halves to even."""
    return (x + _ROUND) - _ROUND


@inlined
def _quarter_sine(w):  # type: ignore[no-untyped-def]
    """Return the sine of -1/4 .. 1/4 turn."""
    u = w * w
    s = -15.081496578095564 + u * 3.665921746239467
    s = -76.70584757970379 + u * (42.05813588586463 + u * s)
    return w * (6.283185307179273 + u * (-41.34170223990727 + u * (81.6052491496028 + u * s)))


@inlined
def _rough_quarter(w):  # type: ignore[no-untyped-def]
    """Return the sine of -1/4 .. 1/4 turn in single precision."""
    u = w * w
    return w * (_R0 + u * (_R1 + u * (_R2 + u * (_R3 + u * _R4))))


@inlined
def rough_sine_cosine(turns):  # type: ignore[no-untyped-def]
    """Return the sine and the cosine of an angle in turns, all in single precision, good to 2e-7."""
    t = turns - ((turns + _ROUND_SINGLE) - _ROUND_SINGLE)
    return _rough_quarter(max(min(t, _HALF - t), -_HALF - t)), _rough_quarter(_QUARTER - abs(t))


@inlined
def sine(turns):  # type: ignore[no-untyped-def]
    """Return the sine of an angle in turns."""
    t = turns - nearest(turns)
    return _quarter_sine(max(min(t, 0.5 - t), -0.5 - t))


@inlined
def cosine(turns):  # type: ignore[no-untyped-def]
    """Return the cosine of an angle in turns."""
    return _quarter_sine(0.25 - abs(turns - nearest(turns)))


@inlined
def arctangent(y, x):  # type: ignore[no-untyped-def]
    """Return the angle of the point (x, y), -1/2 .. 1/2 turn; 0 for the origin."""
    a, b = abs(y), abs(x)
    q = min(a, b) / max(max(a, b), 1e-300)
    u = q * q
    p = 0.0018187658854371773 + u * (-0.0005085683286933345 + u * 6.672228923341607e-05)
    p = -0.009584624581082024 + u * (0.006946572628544215 + u * (-0.0041389851205196745 + u * p))
    p = 0.017674644636795717 + u * (-0.014402215989864669 + u * (0.011929081131243852 + u * p))
    p = 0.15915494309010295 + u * (-0.05305164708984464 + u * (0.031830954139541186 + u * (-0.02273564268995384 + u * p)))
    r = p * q
    r = 0.25 - r if a > b else r
    r = 0.5 - r if x < 0.0 else r
    return -r if y < 0.0 else r


@inlined
def power(base, exponent):  # type: ignore[no-untyped-def]
    """Return a positive double to a power, good to about 1e-13 of it; the result lies between 2**-1000 and 2**1000."""
    bits = np.float64(base).view(np.int64)
    e = np.int64((bits - _ROOT_HALF) >> _52)
    m = np.int64(bits - (e << _52)).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    u = s * s
    p = 0.577077942489318 + u * (0.4122092403463017 + u * (0.3199061900837562 + u * 0.2828931264457299))
    # through 32 bits, which processors convert many at a time
    v = (np.float64(np.int32(e)) + s * (2.8853900817778513 + u * (0.9617966941127938 + u * p))) * exponent
    v = min(max(v, -1000.0), 1000.0)
    k = nearest(v)
    f = v - k
    p = 1.5252677283735056e-05 + f * (1.325969688076903e-06 + f * 1.0205351754684491e-07)
    p = 0.009618129194169324 + f * (0.0013333558189902418 + f * (0.00015403433546737078 + f * p))
    p = 1.0000000000000135 + f * (0.6931471805599434 + f * (0.2402265069563951 + f * (0.055504108664752055 + f * p)))
    return p * np.int64((np.int64(np.int32(k)) + _BIAS) << _52).view(np.float64)
