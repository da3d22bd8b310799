"""Compare motion blur with the specification and recorded outputs of ImageMagick."""

from __future__ import annotations

import ctypes
import hashlib
from typing import Any

import cv2
import numpy as np
from specification import plain

import corruptset
from corruptset.corruptions.blur.motion import motion_filter
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.random.philox import fill_words
from corruptset.corruptions.registry import get_corruption
from example_images import synthetic_image


def test_motion_blur_matches_specification_at_any_length():
    image = synthetic_image(9, 14)
    for radius, sigma in ((0.4, 0.7), (10.0, 3.0), (70.0, 90.0)):
        expected = plain.motion_blur(image.tolist(), 7, "a", radius=radius, sigma=sigma)
        row = {"radius": radius, "sigma": sigma}
        result = get_corruption("motion_blur").apply(image[None], row, np.uint64(7), sample_keys(["a"]))
        np.testing.assert_array_equal(result[0], expected, str(radius))


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
    """Return a test case: an image, radius, sigma and angle from Philox. Every fourth case is a layer of snow."""
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


def test_motion_blur_equals_recorded_imagemagick_outputs():
    for decade, recorded in enumerate(RECORDED):
        digest = hashlib.sha256()
        for number in range(10 * decade, 10 * decade + 10):
            image, radius, sigma, angle = _case(number)
            digest.update(motion_filter(image[None], radius, sigma, np.array([angle])).tobytes())
        assert digest.hexdigest() == recorded


def _load_imagemagick() -> Any:
    """Return a function that blurs with ImageMagick, or None if Wand or the library is missing."""
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


def test_motion_blur_equals_imagemagick_if_installed():
    """Compare with ImageMagick if it is installed. The recorded outputs are tested in any case."""
    blur = _load_imagemagick()
    for number in range(40, 100) if blur else ():
        image, radius, sigma, angle = _case(number)
        result = motion_filter(image[None], radius, sigma, np.array([angle]))[0]
        np.testing.assert_array_equal(result, blur(image, radius, sigma, angle), str((number, radius, sigma, angle)))


def test_fixed_angle_applies_to_every_image():
    images = np.stack([_image(number, 24, 40, 3, "noise") for number in (1, 2)])
    result = corruptset.corrupt(images, "motion_blur", severity=3, angle_deg=20)
    np.testing.assert_array_equal(result, motion_filter(images, 6.0, 2.0, np.array([20.0, 20.0])))
