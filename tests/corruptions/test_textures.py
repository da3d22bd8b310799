"""The default textures: pinned, like frost in the published photographs' statistics; a user's own."""

from __future__ import annotations

import pickle

import cv2
import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from corruptset.corruptions.weather import textures
from corruptset.corruptions.weather.textures import default_textures, load_textures
from corruptset.errors import SourceError

PINNED = [
    ("sheet", "sha256:a2985cfafface5025af8baf7ba27505bf98f8d8de9169474dae7e7708ab16fbb"),
    ("needles", "sha256:fd8c3f8185d44d739fe541677d2c7278e99050945c425f48e90e21477ebf83d7"),
    ("pane", "sha256:dbeba872ef4d1078aca2452e31e9cfd1e9996ce8118440cb634a2b31e563164d"),
    ("feathers", "sha256:0875e32ade67e0e5f395d8e05479a8a969a5c7807253fd2e8f10dcb2d0352d7a"),
]
PINNED_UPRIGHT = [
    ("sheet", "sha256:9e3e8dab4a307ffe5e10f8a1d7d7e2bfac16ef75c839ca20253eff4dd59ae001"),
    ("needles", "sha256:fde05e369a9d192b1e00e2448c6d66ae8124dcf851f1ecefef84cdf7a2b54afc"),
    ("pane", "sha256:6e5b92f83aec0bd7e73a2c9c60ae806c7baf7f968d0d3a025523837ce92058f3"),
    ("feathers", "sha256:a7f10988e26b7084a68bc7cf6175c2dbfce8263d5cb8845f5ed117aeb9514bed"),
]
# Of the photographs that the released generators use (frost1.png, frost2.png, frost4.jpg, frost5.jpg), of the mean of
# the channels but for `mean`: percentiles 1 5 25 50 75 95 99, standard deviation, skew, kurtosis; mean |horizontal| and
# |vertical difference| as they are and at x0.2; mean standard deviation within crops of 32 px at x0.2, 64 at x0.3, 224
# at x1; mean and standard deviation of the means of crops of 32 px; slope of the log power spectrum; mean spread of the
# channels.
PHOTOGRAPHS = {
    "sheet": {
        "mean": (77.7, 149.1, 165.7), "percentiles": (97.0, 104.0, 117.7, 129.0, 142.3, 163.3, 177.3),
        "sd": 17.97, "skew": 0.482, "kurtosis": 3.03, "steps": (7.36, 7.87), "small steps": (10.59, 10.91),
        "crops": (14.14, 14.21, 15.50), "crop means": (129.84, 10.81), "slope": -1.70, "spread": 88.1,
    },
    "needles": {
        "mean": (200.8, 205.4, 214.5), "percentiles": (141.3, 166.0, 195.0, 210.3, 222.3, 236.3, 245.0),
        "sd": 21.96, "skew": -0.949, "kurtosis": 4.50, "steps": (7.93, 8.32), "small steps": (14.33, 14.39),
        "crops": (18.12, 18.42, 20.01), "crop means": (204.52, 8.94), "slope": -2.04, "spread": 13.7,
    },
    "pane": {
        "mean": (137.6, 152.8, 165.2), "percentiles": (82.0, 104.0, 134.0, 152.0, 169.0, 198.7, 233.7),
        "sd": 28.88, "skew": 0.116, "kurtosis": 3.88, "steps": (13.18, 14.03), "small steps": (21.80, 21.98),
        "crops": (26.17, 23.73, 26.48), "crop means": (157.65, 10.14), "slope": -1.71, "spread": 27.6,
    },
    "feathers": {
        "mean": (112.4, 123.4, 134.8), "percentiles": (45.0, 60.0, 91.7, 119.0, 150.7, 203.3, 237.7),
        "sd": 43.10, "skew": 0.494, "kurtosis": 2.89, "steps": (17.42, 17.57), "small steps": (29.35, 28.94),
        "crops": (34.23, 32.19, 35.31), "crop means": (114.23, 15.73), "slope": -1.92, "spread": 22.4,
    },
}  # fmt: skip


