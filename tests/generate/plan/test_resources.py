"""What a build hands to corruptions that follow a model: the model, the labels of each batch, a record in the manifest.

The model here is a stand-in without a network, so that these tests need no PyTorch;
tests/generate/test_surrogate_builds.py has real ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
[preprocessing]
kind = "none"
[encoding]
format = "png"
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
SIZED = parse_recipe(TEXT.replace('kind = "none"', 'kind = "surrogate"'), "The recipe")


@dataclass(frozen=True)
class Tilt:
    """The gradient is +1 in the rows that the label names, every fourth one, and -1 in the others; in the first `level`
    columns 0.
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

    @contextmanager
    def running(self) -> Iterator[None]:
        yield

    def gradient(
        self, images: NDArray[Any], labels: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        assert self.folders == ("a", "b", "c")
        return np.zeros(len(images), np.float32), np.stack(
            [self.signs(x.shape, n) for x, n in zip(images, labels, strict=True)]
        )

    def signs(self, shape: tuple[int, ...], label: int) -> NDArray[np.float32]:
        signs = np.where(np.arange(shape[0])[:, None, None] % 4 == label, 1, -1) * np.ones(shape, np.float32)
        signs[:, : self.level] = 0
        return signs.astype(np.float32)


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Three classes of images that have the model's size."""
    return photographs(tmp_path, [(12, 10)])


def photographs(tmp_path: Path, sizes: Sequence[tuple[int, int]]) -> str:
    rng = np.random.Generator(np.random.Philox(1))
    for number in range(12):
        height, width = sizes[number % len(sizes)]
        image = rng.integers(40, 200, (height, width, 3), dtype=np.uint8)
        folder = tmp_path / "photos" / "abc"[number % 3]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / f"{number:02d}.png")
    return f"folder:{tmp_path / 'photos'}"


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, Tilt]:
    """Stand-ins by the name of their file."""
    tilts = {"tilt.toml": Tilt()}

    def load(path: str, *, device: str, batch: int) -> Tilt:
        return replace(tilts[str(path)], batch=batch)

    monkeypatch.setattr(resources, "load_surrogate", load)
    return tilts


def build(source: str, out: Path, recipe: Any = RECIPE, **options: Any) -> Any:
    return corruptset.build(
        recipe, source, out, **{"surrogate": "tilt.toml", "jobs": 1, "format": "folder", "metrics": 0} | options
    )


def test_each_image_is_led_away_from_its_own_label(given: dict[str, Tilt], source: str, tmp_path: Path) -> None:
    built = build(source, tmp_path / "out")
    data = corruptset.open(built.directory)
    for index, sample in enumerate(data.samples):
        clean = np.asarray(Image.open(Path(source.removeprefix("folder:")) / str(sample.path))).astype(np.int16)
        signs = Tilt().signs(clean.shape, sample.label)
        assert np.array_equal(data["pgd/2"].image(index), clean + 2 * signs)
        assert np.array_equal(data["pgd/4"].image(index), clean + 8 * signs)
        assert np.array_equal(
            data["contrast-3+pgd-4"].image(index), np.clip(contrast(sample.id, clean) + 8 * signs, 0, 255)
        )
        for level in (1, 2, 3):
            assert np.array_equal(data[f"model_gradient/{level:02d}"].image(index), clean + level * signs)
    assert built.manifest.surrogates == [Tilt().record()]
    assert {s.id for s in built.manifest.sets if not s.reproducible} == set(data) - {"contrast/2", "contrast/4"}


def contrast(key: str, clean: NDArray[np.int16]) -> NDArray[np.int16]:
    return corruptset.corrupt(clean.astype(np.uint8), "contrast", severity=3, calibration="tiny", key=key).astype(
        np.int16
    )


def test_sets_that_follow_no_model_need_none(given: dict[str, Tilt], source: str, tmp_path: Path) -> None:
    """Without a model other sets are built; the model is asked for by name, and can be given to an extension."""
    alone = build(source, tmp_path / "out", surrogate=None, sets=["contrast/2"])
    assert (alone.manifest.surrogates, alone.manifest.textures) == ([], [])
    text = (alone.directory / "manifest.json").read_text()
    assert "surrogates" not in text
    assert "reproducible" not in text
    for options, others in (
        ({}, "choose other --sets"),
        ({"sets": ["contrast-3+pgd-4"]}, "choose other --sets"),
    ):
        with pytest.raises(BuildError, match=rf"--surrogate FILE\.toml .*or {others}"):
            build(source, tmp_path / "out", surrogate=None, **options)
    with pytest.raises(BuildError, match=r"Images have a model's size; and no model is given"):
        build(source, tmp_path / "sized", SIZED, surrogate=None, sets=["contrast/2"])
    assert not (tmp_path / "sized").exists()
    whole = build(source, tmp_path / "out")
    assert whole.digest == build(source, tmp_path / "at-once").digest


