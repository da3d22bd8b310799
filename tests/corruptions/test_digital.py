"""Contrast, brightness, saturate, pixelate, JPEG and elastic transform, against other libraries."""

from __future__ import annotations

from io import BytesIO

import cv2
import numpy as np
import pytest
from measures import check_near
from PIL import Image
from scipy.ndimage import gaussian_filter, map_coordinates
from skimage.color import hsv2rgb, rgb2hsv
from specification import plain

import corruptset
from corruptset.corruptions.calibrations import shipped
from corruptset.corruptions.digital.displacement import displace
from corruptset.corruptions.digital.fields import smooth, smoother
from corruptset.errors import ImageError, ParameterError
from pictures import painted, photograph

SIZES = {"imagenet": 224, "cifar": 32}


def severities(name):
    """Return calibration, side, severity and parameters of every row at 224 and at 32."""
    rows = [(c, side, shipped(c).rows[name]) for c, side in SIZES.items()]
    return [(c, side, severity, row.parameters) for c, side, table in rows for severity, row in table.items()]


def test_contrast_and_brightness_are_the_specification_at_any_size():
    for shape in ((8, 8, 3), (9, 31, 1), (24, 30, 3), (31, 23, 1)):
        image = painted(*shape)
        for factor in (0.0, 0.35, 1.0, 3.0):
            want = plain.contrast(image.tolist(), 0, "", factor=factor)
            np.testing.assert_array_equal(corruptset.corrupt(image, "contrast", factor=factor), want)
        for shift in (0.05, 0.3, -0.25, 1.0):
            want = plain.brightness(image.tolist(), 0, "", shift=shift)
            np.testing.assert_array_equal(corruptset.corrupt(image, "brightness", shift=shift), want)


def test_contrast_is_about_each_channels_own_mean():
    for calibration, side, severity, row in severities("contrast"):
        x = photograph("coffee", side) / 255.0
        means = x.mean(axis=(0, 1), keepdims=True)
        want = np.clip((x - means) * row["factor"] + means, 0, 1) * 255
        got = corruptset.corrupt(photograph("coffee", side), "contrast", severity=severity, calibration=calibration)
        check_near(got, want.astype(np.uint8), 0.999)
    image = np.zeros((8, 8, 3), np.uint8)
    image[:4, :, 0], image[:, :, 1], image[:4, :, 2], image[4:, :, 2] = 200, 77, 10, 11
    assert (corruptset.corrupt(image, "contrast", factor=0.0) == (100, 77, 10)).all(), "a mean is floored, not rounded"


def test_brightness_is_hsv_and_back():
    """Over every pair of greatest and least channel too.

    The published path's rounding decides where a level is whole.
    """
    most, least = np.maximum(*np.mgrid[:256, :256]), np.minimum(*np.mgrid[:256, :256])
    for image in (photograph("astronaut"), np.stack([most, least, least], -1).astype(np.uint8)):
        for shift in (0.05, 0.1, 0.3, 0.5, -0.25, 1.0):
            hsv = rgb2hsv(image / 255.0)
            hsv[..., 2] = np.clip(hsv[..., 2] + shift, 0, 1)
            want = np.floor(np.clip(hsv2rgb(hsv), 0, 1) * 255)
            got = corruptset.corrupt(image, "brightness", shift=shift)
            check_near(got, want, 0.99, what=shift)
            np.testing.assert_array_equal(
                corruptset.corrupt(image[..., ::-1], "brightness", shift=shift), got[..., ::-1]
            )
    grey = painted(24, 40, 1)
    colour = corruptset.corrupt(np.repeat(grey, 3, axis=2), "brightness", shift=0.3)
    np.testing.assert_array_equal(np.repeat(corruptset.corrupt(grey, "brightness", shift=0.3), 3, axis=2), colour)