def slope(grey: np.ndarray) -> float:
    side = len(grey)
    power = np.abs(np.fft.fft2(grey - grey.mean())) ** 2
    f = np.fft.fftfreq(side) * side
    ring = np.hypot(f[:, None], f[None]).round().astype(int)
    profile = np.bincount(ring.ravel(), power.ravel()) / np.bincount(ring.ravel())
    k = np.arange(1, side // 2)
    return float(np.polyfit(np.log(k), np.log(profile[1 : side // 2]), 1)[0])


def test_default_textures_are_pinned():
    for size in ((224, 224), (448, 704), (4000, 6000)):
        assert default_textures(*size).records() == PINNED
    assert default_textures(225, 224).records() == PINNED_UPRIGHT


def crop_moments(grey: np.ndarray, side: int) -> tuple[float, float, float]:
    """Return the mean standard deviation within crops, and mean and standard deviation of their means, over all that
    frost takes.
    """
    sums = [np.pad(power.cumsum(0).cumsum(1), ((1, 0), (1, 0))) for power in (grey, grey * grey)]
    mean, square = (
        (s[side:, side:] - s[:-side, side:] - s[side:, :-side] + s[:-side, :-side])[:-1, :-1] / side**2 for s in sums
    )
    return float(np.sqrt(square - mean * mean).mean()), float(mean.mean()), float(mean.std())


def figures(texture: np.ndarray) -> dict[str, object]:
    """Return a texture's figures, as the released generators crop it."""
    grey = texture.astype(float).mean(2)
    small = [cv2.resize(texture, (0, 0), fx=scale, fy=scale).astype(float).mean(2) for scale in (0.2, 0.3)]
    from_mean = (grey - grey.mean()) / grey.std()
    windows = [
        grey[y : y + 224, x : x + 224] for y in (0, 140, 280) for x in (0, 170, 340, 540) if x + 224 <= grey.shape[1]
    ]
    crops = [crop_moments(picture, side) for picture, side in ((small[0], 32), (small[1], 64), (grey, 224))]
    return {
        "mean": texture.mean((0, 1)),
        "percentiles": np.percentile(grey, (1, 5, 25, 50, 75, 95, 99)),
        "sd": grey.std(),
        "skew": (from_mean**3).mean(),
        "kurtosis": (from_mean**4).mean(),
        "steps": [np.abs(np.diff(grey, axis=axis)).mean() for axis in (1, 0)],
        "small steps": [np.abs(np.diff(small[0], axis=axis)).mean() for axis in (1, 0)],
        "crops": [within for within, *_ in crops],
        "crop means": crops[0][1:],
        "slope": np.mean([slope(w) for w in windows]),
        "spread": np.mean(texture.max(2).astype(float) - texture.min(2)),
    }


@pytest.mark.parametrize("name", list(PHOTOGRAPHS))
def test_statistics_are_within_a_tenth_of_the_photographs(name):
    found = default_textures(224, 224)
    texture = found.arrays[found.names.index(name)]
    has = figures(texture)
    wanted = PHOTOGRAPHS[name]
    # Near zero a tenth of it says nothing: a skew may be off by 0.05.
    for figure, tolerance in {"skew": {"atol": 0.05}, "mean": {"atol": 2.5}}.items():
        np.testing.assert_allclose(has.pop(figure), wanted[figure], **({"rtol": 0.0} | tolerance), err_msg=figure)
    for figure, value in has.items():
        np.testing.assert_allclose(value, wanted[figure], rtol=0.1, err_msg=figure)
    # Neither black nor clipped nor periodic: no shift of a window finds itself again.
    grey = texture.astype(float).mean(2)
    assert grey.min() > 20
    assert np.mean(texture == 255) < 0.01
    fine = grey - ndimage.uniform_filter(grey, 33)
    a, *others = [fine[y : y + 224, x : x + 224] for y in (0, 140, 280) for x in (0, 170, 340, 540)]
    for w in others:
        peak = np.abs(np.fft.ifft2(np.fft.fft2(a) * np.conj(np.fft.fft2(w)))).max()
        assert peak / (a.size * a.std() * w.std()) < 0.6


def test_the_mixture_of_crops_has_the_photographs_mean():
    found = default_textures(224, 224)
    picked = np.mean([found.arrays[k].astype(float).mean((0, 1)) for k in found.picks], axis=0)
    np.testing.assert_allclose(picked, (148, 167, 179), atol=5)


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
