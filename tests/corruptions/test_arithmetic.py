"""exp, sine, cosine and the hypotenuse against values worked out in decimal arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from corruptset.corruptions.arithmetic import (
    double_over_255,
    exact_exp,
    gaussian_weights,
    hypotenuse,
    over_255,
    sine_cosine,
)
from corruptset.corruptions.kernels import kernel

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")


@kernel
def _sines_cosines(x):  # type: ignore[no-untyped-def]
    out = np.empty((x.size, 2))
    for i in range(x.size):
        out[i, 0], out[i, 1] = sine_cosine(x[i])
    return out


@kernel
def _hypotenuses(x, y):  # type: ignore[no-untyped-def]
    out = np.empty(x.size)
    for i in range(x.size):
        out[i] = hypotenuse(x[i], y[i])
    return out


@kernel
def _over_255(levels):  # type: ignore[no-untyped-def]
    out = np.empty(levels.size, np.float32)
    for i in range(levels.size):
        out[i] = over_255(levels[i])
    return out


def test_a_byte_over_255_is_the_quotient_rounded_once():
    levels = np.arange(256, dtype=np.uint8)
    np.testing.assert_array_equal(_over_255(levels), levels.astype(np.float32) / np.float32(255.0))


@kernel
def _double_over_255(levels):  # type: ignore[no-untyped-def]
    out = np.empty(levels.size)
    for i in range(levels.size):
        out[i] = double_over_255(levels[i])
    return out


def test_and_so_it_is_in_doubles():
    levels = np.arange(256, dtype=np.uint8)
    np.testing.assert_array_equal(_double_over_255(levels), levels / 255.0)


def _series(x: Decimal, first: int) -> Decimal:
    term = x if first else Decimal(1)
    total, k = term, first
    while abs(term) > Decimal(10) ** -75:
        term = -term * x * x / ((k + 1) * (k + 2))
        total, k = total + term, k + 2
    return total


def _exact(x: float) -> tuple[float, float]:
    with localcontext() as context:
        context.prec = 85
        r = Decimal(x) % (2 * PI)
        return float(_series(r, 1)), float(_series(r, 0))


def _points() -> np.ndarray:
    rng = np.random.default_rng(20)
    degrees = np.concatenate([np.arange(-720.0, 721.0, 7.5), [45, 30, 60, 53.13010235415598, 1e-9, 1e-160, -0.0]])
    near_turns = np.array([k * (math.pi / 2) for k in range(-40, 41)])
    return np.concatenate(
        [math.pi * degrees / 180, near_turns, rng.uniform(-math.pi, math.pi, 600), rng.uniform(-4000, 4000, 200)]
    )


def test_sine_and_cosine_are_correctly_rounded() -> None:
    x = _points()
    got = _sines_cosines(x)
    want = np.array([_exact(float(v)) for v in x])
    wrong = (got != want).any(axis=1)
    assert not wrong.any(), list(zip(x[wrong], got[wrong], want[wrong], strict=True))[:5]


def test_sine_and_cosine_agree_with_libm_but_for_its_last_bit() -> None:
    x = np.random.default_rng(21).uniform(-10, 10, 20_000)
    got = _sines_cosines(x)
    libm = np.array([(math.sin(v), math.cos(v)) for v in x])
    assert (np.abs(got - libm) <= np.spacing(np.abs(libm))).all()
    assert (got == libm).mean() > 0.99


def test_hypotenuse_is_correctly_rounded() -> None:
    rng = np.random.default_rng(22)
    x, y = rng.uniform(-50, 50, 3000), rng.uniform(-50, 50, 3000) * 10.0 ** rng.integers(-18, 1, 3000)
    x[:3], y[:3] = (3, 0, 0), (4, 7, 0)
    got = _hypotenuses(x, y)
    with localcontext() as context:
        context.prec = 80
        want = [
            float((Decimal(a) * Decimal(a) + Decimal(b) * Decimal(b)).sqrt())
            for a, b in zip(x.tolist(), y.tolist(), strict=True)
        ]
    assert got.tolist() == want


@pytest.mark.parametrize(
    ("x", "want"), [(0.0, 1.0), (1.0, 2.718281828459045), (-0.5, 0.6065306597126334), (-5000.0, 0.0)]
)
def test_exp(x: float, want: float) -> None:
    assert exact_exp(x) == want


def test_gaussian_weights_are_symmetric_read_only_and_sum_to_one() -> None:
    weights = gaussian_weights(1.5, 6)
    assert weights.shape == (13,)
    assert (weights == weights[::-1]).all()
    assert abs(math.fsum(weights) - 1) < 1e-15
    assert weights[6] / weights[7] == pytest.approx(math.exp(1 / 4.5), rel=1e-14)
    with pytest.raises(ValueError, match="read-only"):
        weights[0] = 1
