"""Frost: the mix, the crops, grey, given textures, and the published figures."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from PIL import Image

import corruptset
from corruptset.corruptions.keys import Keys, sample_keys
from corruptset.corruptions.weather.frost import _cut, frost
from corruptset.corruptions.weather.textures import default_textures, load_textures
from corruptset.errors import ParameterError
from pictures import painted, photograph

WEIGHTS = {
    224: ((1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75)),
    32: ((1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)),
}
CALIBRATION = {224: "imagenet", 32: "cifar"}
# Mean PSNR of the released generators over public photographs, severities 1 to 5, and the tolerance that rendered
# textures need.
PSNR = {224: (12.08, 10.14, 9.28, 9.58, 9.13), 32: (18.16, 14.72, 13.52, 14.18, 14.06)}


@pytest.mark.parametrize("size", [224, 32])
def test_the_mix_is_the_published_one(size):
    image = photograph("coffee", size)
    crop = np.random.default_rng(1).integers(0, 256, image.shape, np.uint8)
    for severity, (a, b) in enumerate(WEIGHTS[size], 1):
        got = corruptset.corrupt(image, "frost", severity=severity, calibration=CALIBRATION[size], texture=crop)
        np.testing.assert_array_equal(got, np.uint8(np.clip(a * image + b * crop, 0, 255)))


def directory_of(tmp_path, names, size=(40, 60)):
    rng = np.random.default_rng(4)
    for name in names:
        Image.fromarray(rng.integers(0, 256, (*size, 3), np.uint8)).save(tmp_path / name)
    return load_textures(tmp_path)


def crops(textures, count, height=24, width=20, scale=1.0, channels=3, **more):
    """Return pure crops: the image weighs nothing."""
    keys = Keys(np.uint64(9), sample_keys(str(i) for i in range(count)))
    images = np.full((count, height, width, channels), 255, np.uint8)
    drawn = np.empty((count, 0, 0, 0), np.uint8)
    return frost(
        images, keys, image_weight=0.0, frost_weight=1.0, texture_scale=scale, texture=drawn, textures=textures, **more
    )


def test_crops_come_from_everywhere_but_the_last_row_and_column(tmp_path):
    textures = directory_of(tmp_path, ["a.png", "b.png", "c.png"])
    windows = {}
    for name, array in zip(textures.names, textures.arrays, strict=True):
        for y in range(40 - 24 + 1):
            for x in range(60 - 20 + 1):
                windows[array[y : y + 24, x : x + 20].tobytes()] = (name, y, x)
    found = [windows[crop.tobytes()] for crop in crops(textures, 1500)]
    assert {n for n, _, _ in found} == set(textures.names)
    assert {y for _, y, _ in found} == set(range(16))
    assert {x for _, _, x in found} == set(range(40))
    counts = np.unique([n for n, _, _ in found], return_counts=True)[1]
    assert (np.abs(counts - 500) < 75).all()


def test_the_published_six_are_drawn_as_published_and_others_uniformly(tmp_path):
    assert directory_of(tmp_path, [f"frost{i}.png" for i in range(1, 7)]).picks == (0, 1, 2, 3, 4)
    assert directory_of(tmp_path, ["frost7.png"]).picks == (0, 1, 2, 3, 4, 5, 6)
    assert default_textures(224, 224).picks == (0, 1, 1, 2, 3)


@pytest.mark.parametrize("scale", [0.2, 0.3, 0.5, 0.7, 0.77, 1.6, 3.0])
def test_a_crop_is_one_of_opencvs_resize_bit_for_bit(tmp_path, scale):
    """As make_cifar_c.py and make_tinyimagenet_c.py call it; uint8, linear: the same with SIMD and IPP on and off."""
    import cv2

    textures = directory_of(tmp_path, ["a.png"], (133, 177))
    resized = cv2.resize(textures.arrays[0], (0, 0), fx=scale, fy=scale)
    windows = np.lib.stride_tricks.sliding_window_view(resized, (18, 21, 3))[:-1, :-1, 0]
    for crop in crops(textures, 12, 18, 21, scale):
        assert (windows == crop).all((2, 3, 4)).any()


@pytest.mark.parametrize(
    ("scale", "size"), [(0.2, (600, 900)), (0.3, (315, 560)), (1.0, (40, 30)), (2.0, (40, 30)), (1.37, (33, 47))]
)
def test_a_whole_resized_texture_is_opencvs(scale, size):
    import cv2

    texture = np.random.default_rng(2).integers(0, 256, (*size, 3), np.uint8)
    resized = cv2.resize(texture, (0, 0), fx=scale, fy=scale)
    whole = np.empty_like(resized)
    _cut(texture, scale, np.int64(0), np.int64(0), whole)
    np.testing.assert_array_equal(whole, resized)


def test_grey_images_get_the_grey_of_the_same_crop(tmp_path):
    textures = directory_of(tmp_path, ["a.png", "b.png"])
    colour = crops(textures, 6).astype(int)
    grey = crops(textures, 6, channels=1)[..., 0]
    np.testing.assert_array_equal(
        grey, (19595 * colour[..., 0] + 38470 * colour[..., 1] + 7471 * colour[..., 2] + 32768) >> 16
    )


def test_textures_smaller_than_the_image_are_refused_by_name(tmp_path):
    textures = directory_of(tmp_path, ["a.png", "b.png"])
    with pytest.raises(ParameterError, match=r"(?s)a\.png.*b\.png.*larger"):
        corruptset.corrupt(painted(41, 60), "frost", severity=1, calibration="imagenet", textures=textures)
    assert corruptset.corrupt(
        painted(40, 60), "frost", severity=1, calibration="imagenet", textures=textures
    ).shape == (40, 60, 3)


def test_default_textures_cover_any_image_at_any_scale():
    for shape in ((224, 300, 3), (300, 224, 1), (8, 8, 3)):
        for scale in (0.05, 1.0, 30.0):
            image = painted(*shape)
            got = corruptset.corrupt(image, "frost", image_weight=0.5, frost_weight=0.5, texture_scale=scale)
            assert got.shape == image.shape
            assert (got != image).any()


def pattern(height, width, channels):
    y, x = np.mgrid[:height, :width]
    return np.stack([np.stack([(x * 3 + y * (k + 2)) % 256 for k in range(channels)], -1).astype(np.uint8)] * 3)


@pytest.mark.parametrize(
    ("shape", "digest"),
    [
        ((448, 704, 3), "c78cf3ec86abbab6"),
        ((704, 448, 3), "e59b674a7e0f24c0"),
        ((300, 224, 1), "5383878faf8a49a5"),
        ((40, 30, 3), "f21468b0be56e8e6"),
        ((448, 448, 1), "ea5ff6d08ccca63a"),
    ],
)
def test_bytes_up_to_448_pixels_are_those_of_the_first_release(shape, digest):
    key = ["a", "b", "c"]
    got = corruptset.corrupt(pattern(*shape), "frost", image_weight=0.5, frost_weight=0.5, texture_scale=1.0, key=key)
    assert hashlib.sha256(got.tobytes()).hexdigest()[:16] == digest


@pytest.mark.parametrize(
    ("size", "scale"),
    [
        ((449, 640), 513 / 512),
        pytest.param((640, 480), 544 / 512, marks=pytest.mark.ci),
        pytest.param((400, 705), 769 / 768, marks=pytest.mark.ci),
    ],
)
def test_larger_images_take_crops_of_enlarged_default_textures(size, scale):
    import cv2

    found = crops(None, 30, *size)
    resized = [cv2.resize(a, (0, 0), fx=scale, fy=scale) for a in default_textures(*size).arrays]
    assert len({crop.tobytes() for crop in found}) > 25
    for crop in found:
        fits = [cv2.matchTemplate(texture, crop, cv2.TM_SQDIFF) for texture in resized]
        _, _, (x, y), _ = cv2.minMaxLoc(min(fits, key=np.min))
        np.testing.assert_array_equal(
            resized[int(np.argmin([fit.min() for fit in fits]))][y : y + size[0], x : x + size[1]], crop
        )


@pytest.mark.parametrize("size", [224, 32])
def test_distortion_is_like_the_published_one(size):
    names = ("astronaut", "coffee", "chelsea", "rocket", "hubble_deep_field", "retina")
    images = np.stack([photograph(n, size) for n in names for _ in range(10)])
    ids = [f"{n}{k}" for n in names for k in range(10)]
    for severity, psnr in enumerate(PSNR[size], 1):
        got = corruptset.corrupt(images, "frost", severity=severity, calibration=CALIBRATION[size], key=ids)
        found = 10 * np.log10(255**2 / np.mean((images.astype(float) - got) ** 2, axis=(1, 2, 3)))
        assert abs(found.mean() - psnr) < 2.5, severity
