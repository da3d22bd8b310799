"""Builds with corruptions that follow a model, which need the model and the labels of each batch.

The model in these tests is a stand-in without a network, so that they do not need PyTorch.
tests/generate/test_surrogate_builds.py uses real models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import corruptset
from corruptset.errors import BuildError, ModelError
from corruptset.generate.plan import resources
from corruptset.generate.recipes.recipe import parse_recipe

TEXT = """
name = "led-astray"
version = "1"
calibration = "tiny"
preprocessing = {kind = "none"}
encoding = {format = "png"}
[[sets]]
corruptions = ["pgd", "contrast"]
severities = [2, 4]
[[sets]]
chain = ["contrast-3", "pgd-4"]
[[sets]]
corruptions = ["model_gradient"]
levels = 3
"""
RECIPE = parse_recipe(TEXT, "The recipe")
SIZED = parse_recipe(TEXT.replace('"none"', '"surrogate"'), "The recipe")


@dataclass(frozen=True)
class Tilt:
    """A model whose gradient is +1 in every fourth row, which depends on the label, -1 in the other rows, and 0 in the
    first `level` columns.
    """

    name: str = "tilt"
    weights: str = "sha256:0"
    level: int = 0
    knows: bool = True
    folders: tuple[str, ...] = ()
    size: tuple[int, int] = (12, 10)
    channels: int = 3
    batch: int = 1
    memory: int = 7 << 20

    def record(self) -> dict[str, Any]:
        return {"name": self.name, "weights": self.weights, "torch": "none", "device": "cpu", "batch": self.batch}

    def for_classes(self, folders: Sequence[str]) -> Tilt:
        return replace(self, folders=tuple(folders))

    def check_accuracy(self, images: NDArray[np.uint8], labels: NDArray[np.int64]) -> float:
        if not self.knows:
            raise ModelError(f"{len(images)} images, labels {sorted(set(labels.tolist()))}")
        return 1.0

    def gradient(self, images: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[Any]:
        assert self.folders == ("a", "b", "c")
        return np.stack([self.signs(image.shape, label) for image, label in zip(images, labels, strict=True)])

    def signs(self, shape: tuple[int, ...], label: int) -> NDArray[np.float32]:
        signs = np.where(np.arange(shape[0])[:, None, None] % 4 == label, 1, -1) * np.ones(shape, np.float32)
        signs[:, : self.level] = 0
        return signs.astype(np.float32)


def photographs(folder: Path, *sizes: tuple[int, int]) -> str:
    """Write twelve images of three classes in alternating sizes, and return the source."""
    rng = np.random.Generator(np.random.Philox(1))
    for number in range(12):
        image = rng.integers(40, 200, (*sizes[number % len(sizes)], 3), dtype=np.uint8)
        path = folder / "photos" / "abc"[number % 3] / f"{number:02d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
    return f"folder:{folder / 'photos'}"


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Images that have the model's size."""
    return photographs(tmp_path, (12, 10))


@pytest.fixture(autouse=True)
def models(monkeypatch: pytest.MonkeyPatch) -> dict[str, Tilt]:
    """Name of a model file -> stand-in model."""
    tilts = {"tilt.toml": Tilt(), "other.toml": Tilt(weights="sha256:1"), "flatter.toml": Tilt(level=1)}
    monkeypatch.setattr(
        resources, "load_surrogate", lambda path, *, device, batch: replace(tilts[str(path)], batch=batch)
    )
    return tilts


def build(source: str, out: Path, recipe: Any = RECIPE, **options: Any) -> Any:
    options = {"surrogate": "tilt.toml", "jobs": 1, "storage": "folder", "metrics": 0, "page": False} | options
    return corruptset.build(recipe, source, out, **options)


def test_each_image_moves_away_from_its_own_label(source: str, tmp_path: Path) -> None:
    result = build(source, tmp_path / "out")
    data = corruptset.open(result.directory)
    for index, sample in enumerate(data.samples):
        clean = np.asarray(Image.open(f"{source.removeprefix('folder:')}/{sample.path}"))
        contrast = corruptset.corrupt(clean, "contrast", severity=3, calibration="tiny", key=sample.id)
        signs = Tilt().signs(clean.shape, sample.label)
        expected = {"pgd/2": clean + 2 * signs, "pgd/4": clean + 8 * signs, "contrast-3+pgd-4": contrast + 8 * signs}
        expected |= {f"model_gradient/{level:02d}": clean + level * signs for level in (1, 2, 3)}
        for name, image in expected.items():
            assert np.array_equal(data[name].image(index), np.clip(image, 0, 255)), name
    assert result.manifest.surrogates == [Tilt().record()]
    assert {s.id for s in result.manifest.sets if not s.reproducible} == expected.keys()


