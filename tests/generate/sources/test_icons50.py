"""Icons-50: from its file and from its folders, in styles and in subtypes; and everything that is not Icons-50."""

from __future__ import annotations

import io
import os
import pickle
import re
import tarfile

import icons
import numpy as np
import pytest

from corruptset.errors import SourceError
from corruptset.generate.sources.source import open_source


def refused(source, **options):
    with pytest.raises(SourceError) as error:
        open_source(str(source), **options)
    return str(error.value)


@pytest.mark.parametrize("planes", [True, False])
@pytest.mark.parametrize("protocol", [2, 4])
def test_the_file(tmp_path, protocol, planes):
    fields = icons.fields()
    images = fields["image"].transpose(0, 2, 3, 1)
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "|O", "fortran_order": False, "shape": ()})
    whole = np.empty((), object)
    whole[()] = (
        fields if planes else fields | {"image": np.ascontiguousarray(images), "class": np.array(fields["class"])}
    )
    (tmp_path / "Icons-50.npy").write_bytes(out.getvalue() + pickle.dumps(whole, protocol))
    source = open_source(f"icons50:{tmp_path}")
    assert (source.scheme, source.grouping, [c.folder for c in source.classes]) == ("icons50", "style", ["0", "1", "2"])
    assert [(s.index, s.id, s.label, s.group, s.split, s.path) for s in source.samples] == [
        (i, f"data/{i:05d}", fields["class"][i], fields["style"][i], None, None) for i in range(42)
    ]
    for row in (0, 7, 41, 3):
        assert (source.load(source.samples[row]).image == images[row]).all()
    subtypes = open_source(f"icons50:{tmp_path}/Icons-50.npy", groups="subtype")
    assert [s.group for s in subtypes.samples] == fields["subtype"]
    assert subtypes.grouping == "subtype"


@pytest.mark.parametrize("way", ["folder", "nested", "tar"])
def test_the_folders(tmp_path, way):
    root = icons.write_folders(tmp_path / "Icons-50" / ("Icons-50" if way == "nested" else ""))
    path = tmp_path if way != "folder" else root
    if way == "tar":
        path = tmp_path / "icons.tar"
        with tarfile.open(path, "w") as tar:
            tar.add(root, "Icons-50")
    source = open_source(f"icons50:{path}", groups="subtype" if way == "tar" else None)
    assert [c.name for c in source.classes] == ["bird", "feline", "marine_animals"]
    assert source.notes == ()
    assert len(source.samples) == 18
    first = source.samples[1]
    assert (first.index, first.id, first.path) == (1, "bird/emoji-one_2_cat_face", "bird/emoji-one_2_cat_face.png")
    assert first.group == ("cat_face" if way == "tar" else "emoji-one")
    assert source.load(first).image.shape == (48, 48, 3)
    assert {s.group for s in source.samples} == set(icons.SUBTYPES[:6] if way == "tar" else icons.STYLES)


def test_an_icon_without_a_style_is_listed(tmp_path):
    root = icons.write_folders(tmp_path / "Icons-50")
    (root / "bird" / "apple_1_whale.png").rename(root / "bird" / "whale.png")
    source = open_source(f"icons50:{root}")
    ((path, reason),) = source.notes
    assert path == "bird/whale.png"
    assert "expected <style>_<rendition>_<subtype>" in reason
    assert [s.index for s in source.samples] == list(range(17))
    for path in sorted(root.glob("*/*.png")):
        path.rename(path.with_name(path.name.replace("_", "")))
    assert "holds no icon whose name has a style" in refused(f"icons50:{root}")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"style": None}, "has NoneType where a column"),
        ({"style": ["apple"] * 41}, r"\(42, 32, 32, 3\) and 41 in 'style'"),
        ({"style": ["apple"] * 41 + [""]}, "the style of row 41, '', is empty"),
        ({"style": ["a\tb"] * 42}, "row 0, .*, has control characters"),
        ({"class": [0] * 41}, "has 41 labels for 42 images"),
        ({"class": [-1] * 42}, "labels out of range"),
        ({"class": [0.5] * 42}, "is no pickle of arrays, lists, strings and whole numbers"),
        ({"class": [None] * 42}, "other things where whole numbers were expected"),
        ({"image": np.zeros((42, 3, 32, 32), np.float32)}, r"has pixels of float32 \(42, 3, 32, 32\); expected"),
        ({"image": np.zeros((42, 3072), np.uint8)}, r"image has the shape \(42, 3072\); expected"),
        ({"image": np.asfortranarray(np.zeros((42, 3, 32, 32), np.uint8))}, "stored row by row"),
        ({"image": [np.zeros((3, 32, 32), np.uint8)] * 42}, "has pixels of list"),
        ({"image": np.zeros((42, 3, 4, 4), np.uint8)}, "H and W at least 8"),
        ({"image": np.zeros((0, 3, 32, 32), np.uint8)}, "expected an array of bytes"),
    ],
)
def test_a_file_that_is_not_as_published(tmp_path, changes, said):
    path = icons.write_file(tmp_path / "Icons-50.npy", **changes)
    message = refused(f"icons50:{path}")
    assert re.search(said, message), message
    assert str(path) in message


class Hostile:
    def __reduce__(self):
        return os.system, ("touch hacked",)


def test_other_files_and_options_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "needs a path" in refused("icons50:")
    assert "is not there" in refused("icons50:nowhere")
    np.save("plain.npy", np.zeros(4))
    assert "is no .npy file of a dictionary" in refused("icons50:plain.npy")
    (tmp_path / "x.txt").write_text("icons")
    assert "is no .npy file of a dictionary" in refused("icons50:x.txt")
    os.mkfifo("pipe")
    assert "not a regular file" in refused("icons50:pipe")
    whole = icons.write_file(tmp_path / "Icons-50.npy")
    data = whole.read_bytes()
    whole.write_bytes(data[:-9000])
    assert re.search("is cut|is no pickle", refused("icons50:Icons-50.npy"))
    fields = icons.fields()
    del fields["style"], fields["class"]
    np.save("Icons-50.npy", fields, allow_pickle=True)
    assert "holds no style, so it is not what its name says" in refused("icons50:.")
    icons.write_file(whole, style=[Hostile()])
    assert "asks Python to run 'posix.system'" in refused("icons50:.")
    assert not (tmp_path / "hacked").exists()
    icons.write_file(whole)
    assert "takes no --labels" in refused("icons50:.", labels="x")
    assert "--groups is 'colour'; for icons50 expected one of style, subtype" in refused("icons50:.", groups="colour")
    assert "takes no --split" in refused("icons50:.", split="test")
