"""Installed releases of webdataset, Hugging Face datasets and mlcroissant read exports without network access."""

from __future__ import annotations

import numpy as np
import pytest
from doc_pages import run_snippet, snippets

import corruptset
from corruptset.generate.exports.export import export

CHAIN = "contrast-3+brightness-2"

pytestmark = [
    pytest.mark.ci,
    # these libraries print warnings about themselves
    pytest.mark.filterwarnings("ignore"),
]


def test_webdataset_reads_export(in_page_dir):
    data = corruptset.open("imagenet-c-1.1.0")
    (text,) = snippets("import webdataset")
    result = list(run_snippet(text)["dataset"])
    assert len(result) == len(data.samples)
    images = data["contrast/3"].array()
    for index, (image, label, about) in enumerate(result):
        np.testing.assert_array_equal(np.round(image).astype(np.uint8), images[index])
        assert (label, about["id"]) == (data.samples[index].label, data.samples[index].id)


def test_hugging_face_datasets_reads_export(in_page_dir):
    data = corruptset.open("imagenet-c-1.1.0")
    folder, tars = snippets("load_dataset")
    names = run_snippet(folder)
    assert len(names["dataset"]) == len(data) * len(data.samples)
    images = data["contrast/3"].array()
    by_id = {s.id: s for s in data.samples}
    for rows, key in ((names["contrast"], "image"), (run_snippet(tars)["dataset"], "jpg")):
        assert len(rows) == len(by_id)
        for row in rows:
            sample = by_id[row["id"] if "id" in row else row["json"]["id"]]
            np.testing.assert_array_equal(np.array(row[key]), images[sample.index])
            assert (row["label"] if "label" in row else row["cls"]) == sample.label


def test_mlcroissant_reads_export(in_page_dir):
    data = corruptset.open("imagenet-c-1.1.0")
    (text,) = snippets("import mlcroissant")
    dataset = run_snippet(text)["dataset"]
    assert not dataset.metadata.ctx.issues.errors
    result = list(dataset.records("contrast/3"))
    images = data["contrast/3"].array()
    by_path = {f"{data.classes[s.label].folder}/{s.id}.JPEG": s for s in data.samples}
    assert len(result) == len(by_path)
    for record in result:
        sample = by_path[record["contrast/3/path"].decode()]
        np.testing.assert_array_equal(np.array(record["contrast/3/image"]), images[sample.index])
        assert record["contrast/3/label"] == sample.label
        assert record["contrast/3/class"].decode() == sample.class_


def test_chains_are_read_by_id(shared_data, tmp_path, monkeypatch):
    """The snippets of the page with the id of a chain, whose signs (+ -) have no meaning in patterns and URLs."""
    recipe_options = {"name": "imagenet-c", "version": "1.1.0", "encoding": "jpeg"}
    data = corruptset.open(shared_data.build(recipe=recipe_options))
    export("webdataset", data.path, tmp_path / "shards")
    monkeypatch.chdir(tmp_path)
    by_tar = {
        about["id"]: np.round(image).astype(np.uint8)
        for image, _, about in run_snippet(snippets("import webdataset")[0].replace("contrast/3", CHAIN))["dataset"]
    }
    rows = run_snippet(snippets("load_dataset")[1].replace("contrast/3", CHAIN))["dataset"]
    by_hub = {row["json"]["id"]: np.array(row["jpg"]) for row in rows}
    for read in (by_tar, by_hub):
        assert read.keys() == {s.id for s in data.samples}
        for sample, image in zip(data.samples, data[CHAIN].images(), strict=True):
            np.testing.assert_array_equal(read[sample.id], image)
