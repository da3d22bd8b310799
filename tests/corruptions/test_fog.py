"""Fog: the map octave by octave, the published law of laying it, published figures."""

from __future__ import annotations

import numpy as np
import pytest

import corruptset
from corruptset.corruptions.calibrations import shipped
from corruptset.corruptions.keys import sample_key
from corruptset.corruptions.stages import chain_keys, resolve_stage
from corruptset.corruptions.weather.fog import PLASMA_STREAM, grow_plasmas, plasma_side
from pictures import numbers, painted, photograph


def draw_plasma(side, wibble_decay, stage_key, sample_key, stream):
    """One map, (side, side) of float32 in [0, 1]."""
    return grow_plasmas(
        side, side, side, float(wibble_decay), np.uint64(stage_key), np.array([sample_key], np.uint64), stream
    )[0]


def octaves(plasma: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Take a map apart: what was added to the mean of four neighbours, at centres, upper edges and left edges."""
    out = []
    step = len(plasma)
    while step >= 2:
        corner = plasma[::step, ::step]
        half = step // 2
        centre, upper, left = plasma[half::step, half::step], plasma[::step, half::step], plasma[half::step, ::step]
        right, below = np.roll(corner, -1, 1), np.roll(corner, -1, 0)
        out.append(
            (
                centre - (corner + right + below + np.roll(right, -1, 0)) / 4,
                upper - (corner + right + centre + np.roll(centre, 1, 0)) / 4,
                left - (corner + below + centre + np.roll(centre, 1, 1)) / 4,
            )
        )
        step = half
    return out


@pytest.mark.parametrize("decay", [1.4, 2.0, 3.0])
def test_every_octave_adds_uniform_offsets_weaker_by_the_square_of_the_decay(decay):
    side = 256
    taken = [octaves(draw_plasma(side, decay, np.uint64(3), np.uint64(i), 0).astype(np.float64)) for i in range(6)]
    for one in taken:
        assert len(one) == 8
        sizes = [np.sqrt(np.mean(np.concatenate([p.ravel() for p in parts]) ** 2)) for parts in one]
        # Rounding of the map to single precision limits what can be read off the weakest octaves.
        readable = [k for k in range(3, 7) if sizes[k + 1] > 3e-6]
        assert readable
        for k in readable:
            assert sizes[k] / sizes[k + 1] == pytest.approx(decay**2, rel={3: 0.25, 4: 0.12}.get(k, 0.06))
        if sizes[6] < 1e-5:
            continue
        largest = max(np.abs(p).max() for p in one[6])
        for part in one[6]:
            z = part.ravel() / largest
            assert abs(z.mean()) < 0.05
            assert np.mean(z**2) == pytest.approx(1 / 3, abs=0.025)
            assert np.mean(z**4) == pytest.approx(1 / 5, abs=0.025), "not uniform"
        flat = [p.ravel() for p in one[6]]
        for a, b in ((0, 1), (0, 2), (1, 2)):
            assert abs(np.corrcoef(flat[a], flat[b])[0, 1]) < 0.06


def test_first_octaves_too_have_their_size():
    """One map says little about its coarsest octave; 400 small ones do."""
    ratios = []
    for i in range(400):
        first, second, third = octaves(draw_plasma(8, 2.0, np.uint64(9), np.uint64(i), 0).astype(np.float64))
        ratios.append([np.mean([np.mean(p**2) for p in parts]) for parts in (first, second, third)])
    a, b, c = np.median(ratios, axis=0)
    assert a / b == pytest.approx(16, rel=0.25)
    assert b / c == pytest.approx(16, rel=0.25)


def test_statistics_of_whole_maps_are_the_published_ones():
    """Means over 400 maps of the released plasma_fractal(256, 2) and (32, 1.75), with their standard errors."""
    for side, decay, mean, spread, step in ((256, 2.0, 0.5015, 0.1582, 0.0187), (32, 1.75, 0.4963, 0.1702, 0.1702)):
        maps = [draw_plasma(side, decay, np.uint64(5), np.uint64(i), 0).astype(np.float64) for i in range(150)]
        assert all(m.min() == 0.0 and m.max() == 1.0 for m in maps)
        assert np.mean([m.mean() for m in maps]) == pytest.approx(mean, abs=0.03)
        assert np.mean([m.std() for m in maps]) == pytest.approx(spread, abs=0.008)
        assert np.mean([np.abs(m - np.roll(m, 1, 1)).mean() / m.std() for m in maps]) == pytest.approx(step, rel=0.07)


def laid(image: np.ndarray, plasma: np.ndarray, weight: float) -> np.ndarray:
    """The definition, in doubles."""
    most = image.max() / 255.0
    if most == 0:
        return np.zeros_like(image)
    sheet = plasma[: image.shape[0], : image.shape[1], None]
    return np.floor((image / 255.0 + weight * sheet) * most / (most + weight) * 255.0).astype(np.uint8)


@pytest.mark.parametrize("shape", [(224, 224, 3), (9, 31, 1), (31, 9, 3), (40, 24, 3)])
@pytest.mark.parametrize("weight", [0.2, 1.5, 3.0])
def test_a_given_map_is_laid_as_published(shape, weight):
    image = photograph("astronaut") if shape[0] == 224 else painted(*shape)
    dark = image // 2
    plasma = np.random.default_rng(1).random((256, 256))
    plasma[:2, :2] = [[0, 1], [1, 0]]
    for picture in (image, dark):
        got = corruptset.corrupt(picture, "fog", weight=weight, wibble_decay=2.0, plasma=plasma)
        assert np.mean(got == laid(picture, plasma, weight)) > 0.999
        assert got.max() <= picture.max()


def test_black_stays_black_and_the_image_keeps_its_maximum():
    black = np.zeros((16, 16, 3), np.uint8)
    assert not corruptset.corrupt(black, "fog", weight=3.0, wibble_decay=1.4).any()
    ones = np.ones((16, 16), np.float32)
    white = np.full((16, 16, 3), 255, np.uint8)
    assert (corruptset.corrupt(white, "fog", weight=2.0, wibble_decay=2.0, plasma=ones) >= 254).all()


def test_what_is_drawn_is_the_documented_map_and_can_be_given_back():
    image = painted(20, 37)
    columns = {"weight": 1.5, "wibble_decay": 2.0}
    key = chain_keys([resolve_stage("fog", shipped("cifar"), parameters=columns)], 4)[0]
    plasma = draw_plasma(plasma_side(20, 37), 2.0, key, sample_key("x"), PLASMA_STREAM)
    assert plasma.shape == (64, 64)
    own = corruptset.corrupt(image, "fog", seed=4, key="x", **columns)
    np.testing.assert_array_equal(own, corruptset.corrupt(image, "fog", plasma=plasma, **columns))


@pytest.mark.parametrize(
    "bad", [np.zeros((36, 36)), np.zeros((64, 40)), np.full((64, 64), 1.5), np.full((64, 64), np.nan)]
)
def test_a_map_that_does_not_fit_is_refused(bad):
    with pytest.raises(corruptset.errors.ParameterError, match="plasma"):
        corruptset.corrupt(painted(20, 37), "fog", weight=1.0, wibble_decay=2.0, plasma=bad)


def test_side_is_a_power_of_two_that_covers_the_image():
    assert [plasma_side(*s) for s in ((8, 8), (32, 32), (33, 8), (224, 224), (256, 256), (257, 9), (299, 299))] == [
        8,
        32,
        64,
        256,
        256,
        512,
        512,
    ]


# psnr of astronaut, coffee, chelsea, rocket (3 seeds each) and its spread over seeds (a mean of 8 images), measured
# with the released generators
PUBLISHED = {
    ("imagenet", 224, 1): ([14.078, 13.652, 16.466, 13.902], 0.445),
    ("imagenet", 224, 3): ([12.456, 12.215, 15.330, 12.325], 0.268),
    ("imagenet", 224, 5): ([11.944, 11.797, 15.161, 12.216], 0.137),
    ("cifar", 32, 1): ([25.323, 24.582, 27.114, 25.538], 0.407),
    ("cifar", 32, 3): ([17.243, 16.457, 19.291, 17.431], 0.439),
    ("cifar", 32, 5): ([14.179, 13.675, 16.933, 14.363], 0.245),
}


@pytest.mark.parametrize("case", PUBLISHED, ids=str)
def test_psnr_is_the_published_one(case):
    calibration, size, severity = case
    want, spread = PUBLISHED[case]
    got = []
    for name in ("astronaut", "coffee", "chelsea", "rocket"):
        image = photograph(name, size)
        outs = corruptset.corrupt(
            np.stack([image] * 12), "fog", severity=severity, calibration=calibration, key=numbers(12)
        )
        errors = np.mean((outs.astype(float) - image) ** 2, axis=(1, 2, 3))
        got.append(np.mean(10 * np.log10(255**2 / errors)))
    assert np.mean(got) == pytest.approx(np.mean(want), abs=4 * spread)
