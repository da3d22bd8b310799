"""The eight photographs, image folders, labels in a CSV, and names of sources."""

from __future__ import annotations

import hashlib
import pickle
import shutil
import tarfile
import unicodedata
from pathlib import Path

import archives as a
import numpy as np
import pytest
import skimage

from corruptset.generate.sources import sample as sample_module
from corruptset.generate.sources.check import check
from corruptset.generate.sources.sample import PHOTOGRAPHS, photographs
from corruptset.generate.sources.source import SCHEMES, BadSample, Sample, open_source, stored_path
from pictures import encoded

RGB = (np.arange(12 * 10 * 3).reshape(12, 10, 3) * 5 % 251).astype(np.uint8)
PNG = encoded(RGB)


def put(root, *paths):
    return a.write(root, dict.fromkeys(paths, PNG))


def labelled(root, rows, encoding="utf-8"):
    path = root.parent / "labels.csv"
    path.write_text(rows, encoding=encoding)
    return open_source(f"folder:{root}", labels=path)


def test_the_eight_photographs():
    source = open_source("sample")
    assert [s.id for s in source.samples] == sorted(PHOTOGRAPHS) == [c.name for c in source.classes]
    assert [s.label for s in source.samples] == list(range(8)) == [s.index for s in source.samples]
    # a loader that numbers sorted folders gets our labels
    assert sorted(c.folder for c in source.classes) == [c.folder for c in source.classes]
    assert all(name in source.license for name in PHOTOGRAPHS)
    assert (source.scheme, source.notes) == ("sample", ())
    for sample in source.samples:
        loaded = source.load(sample)
        assert (loaded.image.dtype, loaded.image.ndim, loaded.image.flags.writeable) == (np.uint8, 3, True)
        expected = "sha256:" + hashlib.sha256(loaded.image.tobytes()).hexdigest()
        assert loaded.sha256 == source.fingerprint(sample) == expected == PHOTOGRAPHS[sample.id].sha256
    found = check(source, source.samples)
    assert [good[2:] for good in found.good][:2] == [(512, 512, 3), (451, 300, 3)]
    assert found.bad == []
    assert pickle.loads(pickle.dumps(source)).samples == source.samples


def test_a_photograph_that_is_gone_or_another_is_said(tmp_path, monkeypatch):
    folder = Path(skimage.__file__).parent / "data"
    for photograph in PHOTOGRAPHS.values():
        if photograph.file != "ihc.png":
            shutil.copy(folder / photograph.file, tmp_path)
    shutil.copy(tmp_path / "coffee.png", tmp_path / "chelsea.png")
    source = photographs(tmp_path)
    assert [s.id for s in source.samples] == [n for n in sorted(PHOTOGRAPHS) if n != "ihc"]
    assert [s.label for s in source.samples] == [0, 1, 2, 3, 5, 6, 7]
    assert len(source.classes) == 8
    ((path, reason),) = source.notes
    assert path == "ihc.png"
    assert f"scikit-image {skimage.__version__}" in reason
    ((name, said),) = check(source, source.samples).bad
    assert name == "chelsea"
    assert "other pixels" in said
    assert PHOTOGRAPHS["chelsea"].sha256 in said
    (tmp_path / "rocket.jpg").unlink()
    with pytest.raises(BadSample, match="cannot be read"):
        source.load(source.samples[-1])
    monkeypatch.setattr(sample_module.importlib.util, "find_spec", lambda name: None)
    a.refuses("sample", "pip install scikit-image")


