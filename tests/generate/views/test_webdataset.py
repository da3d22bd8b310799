"""The view webdataset: tars that depend on names and bytes alone."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import layouts
import numpy as np
import pytest
from layouts import export, members, pixels

import corruptset


def test_tars_are_deterministic_and_their_keys_have_no_dots(
    png: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from corruptset.generate.views import view

    monkeypatch.setattr(view, "SHARD", 8)
    done = export("webdataset", png, tmp_path / "a")
    monkeypatch.setattr("time.time", lambda: 12345.0)
    export("webdataset", png, tmp_path / "b")
    assert layouts.files_of(tmp_path / "a") == layouts.files_of(tmp_path / "b")
    data = corruptset.open(png)
    said = json.loads((tmp_path / "a/VIEW.json").read_text("utf-8"))["sets"]
    tops = [(set_id, f"small-c-1.0.0/{set_id}/{k:06d}.tar") for set_id in data.set_ids for k in range(3)]
    assert sorted((s["id"], s["path"]) for s in said) == sorted(tops)
    for set_id in data.set_ids:
        tars = sorted((done.top / set_id).glob("*.tar"))
        assert [t.name for t in tars] == ["000000.tar", "000001.tar", "000002.tar"]
        index = 0
        for tar in tars:
            with tarfile.open(tar) as archive:
                members = archive.getmembers()
                assert {(m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode) for m in members} == {
                    (0, 0, 0, "", "", 0o644)
                }
                contents = {m.name: archive.extractfile(m).read() for m in members}  # type: ignore[union-attr]
            assert {name.count(".") for name in contents} == {1}
            for key in dict.fromkeys(name.partition(".")[0] for name in contents):
                np.testing.assert_array_equal(pixels(contents[f"{key}.png"]), data[set_id].image(index))
                assert int(contents[f"{key}.cls"]) == data.samples[index].label
                assert json.loads(contents[f"{key}.json"])["id"] == data.samples[index].id
                index += 1
        assert index == 20


def test_a_numbered_class_is_named_by_its_name_and_labelled_by_its_number(crops: Path, tmp_path: Path) -> None:
    """Labels of two digits whose classes have names (``3``) and folders (``03``) of their own, and no label is a
    sample's number.
    """
    (tmp_path / "flat").mkdir()
    for i, path in enumerate(sorted(crops.rglob("*.png"))[:12]):
        shutil.copyfile(path, tmp_path / f"flat/{i}.png")
    (tmp_path / "labels.csv").write_text("file,label\n" + "".join(f"{i}.png,{11 - i}\n" for i in range(12)))
    built = layouts.make(
        layouts.write_recipe(tmp_path),
        tmp_path / "flat",
        tmp_path / "out",
        labels=tmp_path / "labels.csv",
        sets=["clean"],
    )
    data = corruptset.open(built)
    assert [(c.name, c.folder) for c in data.classes][2:4] == [("2", "02"), ("3", "03")]
    # code points: 0, 1, 10, 11, 2, ...
    assert data["clean"].labels.tolist() == [11, 10, 1, 0, 9, 8, 7, 6, 5, 4, 3, 2]
    top = export("webdataset", built, tmp_path / "w").top
    contents = members(top / "clean/000000.tar")
    for index, sample in enumerate(data.samples):
        record = json.loads(contents[f"{index:08d}.json"])
        assert (record["label"], record["class"], record["id"]) == (sample.label, str(sample.label), sample.id)
        assert contents[f"{index:08d}.cls"] == str(sample.label).encode()
    top = export("openood", built, tmp_path / "o").top
    lines = (top / "lists/clean.txt").read_text().splitlines()
    assert [int(line.rpartition(" ")[2]) for line in lines] == data["clean"].labels.tolist()
    assert [line.split("/")[1] for line in lines] == [f"{s.label:02d}" for s in data.samples]
