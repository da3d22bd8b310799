"""Frost: the mix, the crops, grey; and its textures, corruptset's own and a user's."""

from __future__ import annotations

import hashlib
import pickle

import cv2
import numpy as np
import pytest
from PIL import Image

import corruptset
from corruptset.corruptions.calibrations import shipped
from corruptset.corruptions.keys import Keys, sample_keys
from corruptset.corruptions.registry import get_corruption
from corruptset.corruptions.weather import textures as texture_module
from corruptset.corruptions.weather.textures import (
    MOST,
    PUBLISHED,
    TextureSet,
    default_textures,
    differences,
    load_textures,
)
from corruptset.errors import ParameterError, SourceError
from pictures import painted, photograph


def directory_of(folder, names, size=(40, 60)):
    rng = np.random.default_rng(4)
    for name in names:
        Image.fromarray(rng.integers(0, 256, (*size, 3), np.uint8)).save(folder / name)
    return load_textures(folder)


def crops(textures, count, height=24, width=20, scale=1.0, channels=3):
    """Return pure crops: the image weighs nothing."""
    images, keys = np.full((count, height, width, channels), 255, np.uint8), sample_keys(map(str, range(count)))
    row = {"image_weight": 0.0, "frost_weight": 1.0, "texture_scale": scale}
    given = {} if textures is None else {"textures": textures}
    return get_corruption("frost").apply(images, row, np.uint64(9), keys, **given)


def test_the_mix_is_the_published_one():
    for calibration, side in (("imagenet", 224), ("cifar", 32)):
        image = photograph("coffee", side)
        crop = np.random.default_rng(1).integers(0, 256, image.shape, np.uint8)
        for severity, row in shipped(calibration).rows["frost"].items():
            a, b = row.parameters["image_weight"], row.parameters["frost_weight"]
            got = corruptset.corrupt(image, "frost", severity=severity, calibration=calibration, texture=crop)
            np.testing.assert_array_equal(got, np.uint8(np.clip(a * image + b * crop, 0, 255)))


def test_crops_come_from_everywhere_but_the_last_row_and_column(tmp_path):
    """Whole numbers 0, 1 and 2 of the stream: which texture, first row, first column."""
    textures = directory_of(tmp_path, ["a.png", "b.png", "c.png"])
    drawn = Keys(np.uint64(9), sample_keys(map(str, range(300)))).whole_numbers(3, 40 - 24, 60 - 20)
    colour, grey = crops(textures, 300), crops(textures, 300, channels=1)
    for crop, one, (which, y, x) in zip(colour, grey, drawn.tolist(), strict=True):
        np.testing.assert_array_equal(crop, textures.arrays[which][y : y + 24, x : x + 20])
        luma = (crop.astype(int) @ np.array([19595, 38470, 7471]) + 32768) >> 16
        np.testing.assert_array_equal(one[..., 0], luma, "grey images get the grey of the same crop")
    assert [set(column) for column in drawn.T.tolist()] == [set(range(3)), set(range(16)), set(range(40))]


def test_the_published_six_are_drawn_as_published_and_others_uniformly(tmp_path):
    assert directory_of(tmp_path, [f"frost{i}.png" for i in range(1, 7)]).picks == (0, 1, 2, 3, 4)
    assert directory_of(tmp_path, ["frost7.png"]).picks == (0, 1, 2, 3, 4, 5, 6)
    assert default_textures(224, 224).picks == (0, 1, 1, 2, 3)


@pytest.mark.parametrize(
    ("scale", "size"),
    [(0.2, (600, 900)), (0.3, (315, 560)), (0.5, (133, 177)), (0.77, (133, 177)), (1.6, (133, 177)), (3.0, (40, 30))],
)
def test_a_crop_is_one_of_opencvs_resize_bit_for_bit(tmp_path, scale, size):
    """As make_cifar_c.py and make_tinyimagenet_c.py call it; uint8, linear.

    The same with SIMD and IPP on and off.
    """
    textures = directory_of(tmp_path, ["a.png"], size)
    resized = cv2.resize(textures.arrays[0], (0, 0), fx=scale, fy=scale)
    drawn = Keys(np.uint64(9), sample_keys(map(str, range(12)))).whole_numbers(
        1, resized.shape[0] - 18, resized.shape[1] - 21
    )
    for crop, (_, y, x) in zip(crops(textures, 12, 18, 21, scale), drawn.tolist(), strict=True):
        np.testing.assert_array_equal(crop, resized[y : y + 18, x : x + 21])


