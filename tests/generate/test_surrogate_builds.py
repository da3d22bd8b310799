"""Builds that follow a model's gradient: pgd and model_gradient of handwritten digits, against a network that knows
them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pytest
import surrogates
from PIL import Image

import corruptset
from corruptset.errors import ModelError
from corruptset.generate.recipes.recipe import parse_recipe

pytestmark = pytest.mark.ci

COUNT = 40
CHAINS = """
name = "chains"
version = "1"
calibration = "mnist"
[preprocessing]
kind = "surrogate"
[encoding]
format = "png"
[[sets]]
corruptions = ["contrast"]
severities = [3]
[[sets]]
corruptions = ["pgd"]
severities = [2, 5]
[[sets]]
chain = ["contrast-3", "pgd-4"]
[[sets]]
chain = ["pgd-4", "jpeg_compression-3"]
"""


@pytest.fixture(scope="module")
def model() -> Path:
    return surrogates.digits().model


def write_digits(folder: Path, count: int) -> str:
    """Write the first `count` digits that the model does not know, a folder a class; return the source."""
    known = surrogates.digits()
    for number, (image, label) in enumerate(zip(known.images[:count], known.labels[:count], strict=True)):
        (folder / str(label)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image[:, :, 0]).save(folder / str(label) / f"{number:04d}.png")
    return f"folder:{folder}"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_digits(tmp_path_factory.mktemp("digits"), COUNT)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., commands.Done]]:
    server = commands.Server(tmp_path_factory.mktemp("commands"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def chains(model: Path, source: str, tmp_path_factory: pytest.TempPathFactory) -> corruptset.generate.build.Built:
    out = tmp_path_factory.mktemp("chains")
    return corruptset.build(parse_recipe(CHAINS, "The recipe"), source, out, surrogate=model, jobs=1)


def accuracies(
    run: Callable[..., commands.Done], root: Path, model: Path, out: Path, *options: Any
) -> dict[str, float]:
    """Return the accuracy on every set, from the files that `corruptset predict` writes."""
    done = run("predict", root, "--model", model, "--out", out, *options)
    assert done.code == 0, done.err
    data = corruptset.open(root)
    predicted = {name: np.load(out / f"{name}.npz")["logits"] for name in data if (out / f"{name}.npz").exists()}
    return {name: float((logits.argmax(axis=1) == data[name].labels).mean()) for name, logits in predicted.items()}


def test_pgd_by_the_command_line(run: Callable[..., commands.Done], model: Path, source: str, tmp_path: Path) -> None:
    """Accuracy falls with every severity, no value is further than eps, and what is stored is what comes out again."""
    arguments = ["pgd-5", "--source", source, "--out", tmp_path, "--jobs", 1, "--json"]
    refused = run("build", *arguments)
    assert refused.code == 2
    assert "--surrogate FILE.toml" in refused.err
    assert not list(tmp_path.iterdir())
    built = run("build", *arguments, "--surrogate", model)
    assert built.code == 0, built.err
    data = corruptset.open(built.json["directory"])
    clean = data["clean"].array().astype(np.int16)
    for severity, eps in enumerate((1, 2, 4, 8, 16), 1):
        assert np.abs(data[f"pgd/{severity}"].array() - clean).max() == eps
    shares = list(accuracies(run, data.path, model, tmp_path / "predictions").values())
    assert len(shares) == 6
    assert shares[0] >= 0.95
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] <= shares[0] - 0.05
    verified = run("verify", data.path, "--rederive", 5, "--source", source, "--surrogate", model, "--json")
    assert verified.code == 0, verified.out
    assert verified.json["notes"] == [
        f"pgd/{s}: 0 of {5 * 64} values differ (0.00%), by at most 0" for s in range(1, 6)
    ]
    manifest = json.loads((data.path / "manifest.json").read_text())
    assert manifest["surrogates"] == [corruptset.load_surrogate(model).record()]
    assert {s["id"]: s.get("reproducible", True) for s in manifest["sets"]} == {"clean": True} | {
        f"pgd/{s}": False for s in range(1, 6)
    }


def test_bytes_do_not_depend_on_workers_or_sets(chains: Any, model: Path, source: str, tmp_path: Path) -> None:
    options = {"sets": ["contrast-3+pgd-4", "pgd/5"], "jobs": 2}
    again = corruptset.build(parse_recipe(CHAINS, "The recipe"), source, tmp_path, surrogate=model, **options)
    digests = {s.id: s.pixel_digest for s in chains.manifest.sets}
    made = {s.id: s.pixel_digest for s in again.manifest.sets}
    assert len(made) == 2
    assert made.items() <= digests.items()


def test_chains_start_from_what_came_before(chains: Any, model: Path) -> None:
    """pgd after contrast stays within eps of the image with less contrast; a JPEG of an attacked image is one of the
    attacked image.
    """
    data = corruptset.open(chains.directory)
    low = data["contrast/3"].array().astype(np.int16)
    assert np.abs(data["contrast-3+pgd-4"].array() - low).max() == 8
    sample = data["pgd-4+jpeg_compression-3"].image(3)
    clean = corruptset.open(chains.directory).samples[3]
    attacked = corruptset.corrupt(_clean(data, 3), "pgd", severity=4, label=clean.label, surrogate=model, key=clean.id)
    assert np.array_equal(
        sample, corruptset.corrupt(attacked, "jpeg_compression", severity=3, calibration="mnist", key=clean.id)
    )


def _clean(data: corruptset.DataSet, index: int) -> np.ndarray:
    number = int(Path(str(data.samples[index].path)).stem)
    assert surrogates.digits().labels[number] == data.samples[index].label
    return surrogates.digits().images[number]


def test_a_model_that_does_not_know_the_images_is_refused(model: Path, source: str, tmp_path: Path) -> None:
    wrong = model.with_name("wrong.toml")
    wrong.write_text(model.read_text().replace("mean = 0.5", "mean = 3.0"))
    with pytest.raises(ModelError, match=r"clean images right; .*wrong\.toml asks for 90\.0% or more"):
        corruptset.build("pgd-5", source, tmp_path / "out", surrogate=wrong, jobs=1)
    assert not (tmp_path / "out").exists()
    fewer = write_digits(tmp_path / "few", 3)
    with pytest.raises(ModelError, match="has 10 outputs, and the data set has 3 classes"):
        corruptset.build("pgd-5", fewer, tmp_path / "out", surrogate=model, jobs=1)
    with pytest.raises(ModelError, match="There is no device 'cuda'"):
        corruptset.build("pgd-5", source, tmp_path / "out", surrogate=model, device="cuda", jobs=1)


def test_a_recipe_names_its_model(model: Path, source: str, tmp_path: Path) -> None:
    """``[surrogate]`` is found beside the recipe's file, and leaves no trace of its path."""
    text = CHAINS.replace("[preprocessing]", f'[surrogate]\nfile = "{model.name}"\nbatch = 8\n[preprocessing]')
    recipe = model.with_name("mine.toml")
    recipe.write_text(text)
    built = corruptset.build(recipe, source, tmp_path, sets=["pgd/5"], jobs=1)
    assert built.manifest.surrogates[0]["batch"] == 8
    assert str(model.parent) not in (built.directory / "manifest.json").read_text()
