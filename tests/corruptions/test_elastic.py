"""Elastic transform: against a slow reading of the definition with SciPy's filter and interpolation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, map_coordinates

import corruptset
from corruptset.corruptions.digital.fields import smooth, smoother
from corruptset.errors import ParameterError
from pictures import painted, photograph

ROWS = {
    224: [(488, 170.8, 24.4), (488, 19.52, 48.8), (12.2, 2.44, 4.88), (17.08, 2.44, 4.88), (29.28, 2.44, 4.88)],
    32: [(0, 0, 2.56), (1.6, 6.4, 2.24), (2.56, 1.92, 1.92), (3.2, 1.28, 1.6), (3.2, 0.96, 0.96)],
}
CALIBRATION = {224: "imagenet", 32: "cifar"}


def drawn(height: int, width: int, seed: int = 5) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "points": rng.uniform(-1, 1, (3, 2)),
        "field_x": rng.uniform(-1, 1, (height, width)),
        "field_y": rng.uniform(-1, 1, (height, width)),
    }


def slow(image, alpha, sigma, affine, points, field_x, field_y, coordinates=32):
    """Sampled at 1/`coordinates` pixel in the affine step; 0 for exact coordinates."""
    height, width, channels = image.shape
    side = min(height, width) // 3
    cx, cy = width // 2, height // 2
    before = np.float32([[cx + side, cy + side], [cx + side, cy - side], [cx - side, cy - side]])
    after = before + (points * affine).astype(np.float32)
    forward = np.linalg.solve(np.c_[before, np.ones(3)].astype(float), after.astype(float)).T
    back = np.linalg.inv(np.r_[forward, [[0, 0, 1]]])
    y, x = np.mgrid[:height, :width]
    sx = back[0, 0] * x + back[0, 1] * y + back[0, 2]
    sy = back[1, 0] * x + back[1, 1] * y + back[1, 2]
    if coordinates:
        sx, sy = np.floor(sx * coordinates + 0.5) / coordinates, np.floor(sy * coordinates + 0.5) / coordinates
    units = np.float32(image) / np.float32(255)
    moved = np.stack([map_coordinates(units[..., c], (sy, sx), order=1, mode="mirror") for c in range(channels)], -1)
    dx, dy = (
        (gaussian_filter(f, sigma, mode="reflect", truncate=3) * alpha).astype(np.float32) for f in (field_x, field_y)
    )
    out = np.stack(
        [map_coordinates(moved[..., c], (y + dy, x + dx), order=1, mode="reflect") for c in range(channels)], -1
    )
    return np.uint8(np.clip(out, 0, 1) * 255)


@pytest.mark.parametrize("size", [224, 32])
def test_equals_the_slow_definition(size):
    image = np.ascontiguousarray(photograph("chelsea", size)[:100, :120])
    for severity, row in enumerate(ROWS[size], 1):
        given = drawn(*image.shape[:2], severity)
        got = corruptset.corrupt(image, "elastic_transform", severity=severity, calibration=CALIBRATION[size], **given)
        want = slow(image, *row, **given)
        difference = np.abs(got.astype(int) - want)
        # The slow one rounds a coordinate once, OpenCV's sums of 1/1024 twice: a few samples lie 1/32 pixel apart.
        assert np.mean(difference == 0) > 0.95
        assert np.mean(difference <= 1) > 0.99
        assert np.mean(got == slow(image, *row, **given, coordinates=0)) > 0.7


@pytest.mark.parametrize("shape", [(8, 8, 3), (9, 31, 3), (31, 9, 1), (60, 90, 3)])
def test_any_size(shape):
    image = painted(*shape)
    given = drawn(*shape[:2])
    for row in ((3.0, 2.0, 1.5), (60.0, 9.0, 1.0), (4.0, 0.0, 0.0)):
        got = corruptset.corrupt(image, "elastic_transform", alpha=row[0], sigma=row[1], affine=row[2], **given)
        difference = np.abs(got.astype(int) - slow(image, *row, **given))
        assert np.mean(difference <= 1) > 0.97, row


@pytest.mark.parametrize(
    ("shape", "sigma"),
    [
        ((224, 224), 170.8),
        ((224, 224), 19.52),
        ((40, 50), 2.44),
        ((31, 9), 8.1),
        ((9, 31), 30.0),
        ((8, 9), 170.8),
        ((500, 130), 9.0),
        ((64, 70), 0.1),
    ],
)
def test_fields_are_smoothed_as_scipy_does(shape, sigma):
    field = np.random.default_rng(3).uniform(-1, 1, shape)
    want = gaussian_filter(field, sigma, mode="reflect", truncate=3)
    got = smooth(field[None], smoother(*shape, sigma))[0]
    assert np.abs(got - want).max() < 1e-6 * max(1.0, 20.0 / sigma)


def test_nothing_moves_without_alpha_and_affine():
    image = painted(20, 30)
    np.testing.assert_array_equal(
        corruptset.corrupt(image, "elastic_transform", alpha=0.0, sigma=3.0, affine=0.0), image
    )


def test_the_affine_map_moves_the_corners_where_points_say():
    image = np.zeros((90, 90), np.uint8)
    image[15 - 1 : 15 + 2, 75 - 1 : 75 + 2] = 255  # the upper right corner of the square: centre 45, side 30
    points = np.array([[0.0, 0.0], [0.5, 1.0], [0.0, 0.0]])
    got = corruptset.corrupt(image, "elastic_transform", alpha=0.0, sigma=0.0, affine=10.0, points=points)
    assert got[25, 80] == 255
    assert got[15, 75] == 0


def test_each_draw_given_leaves_the_others():
    image = painted(40, 44)
    drawn_one = corruptset.corrupt(image, "elastic_transform", alpha=9.0, sigma=2.0, affine=3.0)
    still = np.zeros((40, 44))
    for name in ("field_x", "field_y"):
        part = corruptset.corrupt(image, "elastic_transform", alpha=9.0, sigma=2.0, affine=3.0, **{name: still})
        assert (part != drawn_one).any()
        nothing = corruptset.corrupt(
            image, "elastic_transform", alpha=9.0, sigma=2.0, affine=3.0, field_x=still, field_y=still
        )
        assert (part != nothing).any()


def test_values_nobody_would_want_do_not_crash():
    image = painted(9, 14)
    for row in ((1e6, 0.0, 0.0), (1e6, 1e4, 1e6), (0.0, 0.0, 1e6), (1e6, 8.5, 30.0)):
        assert (
            corruptset.corrupt(image, "elastic_transform", alpha=row[0], sigma=row[1], affine=row[2]).shape
            == image.shape
        )
    flat = corruptset.corrupt(
        image, "elastic_transform", alpha=0.0, sigma=0.0, affine=6.0, points=np.array([[-1, -1], [-1, 0], [0, 0.0]])
    )
    assert flat.shape == image.shape
    with pytest.raises(ParameterError, match="points"):
        corruptset.corrupt(image, "elastic_transform", severity=1, points=np.zeros((2, 3)))


@pytest.mark.ci
def test_distortion_is_the_published_one():
    """Mean PSNR over the eight reference photographs of the released generators, 224 pixels, severities 1 to 5."""
    for severity, psnr in enumerate((15.33, 14.00, 20.04, 19.86, 19.33), 1):
        found = []
        for name in ("astronaut", "coffee", "chelsea", "rocket", "hubble_deep_field", "retina"):
            for seed in range(4):
                image = photograph(name)
                got = corruptset.corrupt(image, "elastic_transform", severity=severity, seed=seed, key=name)
                found.append(10 * np.log10(255**2 / np.mean((image.astype(float) - got) ** 2)))
        assert abs(np.mean(found) - psnr) < 2.0
