"""The data card of a build: its lines of Python, run where the build lies, give every image and label of the set that
they name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import layouts
import numpy as np
import pytest
from PIL import Image

import corruptset
from corruptset.manifests.images.pictures import decode

PLAIN = '[[sets]]\ncorruptions = ["contrast"]\n'


def blocks(directory: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (directory / "README.md").read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("encoding", ["png", "jpeg"])
def test_the_lines_of_the_card_read_whole_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    crops = layouts.write_crops(tmp_path / "crops")
    recipe = layouts.write_recipe(tmp_path, encoding=encoding, more=PLAIN)
    built = layouts.make(recipe, crops, tmp_path / "out", format="both")
    data = corruptset.open(built)["contrast/1"]
    shards = sorted((built / "hdf5/contrast").glob("1-*.h5"))
    assert len(shards) > 1
    card = (built / "README.md").read_text("utf-8")
    assert f"each set lies in {len(shards)} shards" in card
    monkeypatch.chdir(built)
    (own,) = (text for text in blocks(built) if "corruptset" in text)
    names: dict[str, Any] = {}
    exec(own, names)
    np.testing.assert_array_equal(names["image"], next(data.images()))
    assert names["label"] == data.labels[0]
    (h5,) = (text for text in blocks(built) if "h5py" in text)
    names = {}
    exec(h5, names)
    images = names["images"] if encoding == "png" else [decode(i.tobytes(), "jpeg") for i in names["images"]]
    np.testing.assert_array_equal(np.stack(images), data.array())
    assert names["labels"] == data.labels.tolist()


def test_the_card_says_which_loader_numbers_the_classes_otherwise(tmp_path: Path) -> None:
    for name in ("10_eel", "2_dog"):
        (tmp_path / "own" / name).mkdir(parents=True)
        Image.fromarray(np.full((16, 16, 3), 90, np.uint8)).save(tmp_path / "own" / name / "a.png")
    built = layouts.make(
        layouts.write_recipe(tmp_path, more=PLAIN), tmp_path / "own", tmp_path / "out", format="folder"
    )
    assert "timm numbers these classes otherwise" in (built / "README.md").read_text("utf-8")


def test_a_title_of_somebody_elses_is_no_markdown(tmp_path: Path) -> None:
    recipe = layouts.write_recipe(tmp_path, more=PLAIN)
    text = recipe.read_text("utf-8")
    start = "title = " if "title = " in text else "name = "
    line = next(line for line in text.splitlines() if line.startswith(start))
    named = 'title = "a <img src=x> [x](javascript:1)"\ndescription = "*b* <script>"'
    recipe.write_text(text.replace(line, named if start == "title = " else f"{line}\n{named}"), "utf-8")
    card = (
        layouts.make(recipe, layouts.write_crops(tmp_path / "crops"), tmp_path / "out", format="folder") / "README.md"
    ).read_text("utf-8")
    assert r"# a \<img src=x\> \[x\](javascript:1) (" in card
    assert r"\*b\* \<script\>" in card