def test_saturate_is_hsv_and_back():
    for calibration, side, severity, row in severities("saturate"):
        for name in ("astronaut", "retina"):
            image = photograph(name, side)
            hsv = rgb2hsv(image / 255.0)
            hsv[..., 1] = np.clip(hsv[..., 1] * row["gain"] + row["shift"], 0, 1)
            exact = np.clip(hsv2rgb(hsv), 0, 1) * 255
            got = corruptset.corrupt(image, "saturate", severity=severity, calibration=calibration)
            # floored, where rounding noise of the way through HSV does not decide
            decided = np.abs(exact - np.rint(exact)) > 1e-6
            np.testing.assert_array_equal(got[decided], np.uint8(exact)[decided])
            assert np.abs(got - exact)[~decided].max(initial=0) < 1e-5
    image = photograph("coffee")
    np.testing.assert_array_equal(corruptset.corrupt(image, "saturate", gain=1.0, shift=0.0), image)
    value = np.repeat(image.max(2, keepdims=True), 3, 2)
    np.testing.assert_array_equal(corruptset.corrupt(image, "saturate", gain=0.0, shift=0.0), value)
    # grey pixels of a colour image are tinted red by a shift; grey images are copied
    levels = np.repeat(np.arange(64, dtype=np.uint8).reshape(8, 8, 1) * 4, 3, axis=2)
    tinted = corruptset.corrupt(levels, "saturate", gain=20.0, shift=0.2)
    np.testing.assert_array_equal(tinted[..., 0], levels[..., 0])
    np.testing.assert_array_equal(tinted[..., 1:], np.floor(levels[..., 1:] * 0.8 + 1e-6))
    np.testing.assert_array_equal(
        corruptset.corrupt(levels[..., :1], "saturate", gain=20.0, shift=0.2), levels[..., :1]
    )


def test_pixelate_is_pillows_box_filter_and_the_specification():
    rng = np.random.default_rng(11)
    images = [rng.integers(0, 256, (*rng.integers(8, 130, 2), rng.choice([1, 3])), np.uint8) for _ in range(120)]
    cases = [(image, float(rng.choice([rng.uniform(0, 1), 1.0, 0.5, 1 / 3, 0.0]))) for image in images]
    cases += [(photograph("coffee", side), row["fraction"]) for _, side, _, row in severities("pixelate")] + [
        (painted(700, 431), 0.37)
    ]
    for image, fraction in cases:
        height, width = image.shape[:2]
        picture = Image.fromarray(image if image.shape[-1] == 3 else image[..., 0])
        # in two steps: newer Pillows shrink tall pictures columns first, which rounds otherwise
        small = picture.resize((max(int(width * fraction), 1), height), Image.Resampling.BOX)
        small = small.resize((small.width, max(int(height * fraction), 1)), Image.Resampling.BOX)
        want = np.asarray(small.resize((width, height), Image.Resampling.BOX)).reshape(image.shape)
        got = corruptset.corrupt(image, "pixelate", fraction=fraction)
        np.testing.assert_array_equal(got, want, f"{image.shape} {fraction}")
        if image.size < 3000:
            np.testing.assert_array_equal(got, plain.pixelate(image.tolist(), 0, "", fraction=fraction))


# --- JPEG -----------------------------------------------------------------------------------------------------------


def by_pillow(image, quality):
    buffer = BytesIO()
    Image.fromarray(image if image.shape[-1] == 3 else image[..., 0]).save(buffer, "JPEG", quality=quality)
    return np.asarray(Image.open(buffer)).reshape(image.shape)


