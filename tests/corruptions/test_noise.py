"""Gaussian, shot, impulse and speckle noise: exact tables, pinned; the corruptions' edges."""

from __future__ import annotations

import hashlib
import tomllib
from decimal import Decimal, localcontext
from importlib.resources import files

import numpy as np
import pytest
from scipy import stats
from skimage import data

from corruptset.corruptions.keys import Keys, sample_keys
from corruptset.corruptions.noise import noise, tables
from corruptset.corruptions.random.normal import inverse_upper_tail, upper_tail
from corruptset.corruptions.registry import get_corruption
from corruptset.errors import ParameterError

STAGE = np.uint64(0x9E3779B97F4A7C15)
CALIBRATIONS = ("imagenet", "inception", "tiny", "cifar")
NOISES = {"gaussian_noise": "sigma", "shot_noise": "photons", "impulse_noise": "amount", "speckle_noise": "sigma"}
TABLE = {
    "gaussian_noise": tables.gaussian_table,
    "shot_noise": tables.shot_table,
    "speckle_noise": tables.speckle_table,
}


def shipped_parameters(name):
    """The parameters of a noise in every shipped calibration, each once."""
    found = set()
    for calibration in CALIBRATIONS:
        text = (files("corruptset.corruptions") / "tables" / f"{calibration}.toml").read_text(encoding="utf-8")
        found |= {float(row[NOISES[name]]) for row in tomllib.loads(text)[name]}
    return sorted(found)


def apply(images, name, value, ids=None, stage=STAGE):
    keys = sample_keys(ids if ids is not None else map(str, range(len(images))))
    return get_corruption(name).apply(images, {NOISES[name]: value}, stage, keys)


def unpacked(table, bits):
    """The integer weight of every outcome of an alias table, over 2**32."""
    rows = table.reshape(-1, 1 << bits).astype(np.int64)
    capacity = 1 << (32 - bits)
    weights = np.zeros_like(rows)
    for row, entries in zip(weights, rows, strict=True):
        row += entries >> bits
        np.add.at(row, entries & ((1 << bits) - 1), capacity - (entries >> bits))
    return weights


def table_hash(table):
    """The sha256 of a table's little-endian bytes."""
    return hashlib.sha256(table.astype("<u4").tobytes()).hexdigest()


# --- the normal's tail ---------------------------------------------------------------------------------------------


def test_upper_tail():
    z = np.linspace(-9.99, 9.99, 20011)
    assert np.abs(upper_tail(z) / stats.norm.sf(z) - 1).max() < 1e-13
    assert upper_tail(np.array([-11.0, 0.0, 11.0])).tolist() == [1.0, 0.5, 0.0]


def test_upper_tail_to_the_last_digits():
    # erfc(z / sqrt 2) / 2 to 20 digits, from tables of the normal distribution
    known = {1.0: "0.15865525393145705142", 3.0: "0.0013498980316300945267", 6.0: "9.8658764503769814070e-10"}
    for z, tail in known.items():
        assert abs(Decimal(float(upper_tail(np.array([z]))[0])) / Decimal(tail) - 1) < Decimal("4e-16")


def test_inverse_upper_tail():
    p = 2.0 ** -np.linspace(1, 50, 5001)
    assert np.abs(inverse_upper_tail(p) - stats.norm.isf(p)).max() < 1e-13


# --- tables --------------------------------------------------------------------------------------------------------


def published(noisy):
    """The released generators' last step: clip, scale, store as uint8."""
    return np.uint8(np.clip(noisy, 0, 1) * 255)


def exact_poisson(mean: float, count: int) -> list[Decimal]:
    """The probabilities of 0 .. count - 1 at a mean that is exactly this double."""
    with localcontext() as context:
        context.prec = 60
        out = [(-Decimal(mean)).exp()]
        for k in range(1, count):
            out.append(out[-1] * Decimal(mean) / k)
        return out


@pytest.mark.parametrize("photons", [3.0, 60.0, 500.0, 7.3, 0.001])
def test_shot_weights_are_exact(photons):
    weights = unpacked(tables.shot_table(photons), 8)
    assert (weights.sum(1) == 2**32).all()
    levels = (0, 1, 17, 128, 254, 255)
    for level in levels:
        most = int(photons + 60 + 12 * photons**0.5)
        exact = exact_poisson(level / 255.0 * photons, most) if level else [Decimal(1)]
        value = published(np.arange(len(exact)) / photons)
        cumulative = [Decimal(0)] * 256
        for outcome, probability in zip(value, exact, strict=True):
            cumulative[outcome] += probability
        for outcome in range(1, 256):
            cumulative[outcome] += cumulative[outcome - 1]
        got = np.cumsum(weights[level])
        assert max(abs(float(c * 2**32) - int(g)) for c, g in zip(cumulative, got, strict=True)) <= 0.51


