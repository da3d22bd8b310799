"""Icons-50 from its file and from its folders, with styles or subtypes as groups."""

from __future__ import annotations

import os

import icons
import numpy as np
import source_archives as a

from corruptset.generate.sources.source import open_source


def test_icons50_array_file_is_read(tmp_path):
    fields = icons.icon_fields()
    images = fields["image"].transpose(0, 2, 3, 1)
    last = fields | {"image": np.ascontiguousarray(images), "class": np.array(fields["class"])}
    for value, protocol in ((fields, 2), (fields, 4), (last, 2), (last, 4)):
        (tmp_path / "Icons-50.npy").write_bytes(a.npy_object(value, protocol))
        source = open_source(f"icons50:{tmp_path}")
        assert (source.scheme, source.grouping) == ("icons50", "style")
        assert [c.folder for c in source.classes] == ["0", "1", "2"]
        assert [(s.index, s.id, s.label, s.group, s.split, s.path) for s in source.samples] == [
            (i, f"data/{i:05d}", fields["class"][i], fields["style"][i], None, None) for i in range(42)
        ]
        assert all((source.load(source.samples[row]).image == images[row]).all() for row in (0, 7, 41, 3))
    subtypes = open_source(f"icons50:{tmp_path}/Icons-50.npy", groups="subtype")
    assert ([s.group for s in subtypes.samples], subtypes.grouping) == (fields["subtype"], "subtype")


def test_icons50_folders_are_read(tmp_path):
    nested = icons.write_folders(tmp_path / "nested" / "Icons-50" / "Icons-50")
    files = {f"Icons-50/{p.relative_to(nested)}": p.read_bytes() for p in nested.rglob("*.*") if p.is_file()}
    archive = a.write_tar(tmp_path / "icons.tar", files)
    for path, grouping in ((nested, "style"), (tmp_path / "nested", "style"), (archive, "subtype")):
        source = open_source(f"icons50:{path}", groups=grouping)
        assert [c.name for c in source.classes] == ["bird", "feline", "marine_animals"]
        assert (len(source.samples), source.notes, source.grouping) == (18, (), grouping)
        first = source.samples[1]
        assert (first.index, first.id, first.path) == (1, "bird/emoji-one_2_cat_face", "bird/emoji-one_2_cat_face.png")
        assert source.load(first).image.shape == (48, 48, 3)
        names = icons.STYLES if grouping == "style" else icons.SUBTYPES[:6]
        assert {s.group for s in source.samples} == set(names)
        assert first.group == {"style": "emoji-one", "subtype": "cat_face"}[grouping]
    # an icon whose name contains no style is listed
    (nested / "bird" / "apple_1_whale.png").rename(nested / "bird" / "whale.png")
    source = open_source(f"icons50:{nested}")
    ((path, reason),) = source.notes
    assert (path, "expected <style>_<rendition>_<subtype>" in reason) == ("bird/whale.png", True)
    assert [s.index for s in source.samples] == list(range(17))
    for path in sorted(nested.glob("*/*.png")):
        path.rename(path.with_name(path.name.replace("_", "")))
    a.check_refused(f"icons50:{nested}", "has no style in its name")


class Hostile:
    def __reduce__(self):
        return os.system, ("touch hacked",)


def test_unpublished_files_are_rejected(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "Icons-50.npy"
    for changes, message in (
        ({"style": None}, "has NoneType where a column"),
        ({"style": ["apple"] * 41}, "42 images and 41 values of 'style'"),
        ({"style": ["apple"] * 41 + [""]}, "the style of row 41, '', is empty"),
        ({"style": ["a\tb"] * 42}, "row 0, .*, has control characters"),
        ({"style": [Hostile()]}, "asks Python to run 'posix.system'"),
        ({"class": [-1] * 42}, "labels out of range"),
        ({"class": [0.5] * 42}, "list where an array of integers was expected"),
        ({"image": np.zeros((42, 3, 32, 32), np.float32)}, "image holds float32; expected uint8"),
        ({"image": np.zeros((42, 3072), np.uint8)}, r"image has the shape \(42, 3072\); expected"),
    ):
        icons.write_file(path, **changes)
        assert str(path) in a.check_refused(f"icons50:{path}", message)
    assert not (tmp_path / "hacked").exists()
    np.save("Icons-50.npy", {"image": icons.icon_fields()["image"]}, allow_pickle=True)
    a.check_refused("icons50:.", "has no style, so it is not the expected file")
    data = icons.write_file(path).read_bytes()
    path.write_bytes(data[:-9000])
    a.check_refused("icons50:Icons-50.npy", "is truncated|is no pickle")
    np.save("plain.npy", np.zeros(4))
    os.mkfifo("pipe")
    for source, options, message in (
        ("plain.npy", {}, "is not a .npy file of a dictionary"),
        ("pipe", {}, "not a regular file"),
        (".", {"labels": "x"}, "has no option --labels"),
        (".", {"groups": "colour"}, "--groups is 'colour'; expected one of style, subtype"),
        (".", {"split": "test"}, "has no option --split"),
    ):
        a.check_refused(f"icons50:{source}", message, **options)
