"""webdataset, Hugging Face datasets and mlcroissant, as installed, without network."""

from __future__ import annotations

from pathlib import Path

import layouts
import numpy as np
import pytest
from doc_pages import run, snippets

import corruptset
from corruptset.generate.views.export import export

CHAIN = "contrast-3+brightness-2"

pytestmark = [
    pytest.mark.ci,
    # these libraries warn about themselves
    pytest.mark.filterwarnings("ignore"),
]


def test_webdataset(inside: Path) -> None:
    data = corruptset.open("imagenet-c-1.1.0")
    (text,) = snippets("import webdataset")
    found = list(run(text)["dataset"])
    assert len(found) == len(data.samples)
    images = data["contrast/3"].array()
    for index, (image, label, about) in enumerate(found):
        np.testing.assert_array_equal(np.round(image).astype(np.uint8), images[index])
        assert (label, about["id"]) == (data.samples[index].label, data.samples[index].id)


def test_hugging_face_datasets(inside: Path) -> None:
    data = corruptset.open("imagenet-c-1.1.0")
    folder, tars = snippets("load_dataset")
    names = run(folder)
    assert len(names["dataset"]) == len(data) * len(data.samples)
    images = data["contrast/3"].array()
    by_id = {s.id: s for s in data.samples}
    for rows, key in ((names["fog"], "image"), (run(tars)["dataset"], "jpg")):
        assert len(rows) == len(by_id)
        for row in rows:
            sample = by_id[row["id"] if "id" in row else row["json"]["id"]]
            np.testing.assert_array_equal(np.array(row[key]), images[sample.index])
            assert (row["label"] if "label" in row else row["cls"]) == sample.label


def test_mlcroissant(inside: Path) -> None:
    data = corruptset.open("imagenet-c-1.1.0")
    (text,) = snippets("import mlcroissant")
    dataset = run(text)["dataset"]
    assert not dataset.metadata.ctx.issues.errors
    found = list(dataset.records("contrast/3"))
    images = data["contrast/3"].array()
    by_path = {f"{data.classes[s.label].folder}/{s.id}.JPEG": s for s in data.samples}
    assert len(found) == len(by_path)
    for record in found:
        sample = by_path[record["contrast/3/path"].decode()]
        np.testing.assert_array_equal(np.array(record["contrast/3/image"]), images[sample.index])
        assert record["contrast/3/label"] == sample.label
        assert record["contrast/3/class"].decode() == sample.class_


def test_chains_by_their_ids(inside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's lines with the id of a chain in place of ``contrast/3``: its signs (+ -) mean nothing to patterns,
    URLs and JSON-LD.
    """
    crops = layouts.write_crops(tmp_path / "crops")
    data = corruptset.open(
        layouts.make(
            layouts.write_recipe(tmp_path, name="imagenet-c", version="1.1.0", encoding="jpeg"), crops, tmp_path
        )
    )
    assert CHAIN in data.set_ids
    for view, out in (("webdataset", "shards"), ("imagefolder", "hub"), ("croissant", "croissant")):
        export(view, tmp_path / "imagenet-c-1.1.0", tmp_path / out)
    monkeypatch.chdir(tmp_path)
    by_id = {s.id: s for s in data.samples}
    images = dict(zip(by_id, data[CHAIN].images(), strict=True))

    (text,) = snippets("import webdataset")
    found = {
        about["id"]: np.round(image).astype(np.uint8)
        for image, _, about in run(text.replace("contrast/3", CHAIN))["dataset"]
    }
    folder, tars = snippets("load_dataset")
    rows = run(folder)["dataset"].filter(lambda row: row["corruption"] == CHAIN and row["severity"] == 0)
    by_folder = {row["id"]: np.array(row["image"]) for row in rows}
    by_tar = {row["json"]["id"]: np.array(row["jpg"]) for row in run(tars.replace("contrast/3", CHAIN))["dataset"]}
    (text,) = snippets("import mlcroissant")
    records = run(text.replace("contrast/3", CHAIN))["dataset"].records(CHAIN)
    by_croissant = {r[f"{CHAIN}/path"].decode().removesuffix(".JPEG"): np.array(r[f"{CHAIN}/image"]) for r in records}
    for read in (found, by_folder, by_tar, by_croissant):
        assert read.keys() == images.keys()
        for one, image in read.items():
            np.testing.assert_array_equal(image, images[one])
