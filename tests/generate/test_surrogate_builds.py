"""Test builds that follow the gradient of a model, with pgd of handwritten digits and a network trained on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import surrogates

import corruptset
from corruptset.errors import BuildError, ModelError
from corruptset.generate.recipes.recipe import parse_recipe
from example_images import encode_image

pytestmark = pytest.mark.ci

CHAINS = """
name = "chains"
version = "1"
calibration = "mnist"
[preprocessing]
kind = "surrogate"
[encoding]
format = "png"
[[sets]]
clean = true
[[sets]]
corruptions = ["contrast"]
severities = [3]
[[sets]]
corruptions = ["pgd"]
[[sets]]
chain = ["contrast-3", "pgd-4"]
[[sets]]
chain = ["pgd-4", "jpeg_compression-3"]
"""

OPTIONS = {"jobs": 1, "metrics": 0, "page": False}


@pytest.fixture(scope="module")
def model():
    return surrogates.digits_model().model


def write_digits(folder, count):
    """Write the first `count` digits that the model was not trained on into class folders, and return the source."""
    digits = surrogates.digits_model()
    for number, (image, label) in enumerate(zip(digits.images[:count], digits.labels[:count], strict=True)):
        (folder / str(label)).mkdir(parents=True, exist_ok=True)
        (folder / str(label) / f"{number:04d}.png").write_bytes(encode_image(image[:, :, 0]))
    return f"folder:{folder}"


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_digits(tmp_path_factory.mktemp("digits"), 24)


@pytest.fixture(scope="module")
def chains(model, source, tmp_path_factory):
    out = tmp_path_factory.mktemp("chains")
    return corruptset.build(parse_recipe(CHAINS, "The recipe"), source, out, surrogate=model, **OPTIONS)


def test_accuracy_falls_with_severity_and_stored_images_are_reproducible(chains, model, source, tmp_path):
    data = corruptset.open(chains.directory)
    clean, labels = data["clean"].array().astype(np.int16), data["clean"].labels
    corruptset.predict(data.path, model, tmp_path)
    shares = []
    for severity, eps in enumerate((0, 1, 2, 4, 8, 16)):
        name = f"pgd/{severity}" if severity else "clean"
        assert np.abs(data[name].array() - clean).max() == eps
        shares.append((np.load(tmp_path / f"{name}.npz")["logits"].argmax(axis=1) == labels).mean())
    assert shares[0] >= 0.95
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] <= shares[0] - 0.05
    verified = corruptset.verify(data.path, rederive=5, source=source, surrogate=model, jobs=1)
    assert verified.ok, verified.problems
    followers = ["contrast-3+pgd-4", "pgd-4+jpeg_compression-3", *(f"pgd/{s}" for s in range(1, 6))]
    expected = {f"{s}: 0 of {5 * 64} values differ (0.00%), by at most 0" for s in followers}
    assert (set(verified.notes), len(verified.notes)) == (expected, len(followers))
    assert data.manifest.surrogates == [corruptset.load_surrogate(model).record()]
    assert [s.id for s in data.manifest.sets if not s.reproducible] == followers


def test_chains_start_from_previous_stage(chains, model):
    """pgd after contrast stays within eps of the image with reduced contrast, and JPEG compresses attacked images."""
    data = corruptset.open(chains.directory)
    low = data["contrast/3"].array().astype(np.int16)
    assert np.abs(data["contrast-3+pgd-4"].array() - low).max() == 8
    sample, clean = data.samples[3], data["clean"].image(3)
    attacked = corruptset.corrupt(clean, "pgd", severity=4, label=sample.label, surrogate=model, key=sample.id)
    assert np.array_equal(attacked, data["pgd/4"].image(3))
    result = corruptset.corrupt(attacked, "jpeg_compression", severity=3, calibration="mnist", key=sample.id)
    assert np.array_equal(data["pgd-4+jpeg_compression-3"].image(3), result)


def test_bytes_are_independent_of_workers_and_sets_and_recipe_may_name_model(chains, model, source, tmp_path):
    """``[surrogate]`` is found in the folder of the recipe, and its path is not recorded."""
    recipe = model.with_name("mine.toml")
    recipe.write_text(CHAINS.replace("[preprocessing]", f'[surrogate]\nfile = "{model.name}"\n[preprocessing]'))
    result = corruptset.build(recipe, source, tmp_path, sets=["contrast-3+pgd-4", "pgd/5"], **OPTIONS | {"jobs": 2})
    digests = {s.id: s.pixel_digest for s in chains.manifest.sets}
    results = {s.id: s.pixel_digest for s in result.manifest.sets}
    assert (len(results), results.items() <= digests.items()) == (2, True)
    assert str(model.parent) not in (result.directory / "manifest.json").read_text()


def test_unsuitable_model_is_rejected(model, source, tmp_path):
    invalid = model.with_name("wrong.toml")
    invalid.write_text(model.read_text().replace("std = 0.25", "std = 250.0"))
    subset = write_digits(tmp_path / "few", 3)
    for images, options, error, message in (
        (source, {}, BuildError, "--surrogate FILE.toml"),
        (source, {"surrogate": invalid}, ModelError, r"images correctly, but .*wrong\.toml requires at least 90\.0%"),
        (subset, {"surrogate": model}, ModelError, "has 10 outputs, but the dataset has 3 classes"),
        (source, {"surrogate": model, "device": "cuda"}, ModelError, "has no device 'cuda'"),
    ):
        with pytest.raises(error, match=message):
            corruptset.build("pgd-5", images, tmp_path / "out", jobs=1, **options)
    assert not Path(tmp_path / "out").exists()
