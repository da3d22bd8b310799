"""A set as a data set of Hugging Face's own library."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corruptset
from corruptset.manifests.reader import DataSet

Make = Callable[..., Path]


def test_without_the_library_the_error_names_it(templates: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ModuleNotFoundError, match="pip install datasets"):
        corruptset.open(templates())["fog/3"].to_hf()


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore")  # the library's own
@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("container", ["folder", "hdf5"])
@pytest.mark.parametrize("encoding_format", ["png", "jpeg"])
def test_images_labels_and_ids(
    templates: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    encoding_format: str,
    container: Any,
    uniform: bool,
) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    datasets.disable_progress_bars()
    data = corruptset.open(templates(encoding_format=encoding_format, containers=(container,), uniform=uniform))
    images = data["fog/3"]
    made = images.to_hf()
    assert isinstance(made.features["image"], datasets.Image)
    assert made.features["label"].names == ["käfer", "a dog"]
    assert (str(made.split), made["label"], made["id"]) == ("test", images.labels.tolist(), images.ids)
    for row, image in zip(made, images.images(), strict=True):
        pixels = np.asarray(row["image"])
        np.testing.assert_array_equal(pixels if pixels.ndim == 3 else pixels[..., None], image)
    assert [bool(row["image"]["path"]) for row in made.cast_column("image", datasets.Image(decode=False))] == [
        container == "folder"
    ] * 5
    small = made.with_transform(lambda rows: {"sum": [np.asarray(picture).sum() for picture in rows["image"]]})
    assert [row["sum"] for row in small] == [image.sum() for image in images.images()]


class Made:
    """A store that has no files: it makes its images when they are asked for, and may be copied into a cache all the
    same.
    """

    encoding = "jpeg"

    def images(self, indices: Any, block_bytes: int = 0) -> Any:
        return (np.full((8, 9, 3), 20 * i, np.uint8) for i in indices)


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore")
def test_images_that_are_made_are_copied(templates: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    data = DataSet(templates(), store_of=lambda record: Made())  # type: ignore[arg-type, return-value]
    made = data["fog/3"].to_hf()
    assert [np.unique(row["image"]).tolist() for row in made] == [[20 * i] for i in range(5)]


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore")
def test_classes_of_one_name_are_told_apart_by_their_folders(
    templates: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    data = corruptset.open(templates())
    data._samples.classes = [c.model_copy(update={"name": "crane"}) for c in data.classes]
    assert data["fog/3"].to_hf().features["label"].names == ["0_käfer", "1 a dog"]