def test_names_of_sources(tmp_path):
    for text, said in {
        "sampel": "Did you mean 'sample'",
        "cifar:x": "is not a source. Did you mean 'cifar10'",
        str(tmp_path): f"did you mean folder:{tmp_path}",
        "sample:x": "takes no path",
    }.items():
        a.refuses(text, said)
    assert all(s.about in a.refuses("x", "is not a source") for s in SCHEMES.values())
    a.refuses("sample", "no --labels", labels=tmp_path / "x.csv")
    (tmp_path / "val.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    for scheme in ("folder", "imagenet", "cifar10", "tree", "mnist"):
        said = rf"val\.zip is a zip archive: unzip it, and give the folder, {scheme}:.*/val\.$"
        a.refuses(f"{scheme}:{tmp_path / 'val.zip'}", said)


def test_class_folders(tmp_path):
    put(tmp_path, "b/2.png", "B c/1.png", "a/ünï.png", "a/x.tar.png")
    other = encoded((RGB + 1).astype(np.uint8))
    source = open_source(f"folder:{a.write(tmp_path, {'b/10.png': other})}")
    assert source.scheme == "folder"
    assert [s.id for s in source.samples] == ["B c/1", "a/x.tar", "a/ünï", "b/10", "b/2"]
    assert [(c.index, c.name, c.folder) for c in source.classes] == [(i, n, n) for i, n in enumerate(["B c", "a", "b"])]
    assert [s.label for s in source.samples] == [0, 1, 1, 2, 2]
    sample = source.samples[3]
    assert sample == Sample(3, "b/10", 2, "b/10.png")
    loaded = source.load(sample)
    np.testing.assert_array_equal(loaded.image, RGB + 1)
    assert loaded.sha256 == source.fingerprint(sample) == "sha256:" + hashlib.sha256(other).hexdigest()
    assert source.probe(sample) == (loaded.sha256, 10, 12, 3)
    for given, expected in ((("a/b/1", "a"), "a/b/1"), (("ab/1", "a"), "a/ab/1"), (("1", "00_x"), "00_x/1")):
        assert stored_path(*given) == expected


@pytest.mark.parametrize("form", ["folder", "tar", "csv"])
def test_ids_and_classes_are_in_the_order_of_their_own_letters(tmp_path, form):
    """Not of paths with suffixes, nor folder by folder, nor in the disk's Unicode form."""
    root, decomposed = tmp_path / "root", unicodedata.normalize("NFD", "é")
    names = ("a/b", "a/b-1", "a/b!", "a/b.c", "a/z", f"a/{decomposed}", "a-b/x", "z/y")
    paths = [f"{name}.png" for name in (f"{decomposed}/a", *names)]
    put(root, *paths)
    if form == "csv":
        # who types a name in one piece means the file whose name is in two, and a class is one, however it is typed
        rows = "".join(f"{unicodedata.normalize('NFC', path)},{path.partition('/')[0]}\n" for path in paths)
        source = labelled(root, f"file,label\n{rows}")
    elif form == "tar":
        with tarfile.open(tmp_path / "x.tar", "w") as archive:
            for path in paths:
                archive.add(root / path, path)
        source = open_source(f"folder:{tmp_path / 'x.tar'}")
    else:
        source = open_source(f"folder:{root}")
    ids = ["a-b/x", "a/b", "a/b!", "a/b-1", "a/b.c", "a/z", "a/é", "z/y", "é/a"]
    assert [s.id for s in source.samples] == ids
    assert [c.folder for c in source.classes] == ["a", "a-b", "z", "é"]
    assert [s.label for s in source.samples] == [1, 0, 0, 0, 0, 0, 0, 2, 3]
    assert source.samples[8].path == f"{decomposed}/a.png"
    assert (source.notes, source.load(source.samples[8]).image.shape) == ((), (12, 10, 3))


def test_labels_in_a_csv(tmp_path):
    root = put(tmp_path / "numbers", "x.png", "sub/y.png", "ż.png")
    source = labelled(root, "file,label\nsub/y.png,7\r\n./x.png, 12 \n\nż.png,7\n", "utf-8-sig")
    assert [(s.id, s.label) for s in source.samples] == [("sub/y", 7), ("x", 12), ("ż", 7)]
    assert [(c.index, c.name, c.folder) for c in source.classes] == [(i, str(i), f"{i:02d}") for i in range(13)]
    assert source.notes == ()
    root = put(tmp_path / "names", "1.png", "2.png", "3.png", "unlabelled.png")
    source = labelled(root, 'file,label\n2.png,"tabby, cat"\n1.png,dog\n3.png,dog\n')
    assert [(s.id, s.label) for s in source.samples] == [("1", 0), ("2", 1), ("3", 0)]
    assert [c.name for c in source.classes] == ["dog", "tabby, cat"]
    assert source.notes == (("unlabelled.png", "has no row in labels.csv: add one, or leave the image out"),)
    assert labelled(put(tmp_path / "minus", "0.png"), "file,label\n0.png,-1\n").classes[0].name == "-1"
    # images that would be stored under one name
    source = labelled(put(tmp_path / "flat", "a/x.png", "x.png", "y.png"), "file,label\na/x.png,a\nx.png,a\ny.png,a\n")
    assert ([s.id for s in source.samples], [p for p, _ in source.notes]) == (["y"], ["a/x.png", "x.png"])
    # labels that lie inside the folder are no bad image
    (root / "labels.dat").write_text("file,label\n1.png,0\n")
    source = open_source(f"folder:{root}", labels=root / "labels.dat")
    assert [path for path, _ in source.notes] == ["2.png", "3.png", "unlabelled.png"]


def test_mistakes_of_a_csv(tmp_path):
    root, csv = put(tmp_path / "flat", *(f"{i}.png" for i in range(6))), tmp_path / "labels.csv"

    def refused(rows, *said):
        csv.write_bytes(rows if isinstance(rows, bytes) else rows.encode())
        for part in said:
            a.refuses(f"folder:{root}", part, labels=csv)

    refused(
        "file,label\n0.png,cat\n0.png,dog\nnone.png,cat\n1.png,\n2.png\n3.png,3\n4.png,Cat\n5.png,../up\n",
        "have 5 mistakes",
        "line 3: '0.png' was given on line 2",
        "line 4: there is no image 'none.png'",
        "line 5: '1.png' has no label",
        "line 6: has 1 columns",
        r"mix whole numbers \(3, ...\) and class names",
    )
    refused(
        "file,label\n0.png,cat\n1.png,Cat\n2.png,../up\n3.png,.hid\n4.png,a\\b\n",
        "have 5 mistakes",
        "'Cat' has the same name as cat on disks that ignore case",
        "'../up' cannot be a folder",
        "'.hid' cannot be a folder",
        "backslash",
    )
    for rows, said in (
        ("", "begin with 'nothing'.*expected the header line 'file,label'"),
        ("0.png,1\n", "begin with '0.png,1'"),
        ("label,file\n", "begin with 'label,file'"),
        ("file,label\n", "a header and no rows"),
        ("file,label\n0.png,100000\n", "the label 100000 is above 99999"),
        ('file,label\n"0.png,1\n', "cannot be read: line 2"),
        ("file,label\n0.png,caf\xe9\n".encode("latin-1"), "cannot be read"),
    ):
        refused(rows, said)
    a.refuses(f"folder:{root}", "cannot be read", labels=tmp_path / "missing.csv")