def test_another_model_is_another_build(given: dict[str, Tilt], source: str, tmp_path: Path) -> None:
    given["other.toml"] = Tilt(weights="sha256:1")
    build(source, tmp_path / "out", sets=["pgd/2"])
    for options in ({}, {"sets": ["pgd/2"]}):
        with pytest.raises(BuildError, match=r"surrogates\[0\]\.weights: here 'sha256:0', asked for 'sha256:1'"):
            build(source, tmp_path / "out", surrogate="other.toml", **options)
    with pytest.raises(BuildError, match=r"surrogates\[0\]\.batch: here 1, asked for 4"):
        build(source, tmp_path / "out", surrogate_batch=4)
    with pytest.raises(BuildError, match=r"surrogates\[0\]\.weights"):
        build(source, tmp_path / "out", surrogate="other.toml", sets=["contrast/2"])
    with pytest.raises(BuildError, match=r"Sets of led-astray-1 that are there follow the gradients of a model"):
        build(source, tmp_path / "out", surrogate=None, sets=["contrast/2"])
    added = build(source, tmp_path / "out", sets=["contrast/2"])
    assert {s.id for s in added.manifest.sets} == {"pgd/2", "contrast/2"}


def test_a_model_is_shown_clean_images_first(given: dict[str, Tilt], source: str, tmp_path: Path) -> None:
    given["tilt.toml"] = Tilt(knows=False)
    with pytest.raises(ModelError, match=r"^12 images, labels \[0, 1, 2\]$"):
        build(source, tmp_path / "out", SIZED)
    assert not (tmp_path / "out").exists()


def test_images_get_the_size_of_the_model(given: dict[str, Tilt], tmp_path: Path) -> None:
    """Those that have it are kept bit for bit; of others the short side becomes 256/224 of the model's, and the centre
    is taken.
    """
    source = photographs(tmp_path, [(9, 16), (12, 10)])
    with pytest.raises(
        BuildError, match=r"takes images of 12x10 \(height x width\), and there are images of 9x16\. Use a recipe whose"
    ):
        build(source, tmp_path / "out", sets=["pgd/2"])
    assert not (tmp_path / "out").exists()
    built = build(source, tmp_path / "out", SIZED, sets=["clean"])
    data = corruptset.open(built.directory)
    assert built.manifest.preprocessing | {} == {
        "kind": "surrogate", "interpolation": "bilinear", "channels": "rgb", "width": 10, "height": 12,
    }  # fmt: skip
    assert built.manifest.recipe["preprocessing"] == built.manifest.preprocessing
    assert corruptset.verify(built.directory, rederive="all", source=source, surrogate="tilt.toml").ok
    for index, sample in enumerate(data.samples):
        picture = Image.open(Path(source.removeprefix("folder:")) / str(sample.path))
        if picture.size != (10, 12):
            picture = picture.resize((23, 13), Image.Resampling.BILINEAR).crop((6, 0, 16, 12))
        assert np.array_equal(data["clean"].image(index), np.asarray(picture)), sample.path


def test_made_again_sets_may_differ_a_little(given: dict[str, Tilt], source: str, tmp_path: Path) -> None:
    """A share of the values of a set may differ, which is counted; a tenth of them is too many."""
    built = build(source, tmp_path / "out", SIZED)
    report = corruptset.verify(built.directory, rederive="all", source=source, surrogate="tilt.toml")
    assert report.ok
    followers = {s.id for s in built.manifest.sets if not s.reproducible}
    assert sorted(report.notes) == sorted(
        f"{name}: 0 of {12 * 360} values differ (0.00%), by at most 0" for name in followers
    )
    given["tilt.toml"] = Tilt(level=1)
    report = corruptset.verify(built.directory, rederive="all", source=source, surrogate="tilt.toml")
    assert {p.path for p in report.problems} == {f"sets/{name}.jsonl" for name in followers}
    assert all("(10.00%)" in p.detail and "at most 1% may differ between machines" in p.detail for p in report.problems)
    assert "pgd/2: 432 of 4320 values differ (10.00%), by at most 2" in report.notes
