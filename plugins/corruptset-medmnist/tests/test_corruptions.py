"""Tests of the corruptions and tables of MedMNIST-C.

``published.json`` contains random draws of medmnistc 0.1.0, and every 56th pixel of its outputs for images of
`published_draws.image`. ``benchmarks/parity.py --record`` wrote it, and compares all pixels.
"""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import digests as golden
import numpy as np
import pytest
from published_draws import draw_arguments, image

import corruptset
from corruptset.corruptions.calibrations import get_calibration
from corruptset.generate.recipes.recipe import load_recipe

HERE = Path(__file__).parent
PUBLISHED = json.loads((HERE / "published.json").read_text("utf-8"))
DIFFERENT = {(key.split("/")[1], repr(run)): key for key, run in PUBLISHED.items() if key[-1] in "135"}.values()
"""Severities 1, 3 and 5. A row that several datasets have is tested for the last one."""
DATASETS = sorted({key.partition("/")[0] for key in PUBLISHED})
RECORDED = json.loads((HERE / "digests.json").read_text("utf-8"))
"""corruption -> [parameters, digest], in which the digest belongs to revision 1 of the corruption."""
OLD_FONTS = int(cv2.__version__.partition(".")[0]) < 5
"""Whether OpenCV draws other letters than those that were recorded."""


@pytest.mark.parametrize("dataset", sorted({key.partition("/")[0] for key in DIFFERENT}))
def test_published_draws_reproduce_published_output(dataset):
    differences, images = [], {}
    for key in DIFFERENT:
        _, name, severity = key.split("/")
        if not key.startswith(f"{dataset}/") or (name == "characters" and OLD_FONTS):
            continue
        run = PUBLISHED[key]
        channels = len(run["pixels"]) // 2 // 16
        clean = images.setdefault(channels, image(0, grey=channels == 1))
        parameters = get_calibration(dataset).row(name, int(severity)).parameters
        draws = draw_arguments(name, parameters, run["drawn"], clean)
        out = corruptset.corrupt(clean, name, severity=int(severity), calibration=dataset, **draws)
        expected = np.frombuffer(bytes.fromhex(run["pixels"]), np.uint8).reshape(4, 4, channels)
        differences.append(np.abs(out[28::56, 28::56].astype(int) - expected))
        assert differences[-1].max() <= 1, key
    assert np.mean(np.concatenate(differences, axis=None) == 0) >= 0.99


@pytest.mark.parametrize("dataset", DATASETS)
def test_recipes_have_published_corruptions_at_five_severities(dataset):
    recipe = load_recipe(f"{dataset}-c").resolve()
    ids = {spec.id for spec in recipe.sets}
    assert ids == {"clean"} | {key.partition("/")[2] for key in PUBLISHED if key.startswith(f"{dataset}/")}


def test_published_quirks_are_reproduced():
    derma, retina, chest = (get_calibration(f"{name}mnist") for name in ("derma", "retina", "chest"))
    radii = [derma.row("black_corner", severity).parameters["radius"] for severity in range(1, 6)]
    assert radii == [1.1, 1.05, 1.0, 0.9, 0.95], "severity 5 is weaker than severity 4"
    assert [max(retina.rows["defocus_blur"]), max(chest.rows["windowed_gaussian_blur"])] == [5, 5], "no sixth row"
    grey = np.full((8, 8, 3), 100, np.uint8)
    assert corruptset.corrupt(grey, "added_saturation", shift=0.25)[0, 0].tolist() == [100, 75, 75]
    sizes = [get_calibration("pathmnist").row("stain_deposit", severity).parameters["size"] for severity in range(1, 6)]
    assert sizes == [24, 24, 24, 24, 32]


def test_noise_of_grey_images_is_averaged_over_three_channels():
    flat = np.full((64, 64, 1), 128, np.uint8)
    colour = corruptset.corrupt(np.repeat(flat, 3, axis=2), "rgb_gaussian_noise", sigma=0.1, key="a")
    grey = corruptset.corrupt(flat, "rgb_gaussian_noise", sigma=0.1, key="a")
    weights = np.array([0.299, 0.587, 0.114])
    assert np.abs(grey[..., 0] - colour @ weights).max() <= 0.51
    assert abs(grey.std() / colour.std() - np.sqrt((weights**2).sum())) < 0.02


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("gaussian", {"sigma": 0.2}),
        ("speckle", {"sigma": 0.3}),
        ("shot", {"photons": 25.0}),
        ("impulse", {"amount": 0.1}),
    ],
)
def test_noise_of_colour_images_has_core_distribution(name, parameters):
    images = np.broadcast_to(np.array([40, 128, 230], np.uint8), (128, 128, 3)).copy()
    ours, core = (
        np.sort(corruptset.corrupt(images, f"{prefix}{name}_noise", key="a", **parameters), axis=None)
        for prefix in ("rgb_", "")
    )
    assert abs(ours.mean() - core.mean()) < 1
    assert np.mean(np.abs(ours.astype(int) - core)) < 1.5, "the quantiles differ"


@pytest.mark.parametrize("name", sorted(set(RECORDED) - {"characters"} if OLD_FONTS else RECORDED))
def test_output_bytes_match_golden_digests(name):
    parameters, digest = RECORDED[name]
    assert golden.digest(name, **parameters) == digest


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_batch_images_are_independent_and_may_be_small_or_grey(name):
    parameters, _ = RECORDED[name]
    images = np.stack([image(which, grey=False)[:60, :90] for which in range(3)])
    for batch in (images, images[..., :1]):
        out = corruptset.corrupt(batch, name, key=["a", "b", "c"], **parameters)
        assert np.array_equal(out[1:2], corruptset.corrupt(batch[1:2], name, key=["b"], **parameters))
    assert corruptset.corrupt(images[:1, :8, :8], name, **parameters).shape == (1, 8, 8, 3)
