"""Sources: the eight photographs, image folders, labels in a CSV, selections."""

from __future__ import annotations

import hashlib
import io
import pickle
import shutil
import tarfile
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import skimage
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from corruptset.errors import SourceError
from corruptset.generate.sources import sample as sample_module
from corruptset.generate.sources.check import check
from corruptset.generate.sources.sample import PHOTOGRAPHS, photographs
from corruptset.generate.sources.selection import select, selection_record
from corruptset.generate.sources.source import SCHEMES, BadSample, Sample, open_source, stored_path

RGB = (np.arange(12 * 10 * 3).reshape(12, 10, 3) * 5 % 251).astype(np.uint8)


def put(root, path, value=0):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    Image.fromarray((RGB + value).astype(np.uint8)).save(buffer, "PNG")
    file.write_bytes(buffer.getvalue())
    return file


def labelled(root, rows, encoding="utf-8"):
    path = root.parent / "labels.csv"
    path.write_text(rows, encoding=encoding)
    return open_source(f"folder:{root}", labels=path)


def mistakes(root, rows):
    with pytest.raises(SourceError) as error:
        labelled(root, rows)
    return str(error.value)


def test_the_eight_photographs():
    source = open_source("sample")
    assert source.scheme == "sample"
    assert [s.id for s in source.samples] == sorted(PHOTOGRAPHS) == [c.name for c in source.classes]
    assert [s.label for s in source.samples] == list(range(8)) == [s.index for s in source.samples]
    # a loader that numbers sorted folders gets our labels
    assert sorted(c.folder for c in source.classes) == [c.folder for c in source.classes]
    assert len({len(c.folder.split("_")[0]) for c in source.classes}) == 1
    assert all(name in source.license for name in PHOTOGRAPHS)
    assert source.notes == ()
    for sample in source.samples:
        loaded = source.load(sample)
        assert (loaded.image.dtype, loaded.image.ndim, loaded.image.flags.writeable) == (np.uint8, 3, True)
        assert (
            loaded.sha256
            == "sha256:" + hashlib.sha256(loaded.image.tobytes()).hexdigest()
            == PHOTOGRAPHS[sample.id].sha256
        )
        assert source.fingerprint(sample) == loaded.sha256
    found = check(source, source.samples)
    assert [g[1:] for g in found.good][:2] == [
        (PHOTOGRAPHS["astronaut"].sha256, 512, 512, 3),
        (PHOTOGRAPHS["chelsea"].sha256, 451, 300, 3),
    ]
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
    with pytest.raises(SourceError, match="pip install scikit-image"):
        open_source("sample")


def test_names_of_sources(tmp_path):
    for text, said in {
        "sampel": "Did you mean 'sample'",
        str(tmp_path): f"did you mean folder:{tmp_path}",
        "sample:x": "takes no path",
    }.items():
        with pytest.raises(SourceError, match=said):
            open_source(text)
    with pytest.raises(SourceError, match="no --labels"):
        open_source("sample", labels=tmp_path / "x.csv")
    with pytest.raises(SourceError) as error:
        open_source("x")
    assert all(s.about in str(error.value) for s in SCHEMES.values())


def test_class_folders(tmp_path):
    for i, path in enumerate(["b/2.png", "b/10.png", "B c/1.png", "a/ünï.png", "a/x.tar.png"]):
        put(tmp_path, path, i)
    source = open_source(f"folder:{tmp_path}")
    assert source.scheme == "folder"
    assert [s.id for s in source.samples] == ["B c/1", "a/x.tar", "a/ünï", "b/10", "b/2"]
    assert [c.model_dump() for c in source.classes] == [
        {"index": i, "name": n, "folder": n} for i, n in enumerate(["B c", "a", "b"])
    ]
    assert [s.label for s in source.samples] == [0, 1, 1, 2, 2]
    sample = source.samples[3]
    assert sample == Sample(3, "b/10", 2, "b/10.png")
    loaded = source.load(sample)
    np.testing.assert_array_equal(loaded.image, (RGB + 1).astype(np.uint8))
    assert (
        loaded.sha256
        == source.fingerprint(sample)
        == "sha256:" + hashlib.sha256((tmp_path / "b/10.png").read_bytes()).hexdigest()
    )
    assert source.probe(sample) == (loaded.sha256, 10, 12, 3)