def test_jpeg_compression_is_pillows_and_opencvs():
    rng = np.random.default_rng(23)
    cases = [
        (painted(*shape), q) for shape in ((8, 8, 3), (9, 31, 1), (31, 9, 3), (224, 300, 3)) for q in (1, 30, 75, 100)
    ]
    cases += [(photograph("astronaut", side), row["quality"]) for _, side, _, row in severities("jpeg_compression")]
    for number in range(240):
        height, width = (int(side) for side in rng.integers(8, 70, 2))
        channels, quality = int(rng.choice([1, 3])), int(rng.integers(1, 101))
        noise = rng.integers(0, 256, (height, width, channels))
        tiles = rng.integers(0, 256, (height // 4 + 1, width // 4 + 1, channels))
        patches = np.kron(tiles, np.ones((4, 4, 1), int))[:height, :width]
        cases.append(((noise, 255 * (noise > 127), patches)[number % 3].astype(np.uint8), quality))
    for image, quality in cases:
        got = corruptset.corrupt(image, "jpeg_compression", quality=quality)
        np.testing.assert_array_equal(got, by_pillow(image, quality), f"{image.shape} {quality}")
    encoded = cv2.imencode(".jpg", photograph("coffee")[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 7])[1]
    got = corruptset.corrupt(photograph("coffee"), "jpeg_compression", quality=7)
    np.testing.assert_array_equal(got, cv2.imdecode(encoded, cv2.IMREAD_COLOR)[..., ::-1])
    with pytest.raises(ImageError, match="65500"):
        corruptset.corrupt(np.zeros((8, 65501), np.uint8), "jpeg_compression", quality=50)


# --- elastic transform ----------------------------------------------------------------------------------------------


def drawn(height, width, seed=5):
    rng = np.random.default_rng(seed)
    fields = {"field_x": rng.uniform(-1, 1, (height, width)), "field_y": rng.uniform(-1, 1, (height, width))}
    return {"points": rng.uniform(-1, 1, (3, 2))} | fields


def moved(image, alpha, sigma, affine, points, field_x, field_y, *, black=False):
    """The definition with SciPy's filter and interpolation.

    The affine map reads at multiples of 1/32 pixel.
    """
    height, width, channels = image.shape
    side = min(height, width) // 3
    cx, cy = width // 2, height // 2
    before = np.float32([[cx + side, cy + side], [cx + side, cy - side], [cx - side, cy - side]])
    after = before + (points * affine).astype(np.float32)
    forward = np.linalg.solve(np.c_[before, np.ones(3)].astype(float), after.astype(float)).T
    back = np.linalg.inv(np.r_[forward, [[0, 0, 1]]])
    y, x = np.mgrid[:height, :width]
    sx, sy = (np.floor((row[0] * x + row[1] * y + row[2]) * 32 + 0.5) / 32 for row in back[:2])
    units = np.float32(image) / np.float32(255)
    first, second = ("constant", "constant") if black else ("mirror", "reflect")
    turned = np.stack([map_coordinates(units[..., c], (sy, sx), order=1, mode=first) for c in range(channels)], -1)
    dx, dy = (
        (gaussian_filter(f, sigma, mode="reflect", truncate=3) * alpha).astype(np.float32) for f in (field_x, field_y)
    )
    out = np.stack(
        [map_coordinates(turned[..., c], (y + dy, x + dx), order=1, mode=second) for c in range(channels)], -1
    )
    return np.clip(out, 0, 1) * 255


def test_elastic_transform_is_its_definition():
    """It rounds a coordinate once; OpenCV's sums of 1/1024, as published, twice.

    A few samples lie 1/32 pixel apart.
    """
    image = np.ascontiguousarray(photograph("chelsea")[:100, :120])
    for calibration, side, severity, row in severities("elastic_transform"):
        picture = image if side == 224 else photograph("chelsea", 32)
        given = drawn(*picture.shape[:2], severity)
        got = corruptset.corrupt(picture, "elastic_transform", severity=severity, calibration=calibration, **given)
        away = np.abs(got.astype(int) - np.uint8(moved(picture, *row.values(), **given)))
        assert (np.mean(away == 0) > 0.95, np.mean(away <= 1) > 0.99) == (True, True), (calibration, severity)
    for shape in ((8, 8, 3), (9, 31, 3), (31, 9, 1), (60, 90, 3)):
        for row in ((3.0, 2.0, 1.5), (60.0, 9.0, 1.0), (4.0, 0.0, 0.0)):
            given = drawn(*shape[:2])
            got = corruptset.corrupt(
                painted(*shape), "elastic_transform", alpha=row[0], sigma=row[1], affine=row[2], **given
            )
            assert np.mean(np.abs(got.astype(int) - np.uint8(moved(painted(*shape), *row, **given))) <= 1) > 0.97, (
                shape,
                row,
            )


def test_the_fields_of_elastic_transform_are_smoothed_as_scipy_does():
    for shape, sigma in (
        ((224, 224), 170.8), ((224, 224), 19.52), ((40, 50), 2.44), ((31, 9), 8.1), ((9, 31), 30.0),
        ((500, 130), 9.0), ((64, 70), 0.1),
    ):  # fmt: skip
        field = np.random.default_rng(3).uniform(-1, 1, shape)
        got = smooth(field[None], smoother(*shape, sigma), 1.0)[0]
        assert np.abs(got - gaussian_filter(field, sigma, mode="reflect", truncate=3)).max() < 1e-6 * max(
            1.0, 20.0 / sigma
        )


def test_elastic_transform_is_that_of_doubles_to_the_last_level():
    """Single precision decides nearly all levels; flat areas, steps, edges and far moves are where it cannot."""
    height, width, rng = 40, 53, np.random.default_rng(8)
    flat = np.repeat(rng.integers(0, 256, (8, 11, 3)).astype(np.uint8), 5, 0).repeat(5, 1)[:, :width]
    ramp = np.broadcast_to(np.arange(width, dtype=np.uint8)[None, :, None] * 4, (height, width, 3))
    for picture in (painted(height, width), flat, ramp, np.full((height, width, 1), 255, np.uint8), flat[..., :1]):
        channels = picture.shape[2]
        warped = np.append((picture / np.float32(255)).astype(np.float32), np.zeros(2, np.float32))
        for reach, black, half in ((0.4, False, 0.0), (9.0, True, 0.0), (9.0, False, 0.5), (170.0, False, 0.0)):
            moves = (reach * rng.uniform(-1, 1, (2, height, width))).astype(np.float32)
            moves[0, ::7] = np.floor(moves[0, ::7])
            got = np.empty((1, height, width, channels), np.uint8)
            displace(warped[None], moves[:1], moves[1:], black, np.float32(half), got)
            sx, sy = np.arange(width) + moves[0].astype(float), np.arange(height)[:, None] + moves[1].astype(float)
            left, top = np.floor(sx).astype(int), np.floor(sy).astype(int)
            u, v = (sx - left)[..., None], (sy - top)[..., None]
            columns, rows = (
                [np.pad(np.arange(n), n * 5, "symmetric")[first + k + n * 5] for k in (0, 1)]
                for n, first in ((width, left), (height, top))
            )
            corners = [warped[:-2].reshape(picture.shape)[r, c].astype(float) for r in rows for c in columns]
            weights = (1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v
            a, b, c, d = (corner * weight for corner, weight in zip(corners, weights, strict=True))
            sample = (((a + b) + c) + d).astype(np.float32)
            if black:
                sample[(sx < 0) | (sx > width - 1) | (sy < 0) | (sy > height - 1)] = 0
            want = np.minimum(sample, np.float32(1)) * np.float32(255) + np.float32(half)
            np.testing.assert_array_equal(got[0], want.astype(np.uint8), err_msg=f"{channels} {reach}")


def test_elastic_transform_moves_corners_where_points_say_and_each_draw_by_itself():
    image = np.zeros((90, 90), np.uint8)
    image[15 - 1 : 15 + 2, 75 - 1 : 75 + 2] = 255  # the upper right corner of the square: centre 45, side 30
    points = np.array([[0.0, 0.0], [0.5, 1.0], [0.0, 0.0]])
    got = corruptset.corrupt(image, "elastic_transform", alpha=0.0, sigma=0.0, affine=10.0, points=points)
    assert (got[25, 80], got[15, 75]) == (255, 0)
    picture, still, row = painted(40, 44), np.zeros((40, 44)), {"alpha": 9.0, "sigma": 2.0, "affine": 3.0}
    parts = [{}, {"field_x": still}, {"field_y": still}, {"field_x": still, "field_y": still}]
    assert len({corruptset.corrupt(picture, "elastic_transform", **row, **part).tobytes() for part in parts}) == 4
    np.testing.assert_array_equal(
        corruptset.corrupt(picture, "elastic_transform", alpha=0.0, sigma=3.0, affine=0.0), picture
    )
    for extreme in ((1e6, 0.0, 0.0), (1e6, 1e4, 1e6), (0.0, 0.0, 1e6), (1e6, 8.5, 30.0)):
        out = corruptset.corrupt(
            painted(9, 14), "elastic_transform", alpha=extreme[0], sigma=extreme[1], affine=extreme[2]
        )
        assert out.shape == (9, 14, 3)
    with pytest.raises(ParameterError, match="points"):
        corruptset.corrupt(picture, "elastic_transform", severity=1, points=np.zeros((2, 3)))
