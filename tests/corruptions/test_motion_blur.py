"""Motion blur: against a slow reading of its definition and recorded ImageMagick outputs."""

from __future__ import annotations

import ctypes
import hashlib
import math
from typing import Any

import cv2
import numpy as np
import pytest
from measures import LEAST, p_uniform

import corruptset
from corruptset.corruptions.blur.motion import motion_filter
from corruptset.corruptions.random.philox import fill_words
from corruptset.errors import ParameterError


def slow(image: np.ndarray, radius: float, sigma: float, angle_deg: float) -> np.ndarray:
    """The definition, a tap at a time, in doubles."""
    width = 2 * math.ceil(radius) + 1
    weights = np.exp(-(np.arange(width) ** 2) / (2.0 * sigma**2))
    weights /= weights.sum()
    angle = math.pi * angle_deg / 180
    px, py = width * math.sin(angle), width * math.cos(angle)
    h = math.hypot(px, py)
    total = np.zeros(image.shape)
    rows, columns = np.arange(image.shape[0]), np.arange(image.shape[1])
    for i, weight in enumerate(weights):
        x, y = math.ceil(i * py / h - 0.5), math.ceil(i * px / h - 0.5)
        shifted = image[np.clip(rows + y, 0, rows.size - 1)][:, np.clip(columns + x, 0, columns.size - 1)]
        total += weight * (257.0 * shifted)
    return (np.floor(total + 0.5) // 257).astype(np.uint8)


@pytest.mark.parametrize(
    ("radius", "sigma"), [(10.0, 3.0), (20.0, 15.0), (6.0, 1.0), (0.4, 0.7), (45.5, 80.0), (400.0, 900.0)]
)
def test_equals_the_definition(radius, sigma):
    for shape in ((8, 8, 1), (31, 9, 3), (9, 31, 1), (40, 60, 3)):
        rng = np.random.default_rng(5)
        images = rng.integers(0, 256, (4, *shape), np.uint8)
        images[1] = images[1] // 128 * 255
        angles = np.array([rng.uniform(-45, 45), rng.uniform(-180, 180), -90.0, 60.0])
        for image, out, angle in zip(images, motion_filter(images, radius, sigma, angles), angles, strict=True):
            np.testing.assert_array_equal(out, slow(image, radius, sigma, float(angle)), f"{shape} {angle}")


def _words(number: int, stream: int, count: int) -> np.ndarray:
    words = np.empty(count, np.uint32)
    fill_words(words, 0, np.uint64(2026), np.uint64(number), stream)
    return words


def _image(number: int, height: int, width: int, channels: int, content: str) -> np.ndarray:
    values = _words(number, 0, height * width * channels) >> np.uint32(24)
    if content == "edges":
        values = (values >> np.uint32(7)) * np.uint32(255)
    elif content == "flakes":
        values = np.where(values > 200, values, 0)
    return values.astype(np.uint8).reshape(height, width, channels)


SPECIAL = (0.0, 30.0, 45.0, 60.0, 90.0, -30.0, -45.0, -60.0, -90.0, 180.0, -135.0, 405.0, 53.13010235415598, 1e-9)


def _case(number: int) -> tuple[np.ndarray, float, float, float]:
    """Case `number`: an image, radius, sigma and angle, all from Philox; every fourth a snow layer and its streaks."""
    words = _words(number, 1, 8)
    u = (words * 2.0**-32).tolist()
    height, width = 8 + int(words[0]) % 72, 8 + int(words[1]) % 72
    if number % 4 == 3:
        radius, sigma, angle = float(8 + int(words[2]) % 7), float(3 + int(words[3]) % 10), -135 + 90 * u[4]
        return _image(number, height, width, 1, "flakes"), radius, sigma, angle
    radius = float(6 + int(words[2]) % 15) if number % 2 else 0.3 + 30 * u[2]
    sigma = (1.0, 1.5, 2.0, 2.5, 3.0, 5.0, 8.0, 12.0, 15.0)[int(words[3]) % 9] if number % 2 else 0.3 + 20 * u[3]
    angle = SPECIAL[number // 4 % len(SPECIAL)] if number % 4 == 0 else -180 + 360 * u[4]
    channels = 3 if int(words[5]) % 2 else 1
    return _image(number, height, width, channels, "edges" if int(words[6]) % 2 else "noise"), radius, sigma, angle


RECORDED = (
    "80114d15bd52c832376a55ea1ceb279b5f30d8783f6d7c8e6c79478fe1d4fe74",
    "1d7af6920786e332d97a72762e38717e86987c40657fdc5b979dc906a18f422d",
    "61afaca2ddab57a45b71aa3697465270045871d424e1fe6954b6b17df642dbf7",
    "9372397324807fc4316d42f04cd354a77bfac56d1b645e2d98f26ec4c0c27192",
)
"""Of what ImageMagick 6.9.11-60 Q16 (Wand 0.7.0) made of cases 0, 1, 2, ..., ten by ten: the sha256 of their bytes."""


@pytest.mark.parametrize("decade", range(4))
def test_equals_recorded_imagemagick_outputs(decade):
    digest = hashlib.sha256()
    for number in range(10 * decade, 10 * decade + 10):
        image, radius, sigma, angle = _case(number)
        digest.update(np.ascontiguousarray(motion_filter(image[None], radius, sigma, np.array([angle]))[0]).tobytes())
    assert digest.hexdigest() == RECORDED[decade]


def _load_imagemagick() -> Any:
    """Return a function that blurs with ImageMagick itself, or None where Wand or the library is missing."""
    try:
        from wand.api import library
        from wand.image import Image
    except ImportError:
        return None
    library.MagickMotionBlurImage.argtypes = (ctypes.c_void_p, ctypes.c_double, ctypes.c_double, ctypes.c_double)

    def blur(image: np.ndarray, radius: float, sigma: float, angle_deg: float) -> np.ndarray:
        with Image(blob=cv2.imencode(".png", image[..., ::-1])[1].tobytes()) as wand:
            library.MagickMotionBlurImage(wand.wand, radius, sigma, angle_deg)
            out = cv2.imdecode(np.frombuffer(wand.make_blob("png"), np.uint8), cv2.IMREAD_UNCHANGED)
        return out[..., None] if out.ndim == 2 else out[..., ::-1]

    return blur


IMAGEMAGICK = _load_imagemagick()

# Where ImageMagick can be loaded it is asked itself; elsewhere the recorded outputs above are the whole test.
if IMAGEMAGICK:

    @pytest.mark.parametrize("decade", range(20))
    def test_equals_imagemagick(decade):
        for number in range(10 * decade, 10 * decade + 10):
            image, radius, sigma, angle = _case(number)
            got = motion_filter(image[None], radius, sigma, np.array([angle]))[0]
            np.testing.assert_array_equal(
                got, IMAGEMAGICK(image, radius, sigma, angle), str((number, radius, sigma, angle))
            )


def test_angles_are_uniform_within_45_degrees_and_a_given_one_serves_every_image():
    ids = [str(i) for i in range(1800)]
    parameters = {"radius": 23.0, "sigma": 300.0}
    image = np.zeros((95, 95, 1), np.uint8)
    image[47, 47] = 255
    # the streak of a single point tells its angle
    out = corruptset.corrupt(np.repeat(image[None], len(ids), 0), "motion_blur", **parameters, key=ids)
    y, x = np.mgrid[:95, :95]
    hit = out[..., 0] > 0
    angles = np.degrees(np.arctan2(((47 - y) * hit).sum((1, 2)), ((47 - x) * hit).sum((1, 2))))
    assert np.abs(angles).max() < 45.7
    assert p_uniform(np.floor((np.clip(angles, -44.99, 44.99) + 45) / 10).astype(int), 9) > LEAST
    noise = _image(1, 24, 40, 3, "noise")
    given = corruptset.corrupt(np.stack([noise, noise]), "motion_blur", severity=3, angle_deg=20)
    np.testing.assert_array_equal(given, np.stack([slow(noise, 6.0, 2.0, 20.0)] * 2))
    for bad in (float("nan"), [1, 2]):
        with pytest.raises(ParameterError, match="angle_deg"):
            corruptset.corrupt(noise, "motion_blur", severity=1, angle_deg=bad)
