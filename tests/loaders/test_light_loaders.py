"""webdataset, Hugging Face datasets and mlcroissant, as installed, without network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pages import run, snippets

import corruptset

pytestmark = [
    pytest.mark.ci,
    # these libraries warn about themselves
    pytest.mark.filterwarnings("ignore"),
]


def test_webdataset(inside: Path) -> None:
    data = corruptset.open("imagenet-c-1.0.0")
    (text,) = snippets("import webdataset")
    found = list(run(text)["dataset"])
    assert len(found) == len(data.samples)
    for index, (image, label, about) in enumerate(found):
        np.testing.assert_array_equal(np.round(image).astype(np.uint8), data["contrast/3"][index])
        assert (label, about["id"]) == (data.samples[index].label, data.samples[index].id)


def test_hugging_face_datasets(inside: Path) -> None:
    data = corruptset.open("imagenet-c-1.0.0")
    folder, tars = snippets("load_dataset")
    names = run(folder)
    assert len(names["dataset"]) == 10 * len(data.samples)
    by_id = {s.id: s for s in data.samples}
    for rows, key in ((names["fog"], "image"), (run(tars)["dataset"], "jpg")):
        assert len(rows) == len(by_id)
        for row in rows:
            sample = by_id[row["id"] if "id" in row else row["json"]["id"]]
            np.testing.assert_array_equal(np.array(row[key]), data["contrast/3"][sample.index])
            assert (row["label"] if "label" in row else row["cls"]) == sample.label


def test_mlcroissant(inside: Path) -> None:
    data = corruptset.open("imagenet-c-1.0.0")
    (text,) = snippets("import mlcroissant")
    dataset = run(text)["dataset"]
    assert not dataset.metadata.ctx.issues.errors
    found = list(dataset.records("contrast/3"))
    by_path = {s.id: s for s in data.samples}
    assert len(found) == len(by_path)
    for record in found:
        sample = by_path[record["contrast/3/path"].decode().removesuffix(".JPEG")]
        np.testing.assert_array_equal(np.array(record["contrast/3/image"]), data["contrast/3"][sample.index])
        assert record["contrast/3/label"] == sample.label
        assert record["contrast/3/class"].decode() == sample.class_
