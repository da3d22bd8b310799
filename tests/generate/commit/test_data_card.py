"""Test that the Python code in the data card of a build loads every image and label of the named set."""

from __future__ import annotations

import re

import numpy as np
import pytest
import small_builds

import corruptset
from corruptset.manifests.images.image_formats import decode

PLAIN = '[[sets]]\ncorruptions = ["contrast"]\n'


@pytest.mark.parametrize("encoding", ["png", "jpeg"])
def test_code_on_card_reads_complete_sets(shared_data, monkeypatch, encoding):
    directory = shared_data.build(recipe={"encoding": encoding, "more": PLAIN}, storage="both")
    data, card = corruptset.open(directory)["contrast/1"], (directory / "README.md").read_text("utf-8")
    shards = sorted((directory / "hdf5/contrast").glob("1-*.h5"))
    assert len(shards) > 1
    assert f"Each set is stored in {len(shards)} shards" in card
    monkeypatch.chdir(directory)
    blocks = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    own = {}
    h5 = {}
    exec(next(text for text in blocks if "corruptset" in text), own)
    np.testing.assert_array_equal(own["image"], next(data.images()))
    assert own["label"] == data.labels[0]
    exec(next(text for text in blocks if "h5py" in text), h5)
    images = h5["images"] if encoding == "png" else [decode(i.tobytes(), "jpeg") for i in h5["images"]]
    np.testing.assert_array_equal(np.stack(images), data.array())
    assert h5["labels"] == data.labels.tolist()


def test_card_warns_about_class_order_and_escapes_foreign_markdown(tmp_path):
    crops = small_builds.write_crops(tmp_path / "crops", classes=2, each=1)
    for old, new in (("00_class", "10_eel"), ("01_class", "2_dog")):
        (crops / old).rename(crops / new)
    recipe = small_builds.write_recipe(tmp_path, more=PLAIN)
    markup = 'title = "a <img src=x> [x](javascript:1)"\ndescription = "*b* <script>"'
    recipe.write_text(recipe.read_text("utf-8").replace('title = "Small"', markup), "utf-8")
    card = (small_builds.build_dataset(recipe, crops, tmp_path / "out", storage="folder") / "README.md").read_text(
        "utf-8"
    )
    assert "timm numbers these classes differently" in card
    assert r"# a \<img src=x\> \[x\](javascript:1) (" in card
    assert r"\*b\* \<script\>" in card


def test_card_warns_about_empty_classes_before_others(shared_data):
    lacking = "Classes have no image and therefore no folder"
    for chosen, caught_warnings in (({"samples": 2}, True), ({"first": 2}, False)):  # of four classes: 0 and 2, 0 and 1
        directory = shared_data.build(
            crops={"classes": 4, "each": 1}, recipe={"more": PLAIN}, storage="folder", **chosen
        )
        card = (directory / "README.md").read_text("utf-8")
        assert (lacking in card) == caught_warnings, chosen
        (directory / "README.md").unlink()
        assert corruptset.verify(
            directory, repair=True, source=f"folder:{shared_data.crops(classes=4, each=1)}", jobs=1
        ).ok
        assert (directory / "README.md").read_text("utf-8") == card
