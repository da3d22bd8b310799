"""Motion blur: against a slow reading of its definition, against recorded ImageMagick outputs, and its random
angles.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import math
from typing import Any

import cv2
import numpy as np
import pytest

import corruptset
from corruptset.corruptions.blur.motion import motion_filter
from corruptset.corruptions.random.philox import fill_words
from corruptset.errors import ParameterError
from pictures import numbers, photograph


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
@pytest.mark.parametrize("shape", [(8, 8, 1), (31, 9, 3), (9, 31, 1), (40, 60, 3)])
def test_equals_the_definition(shape: tuple[int, int, int], radius: float, sigma: float) -> None:
    rng = np.random.default_rng(5)
    images = rng.integers(0, 256, (4, *shape), np.uint8)
    images[1] = images[1] // 128 * 255
    before = images.copy()
    angles = np.array([rng.uniform(-45, 45), rng.uniform(-180, 180), -90.0, 60.0])
    got = motion_filter(images, radius, sigma, angles)
    assert (images == before).all()
    for image, out, angle in zip(images, got, angles, strict=True):
        assert (out == slow(image, radius, sigma, float(angle))).all(), angle


def _image(number: int, height: int, width: int, channels: int, content: str) -> np.ndarray:
    words = np.empty(height * width * channels, np.uint32)
    fill_words(words, 0, np.uint64(2026), np.uint64(number), 0)
    values = words >> np.uint32(24)
    if content == "edges":
        values = (values >> np.uint32(7)) * np.uint32(255)
    elif content == "flakes":
        values = np.where(values > 200, values, 0)
    return values.astype(np.uint8).reshape(height, width, channels)


SPECIAL = (0.0, 30.0, 45.0, 60.0, 90.0, -30.0, -45.0, -60.0, -90.0, 180.0, -135.0, 405.0, 53.13010235415598, 1e-9)


def _case(number: int) -> tuple[np.ndarray, float, float, float]:
    """Case `number`: an image, radius, sigma and angle, all from Philox; every fourth a snow layer and its streaks."""
    words = np.empty(8, np.uint32)
    fill_words(words, 0, np.uint64(2026), np.uint64(number), 1)
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

# sha256 of what ImageMagick 6.9.11-60 Q16 (Wand 0.7.0) made of cases 0, 1, 2, ...
RECORDED = (
    "e430881bee3d0e90974b09b4a15e67b7ae0f4aea742d280bd92c7375d9ebaabc",
    "0357e234f21b950a59316bd818ed2476f0f036b97f803c405854bc1de2a9dcae",
    "308d24ae321008ce9f6f5b67ed4b54fbfbc2642809abe408e9571bcf1a452fa5",
    "c7335e202ad17f0bea709fca5a9caa6800f9a6782350c176a417b6dc2b1055bc",
    "57b9a3f130bb61524b5493359461d62a2169366070909086de73bd472f8fb88d",
    "0ae82ae263ba9e2c59a7a25b751694a3cee72e42e1fc3f324882a35d8842277d",
    "38ef904d9a2e3a29fa4fbaee71c4cf1a6436dc7a3c4942893354c014a41c20f7",
    "714a66e5a2832228605108995db3930318cd98bfa00c16d3450b8030a8ed71f8",
    "b578e75acaac746e5a0e21a1585a1711b66555a03b29138c822d9487c549dd49",
    "468190c61474273c14b8627cdad391c09340bd03c71c33564079bc44742fd06d",
    "a7fac1bf903c7ef0264040ab97d7f2ba29a2922e55b4379734aeaa4158b955ef",
    "bbd9e594e06310ac1fac272eafab1a288be91a06888deebec44267947b65ed2a",
    "247a9eb342d120ccb57c94b0b485e9161db1e83346f9d4695a7e20b9b228a7cc",
    "1f21050902ed1ccd145b3b198783327c1ad0beb51a898891e25d63b9bb90aff8",
    "6b897a8317b77effb9fa116d13bbad67913e11753687ad55edb3a6f7b75a014b",
    "55dae08d21cd21f09404dd5fc75fba0e81cb19ea68a209442c95ec36149022d4",
    "7784a637c86aa8f47a2e103b6f8470a7995b5aec26850dd684559c3b0abeceef",
    "bec0ffe72872001f4eca3319de08dd18eacc58f69a717e9f72fb9af4cb154201",
    "b4c4f593d517152609913bf593a0cdaa14244d32e233fb1720ed56ea351f207c",
    "35ff0af8241f021f447422af0edf9328cceeeb3e0847c9270711aad6b61a616a",
    "4fceab0e444f8ecb6e5b65f59ea493132482d835589cf9ec0b5636a1a75aab71",
    "08c88735785919c0bf277c03bd995f5aa0c09e6b87a28b495b0b473534ea873d",
    "1595572cee656dd19c326e67fce0cf6d8641dd180c3cab7687d83e95ede2c7f7",
    "0b5e365c6f3195ef50129066b683891728ef5b8fbd9bffe5f1c9b50bddcefbca",
    "e591d596b13a53de93e0696257812eb12610566d24cb5d6295256cae3e533179",
    "d5f23461ef4f41fdef23863788f40f051b1ff8eaee814538c796521673fd2ecf",
    "763b708ea42e95b60f6351005ad496ba7526d5da404791ac2d2fff85182af217",
    "81ccfce3ebb89e2e5f7e24956cf15ec2b4b00bab2e73f78d0c759725e5b0de07",
    "b14dce0d6dc8030b6376b73844d2c337a9d8131186ef01fdc72768181453cbc7",
    "165da18ecd9ee72e196bfb7cdadeb58d31145ed4d6d915e9c06964ca5dd91ce7",
    "c75c7deda4ea3388e6e07ccdfdfcd9e9e54b65c2e229e54fa86e3f6a297594c9",
    "a914618c85f6b22edecd46b4d97319bf79ba4560e1e621640412888fdd8d469c",
    "42fec8223b35dcc2193f037482cbecb3524566f22a2b365293f4b9bdce16bcfb",
    "1fa2b008e605684292b034df7bd8d089325126882b1d6acca8bc1e193f9a5883",
    "2a0607353e4da4266d9716973796904c95a3f82e7c8dba6e533292977fd5b610",
    "4046aa27f0d67c38d1d3ad92864b5c24fbb5b783cc75dd58b64015a14ee21617",
    "c6f58af45bb51dc2eb5a8cc3fc9750af40ff6f695900fff775470c51146c4965",
    "9a048e9adf6bd8d77aff60ad3e4aa7062fa34ddf33f83c6c202fd3e7ccaba79b",
    "bbd6f32319342dc7925a1a177f742294bada68a51ea1062cd4f1ac7d196a95e2",
    "00c788778a49f43d6b72a94883d50e196c943e3bb745e6d621cb0ee89a3a747a",
)


def _digest(image: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(image).tobytes()).hexdigest()


@pytest.mark.parametrize("number", range(40))
def test_equals_recorded_imagemagick_outputs(number: int) -> None:
    image, radius, sigma, angle = _case(number)
    assert _digest(motion_filter(image[None], radius, sigma, np.array([angle]))[0]) == RECORDED[number]


# Where ImageMagick can be loaded it is asked itself; elsewhere the recorded outputs above are the whole test.
if IMAGEMAGICK:

    @pytest.mark.parametrize("decade", range(20))
    def test_equals_imagemagick(decade: int) -> None:
        for number in range(10 * decade, 10 * decade + 10):
            image, radius, sigma, angle = _case(number)
            want = IMAGEMAGICK(image, radius, sigma, angle)
            assert want.dtype == np.uint8
            got = motion_filter(image[None], radius, sigma, np.array([angle]))[0]
            assert (got == want).all(), (number, image.shape, radius, sigma, angle, int((got != want).sum()))


def test_angles_are_uniform_keyed_and_within_45_degrees() -> None:
    ids = [str(i) for i in range(1800)]
    image = np.zeros((95, 95, 1), np.uint8)
    image[47, 47] = 255
    # the streak of a single point tells its angle
    parameters = {"radius": 23.0, "sigma": 300.0}
    out = corruptset.corrupt(np.repeat(image[None], len(ids), 0), "motion_blur", **parameters, key=ids)
    y, x = np.mgrid[:95, :95]
    hit = out[..., 0] > 0
    angles = np.degrees(np.arctan2(((47 - y) * hit).sum((1, 2)), ((47 - x) * hit).sum((1, 2))))
    assert np.abs(angles).max() < 45.7
    counts = np.histogram(np.clip(angles, -45, 45), bins=9, range=(-45, 45))[0]
    assert ((counts - 200) ** 2 / 200).sum() < 31.8  # chi-squared, 8 degrees of freedom, p = 1e-4
    again = corruptset.corrupt(image, "motion_blur", **parameters, key="7")
    assert (again == out[7]).all()


def test_a_given_angle_serves_every_image_and_stands_for_the_drawn_one() -> None:
    image = _image(1, 24, 40, 3, "noise")
    batch = np.stack([image, image])
    out = corruptset.corrupt(batch, "motion_blur", severity=3, angle_deg=20)
    assert (out[0] == out[1]).all()
    assert (out[0] == slow(image, 6.0, 2.0, 20.0)).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"radius": 0.0}, "radius"),
        ({"sigma": 0.0}, "sigma"),
        ({"angle_deg": float("nan")}, "angle_deg"),
        ({"angle_deg": [1, 2]}, "angle_deg"),
    ],
)
def test_nonsense_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        corruptset.corrupt(_image(0, 9, 9, 1, "noise"), "motion_blur", severity=1, **given)


def test_grey_is_one_channel_of_grey_colour() -> None:
    grey = _image(3, 30, 21, 1, "noise")
    colour = np.repeat(grey, 3, 2)
    corrupt = functools.partial(corruptset.corrupt, name="motion_blur", severity=5, calibration="cifar", key="0")
    assert (corrupt(colour)[..., :1] == corrupt(grey)).all()


# PSNR of astronaut and coffee after the released generator, mean over seeds (its angles are random)
@pytest.mark.parametrize(
    ("size", "severity", "published"),
    [(224, 1, (20.588, 23.988)), (224, 5, (13.947, 16.972)), (32, 1, (21.865, 25.611)), (32, 5, (16.136, 19.22))],
)
def test_distortion_is_the_published_one(size: int, severity: int, published: tuple[float, float]) -> None:
    for name, want in zip(("astronaut", "coffee"), published, strict=True):
        image = photograph(name, size)
        batch = np.repeat(image[None], 40, 0)
        out = corruptset.corrupt(
            batch, "motion_blur", severity=severity, calibration={224: "imagenet", 32: "cifar"}[size], key=numbers(40)
        )
        errors = ((out.astype(float) - batch) ** 2).mean((1, 2, 3))
        assert (10 * np.log10(255**2 / errors)).mean() == pytest.approx(want, abs=0.9)