def test_shot_at_a_million_photons():
    """The longest recurrence: still the Poisson distribution, within rounding."""
    weights = unpacked(tables.shot_table(1e6), 8)[200]
    edges = np.ceil(np.arange(257) / 255 * 1e6)
    edges[-1] = np.inf
    expected = np.diff(stats.poisson.cdf(edges - 1, 200 / 255 * 1e6), prepend=0)[1:]
    assert np.abs(weights / 2**32 - expected).max() < 1e-9


@pytest.mark.parametrize("sigma", [0.04, 0.38, 1e-9, 10.0])
def test_gaussian_weights_are_exact(sigma):
    weights = unpacked(tables.gaussian_table(sigma), 9)[0]
    assert weights.sum() == 2**32
    assert weights[0] == 0, "offset -256 is not needed"
    edges = np.concatenate([[-np.inf], np.arange(-254, 256), [np.inf]])
    expected = np.diff(stats.norm.cdf(edges / (255 * sigma)))
    assert np.abs(weights[1:] - expected * 2**32).max() <= 1.001


@pytest.mark.parametrize("sigma", [0.06, 0.6, 10.0])
def test_speckle_weights_are_exact(sigma):
    weights = unpacked(tables.speckle_table(sigma), 8)
    assert (weights.sum(1) == 2**32).all()
    assert weights[0, 0] == 2**32, "black stays black"
    edges = np.concatenate([[-np.inf], np.arange(1, 256), [np.inf]])
    for level in (1, 2, 100, 254, 255):
        expected = np.diff(stats.norm.cdf((edges - level) / (level * sigma)))
        assert np.abs(weights[level] - expected * 2**32).max() <= 1.001


# The first 16 digits of the sha256 of each shipped table.
PINNED = {
    ("gaussian_noise", 0.04): "8457966a4036078a",
    ("gaussian_noise", 0.06): "d7ad75019cd88ca3",
    ("gaussian_noise", 0.08): "c6233d9c49cc46c1",
    ("gaussian_noise", 0.09): "63a19ac6a23a8b69",
    ("gaussian_noise", 0.1): "c46ded67a687b3af",
    ("gaussian_noise", 0.12): "8664cf3bea4b403b",
    ("gaussian_noise", 0.13): "44b0cd141bd07430",
    ("gaussian_noise", 0.15): "5a5519b2463d2184",
    ("gaussian_noise", 0.18): "140bbccaa40a1052",
    ("gaussian_noise", 0.19): "c7fd5734dccae9ac",
    ("gaussian_noise", 0.26): "a0253e666489b35a",
    ("gaussian_noise", 0.27): "0cef4044649da0c3",
    ("gaussian_noise", 0.38): "a52a63361308bf64",
    ("gaussian_noise", 0.4): "2d54ea1da2c7ed7b",
    ("shot_noise", 3.0): "1757d29fec273e5d",
    ("shot_noise", 5.0): "df1b32f61b1d3564",
    ("shot_noise", 10.0): "a7a92add8779607a",
    ("shot_noise", 12.0): "aaaaa6f392c0f362",
    ("shot_noise", 15.0): "79022a97f3e833c4",
    ("shot_noise", 20.0): "eca601f35276d522",
    ("shot_noise", 25.0): "e21ccbae71c54452",
    ("shot_noise", 30.0): "f4ffe8b468a615e4",
    ("shot_noise", 50.0): "0666fcd074c1090f",
    ("shot_noise", 60.0): "735ee1ff8e579573",
    ("shot_noise", 75.0): "41e983273e099ca1",
    ("shot_noise", 100.0): "dae3f9861b6b6b18",
    ("shot_noise", 250.0): "336b2f62ebb56f86",
    ("shot_noise", 500.0): "e4c302adbb9b616d",
    ("speckle_noise", 0.06): "4ffe0967525ecdf9",
    ("speckle_noise", 0.1): "002d05b997a54bb0",
    ("speckle_noise", 0.12): "72ac54d5001c9185",
    ("speckle_noise", 0.15): "df43e0fe3add14be",
    ("speckle_noise", 0.16): "31ca0c2c19d078ad",
    ("speckle_noise", 0.2): "33f289a4dec33491",
    ("speckle_noise", 0.21): "503f28af769a68e0",
    ("speckle_noise", 0.25): "7cc7a0ff413fdf68",
    ("speckle_noise", 0.3): "4f70d1967dba21b1",
    ("speckle_noise", 0.35): "bbe277cce83a9952",
    ("speckle_noise", 0.36): "bef3ebb64b1ebd58",
    ("speckle_noise", 0.45): "63504a823e87e790",
    ("speckle_noise", 0.46): "fffe534ff8af84c2",
    ("speckle_noise", 0.6): "61c02a903d49a1ba",
    ("speckle_noise", 0.61): "0a7e8d904e076814",
}


