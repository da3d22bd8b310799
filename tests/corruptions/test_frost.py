"""Test frost: mixing, crops, grey images, and the textures of corruptset and of users."""

from __future__ import annotations

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
    MAX_TEXTURES,
    TextureSet,
    default_textures,
    load_textures,
)
from corruptset.errors import ParameterError, SourceError
from corruptset.published_frost import PUBLISHED_FROST
from example_images import photograph, synthetic_image


def write_textures(folder, names, size=(40, 60)):
    rng = np.random.default_rng(4)
    for name in names:
        Image.fromarray(rng.integers(0, 256, (*size, 3), np.uint8)).save(folder / name)
    return load_textures(folder)


def crops(textures, count, height=24, width=20, scale=1.0, channels=3):
    """Return crops without the image, whose weight is 0."""
    images, keys = np.full((count, height, width, channels), 255, np.uint8), sample_keys(map(str, range(count)))
    row = {"image_weight": 0.0, "frost_weight": 1.0, "texture_scale": scale}
    options = {} if textures is None else {"textures": textures}
    return get_corruption("frost").apply(images, row, np.uint64(9), keys, **options)


def drawn_crops(textures, height, width, scale, picks, resized):
    """Return crops, and the drawn texture, row and column of each of them."""
    rows, columns = resized.shape[0] - height, resized.shape[1] - width
    drawn = Keys(np.uint64(9), sample_keys(map(str, range(6)))).integers(picks, rows, columns).tolist()
    return crops(textures, 6, height, width, scale), drawn


def test_folder_of_textures_is_read_at_each_call(tmp_path):
    image, options = photograph("coffee", 32), {"severity": 2, "calibration": "imagenet", "key": "a"}
    results = []
    for size in ((40, 60), (44, 70)):
        textures = write_textures(tmp_path, ["a.png"], size)
        expected = corruptset.corrupt(image, "frost", textures=textures, **options)
        for folder in (tmp_path, str(tmp_path)):
            np.testing.assert_array_equal(corruptset.corrupt(image, "frost", textures=folder, **options), expected)
            transform = corruptset.Corrupt("frost", severity=2, calibration="imagenet", textures=folder)
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(transform))(image, key="a"), expected)
        results.append(expected.tobytes())
    assert len({*results}) == 2


def test_mix_matches_published_frost():
    image = photograph("coffee", 32)
    crop = np.random.default_rng(1).integers(0, 256, image.shape, np.uint8)
    for calibration in ("imagenet", "cifar"):
        for severity, row in shipped(calibration).rows["frost"].items():
            a, b = row.parameters["image_weight"], row.parameters["frost_weight"]
            result = corruptset.corrupt(image, "frost", severity=severity, calibration=calibration, texture=crop)
            np.testing.assert_array_equal(result, np.uint8(np.clip(a * image + b * crop, 0, 255)))


def test_crops_cover_everything_except_last_row_and_column(tmp_path):
    """Test that words 0, 1 and 2 of the stream select the texture, the first row and the first column."""
    textures = write_textures(tmp_path, ["a.png", "b.png", "c.png"])
    drawn = Keys(np.uint64(9), sample_keys(map(str, range(300)))).integers(3, 40 - 24, 60 - 20).tolist()
    colour, grey = crops(textures, 300), crops(textures, 300, channels=1)
    for crop, one, (which, y, x) in zip(colour, grey, drawn, strict=True):
        np.testing.assert_array_equal(crop, textures.arrays[which][y : y + 24, x : x + 20])
        luma = (crop.astype(int) @ np.array([19595, 38470, 7471]) + 32768) >> 16
        np.testing.assert_array_equal(one[..., 0], luma, "grey images get the grey of the same crop")
    assert [set(column) for column in zip(*drawn, strict=True)] == [set(range(3)), set(range(16)), set(range(40))]


@pytest.mark.parametrize(("scale", "size"), [(0.2, (600, 900)), (0.77, (133, 177)), (3.0, (40, 30))])
def test_crop_equals_opencv_resize_exactly(tmp_path, scale, size):
    """Compare resizing with the call in make_cifar_c.py and make_tinyimagenet_c.py, with and without SIMD and IPP."""
    textures = write_textures(tmp_path, ["a.png"], size)
    resized = cv2.resize(textures.arrays[0], (0, 0), fx=scale, fy=scale)
    for crop, (_, y, x) in zip(*drawn_crops(textures, 18, 21, scale, 1, resized), strict=True):
        np.testing.assert_array_equal(crop, resized[y : y + 18, x : x + 21])