def test_sets_without_model_need_no_model(source: str, tmp_path: Path) -> None:
    """Sets that do not need a model are built without one. The message about a missing model names the option."""
    alone = build(source, tmp_path / "out", surrogate=None, sets=["contrast/2"])
    assert (alone.manifest.surrogates, alone.manifest.textures) == ([], [])
    text = (alone.directory / "manifest.json").read_text()
    assert not [word for word in ("surrogates", "reproducible") if word in text]
    for options in ({}, {"sets": ["contrast-3+pgd-4"]}):
        with pytest.raises(BuildError, match=r"--surrogate FILE\.toml .*or choose other --sets"):
            build(source, tmp_path / "out", surrogate=None, **options)
    with pytest.raises(
        BuildError, match=r"The recipe resizes images to the size of a model\. No model was given\. Pass"
    ):
        build(source, tmp_path / "sized", SIZED, surrogate=None, sets=["contrast/2"])
    assert not (tmp_path / "sized").exists()
    extended = build(source, tmp_path / "more", extend=alone.directory)
    assert extended.digest == build(source, tmp_path / "at-once").digest


def test_different_model_is_different_build(source: str, tmp_path: Path) -> None:
    first = build(source, tmp_path / "out", sets=["pgd/2"]).directory
    weights = r"surrogates\[0\]\.weights: existing 'sha256:0', requested 'sha256:1'"
    for options, match in (
        ({"surrogate": "other.toml"}, weights),
        ({"surrogate": "other.toml", "sets": ["contrast/2"]}, weights),
        ({"surrogate_batch": 4}, r"surrogates\[0\]\.batch: existing 1, requested 4"),
        (
            {"surrogate": None, "sets": ["contrast/2"]},
            "led-astray-1 already has sets that were made with the gradients of a",
        ),
    ):
        with pytest.raises(BuildError, match=match):
            build(source, tmp_path / "more", extend=first, **options)
    added = build(source, tmp_path / "more", sets=["contrast/2"], extend=first)
    assert {s.id for s in added.manifest.sets} == {"pgd/2", "contrast/2"}


def test_model_is_checked_on_clean_images_first(models: dict[str, Tilt], source: str, tmp_path: Path) -> None:
    models["tilt.toml"] = Tilt(knows=False)
    with pytest.raises(ModelError, match=r"^12 images, labels \[0, 1, 2\]$"):
        build(source, tmp_path / "out", SIZED)
    assert not (tmp_path / "out").exists()


def test_images_are_resized_for_model(tmp_path: Path) -> None:
    """Images of the model's size are not changed. Of other images, the short side is resized to 256/224 of that of the
    model, and the centre is cropped.
    """
    source = photographs(tmp_path, (9, 16), (12, 10))
    sizes = r"needs images of 12x10 \(height x width\), but this build has images of 9x16\. Use a recipe whose"
    with pytest.raises(BuildError, match=sizes):
        build(source, tmp_path / "out", sets=["pgd/2"])
    assert not (tmp_path / "out").exists()
    result = build(source, tmp_path / "out", SIZED, sets=["clean"])
    settings = {"kind": "surrogate", "interpolation": "bilinear", "channels": "rgb", "width": 10, "height": 12}
    assert result.manifest.recipe["preprocessing"] == result.manifest.preprocessing == settings
    assert corruptset.verify(result.directory, rederive="all", source=source, surrogate="tilt.toml").ok
    data = corruptset.open(result.directory)
    for index, sample in enumerate(data.samples):
        image = Image.open(f"{source.removeprefix('folder:')}/{sample.path}")
        if image.size != (10, 12):
            image = image.resize((23, 13), Image.Resampling.BILINEAR).crop((6, 0, 16, 12))
        assert np.array_equal(data["clean"].image(index), np.asarray(image)), sample.path


def test_rederived_sets_may_differ_slightly(source: str, tmp_path: Path) -> None:
    """A few values of a set may differ between machines and are counted, but a tenth of the values is too many."""
    result = build(source, tmp_path / "out", SIZED)
    followers = {s.id for s in result.manifest.sets if not s.reproducible}
    same, other = (
        corruptset.verify(result.directory, rederive="all", source=source, surrogate=f"{name}.toml")
        for name in ("tilt", "flatter")
    )
    note = f"0 of {12 * 360} values differ (0.00%), by at most 0"
    assert (same.problems, sorted(same.notes)) == ([], sorted(f"{name}: {note}" for name in followers))
    assert {p.path for p in other.problems} == {f"sets/{name}.jsonl" for name in followers}
    assert all("(10.00%)" in p.detail and "at most 1% may differ between machines" in p.detail for p in other.problems)
    assert "pgd/2: 432 of 4320 values differ (10.00%), by at most 2" in other.notes
