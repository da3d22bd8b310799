"""Conversion of a set to a dataset of the library `datasets`."""

import sys
from itertools import product

import numpy as np
import pytest

import corruptset
from corruptset.manifests.reader import Dataset
from corruptset.manifests.reading.hugging_face import class_names, encoded_rows


def test_missing_library_is_named(templates, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ModuleNotFoundError, match="pip install datasets"):
        corruptset.open(templates())["fog/3"].to_hf()


def test_classes_with_same_name_are_distinguished_by_folder(templates):
    classes = corruptset.open(templates()).classes
    assert class_names(classes) == ["käfer", "a dog"]
    assert class_names([c.model_copy(update={"name": "crane"}) for c in classes]) == ["0_käfer", "1 a dog"]


def test_rows_are_samples_with_images(templates):
    data = corruptset.open(templates(containers=("folder",)))
    images = data["fog/3"]
    for samples in (data.samples, data._samples):
        rows = list(encoded_rows(images, samples, files=True))
        assert ([row["id"] for row in rows], [row["label"] for row in rows]) == (images.ids, images.labels.tolist())
        assert [row["image"]["path"] for row in rows] == [str(images.stored(i)[1].absolute()) for i in range(5)]


class Made:
    """Virtual datasets have no files, so computed images are copied into the cache."""

    encoding = "jpeg"

    def images(self, indices, block_bytes=0):
        return (np.full((8, 9, 3), 20 * i, np.uint8) for i in indices)


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore")  # a warning of the library
def test_rows_have_images_labels_and_ids(templates, tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    datasets.disable_progress_bars()
    for form, container, uniform in product(("png", "jpeg"), ("folder", "hdf5"), (True, False)):
        data = corruptset.open(templates(encoding_format=form, containers=(container,), uniform=uniform))
        images = data["fog/3"]
        result = images.to_hf()
        assert result.features["label"].names == ["käfer", "a dog"]
        assert (str(result.split), result["label"], result["id"]) == ("test", images.labels.tolist(), images.ids)
        for row, image in zip(result, images.images(), strict=True):
            pixels = np.asarray(row["image"])
            np.testing.assert_array_equal(pixels if pixels.ndim == 3 else pixels[..., None], image)
        encoded = result.cast_column("image", datasets.Image(decode=False))
        assert [bool(row["image"]["path"]) for row in encoded] == [container == "folder"] * 5
    of_none = Dataset(templates(), store_of=lambda record: Made())
    assert [np.unique(row["image"]).tolist() for row in of_none["fog/3"].to_hf()] == [[20 * i] for i in range(5)]