def test_where_images_are_stored():
    assert stored_path("a/b/1", "a") == "a/b/1"
    assert stored_path("ab/1", "a") == "a/ab/1"
    assert stored_path("1", "00_x") == "00_x/1"


def test_flat_with_whole_numbers(tmp_path):
    root = tmp_path / "flat"
    for path in ("x.png", "sub/y.png", "ż.png"):
        put(root, path)
    source = labelled(root, "file,label\nsub/y.png,7\r\n./x.png, 12 \n\nż.png,7\n", "utf-8-sig")
    assert [(s.id, s.label) for s in source.samples] == [("sub/y", 7), ("x", 12), ("ż", 7)]
    assert [(c.index, c.name, c.folder) for c in source.classes] == [(i, str(i), f"{i:02d}") for i in range(13)]
    assert source.notes == ()
    assert source.load(source.samples[0]).image.shape == (12, 10, 3)


@pytest.mark.parametrize("form", ["folder", "tar", "csv"])
def test_ids_and_classes_are_in_the_order_of_their_own_letters(tmp_path, form):
    """Not of paths with suffixes, not folder by folder, and not of names as a disk has them in pieces."""
    root, decomposed = tmp_path / "root", unicodedata.normalize("NFD", "é")
    paths = [
        f"{decomposed}/a.png",
        "a/b.png",
        "a/b-1.png",
        "a/b!.png",
        "a/b.c.png",
        "a/z.png",
        f"a/{decomposed}.png",
        "a-b/x.png",
        "z/y.png",
    ]
    for path in paths:
        put(root, path)
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
    assert [s.id for s in source.samples] == ["a-b/x", "a/b", "a/b!", "a/b-1", "a/b.c", "a/z", "a/é", "z/y", "é/a"]
    assert [(c.index, c.name, c.folder) for c in source.classes] == [
        (i, n, n) for i, n in enumerate(["a", "a-b", "z", "é"])
    ]
    assert [s.label for s in source.samples] == [1, 0, 0, 0, 0, 0, 0, 2, 3]
    assert source.samples[8].path == f"{decomposed}/a.png"
    assert (source.notes, source.load(source.samples[8]).image.shape) == ((), (12, 10, 3))


def test_flat_with_class_names(tmp_path):
    root = tmp_path / "flat"
    for path in ("1.png", "2.png", "3.png", "unlabelled.png"):
        put(root, path)
    source = labelled(root, 'file,label\n2.png,"tabby, cat"\n1.png,dog\n3.png,dog\n')
    assert [(s.id, s.label) for s in source.samples] == [("1", 0), ("2", 1), ("3", 0)]
    assert [(c.index, c.name) for c in source.classes] == [(0, "dog"), (1, "tabby, cat")]
    assert source.notes == (("unlabelled.png", "has no row in labels.csv: add one, or leave the image out"),)


def test_labels_inside_the_folder_are_no_bad_image(tmp_path):
    put(tmp_path, "1.png")
    (tmp_path / "labels.dat").write_text("file,label\n1.png,0\n")
    source = open_source(f"folder:{tmp_path}", labels=tmp_path / "labels.dat")
    assert ([s.id for s in source.samples], source.notes) == (["1"], ())


def test_images_that_would_be_stored_under_one_name(tmp_path):
    root = tmp_path / "flat"
    for path in ("a/x.png", "x.png", "y.png"):
        put(root, path)
    source = labelled(root, "file,label\na/x.png,a\nx.png,a\ny.png,a\n")
    assert [s.id for s in source.samples] == ["y"]
    assert [p for p, _ in source.notes] == ["a/x.png", "x.png"]


