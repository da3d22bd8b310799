"""The default textures: pinned, like frost in the published photographs' statistics; a user's own; the cache."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pytest
from PIL import Image

from corruptset.corruptions.weather import ice, textures
from corruptset.corruptions.weather.textures import default_size, default_textures, load_textures
from corruptset.errors import SourceError

PINNED = [
    ("sheet", "sha256:ebbb023cdb8489ed44d18c3c7138dc1815b4ef4bd90e93cc0eb0edb4279582d0"),
    ("needles", "sha256:d8b5e2bd0e8d8986cbbf49e43cdf8c755571a2b84639cd4c86e1c7195ff05f1b"),
    ("pane", "sha256:6e13235975d29a197b0ee63a632463677a5ac1047307a04d8ea5e33daebc6a49"),
    ("feathers", "sha256:efbefdf9a67bc92774c3a9d8b172e6c50d1923d8c775bb511e1158e57aef5120"),
]
# Of the photographs that the released generators use: mean RGB; standard deviation of the channels' mean; slope of the
# log power spectrum; standard deviation of 16-pixel block means; mean |horizontal difference|; mean spread of channels.
PHOTOGRAPHS = {
    "sheet": ((78, 149, 166), 18.0, -1.69, 12.0, 7.2, 92),
    "needles": ((201, 205, 215), 22.0, -1.9, 13.0, 7.2, 15),
    "pane": ((138, 153, 165), 28.9, -1.6, 18.0, 15.7, 28),
    "feathers": ((112, 123, 135), 43.1, -1.8, 25.0, 18.4, 23),
}


def slope(grey: np.ndarray) -> float:
    side = len(grey)
    power = np.abs(np.fft.fft2(grey - grey.mean())) ** 2
    f = np.fft.fftfreq(side) * side
    ring = np.hypot(f[:, None], f[None]).round().astype(int)
    profile = np.bincount(ring.ravel(), power.ravel()) / np.bincount(ring.ravel())
    k = np.arange(1, side // 2)
    return float(np.polyfit(np.log(k), np.log(profile[1 : side // 2]), 1)[0])


def test_default_textures_are_pinned():
    assert default_textures(224, 224).records() == PINNED


@pytest.mark.parametrize("name", list(PHOTOGRAPHS))
def test_statistics_are_those_of_frost_on_glass(name):
    found = default_textures(224, 224)
    texture = found.arrays[found.names.index(name)].astype(float)
    mean, deviation, fall, blocks, difference, spread = PHOTOGRAPHS[name]
    grey = texture.mean(2)
    np.testing.assert_allclose(texture.mean((0, 1)), mean, atol=4)
    assert abs(grey.std() - deviation) < 3
    windows = [grey[y : y + 224, x : x + 224] for y in (0, 140, 280) for x in (0, 170, 340, 540)]
    assert abs(np.mean([slope(w) for w in windows]) - fall) < 0.45
    assert abs(np.mean([w.reshape(14, 16, 14, 16).mean((1, 3)).std() for w in windows]) - blocks) < 4.5
    assert abs(np.mean(np.abs(np.diff(grey, axis=1))) - difference) < 4
    assert abs(np.mean(texture.max(2) - texture.min(2)) - spread) < 8
    # Neither flat nor clipped nor periodic: no shift of a window finds itself again.
    assert np.mean((texture == 0) | (texture == 255)) < 0.01
    a = windows[0] - windows[0].mean()
    for w in windows[1:]:
        peak = np.abs(np.fft.ifft2(np.fft.fft2(a) * np.conj(np.fft.fft2(w - w.mean())))).max()
        assert peak / (a.size * a.std() * w.std()) < 0.6


def test_the_mixture_of_crops_has_the_photographs_mean():
    found = default_textures(224, 224)
    picked = np.mean([found.arrays[k].astype(float).mean((0, 1)) for k in found.picks], axis=0)
    np.testing.assert_allclose(picked, (148, 167, 179), atol=5)


def test_any_size_renders_the_same_again_and_larger_ones_are_not_repeats():
    for name, _ in ice.RENDERERS:
        one = ice.render(name, (90, 70))
        assert one.shape == (90, 70, 3)
        assert one.flags.c_contiguous
        np.testing.assert_array_equal(one, ice.render(name, (90, 70)))
        assert one.std() > 8


def test_the_size_depends_on_the_image_alone():
    for image, size in (
        ((32, 32), (512, 768)),
        ((448, 704), (512, 768)),
        ((449, 704), (1024, 1536)),
        ((705, 448), (1536, 1024)),
        ((4000, 6000), (4096, 6144)),
    ):
        assert default_size(*image) == size


def test_rendering_the_default_size_takes_seconds_at_most():
    for name, draw in ice.RENDERERS:
        draw((64, 64))
        start = time.process_time()
        ice.render(name, (512, 768))
        assert time.process_time() - start < 3


def test_a_set_travels_without_its_pixels(tmp_path):
    found = default_textures(224, 224)
    sent = pickle.dumps(found)
    assert len(sent) < 2000
    assert pickle.loads(sent) == found
    Image.fromarray(np.arange(2700, dtype=np.uint8).reshape(30, 30, 3)).save(tmp_path / "a.png")
    own = load_textures(tmp_path)
    sent = pickle.dumps(own)
    np.testing.assert_array_equal(pickle.loads(sent).arrays[0], own.arrays[0])
    Image.fromarray(np.zeros((30, 30, 3), np.uint8)).save(tmp_path / "a.png")
    textures._reopened.cache_clear()
    with pytest.raises(SourceError, match="changed"):
        pickle.loads(sent)


def test_the_cache_is_used_checked_and_mended(tmp_path, monkeypatch):
    monkeypatch.setattr(textures, "_folder", lambda: tmp_path / "t")
    made, digest = textures._cached("pane", (64, 96))
    file = tmp_path / "t" / "pane-64x96.npy"
    assert {p.name for p in (tmp_path / "t").iterdir()} == {"pane-64x96.npy", "pane-64x96.sha256"}
    rendered = []
    monkeypatch.setattr(ice, "render", lambda name, size, real=ice.render: rendered.append(name) or real(name, size))
    np.testing.assert_array_equal(textures._cached("pane", (64, 96))[0], made)
    assert not rendered
    spoiled = bytearray(file.read_bytes())
    spoiled[-5] ^= 1
    for content in (bytes(spoiled), b"", bytes(spoiled[:3000])):
        file.unlink()
        file.write_bytes(content)
        again, same = textures._cached("pane", (64, 96))
        assert same == digest
        np.testing.assert_array_equal(again, made)
    assert len(rendered) == 3


def test_a_cache_that_cannot_be_written_costs_time_only(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(textures, "_folder", lambda: tmp_path / "file")
    assert textures._cached("pane", (64, 96))[0].shape == (64, 96, 3)


def test_own_textures_are_sorted_converted_and_hashed(tmp_path):
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 256, (20, 30, 3), np.uint8)
    Image.fromarray(colour).save(tmp_path / "b.PNG")
    Image.fromarray(np.dstack([colour, colour[..., 0]])).save(tmp_path / "a.png")
    Image.fromarray(colour[..., 1]).save(tmp_path / "c.png")
    (tmp_path / "readme.txt").write_text("no picture")
    found = load_textures(tmp_path)
    assert found.names == ("a.png", "b.PNG", "c.png")
    np.testing.assert_array_equal(found.arrays[0], colour)
    np.testing.assert_array_equal(found.arrays[1], colour)
    np.testing.assert_array_equal(found.arrays[2], np.repeat(colour[..., 1:2], 3, 2))
    assert found.sha256[0] == found.sha256[1] != found.sha256[2]
    assert not found.default


def test_mistakes_are_told_all_at_once(tmp_path):
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
