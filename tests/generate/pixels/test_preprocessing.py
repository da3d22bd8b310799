"""Preprocessing equals that of torchvision on Pillow images, and that of the released generator at 299 pixels.

The pinned values are the first 32 hex digits of the sha256 of C-order bytes, recorded by running
Compose([Resize(256), CenterCrop(224)]) and Resize((64, 64)) of torchvision 0.28.0 (torch 2.13.0) on Pillow 13.0.0,
and the released 299 generator's own resized_center_crop, on the photographs and on `pattern`.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image
from pydantic import TypeAdapter

from corruptset.errors import ImageError
from corruptset.generate.pixels.preprocessing import (
    CentralResize,
    Pad,
    Preprocessing,
    Resize,
    ResizeCrop,
    Unchanged,
    preprocess,
)
from corruptset.generate.sources.source import open_source

IMAGENET = ResizeCrop(kind="resize-crop", resize=256, crop=224, channels="keep")
TINY = Resize(kind="resize", side=64, channels="keep")
INCEPTION = CentralResize(kind="central-resize", fraction=0.875, side=299, channels="keep")

# name: (Resize(256) + CenterCrop(224), Resize((64, 64)))
PHOTOGRAPHS = {
    "astronaut": ("647fb3f2ee4c4d6b7f2b3f507a14c217", "2f496e4f9841f45b4e9eef7c2972e916"),
    "chelsea": ("d2380d7104e4d7d5ba262b5731ac6b0f", "d1950a12d626ea22677cf59314e4a47d"),
    "coffee": ("9f13b650be016e3aac65dc70c085ff90", "2420aa54c2fb0418ba7fa2abfd465979"),
    "hubble_deep_field": ("a38b2e514fe3ea5eba487bb2cc76e5cc", "f618ec461ecb2074c36ea8bff472ea77"),
    "ihc": ("a91662b1693c3d5c6daff93b734aed5e", "0594eb49651a8c2569eb3a1408b59875"),
    "motorcycle_left": ("d74861a3acf9cac9d81c323ca459b85e", "c19d12b171124d7f86b0374051a456cc"),
    "retina": ("4dbd68fe3edfd405bb2dd2e030124e49", "be62216d1b83649e668473430fc0d1bc"),
    "rocket": ("c6bce0f2d78495b97598dedf9c808068", "6ea41f0478a7d58818cb3ed312a26f21"),
}
# (width, height, channels): the same two results
SIZES = {
    (257, 500, 3): ("b71909e122795e07179531c18ebef49e", "961c7734aa06ec53ccbb77513ba2de31"),
    (500, 257, 1): ("f606b9ba9988cdef2966b1409a98ea19", "8316a426333533684e0f39dec7a102b4"),
    (256, 256, 3): ("f639c9d09c48c36a9c6dfd6ed85db712", "1a6211e3e22e23666063d89a011a40fe"),
    (1000, 9, 3): ("ffa21e3574a454daf504701a2b0a865b", "258ebd3d3a916c5acbafed468f3cc051"),
    (9, 1000, 1): ("fea08ed31910982502365487fc9203cf", "6cadff67eb3ab9b8bc7d4fb25777f06e"),
}
# (resize, crop, interpolation, width, height)
OTHERS = {
    (64, 97, "bilinear", 100, 80): "3fcf538d259afd541a4de08a71576231",
    (64, 97, "bilinear", 120, 101): "4b2d04165ca57b176940bc06184b8915",
    (48, 33, "bicubic", 100, 80): "580e2268ceea14a32dceebe0fd6a8837",
    (48, 33, "nearest", 100, 80): "77fd2bb0d7ec405029d73b198841f0e9",
    (48, 33, "lanczos", 100, 80): "3702ff372d4820180eb55ae0ff751a40",
    (48, 33, "box", 100, 80): "5114664d33c63827a22c1b287e87ed0b",
    (48, 33, "hamming", 100, 80): "4b06519862f0e4e09202c8a2314ae9e2",
    (65, 64, "bilinear", 100, 80): "6b5196ca89f4d388b8c0300c4eef5ba3",
}
# (width, height, channels): central .875, then 299x299
AT_299 = {
    (257, 500, 3): "e4abaae437461229d2173a60371a27b0",
    (100, 80, 3): "4f2b1ee93bff5ddb1b15c80fc69d3052",
    (299, 299, 1): "562317c572e3fafdec32b92c582c4e5b",
    (341, 343, 1): "b618e68fb54464bb5c608f4eadd40d62",
    (9, 9, 3): "278a8751575224a13e879c84af98defe",
}


def pattern(width, height, channels):
    """Return an image that is computed from integers and changes everywhere if it is shifted by one pixel."""
    y, x, k = np.meshgrid(*(np.arange(n, dtype=np.uint64) for n in (height, width, channels)), indexing="ij")
    value = x * np.uint64(2654435761) + y * np.uint64(40503 * 65599) + k * np.uint64(97) + x * y * np.uint64(2246822519)
    return ((value >> np.uint64(13)) & np.uint64(255)).astype(np.uint8)


def digest(image):
    assert image.dtype == np.uint8
    assert image.flags.c_contiguous
    assert image.flags.writeable
    return hashlib.sha256(image.tobytes()).hexdigest()[:32]


def test_photographs_are_preprocessed_like_torchvision():
    source = open_source("sample")
    for sample in source.samples:
        image = source.load(sample).image
        assert (digest(preprocess(image, IMAGENET)), digest(preprocess(image, TINY))) == PHOTOGRAPHS[sample.id], (
            sample.id
        )
    assert {s.id for s in source.samples} == set(PHOTOGRAPHS)


def test_odd_sizes_padding_ties_and_interpolations_match_torchvision():
    for case, expected in SIZES.items():
        image = pattern(*case)
        before = image.copy()
        assert (digest(preprocess(image, IMAGENET)), digest(preprocess(image, TINY))) == expected, case
        np.testing.assert_array_equal(image, before)
    for (resize, crop, interpolation, width, height), expected in OTHERS.items():
        spec = ResizeCrop(kind="resize-crop", resize=resize, crop=crop, interpolation=interpolation)
        assert digest(preprocess(pattern(width, height, 3), spec)) == expected, spec


def test_inception_size_matches_released_generator():
    for case, expected in AT_299.items():
        assert digest(preprocess(pattern(*case), INCEPTION)) == expected, case


@given(st.integers(8, 700), st.integers(8, 700), st.integers(8, 120), st.integers(8, 130))
@example(257, 256, 64, 48)
@example(256, 257, 64, 48)
@example(301, 300, 256, 224)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_resize_and_crop_follow_documented_rules(width, height, resize, crop):
    """An independent implementation with exact integers and array slices. The long side is rounded down, the odd pixel
    of padding is last, and ties are rounded to even.
    """
    image = pattern(width, height, 3)
    w, h = (resize, resize * height // width) if width <= height else (resize * width // height, resize)
    resized = np.asarray(Image.fromarray(image).resize((w, h), Image.Resampling.BILINEAR))
    pads = [(max(crop - n, 0) // 2, (max(crop - n, 0) + 1) // 2) for n in (h, w)]
    resized = np.pad(resized, [*pads, (0, 0)])
    starts = []
    for n in resized.shape[:2]:
        half, odd = divmod(n - crop, 2)
        starts.append(half + (odd and half % 2))
    expected = resized[starts[0] : starts[0] + crop, starts[1] : starts[1] + crop]
    np.testing.assert_array_equal(preprocess(image, ResizeCrop(kind="resize-crop", resize=resize, crop=crop)), expected)


def test_preprocessing_converts_channels():
    grey = pattern(60, 50, 1)
    spec = ResizeCrop(kind="resize-crop", resize=40, crop=32)
    rgb = preprocess(grey, spec)
    assert rgb.shape == (32, 32, 3)
    assert (rgb == rgb[:, :, :1]).all()
    keep_channels = spec.model_copy(update={"channels": "keep"})
    np.testing.assert_array_equal(preprocess(grey, keep_channels), rgb[:, :, :1])
    # converting to RGB first, as torchvision's loader does, gives the same result
    np.testing.assert_array_equal(preprocess(np.repeat(grey, 3, axis=2), spec), rgb)


def test_none_keeps_and_copies_every_pixel():
    """Rows of arrays are only copied, and grey images are converted to RGB by Pillow."""
    for channels, before, after in (("rgb", 1, 3), ("rgb", 3, 3), ("keep", 1, 1), ("keep", 3, 3)):
        image = (
            np.random.default_rng(2).integers(0, 256, (before, 12, 9), np.uint8).T
        )  # an array that is not contiguous
        out = preprocess(image, Unchanged(kind="none", channels=channels))
        assert digest(out) == digest(np.broadcast_to(image, (9, 12, after)).copy())
        assert not np.shares_memory(out, image)


def test_size_is_predicted_and_settings_round_trip_through_json():
    for spec in (IMAGENET, TINY, INCEPTION, Unchanged(kind="none"), Pad(kind="pad", side=300)):
        for width, height in ((300, 200), (30, 40)):
            assert spec.size(width, height) == preprocess(pattern(width, height, 3), spec).shape[1::-1], spec
        assert TypeAdapter(Preprocessing).validate_python(spec.as_json()) == spec


def test_pad_centres_image_on_black_and_rejects_larger_image():
    for width, height, channels in ((32, 32, "rgb"), (9, 12, "keep"), (32, 1, "keep"), (12, 31, "rgb")):
        image = pattern(width, height, 1) | np.uint8(1)
        out = preprocess(image, Pad(kind="pad", side=32, channels=channels))
        assert out.shape == (32, 32, 3 if channels == "rgb" else 1)
        top, left = (32 - height) // 2, (32 - width) // 2
        inside = out[top : top + height, left : left + width]
        np.testing.assert_array_equal(inside, np.broadcast_to(image, inside.shape))
        assert np.count_nonzero(out) == inside.size
    spec = Pad(kind="pad", side=32)
    assert spec.problem(32, 32) is None
    assert "33x20, larger than the canvas of 32x32" in spec.problem(33, 20)
    with pytest.raises(ImageError, match="larger than the canvas"):
        preprocess(np.zeros((40, 9, 3), np.uint8), spec)


def test_extreme_aspect_ratio_is_rejected_before_resize():
    assert IMAGENET.problem(40_000, 8) is not None
    assert IMAGENET.problem(8, 40_000) is not None
    assert IMAGENET.problem(4000, 6000) is None
    with pytest.raises(ImageError, match="40000x8"):
        preprocess(np.zeros((8, 40_000, 1), np.uint8), IMAGENET)