def test_every_mistake_of_a_csv_is_listed(tmp_path):
    root = tmp_path / "flat"
    for i in range(6):
        put(root, f"{i}.png")
    said = mistakes(
        root, "file,label\n0.png,cat\n0.png,dog\nnone.png,cat\n1.png,\n2.png\n3.png,3\n4.png,Cat\n5.png,../up\n"
    )
    assert "have 5 mistakes" in said
    for part in (
        "line 3: '0.png' was given on line 2",
        "line 4: there is no image 'none.png'",
        "line 5: '1.png' has no label",
        "line 6: has 1 columns",
        "mix whole numbers (3, ...) and class names",
    ):
        assert part in said


def test_class_names_that_cannot_be_folders(tmp_path):
    root = tmp_path / "flat"
    for i in range(5):
        put(root, f"{i}.png")
    said = mistakes(root, "file,label\n0.png,cat\n1.png,Cat\n2.png,../up\n3.png,.hid\n4.png,a\\b\n")
    assert "have 5 mistakes" in said
    for part in (
        "'Cat' has the same name as cat on disks that ignore case",
        "'../up' cannot be a folder",
        "'.hid' cannot be a folder",
        "backslash",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("", "begin with 'nothing'.*expected the header line 'file,label'"),
        ("0.png,1\n", "begin with '0.png,1'"),
        ("label,file\n", "begin with 'label,file'"),
        ("file,label\n", "a header and no rows"),
        ("file,label\n0.png,100000\n", "the label 100000 is above 99999"),
        ('file,label\n"0.png,1\n', "line 2"),
        ("file,label\n0.png,-1\n", None),
    ],
)
def test_other_mistakes_of_a_csv(tmp_path, rows, said):
    root = tmp_path / "flat"
    put(root, "0.png")
    if said is None:
        assert labelled(root, rows).classes[0].name == "-1"
        return
    with pytest.raises(SourceError, match=said):
        labelled(root, rows)


def test_a_csv_that_cannot_be_read(tmp_path):
    root = tmp_path / "flat"
    put(root, "0.png")
    with pytest.raises(SourceError, match="cannot be read"):
        open_source(f"folder:{root}", labels=tmp_path / "missing.csv")
    (tmp_path / "latin.csv").write_bytes("file,label\n0.png,caf\xe9\n".encode("latin-1"))
    with pytest.raises(SourceError, match="cannot be read"):
        open_source(f"folder:{root}", labels=tmp_path / "latin.csv")


@given(st.integers(1, 300), st.integers(1, 400))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_a_selection_is_spread_evenly(total, wanted):
    source = [Sample(i, f"{i:03d}", 0) for i in range(total)]
    chosen = [s.index for s in select(source, samples=wanted)]
    if wanted >= total:
        assert chosen == list(range(total))
    else:
        assert chosen == [(i * total) // wanted for i in range(wanted)]
        assert len(set(chosen)) == wanted
        assert chosen[0] == 0


def test_selections():
    source = [Sample(i, str(i), 0) for i in range(10)]
    assert select(source) == source
    assert [s.index for s in select(source, first=3)] == [0, 1, 2]
    assert [s.index for s in select(source, first=6, samples=3)] == [0, 2, 4]
    for bad in (0, -1, True, 2.0):
        with pytest.raises(SourceError, match="--samples is"):
            select(source, samples=bad)
        with pytest.raises(SourceError, match="--first is"):
            select(source, first=bad)
    assert selection_record(source, source[:3], samples=3) == {
        "split": None, "samples": 3, "first": None, "per_class": None, "ids": None, "total": 10, "chosen": 3,
    }  # fmt: skip


@pytest.mark.parametrize("scheme", ["folder", "imagenet", "cifar10", "tree", "mnist"])
def test_a_zip_archive_is_to_be_unzipped(tmp_path, scheme):
    (tmp_path / "val.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    with pytest.raises(
        SourceError, match=rf"val\.zip is a zip archive: unzip it, and give the folder, {scheme}:.*/val\.$"
    ):
        open_source(f"{scheme}:{tmp_path / 'val.zip'}")