def test_every_shipped_table_is_pinned():
    assert set(PINNED) == {(name, value) for name in TABLE for value in shipped_parameters(name)}


@pytest.mark.parametrize(("name", "value"), sorted(PINNED)[::9])
def test_pinned_tables(name, value):
    assert table_hash(TABLE[name](value))[:16] == PINNED[name, value]


@pytest.mark.ci
@pytest.mark.parametrize(("name", "value"), sorted(PINNED))
def test_all_pinned_tables(name, value):
    assert table_hash(TABLE[name](value))[:16] == PINNED[name, value]


# --- the corruptions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("shape", [(8, 8, 3), (9, 31, 1), (31, 9, 3), (224, 300, 3), (40, 35, 1)])
def test_batch_is_one_by_one(name, shape):
    rng = np.random.default_rng(1)
    images = rng.integers(0, 256, (3, *shape), dtype=np.uint8)
    before = images.copy()
    value = shipped_parameters(name)[-1]
    together = apply(images, name, value)
    assert together.shape == images.shape
    assert together.dtype == np.uint8
    assert (images == before).all()
    assert not np.shares_memory(together, images)
    for i in range(3):
        assert (apply(images[i : i + 1], name, value, [str(i)])[0] == together[i]).all()
    assert len({t.tobytes() for t in together}) == 3


@pytest.mark.parametrize("name", NOISES)
def test_the_first_elements_do_not_depend_on_the_size(name):
    """Element e is made of word e, across the chunks in which a kernel works."""
    value = shipped_parameters(name)[-1]
    large = apply(np.full((1, 100, 100, 3), 77, np.uint8), name, value).reshape(-1)
    small = apply(np.full((1, 60, 80, 1), 77, np.uint8), name, value).reshape(-1)
    assert (large[: small.size] == small).all()


@pytest.mark.parametrize("name", ["gaussian_noise", "speckle_noise"])
def test_no_noise_is_no_change(name):
    images = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)
    assert (apply(images, name, 0.0) == images).all()


@pytest.mark.parametrize("name", ["gaussian_noise", "speckle_noise"])
def test_the_least_noise_lowers_half_of_the_levels(name):
    """The floor: a noise too small to see still takes a level off wherever it is negative."""
    images = np.full((1, 100, 100, 1), 99, np.uint8)
    out = apply(images, name, 1e-9)
    assert set(np.unique(out)) == {98, 99}
    assert abs((out == 98).mean() - 0.5) < 0.02


@pytest.mark.parametrize("name", ["shot_noise", "speckle_noise"])
def test_black_stays_black(name):
    assert not apply(np.zeros((1, 64, 64, 3), np.uint8), name, shipped_parameters(name)[-1]).any()


def test_impulse_extremes():
    images = np.full((1, 200, 200, 3), 99, np.uint8)
    assert (apply(images, "impulse_noise", 0.0) == images).all()
    everything = apply(images, "impulse_noise", 1.0)
    assert set(np.unique(everything)) == {0, 255}
    assert abs((everything == 255).mean() - 0.5) < 0.01


def test_impulse_leaves_other_elements_alone():
    images = np.random.default_rng(0).integers(1, 255, (1, 100, 100, 3), dtype=np.uint8)
    out = apply(images, "impulse_noise", 0.27)
    assert ((out == images) | (out == 0) | (out == 255)).all()


