"""A layout of one's own: a section of docs/use-it-with.md as it stands, other containers, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import doc_pages
import numpy as np
import pytest
from layouts import export, members

import corruptset
from corruptset.errors import BuildError, CorruptsetError
from corruptset.generate.exports.export_check import check_view, verify_view
from corruptset.generate.exports.layouts import IMAGE_WORDS, SET_WORDS, Layout, Text, read_layout

SECTION = (doc_pages.ROOT / "docs/use-it-with.md").read_text("utf-8").partition(doc_pages.OWN_LAYOUT)[2]
SETS = ["clean", *(f"contrast/{s}" for s in range(1, 6))]
ARRAYS = """
container = "arrays"
place = "all/{split}.npy"
beside = [
    {path = "all/{split}-labels.npy", labels = "int64"},
    {path = "all/{split}.txt", line = "{set} {index} {label}"},
]
"""
TARS = """
container = "tars"
place = "{top}/{set}.tar"
image = "{class}/{image}.{ext}"
with_each = [{path = "{class}/{image}.json", columns = ["label", "set"]}]
beside = [{path = "{top}/{archives}.txt", line = "{id}"}]
"""


def write(folder: Path, text: str, name: str = "mine.toml") -> Path:
    (folder / name).write_text(text, "utf-8")
    return folder / name


def test_the_page_as_it_stands(tmp_path: Path) -> None:
    """And it names every key and every word."""
    (layout,) = re.findall(r"```toml\n(.*?)```", SECTION, re.DOTALL)
    write(tmp_path, layout, "by-class.toml")
    (lines,) = re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL)
    for line in lines.splitlines():
        doc_pages.typed(line, tmp_path)
    data = corruptset.open(tmp_path / "built/imagenet-c-1.1.0")
    top = tmp_path / "data/imagenet-c-1.1.0"
    sample = data.samples[3]
    folder = data.classes[sample.class_index].folder
    assert (top / f"fog/2/{folder}/00003-fog.JPEG").samefile(data["fog/2"].stored(3, prefer="folder")[1])
    rows = (top / "fog/2/labels.csv").read_text("utf-8").splitlines()
    assert (len(rows), rows[3]) == (len(data.samples), f"{folder}/00003-fog.JPEG,{sample.label}")
    keys = " ".join(re.findall(r"^\| (`.*?) \|", SECTION.partition("## Words")[0], re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", keys)) == set(Layout.model_fields)
    assert all(f"`{key}`" in SECTION for key in Text.model_fields)
    assert set(re.findall(r"`\{(\w+)\}`", SECTION.partition("## Words")[2])) == {*SET_WORDS, *IMAGE_WORDS}


def test_arrays_and_tars_are_written_and_verify(png: Path, tmp_path: Path) -> None:
    data, tops = corruptset.open(png), []
    for name, text in (("arrays", ARRAYS), ("tars", TARS)):
        tops.append(export(write(tmp_path, text), png, tmp_path / name, sets=["clean", "contrast/*"]).top)
        for report in (verify_view(tmp_path / name), check_view(png, tmp_path / name)):
            assert report.ok, report.problems
    rows, labels = (np.load(tmp_path / "arrays/all" / f"{name}.npy") for name in ("test", "test-labels"))
    np.testing.assert_array_equal(rows, np.concatenate([data[s].array() for s in SETS]))
    assert labels.tolist() == data["clean"].labels.tolist() * len(SETS)
    lines = (tmp_path / "arrays/all/test.txt").read_text("utf-8").splitlines()
    assert lines == [f"{s} {i} {label}" for s in SETS for i, label in enumerate(data[s].labels)]
    files, first = members(tops[1] / "contrast/4.tar"), data.samples[0].id
    assert [*files][:2] == [f"{first}.png", f"{first}.json"]
    assert json.loads(files[f"{first}.json"]) == {"label": 0, "set": "contrast/4"}
    assert len(files) == 2 * len(data.samples)
    # in a record from elsewhere it leads nowhere
    path = tmp_path / "tars/VIEW.json"
    record = json.loads(path.read_text("utf-8"))
    wrong: dict[str, Any] = {"place": "../../{set}.tar", "image": "{image.__class__}", "name": "openood", "top": "/etc"}
    for key, value in wrong.items():
        path.write_text(json.dumps(record | {"layout": record["layout"] | {key: value}}), "utf-8")
        assert [(p.path, p.kind) for p in check_view(png, tmp_path / "tars").problems] == [("VIEW.json", "records")]


FILES = 'container = "files"\nplace = "{set}"\nimage = "{image}.png"'
TWICE = "two images, or an image and a text, would lie there"
WRONG = {
    FILES.replace("{image}", "{clas}"): "has {clas}; the words known there are",
    FILES.replace("{set}", "../{set}"): "is not a relative path",
    FILES.replace("{set}", "{set.__class__}"): "has {set.__class__}",
    FILES.replace("{image}", "{index:09999999999d}"): "may have a width",
    FILES.replace("{set}", "{set"): "expected '}'",
    FILES.replace("files", "folders"): "expected one of 'files', 'arrays' or 'tars'",
    'container = "files"\nplace = "{set}"': "image says what an image is called",
    'container = "arrays"\nplace = "{set}"': "an array's name ends in .npy",
    f"{FILES}\nimages = 1": "images: there is no such key. Did you mean 'image'",
    f'name = "openood"\n{FILES}': "as a view of corruptset's own",
    f'{FILES}\nremarks = [{{text = "{{id}}"}}]': "has {id}; the words known there",
    "container =": "is not TOML",
    FILES.replace("{set}", "{top}").replace("{image}", "{class}/{image}"): TWICE,
    FILES.replace("{image}", "{label}"): TWICE,
    'container = "tars"\nplace = "all.tar"\nimage = "{set}/{image}.{ext}"': TWICE,
}


def test_what_is_no_layout_or_loses_images_is_refused(png: Path, tmp_path: Path) -> None:
    for text, match in WRONG.items():
        with pytest.raises(CorruptsetError, match=re.escape(match)):
            export(write(tmp_path, text), png, tmp_path / "view", sets=["contrast/*"])
        assert not (tmp_path / "view").exists(), text
    with pytest.raises(BuildError, match="cannot be read"):
        read_layout(tmp_path / "absent.toml")