def test_textures_cover_image(tmp_path):
    """Test that default textures are enlarged for larger images, so that there are 64 positions for crops."""
    for height, width, scale in ((448, 704, 1.0), (704, 448, 1.0), (449, 640, 513 / 512)):
        textures = default_textures(height, width)
        resized = [cv2.resize(array, (0, 0), fx=scale, fy=scale) for array in textures.arrays]
        for crop, (pick, y, x) in zip(*drawn_crops(None, height, width, 1.0, 5, resized[0]), strict=True):
            np.testing.assert_array_equal(crop, resized[textures.picks[pick]][y : y + height, x : x + width])
    for shape, scale in (((300, 224, 1), 0.05), ((8, 8, 3), 5.0)):
        image, row = synthetic_image(*shape), {"image_weight": 0.5, "frost_weight": 0.5, "texture_scale": scale}
        assert (corruptset.corrupt(image, "frost", **row) != image).any()
    custom = write_textures(tmp_path, ["a.png", "b.png"])
    with pytest.raises(ParameterError, match=r"(?s)a\.png: 40x60.*b\.png.*larger"):
        corruptset.corrupt(synthetic_image(41, 60), "frost", severity=1, calibration="imagenet", textures=custom)
    assert custom.not_covering(0.5, 20, 30) == []


# --- textures -------------------------------------------------------------------------------------------------------

PINNED = {
    "landscape": ("a2985cfafface502", "fd8c3f8185d44d73", "dbeba872ef4d1078", "0875e32ade67e0e5"),
    "upright": ("9e3e8dab4a307ffe", "fde05e369a9d192b", "6e5b92f83aec0bd7", "a7f10988e26b7084"),
}


def test_textures_and_their_frequencies_are_pinned(tmp_path):
    for shape, size in (("landscape", (448, 704)), ("landscape", (4000, 6000)), ("upright", (225, 224))):
        textures = default_textures(*size)
        assert textures.names == ("sheet", "needles", "pane", "feathers")
        assert tuple(sha256[7:23] for sha256 in textures.sha256) == PINNED[shape]
        assert textures.picks == (0, 1, 1, 2, 3)
        assert not textures.published
    assert write_textures(tmp_path, [f"frost{i}.png" for i in range(1, 7)]).picks == (0, 1, 2, 3, 4)
    assert write_textures(tmp_path, ["frost7.png"]).picks == (0, 1, 2, 3, 4, 5, 6)


def test_custom_textures_are_sorted_converted_hashed_and_pickled_without_pixels(tmp_path):
    colour = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    Image.fromarray(colour).save(tmp_path / "b.PNG")
    Image.fromarray(np.dstack([colour, colour[..., 0]])).save(tmp_path / "a.png")
    Image.fromarray(colour[..., 1]).save(tmp_path / "c.png")
    (tmp_path / "readme.txt").write_text("no picture")
    (tmp_path / "._a.png").write_bytes(b"Mac OS X")
    loaded = load_textures(tmp_path)
    assert loaded.names == ("a.png", "b.PNG", "c.png")
    for array, expected in zip(loaded.arrays, (colour, colour, np.repeat(colour[..., 1:2], 3, 2)), strict=True):
        np.testing.assert_array_equal(array, expected)
    assert loaded.sha256[0] == loaded.sha256[1] != loaded.sha256[2]
    for textures in (loaded, default_textures(224, 224)):
        pickled = pickle.dumps(textures)
        assert len(pickled) < 2000
        assert pickle.loads(pickled) == textures
    pickled = pickle.dumps(loaded)
    Image.fromarray(colour).save(tmp_path / "c.png")
    texture_module._reopened.cache_clear()
    with pytest.raises(SourceError, match="changed"):
        pickle.loads(pickled)


def test_all_errors_are_reported_together(tmp_path, monkeypatch):
    for folder, message in ((tmp_path / "nowhere", "does not exist"), (tmp_path, "contains no images")):
        with pytest.raises(SourceError, match=message):
            load_textures(folder)
    Image.fromarray(np.zeros((5, 30, 3), np.uint8)).save(tmp_path / "small.png")
    Image.fromarray(np.zeros((30, 30), np.uint16)).save(tmp_path / "deep.png")
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8 not a picture")
    with pytest.raises(SourceError, match=r"(?s)3 of the 3.*broken\.jpg.*deep\.png.*8 bits.*small\.png: it is 5x30"):
        load_textures(tmp_path)
    for i in range(MAX_TEXTURES):
        (tmp_path / f"{i}.png").write_bytes(b"")
    monkeypatch.setattr(Image, "open", lambda *_: pytest.fail("a picture was read"))
    with pytest.raises(SourceError, match=f"contains {MAX_TEXTURES + 3} images; expected at most {MAX_TEXTURES}"):
        load_textures(tmp_path)


def test_published_textures_are_recognised_by_hash_with_their_frequencies():
    def published(hashes, picks):
        names, arrays = tuple(f"{i}.png" for i in range(len(hashes))), (np.zeros((8, 8, 3), np.uint8),) * len(hashes)
        return TextureSet(names, tuple(hashes), tuple(picks), ("directory", "d"), arrays).published

    one, two, four, five = PUBLISHED_FROST
    six = [one, two, two, four, five, "sha256:6"]
    assert published(six, range(5))
    assert published(six[:5], range(5))
    assert not published(six, range(6))
    assert not published([one, two, four, five], range(4))
