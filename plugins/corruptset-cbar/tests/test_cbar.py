"""Test ImageNet-C-bar and CIFAR-10-C-bar against recorded draws and outputs of the released generator.

``cbar_published.json`` was recorded by running the released generator on a photograph at 224 and at 32 pixels. It
contains the draws of each run, every 28th (4th) pixel of its output, and at 32 pixels the mean and the standard
deviation over runs of four statistics of an output.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.random import RandomState

import corruptset
from corruptset.generate.recipes.recipe import load_recipe
from example_images import number_keys, photograph

PUBLISHED = json.loads(Path(__file__).with_name("cbar_published.json").read_text("utf-8"))
PAIRS = sorted({key.rpartition("/")[0] for key in PUBLISHED["parity"]})


def phases(seed, planes, side):
    random = RandomState(seed)
    return np.stack([random.uniform(0, 2 * np.pi, (side, side // 2)).T for _ in range(planes)])


def perlin(seed):
    """Return recorded Perlin noise. The released generator draws 514 gradients and uses 256, and then the swaps."""
    random = RandomState(seed)
    points = np.array([(random.randint(0, 2**31, size=2) % 512 - 256) / 256 for _ in range(514)])[:256]
    order = np.arange(256)
    for i in range(255, -1, -1):
        j = random.randint(0, 2**31) % 256
        order[i], order[j] = order[j], order[i]
    return {"permutation": order, "gradients": points / np.linalg.norm(points, axis=1, keepdims=True)}


def normals(seed, rays):
    random, out = RandomState(seed), np.zeros((len(rays), 199))
    for row, number in zip(out, rays, strict=True):
        row[:number] = [random.randn() for _ in range(number)]
    return out


def chances(seed, cell, side):
    out, number = np.zeros((40, 40)), int(4 * side // cell)
    out[:number, :number] = RandomState(seed).uniform(size=(number, number))
    return out


def recorded_draws(name, side, severity, draws):
    """Return recorded draws as arguments of corruptset, which expects (x, y) where some recordings have (y, x)."""
    d = draws
    flipped = {key: np.array(d[key])[..., ::-1] for key in ("centers", "center", "wavelengths", "phases") if key in d}
    return {
        "single_frequency_greyscale": lambda: {"frequency": d["freq"], "phase": d["phase"]},
        "cocentric_sine_waves": lambda: {
            "centre": d["offset"], "petals": d["freq"], "amplitude": d["amplitude"], "ring_width": d["ring_width"]
        },
        "plasma_noise": lambda: {
            "time": d["time"], "iterations": d["iterations"], "sharpness": d["sharpness"], "wave_size": d["scale"]
        },
        "sparkles": lambda: {"centres": flipped["centers"], "rays": d["nrays"], "normals": normals(d["seed"],
        d["nrays"])},
        "inverse_sparkles": lambda: {"centre": flipped["center"], "rays": [d["rays"]], "normals": normals(d["seed"],
        [d["rays"]])},
        "perlin_noise": lambda: perlin(d["seed"]),
        "blue_noise_sample": lambda: {"phases": phases(d["seed"], 1, side)},
        "brownish_noise": lambda: {"phases": phases(d["seed"], 3, side)},
        "checkerboard_cutout": lambda: {
            "angle_deg": math.degrees(d["angle"]), "cell": d["scales"][0], "chances": chances(d["seed"],
            d["scales"][0], side)
        },
        "caustic_refraction": lambda: {"time": d["time"], "wave_size": d["size"]},
        "ripple": lambda: {"wave_lengths": flipped["wavelengths"], "phases": flipped["phases"]},
        "pinch_and_twirl": lambda: {"signs": np.sign(d["angles"]).astype(int)},
        "circular_motion_blur": dict,
        "lines": lambda: {
            "angle_deg": math.degrees(d["angle"]), "spread": d["angle_variation"],
            "places": RandomState(d["seed"]).uniform(size=(int((0, 1.6, 3.2, 4.8, 6.4, 8.0)[severity]), 3)),
        },
        "transverse_chromatic_abberation": lambda: {"order": np.argsort(np.argsort(d["scales"]))},
    }[name]()  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS)
def test_published_draws_reproduce_published_output(pair):
    side, name = int(pair.split("/")[0]), pair.split("/")[1]
    image = photograph("astronaut", side)
    equal = []
    for severity in range(1, 6):
        run = PUBLISHED["parity"][f"{pair}/{severity}"]
        draws = recorded_draws(name, side, severity, run["drawn"])
        out = corruptset.corrupt(
            image, name, severity=severity, calibration={224: "imagenet", 32: "cifar"}[side], **draws
        )
        expected = np.frombuffer(bytes.fromhex(run["pixels"]), np.uint8).reshape(8, 8, 3).astype(int)
        step = 28 if side == 224 else 4
        difference = np.abs(out[::step, ::step].astype(int) - expected)
        assert difference.max() <= 1, severity
        equal.append(np.mean(difference == 0))
    assert np.mean(equal) >= 0.99, "not the floor of the released generator"


@pytest.mark.parametrize("name", sorted(PUBLISHED["statistics"]))
def test_draws_have_published_distribution(name):
    """Compare the change of an image over 1,000 keys: its size, mean, and variation along a row and between halves."""
    published, image = PUBLISHED["statistics"][name], photograph("astronaut", 32)
    calibration = "cifar" if f"32/{name}/3" in PUBLISHED["parity"] else "imagenet"
    outs = corruptset.corrupt(
        np.stack([image] * 1000), name, severity=3, calibration=calibration, key=number_keys(1000)
    )
    change = outs.astype(float) - image
    halves = change[:, :16].mean(axis=(1, 2, 3)) - change[:, 16:].mean(axis=(1, 2, 3))
    steps = np.abs(np.diff(change, axis=2)).mean(axis=(1, 2, 3))
    ours = np.stack([np.sqrt((change**2).mean(axis=(1, 2, 3))), change.mean(axis=(1, 2, 3)), steps, halves], axis=1)
    mean, sd = np.array(published["mean"]), np.array(published["sd"])
    error = sd * math.sqrt(1 / 1000 + 1 / published["runs"])
    assert (np.abs(ours.mean(axis=0) - mean) < 4 * error + 0.02).all(), (ours.mean(axis=0), mean, error)
    # a standard deviation of so few runs, some with long tails, says no more
    assert (np.abs(ours.std(axis=0) / sd - 1) < 0.35).all(), (ours.std(axis=0), sd)


def test_noise_shape_fits_grey_and_long_images():
    grey = np.full((24, 61, 1), 100, np.uint8)
    for name in ("plasma_noise", "brownish_noise", "blue_noise_sample", "transverse_chromatic_abberation"):
        calibration = "imagenet" if name == "plasma_noise" else "cifar"
        assert corruptset.corrupt(grey, name, severity=3, calibration=calibration).shape == grey.shape
    noise = np.random.default_rng(0).uniform(0, 6, (1, 32, 64))
    corruptset.corrupt(grey, "brownish_noise", intensity=20.0, phases=noise)
    with pytest.raises(corruptset.errors.ParameterError, match=r"expected \(1, 32, 64\)"):
        corruptset.corrupt(grey, "brownish_noise", intensity=20.0, phases=noise[:, :30])
    # a small image may have no lines
    small = grey[:8, :8]
    np.testing.assert_array_equal(corruptset.corrupt(small, "lines", density=0.1), small)


def test_recipes_have_published_sets_and_build_names_package(run):
    """cifar10_c_bar.csv of the released code has five corruptions of ImageNet-C-bar and five others."""
    large, small = load_recipe("imagenet-c-bar"), load_recipe("cifar10-c-bar")
    ten, other = ({s.stages[0].corruption for s in recipe.resolve().sets} for recipe in (large, small))
    assert other - ten == set(
        "circular_motion_blur lines pinch_and_twirl ripple transverse_chromatic_abberation".split()
    )
    assert len(ten) == len(other) == 10
    assert (large.encoding.format, small.encoding.format) == ("jpeg", "png")
    assert len(small.resolve().sets) == len(large.resolve().sets) == 50
    result = run("build", "imagenet-c-bar", "--sets", "sparkles/1", "--samples", "1", "--no-page", "--json")
    assert result.code == 0
    (plugin,) = corruptset.open(result.json["directory"]).manifest.plugins
    assert (plugin.module, plugin.version) == ("corruptset_cbar", "1.0.0")
    assert "sparkles" in plugin.corruptions