@pytest.mark.parametrize(("height", "width", "scale"), [(449, 640, 513 / 512), (640, 480, 544 / 512)])
def test_larger_images_take_crops_of_enlarged_default_textures(height, width, scale):
    """Enlarged so far that there are 64 places to begin at."""
    textures = default_textures(height, width)
    resized = [cv2.resize(array, (0, 0), fx=scale, fy=scale) for array in textures.arrays]
    spans = np.array(resized[0].shape[:2]) - (height, width)
    drawn = Keys(np.uint64(9), sample_keys(map(str, range(6)))).whole_numbers(5, *spans)
    for crop, (pick, y, x) in zip(crops(None, 6, height, width), drawn.tolist(), strict=True):
        np.testing.assert_array_equal(crop, resized[textures.picks[pick]][y : y + height, x : x + width])


def test_textures_cover_the_image(tmp_path):
    textures = directory_of(tmp_path, ["a.png", "b.png"])
    with pytest.raises(ParameterError, match=r"(?s)a\.png.*b\.png.*larger"):
        corruptset.corrupt(painted(41, 60), "frost", severity=1, calibration="imagenet", textures=textures)
    assert textures.not_covering(0.5, 20, 30) == []
    assert textures.not_covering(0.5, 21, 8) == ["a.png: 40x60", "b.png: 40x60"]
    for shape in ((40, 60, 3), (300, 224, 1), (8, 8, 3)):
        for scale in (0.05, 1.0, 30.0):
            image = painted(*shape)
            got = corruptset.corrupt(image, "frost", image_weight=0.5, frost_weight=0.5, texture_scale=scale)
            assert got.shape == image.shape
            assert (got != image).any()


def test_bytes_up_to_448_pixels_are_those_of_the_first_release():
    digests = {
        (448, 704, 3): "c78cf3ec86abbab6",
        (704, 448, 3): "e59b674a7e0f24c0",
        (300, 224, 1): "5383878faf8a49a5",
        (40, 30, 3): "f21468b0be56e8e6",
        (448, 448, 1): "ea5ff6d08ccca63a",
    }
    for (height, width, channels), digest in digests.items():
        y, x = np.mgrid[:height, :width]
        image = np.stack([(x * 3 + y * (k + 2)) % 256 for k in range(channels)], -1).astype(np.uint8)
        row = {"image_weight": 0.5, "frost_weight": 0.5, "texture_scale": 1.0}
        got = corruptset.corrupt(np.stack([image] * 3), "frost", **row, key=["a", "b", "c"])
        assert hashlib.sha256(got.tobytes()).hexdigest()[:16] == digest


# --- textures -------------------------------------------------------------------------------------------------------

PINNED = {
    "landscape": [
        ("sheet", "sha256:a2985cfafface5025af8baf7ba27505bf98f8d8de9169474dae7e7708ab16fbb"),
        ("needles", "sha256:fd8c3f8185d44d739fe541677d2c7278e99050945c425f48e90e21477ebf83d7"),
        ("pane", "sha256:dbeba872ef4d1078aca2452e31e9cfd1e9996ce8118440cb634a2b31e563164d"),
        ("feathers", "sha256:0875e32ade67e0e5f395d8e05479a8a969a5c7807253fd2e8f10dcb2d0352d7a"),
    ],
    "upright": [
        ("sheet", "sha256:9e3e8dab4a307ffe5e10f8a1d7d7e2bfac16ef75c839ca20253eff4dd59ae001"),
        ("needles", "sha256:fde05e369a9d192b1e00e2448c6d66ae8124dcf851f1ecefef84cdf7a2b54afc"),
        ("pane", "sha256:6e5b92f83aec0bd7e73a2c9c60ae806c7baf7f968d0d3a025523837ce92058f3"),
        ("feathers", "sha256:a7f10988e26b7084a68bc7cf6175c2dbfce8263d5cb8845f5ed117aeb9514bed"),
    ],
}


def test_default_textures_are_pinned_and_like_the_published_ones_in_all_that_is_looked_at():
    for size in ((224, 224), (448, 704), (4000, 6000)):
        assert default_textures(*size).records() == PINNED["landscape"]
    assert default_textures(225, 224).records() == PINNED["upright"]
    (note,) = differences(default_textures(224, 224))
    assert note.count("\n") == 0