def test_impulses_strike_elements_not_pixels():
    struck = apply(np.full((1, 300, 300, 3), 99, np.uint8), "impulse_noise", 0.27)[0] != 99
    assert abs(struck.all(-1).mean() - 0.27**3) < 0.004
    assert abs(struck.any(-1).mean() - (1 - 0.73**3)) < 0.01


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gaussian_noise", -0.1),
        ("gaussian_noise", 10.5),
        ("gaussian_noise", float("nan")),
        ("speckle_noise", -1),
        ("speckle_noise", 11),
        ("shot_noise", 0),
        ("shot_noise", 1e7),
        ("impulse_noise", 1.01),
        ("impulse_noise", -0.01),
    ],
)
def test_nonsense_is_refused(name, value):
    (parameter,) = get_corruption(name).columns
    with pytest.raises(ParameterError, match=parameter.name):
        parameter.checked(value, name)


@pytest.mark.parametrize(
    ("name", "ends"),
    [("gaussian_noise", (0, 1e-300, 10)), ("speckle_noise", (1e-300, 10)), ("shot_noise", (0.001, 1e6))],
)
def test_the_ends_of_the_accepted_range_work(name, ends):
    images = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)
    for value in ends:
        assert apply(images, name, value).shape == images.shape


# --- the published figures -----------------------------------------------------------------------------------------

# PSNR of the released generators (create_c/make_imagenet_c.py) on scikit-image's astronaut, Resize(256),
# CenterCrop(224); means over three seeds. One image's spread over seeds is about 0.1 dB for impulse noise and below
# 0.03 for the others.
FIGURES = {
    "gaussian_noise": (22.496, 19.167, 15.98, 13.252, 10.723),
    "shot_noise": (21.568, 18.143, 15.423, 12.255, 10.46),
    "impulse_noise": (19.84, 16.687, 15.086, 12.273, 10.242),
    "speckle_noise": (22.118, 19.859, 15.594, 13.807, 12.027),
}


def astronaut():
    from PIL import Image

    return np.asarray(Image.fromarray(data.astronaut()).resize((256, 256), Image.Resampling.BILINEAR))[
        16:240, 16:240
    ].copy()


@pytest.mark.parametrize("name", NOISES)
def test_figures_of_the_released_generator(name):
    image = astronaut()
    text = (files("corruptset.corruptions") / "tables" / "imagenet.toml").read_text(encoding="utf-8")
    for row in tomllib.loads(text)[name]:
        out = apply(np.stack([image] * 4), name, row[NOISES[name]])
        psnr = np.mean(10 * np.log10(255**2 / np.mean((image.astype(float) - out) ** 2, axis=(1, 2, 3))))
        assert abs(psnr - FIGURES[name][row["severity"] - 1]) < (0.35 if name == "impulse_noise" else 0.08)


@pytest.mark.parametrize("name", NOISES)
def test_levels_against_the_definition(name):
    """Mean and spread of every level against the published formula in numpy, drawn by numpy."""
    rng = np.random.default_rng(3)
    levels = np.repeat(np.arange(0, 256, 15, dtype=np.uint8), 40000).reshape(1, -1, 100, 1)
    x = levels / 255.0
    value = shipped_parameters(name)[-1 if name != "shot_noise" else 2]
    drawn = {
        "gaussian_noise": lambda: x + rng.normal(scale=value, size=x.shape),
        "shot_noise": lambda: rng.poisson(x * value) / value,
        "speckle_noise": lambda: x + x * rng.normal(scale=value, size=x.shape),
        "impulse_noise": lambda: np.where((u := rng.random(x.shape)) < value / 2, 0.0, np.where(u < value, 1.0, x)),
    }
    want = published(drawn[name]()).reshape(18, -1).astype(float)
    got = apply(levels, name, value).reshape(18, -1).astype(float)
    error = np.sqrt((want.var(1) + got.var(1)) / want.shape[1])
    assert (np.abs(got.mean(1) - want.mean(1)) <= 4.5 * error).all()
    assert (np.abs(got.std(1) - want.std(1)) <= 0.03 * want.std(1)).all()


def test_modules_take_what_the_registry_passes():
    images = np.full((2, 8, 8, 3), 10, np.uint8)
    keys = Keys(STAGE, sample_keys(["a", "b"]))
    assert (noise.gaussian_noise(images, keys, sigma=0.1) == apply(images, "gaussian_noise", 0.1, ["a", "b"])).all()
