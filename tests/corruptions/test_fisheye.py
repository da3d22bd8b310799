"""Fisheye: against a slow reading of its definition, against recorded ImageMagick outputs, and what a lens must do."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest

import corruptset
from corruptset.corruptions.calibrations import shipped
from corruptset.errors import ParameterError
from pictures import painted

ROWS = [(0.0, 0.03, 0.03), (0.05, 0.05, 0.05), (0.1, 0.1, 0.1), (0.2, 0.2, 0.2), (0.1, 0.3, 0.6)]


def slow(image: np.ndarray, cubic: float, quadratic: float, linear: float) -> np.ndarray:
    """The definition, a pixel at a time."""
    height, width, _ = image.shape
    half = min(height, width) / 2
    out = np.empty_like(image)
    for y in range(height):
        for x in range(width):
            dx, dy = x + 0.5 - width / 2, y + 0.5 - height / 2
            r = math.sqrt(dx**2 + dy**2) / half
            factor = cubic * r**3 + quadratic * r**2 + linear * r + 1 - cubic - quadratic - linear
            sx = min(max(dx * factor + width / 2 - 0.5, 0), width - 1)
            sy = min(max(dy * factor + height / 2 - 0.5, 0), height - 1)
            left, upper = min(int(sx), width - 2), min(int(sy), height - 2)
            u, v = sx - left, sy - upper
            four = image[upper : upper + 2, left : left + 2].astype(np.float64)
            value = (1 - v) * ((1 - u) * four[0, 0] + u * four[0, 1]) + v * ((1 - u) * four[1, 0] + u * four[1, 1])
            out[y, x] = np.floor(257 * value + 0.5) // 257
    return out


def fisheye(image: np.ndarray, coefficients: tuple[float, float, float]) -> np.ndarray:
    return corruptset.corrupt(
        image, "fisheye", **dict(zip(("cubic", "quadratic", "linear"), coefficients, strict=True))
    )


@pytest.mark.parametrize("coefficients", [*ROWS, (-0.3, 0.2, -0.5), (2.0, 2.0, 2.0), (0.0, -2.0, 0.0)])
@pytest.mark.parametrize("shape", [(8, 8, 3), (8, 31, 1), (40, 23, 3), (9, 700, 1)])
def test_equals_the_definition(shape: tuple[int, int, int], coefficients: tuple[float, float, float]) -> None:
    images = np.stack([painted(*shape, which=which) for which in range(2)])
    out = fisheye(images, coefficients)
    for image, got in zip(images, out, strict=True):
        assert (got == slow(image, *coefficients)).all()


# sha256 of what ImageMagick 6.9.11-60 Q16 makes with -filter point -interpolate bilinear -virtual-pixel edge -distort
# barrel, in 8 bits
RECORDED = {
    ((61, 83, 3), (0.05, 0.05, 0.05)): "b714b7c40d492d54c283424e0ad34bc2f4ba3b3afd247e9ab961a66d424a638a",
    ((61, 83, 3), (0.1, 0.3, 0.6)): "e62fa9dc30a5c09487c4b0662a3ab2b0a95b7247d1d9844b588d77669448ecd8",
    ((61, 83, 3), (-0.3, 0.2, -0.5)): "3343bc294b62327b1ab0dfafd1c1a5cc64d4bc7c6747c9e9fef51efcaa993df5",
    ((45, 37, 1), (0.05, 0.05, 0.05)): "91af68f6f301e6867496dc8ff3af5bf0153ccd26da94fb31d7a2ec7a78749235",
    ((45, 37, 1), (0.1, 0.3, 0.6)): "344ff19e2b81063d0165b437a0e51c618d9370b33fc54e68b0a68c45a3afd1ee",
    ((45, 37, 1), (-0.3, 0.2, -0.5)): "8206c9d588e816f9294722f059fd751be397cbe06b011791faa73108587654fd",
}


@pytest.mark.parametrize(("shape", "coefficients"), RECORDED)
def test_equals_recorded_imagemagick_outputs(
    shape: tuple[int, int, int], coefficients: tuple[float, float, float]
) -> None:
    out = fisheye(painted(*shape), coefficients)
    assert hashlib.sha256(out.tobytes()).hexdigest() == RECORDED[shape, coefficients]


def test_the_rows_are_the_released_generators() -> None:
    rows = shipped("imagenet").rows["fisheye"]
    assert [tuple(rows[s].parameters[c] for c in ("cubic", "quadratic", "linear")) for s in range(1, 6)] == ROWS
    assert {row.source.partition(",")[0] for row in rows.values()} == {"Released generator of that preprint"}


def test_without_a_factor_nothing_moves_and_flat_images_stay_flat() -> None:
    image = painted(33, 50)
    assert (fisheye(image, (0.0, 0.0, 0.0)) == image).all()
    for level in (0, 1, 127, 255):
        flat = np.full((40, 24, 3), level, np.uint8)
        assert (fisheye(flat, (0.1, 0.3, 0.6)) == flat).all()


def test_the_middle_grows_and_the_picture_stays_symmetric() -> None:
    disc = np.hypot(*(np.mgrid[:101, :101] - 50)) < 20
    image = np.where(disc, 255, 0).astype(np.uint8)[..., None]
    areas = [
        int((corruptset.corrupt(image, "fisheye", severity=s, calibration="imagenet") > 127).sum()) for s in range(1, 6)
    ]
    assert areas == sorted(areas)
    assert disc.sum() < areas[0]
    assert areas[4] > 2 * disc.sum()
    out = corruptset.corrupt(image, "fisheye", severity=3, calibration="imagenet")
    assert (out == out[::-1]).all()
    assert (out == out[:, ::-1]).all()
    assert (out == out.transpose(1, 0, 2)).all()


def test_what_is_no_coefficient_is_refused() -> None:
    with pytest.raises(ParameterError, match="cubic"):
        fisheye(painted(16, 16), (2.1, 0.0, 0.0))
    with pytest.raises(ParameterError, match="linear"):
        corruptset.corrupt(painted(16, 16), "fisheye", cubic=0, quadratic=0, linear=float("nan"))