def test_own_textures_are_sorted_converted_hashed_and_travel_without_their_pixels(tmp_path):
    colour = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    Image.fromarray(colour).save(tmp_path / "b.PNG")
    Image.fromarray(np.dstack([colour, colour[..., 0]])).save(tmp_path / "a.png")
    Image.fromarray(colour[..., 1]).save(tmp_path / "c.png")
    (tmp_path / "readme.txt").write_text("no picture")
    found = load_textures(tmp_path)
    assert found.names == ("a.png", "b.PNG", "c.png")
    for array, want in zip(found.arrays, (colour, colour, np.repeat(colour[..., 1:2], 3, 2)), strict=True):
        np.testing.assert_array_equal(array, want)
    assert found.sha256[0] == found.sha256[1] != found.sha256[2]
    for textures in (found, default_textures(224, 224)):
        sent = pickle.dumps(textures)
        assert len(sent) < 2000
        assert pickle.loads(sent) == textures
    sent = pickle.dumps(found)
    Image.fromarray(colour).save(tmp_path / "c.png")
    texture_module._reopened.cache_clear()
    with pytest.raises(SourceError, match="changed"):
        pickle.loads(sent)


def test_mistakes_are_told_all_at_once(tmp_path, monkeypatch):
    with pytest.raises(SourceError, match="does not exist"):
        load_textures(tmp_path / "nowhere")
    with pytest.raises(SourceError, match="no pictures"):
        load_textures(tmp_path)
    Image.fromarray(np.zeros((5, 30, 3), np.uint8)).save(tmp_path / "small.png")
    Image.fromarray(np.zeros((30, 30), np.uint16)).save(tmp_path / "deep.png")
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8 not a picture")
    (tmp_path / "empty.png").write_bytes(b"")
    with pytest.raises(SourceError) as told:
        load_textures(tmp_path)
    for word in ("small.png: it is 5x30", "deep.png", "8 bits", "broken.jpg", "empty.png", "4 of the 4"):
        assert word in str(told.value)
    for i in range(MOST):
        (tmp_path / f"{i}.png").write_bytes(b"")
    monkeypatch.setattr(Image, "open", lambda *_: pytest.fail("a picture was read"))
    with pytest.raises(SourceError, match=f"There are {MOST + 4} pictures .* expected at most {MOST}"):
        load_textures(tmp_path)


def test_how_textures_differ_from_the_published_ones_is_noted():
    def icy(seed, shape=(350, 527), mean=(78, 149, 166), contrast=20):
        grain = np.random.default_rng(seed).normal(0, contrast, shape)
        return np.clip(np.array(mean) + grain[..., None], 0, 255).astype(np.uint8)

    def of(hashes, picks):
        """What they look like does not matter where the hashes are the published ones."""
        names = tuple(f"frost{i}.png" for i in range(len(hashes)))
        return TextureSet(
            names, tuple(hashes), tuple(picks), ("directory", "d"), tuple(icy(i) for i in range(len(hashes)))
        )

    one, two, four, five = PUBLISHED
    six = [one, two, two, four, five, "sha256:6"]
    assert differences(of(six, range(5))) == differences(of(six[:5], range(5))) == []
    assert "different pictures to draw from: 5; the published sets have 4" in differences(of(six, range(6)))[0]
    assert "these are the published pictures, drawn otherwise" in differences(of([one, two, four, five], range(4)))[0]
    found = {
        "like.png": (icy(1), ""),
        "tiny.png": (icy(2, (40, 500)), "500x40"),
        "huge.png": (icy(3, (1300, 1301)), "1301x1300"),
        "flat.png": (icy(4, contrast=2), "contrast"),
        "dark.png": (icy(5, mean=(20, 30, 40)), "mean grey level"),
        "warm.png": (icy(6, mean=(170, 150, 120)), "is more red"),
    }
    hashes, arrays = tuple(f"sha256:{i}" for i in range(6)), tuple(array for array, _ in found.values())
    (note,) = differences(TextureSet(tuple(found), hashes, tuple(range(6)), ("directory", "d"), arrays))
    first, _, *lines = note.split("\n")
    assert "not the published ones" in first
    assert "docs/frost.md" in first
    assert [line.strip().partition(":")[0] for line in lines] == list(found)[1:]
    assert all(word in line for line, (_, word) in zip(lines, list(found.values())[1:], strict=True))
