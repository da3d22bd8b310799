"""The sample photographs, image folders, labels in a CSV, names of sources, and the page about sources."""

from __future__ import annotations

import hashlib
import pickle
import re
import shutil
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import skimage
import source_archives as a

from corruptset.generate.sources import decoding, image_listing, labels
from corruptset.generate.sources import sample as sample_module
from corruptset.generate.sources.check import check
from corruptset.generate.sources.sample import PHOTOGRAPHS, photographs
from corruptset.generate.sources.source import SCHEMES, BadSample, open_source, stored_path
from example_images import encode_image

RGB = (np.arange(12 * 10 * 3).reshape(12, 10, 3) * 5 % 251).astype(np.uint8)
PNG = encode_image(RGB)
PAGE = (Path(__file__).resolve().parents[3] / "docs" / "sources.md").read_text(encoding="utf-8")


def write_images(root, *paths):
    return a.write_files(root, dict.fromkeys(paths, PNG))


def open_with_labels(root, rows, encoding="utf-8"):
    path = root.parent / "labels.csv"
    path.write_text(rows, encoding=encoding)
    return open_source(f"folder:{root}", labels=path)


def test_sample_source_has_eight_photographs():
    source = open_source("sample")
    assert [s.id for s in source.samples] == sorted(PHOTOGRAPHS) == [c.name for c in source.classes]
    assert [s.label for s in source.samples] == list(range(8)) == [s.index for s in source.samples]
    # a loader that assigns labels to sorted folders gets the same labels
    assert sorted(c.folder for c in source.classes) == [c.folder for c in source.classes]
    assert all(name in source.license for name in PHOTOGRAPHS)
    assert (source.scheme, source.notes) == ("sample", ())
    for sample in source.samples:
        decoded = source.load(sample)
        assert (decoded.image.dtype, decoded.image.ndim, decoded.image.flags.writeable) == (np.uint8, 3, True)
        expected = "sha256:" + hashlib.sha256(decoded.image.tobytes()).hexdigest()
        assert decoded.sha256 == source.fingerprint(sample) == expected == PHOTOGRAPHS[sample.id].sha256
    report = check(source, source.samples)
    assert ([valid[2:] for valid in report.good][:2], report.bad) == ([(512, 512, 3), (451, 300, 3)], [])
    assert pickle.loads(pickle.dumps(source)).samples == source.samples


def test_missing_or_changed_photograph_is_reported(tmp_path, monkeypatch):
    folder = Path(skimage.__file__).parent / "data"
    for photograph in PHOTOGRAPHS.values():
        if photograph.file != "ihc.png":
            shutil.copy(folder / photograph.file, tmp_path)
    shutil.copy(tmp_path / "coffee.png", tmp_path / "chelsea.png")
    source = photographs(tmp_path)
    assert [s.id for s in source.samples] == [n for n in sorted(PHOTOGRAPHS) if n != "ihc"]
    assert ([s.label for s in source.samples], len(source.classes)) == ([0, 1, 2, 3, 5, 6, 7], 8)
    ((path, reason),) = source.notes
    assert (path, f"scikit-image {skimage.__version__}" in reason) == ("ihc.png", True)
    ((name, message),) = check(source, source.samples).bad
    assert re.search(f"^chelsea: .*different pixels.*{PHOTOGRAPHS['chelsea'].sha256}", f"{name}: {message}")
    (tmp_path / "rocket.jpg").unlink()
    with pytest.raises(BadSample, match="cannot be read"):
        source.load(source.samples[-1])
    monkeypatch.setattr(sample_module.importlib.util, "find_spec", lambda name: None)
    a.check_refused("sample", "pip install scikit-image")


def test_source_names_are_parsed(tmp_path):
    for text, message in {
        "sampel": "Did you mean 'sample'",
        "cifar:x": "is not a source. Did you mean 'cifar10'",
        str(tmp_path): f"did you mean folder:{tmp_path}",
        "sample:x": "takes no path",
    }.items():
        a.check_refused(text, message)
    assert all(s.help in a.check_refused("x", "is not a source") for s in SCHEMES.values())
    a.check_refused("sample", "no option --labels", labels=tmp_path / "x.csv")
    (tmp_path / "val.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    for scheme in ("folder", "imagenet", "cifar10", "tree", "mnist"):
        message = rf"val\.zip is a zip archive\. Unzip it, and specify the folder: {scheme}:.*/val\.$"
        a.check_refused(f"{scheme}:{tmp_path / 'val.zip'}", message)


def test_page_documents_every_scheme_option_suffix_and_limit():
    for name, scheme in SCHEMES.items():
        assert f"`{name}:" in PAGE or f"`{name}`" in PAGE
        assert all(f"--{option}" in PAGE for option in scheme.options)
    assert set(re.findall(r"`([a-z0-9]+):[A-Z]", PAGE)) <= set(SCHEMES)
    words = set(re.findall(r"[\w$@+]+", PAGE.lower()))
    for known in (image_listing.IMAGE_SUFFIXES, image_listing.DOCUMENT_SUFFIXES, image_listing.DOCUMENT_NAMES):
        assert {k for k in known if k not in words} <= {"licence"}
    limits = (f"{decoding.MAX_PIXELS:,}", f"{decoding.MAX_FILE_BYTES // 2**20} MiB", f"{labels.MAX_NAME_BYTES} bytes")
    for known in (*image_listing.SYSTEM_NAMES, *limits, f"more than {labels.MAX_ID_BYTES}", f"0 to {labels.MAX_LABEL}"):
        assert known.lower() in PAGE.lower(), known


@pytest.mark.parametrize("form", ["folder", "tar", "csv"])
def test_ids_and_classes_are_sorted_by_code_point(tmp_path, form):
    """Samples are sorted by their ids: without suffixes, over all folders, and in Unicode normal form C."""
    decomposed = unicodedata.normalize("NFD", "é")
    names = ("a/b", "a/b-1", "a/b!", "a/b.c", "a/z", f"a/{decomposed}", "a-b/x", "z/y")
    paths = [f"{name}.png" for name in (f"{decomposed}/a", *names)]
    root = write_images(tmp_path / "root", *paths)
    if form == "csv":
        # names are compared in Unicode normal form C, both of files and of classes
        rows = "".join(f"{unicodedata.normalize('NFC', path)},{path.partition('/')[0]}\n" for path in paths)
        source = open_with_labels(root, f"file,label\n{rows}")
    elif form == "tar":
        source = open_source(f"folder:{a.write_tar(tmp_path / 'x.tar', dict.fromkeys(paths, PNG))}")
    else:
        source = open_source(f"folder:{root}")
    ids = ["a-b/x", "a/b", "a/b!", "a/b-1", "a/b.c", "a/z", "a/é", "z/y", "é/a"]
    assert [s.id for s in source.samples] == ids
    assert [(c.index, c.name, c.folder) for c in source.classes] == [
        (i, n, n) for i, n in enumerate(["a", "a-b", "z", "é"])
    ]
    assert [s.label for s in source.samples] == [1, 0, 0, 0, 0, 0, 0, 2, 3]
    last = source.samples[8]
    assert (source.scheme, source.notes, last.index, last.path) == ("folder", (), 8, f"{decomposed}/a.png")
    decoded = source.load(last)
    np.testing.assert_array_equal(decoded.image, RGB)
    assert decoded.sha256 == source.fingerprint(last) == "sha256:" + hashlib.sha256(PNG).hexdigest()
    assert source.probe(last) == (decoded.sha256, 10, 12, 3, False)


def test_labels_can_come_from_csv(tmp_path):
    root = write_images(tmp_path / "numbers", "x.png", "sub/y.png", "ż.png")
    source = open_with_labels(root, "file,label\nsub/y.png,7\r\n./x.png, 12 \n\nż.png,7\n", "utf-8-sig")
    assert [(s.id, s.label) for s in source.samples] == [("sub/y", 7), ("x", 12), ("ż", 7)]
    assert [(c.index, c.name, c.folder) for c in source.classes] == [(i, str(i), f"{i:02d}") for i in range(13)]
    assert source.notes == ()
    root = write_images(tmp_path / "names", "1.png", "2.png", "3.png", "unlabelled.png")
    source = open_with_labels(root, 'file,label\n2.png,"tabby, cat"\n1.png,dog\n3.png,dog\n')
    assert [(s.id, s.label) for s in source.samples] == [("1", 0), ("2", 1), ("3", 0)]
    assert [c.name for c in source.classes] == ["dog", "tabby, cat"]
    assert source.notes == (("unlabelled.png", "has no row in labels.csv: add one, or leave the image out"),)
    # images that would be stored under the same name
    for parts, expected in ((("a/b/1", "a"), "a/b/1"), (("ab/1", "a"), "a/ab/1"), (("1", "00_x"), "00_x/1")):
        assert stored_path(*parts) == expected
    source = open_with_labels(
        write_images(tmp_path / "flat", "a/x.png", "x.png", "y.png"), "file,label\na/x.png,a\nx.png,a\ny.png,a\n"
    )
    assert ([s.id for s in source.samples], [p for p, _ in source.notes]) == (["y"], ["a/x.png", "x.png"])
    # a CSV of labels inside the folder is not treated as an image
    (root / "labels.dat").write_text("file,label\n1.png,0\n")
    source = open_source(f"folder:{root}", labels=root / "labels.dat")
    assert [path for path, _ in source.notes] == ["2.png", "3.png", "unlabelled.png"]


def test_numbers_with_decimal_point_may_be_integers(tmp_path):
    root = write_images(tmp_path / "x", *(f"{i}.png" for i in range(12)))
    for form in ("{}.0", "{}.", "{}.000", "00{}.0"):
        source = open_with_labels(root, "file,label\n" + "".join(f"{i}.png,{form.format(i)}\n" for i in range(12)))
        assert {int(s.id): s.label for s in source.samples} == {i: i for i in range(12)}
        assert [c.name for c in source.classes] == [str(i) for i in range(12)]
        (remark,) = source.remarks
        assert f"have a decimal point ({form.format(0)}) and are read as whole numbers" in remark
    mixed = open_with_labels(root, "file,label\n0.png,10\n1.png,2.0\n")
    assert [s.label for s in mixed.samples] == [10, 2]
    assert open_with_labels(root, "file,label\n0.png,10\n1.png,2\n").remarks == ()


def test_other_numbers_are_not_labels(tmp_path):
    root, csv = write_images(tmp_path / "x", "0.png", "1.png", "2.png"), tmp_path / "labels.csv"
    for label, message in {
        "1.5": "is a fraction, or has a comma",
        '"1,5"': "is a fraction, or has a comma",
        ".5": "is a fraction",
        "-1": "is negative",
        "-1.0": "is negative",
        "1e1": "is a number in a notation other than",
        "1E+01": "is a number in a notation other than",
        "+1": "is a number in a notation other than",
        "0x10": "is a number in a notation other than",
        "nan": "is not a label",
        "NaN": "is not a label",
        "-inf": "is not a label",
        "٣": "is written with digits or signs other than",
        "\u22121": "is written with digits or signs other than",
        "100000.0": "is above 99999",
    }.items():
        for other, mixes in (("2", False), ("2.0", False), ("cat", True)):
            csv.write_text(f"file,label\n0.png,{other}\n1.png,{label}\n2.png,{label}\n", encoding="utf-8")
            text = a.check_refused(
                f"folder:{root}", "a whole number from 0 to 99999 .3.0 is read as 3. or a class name", labels=csv
            )
            assert re.search(f"line 3: the label .* {message}", text)
            assert ("the labels mix numbers (line 3: " in text) == mixes
    # class names that contain digits
    for names in (("1st", "10th", "2nd"), ("0-2", "3-10", "3-9"), ("v1.2.3", "1_1", "none")):
        csv.write_text("file,label\n" + "".join(f"{i}.png,{name}\n" for i, name in enumerate(names)))
        assert [c.name for c in open_source(f"folder:{root}", labels=csv).classes] == sorted(names)


def test_csv_errors_are_reported(tmp_path):
    root, csv = write_images(tmp_path / "flat", *(f"{i}.png" for i in range(6))), tmp_path / "labels.csv"
    for rows, *messages in (
        (
            "file,label\n0.png,cat\n0.png,dog\nnone.png,cat\n1.png,\n2.png\n3.png,3\n4.png,Cat\n5.png,../up\n",
            "contains 5 errors",
            "line 3: '0.png' is also on line 2",
            "line 4: there is no image 'none.png'",
            "line 5: '1.png' has no label",
            "line 6: has 1 columns",
            r"the labels mix numbers \(line 7: '3'\) and class names \(line 2: 'cat'\); use one kind",
        ),
        (
            "file,label\n0.png,cat\n1.png,Cat\n2.png,../up\n3.png,.hid\n4.png,a\\b\n",
            "contains 5 errors",
            "'Cat' has the same name as cat on disks that ignore case",
            "'../up' cannot be a folder",
            "'.hid' cannot be a folder",
            "backslash",
        ),
        ("", "begins with 'nothing'.*expected the header line 'file,label'"),
        ("label,file\n", "begins with 'label,file'"),
        ("file,label\n", "a header, but no rows"),
        ("file,label\n0.png,100000\n", "the label 100000 is above 99999"),
        ('file,label\n"0.png,1\n', "cannot be read: line 2"),
        ("file,label\n0.png,caf\udce9\n", "cannot be read"),
    ):
        csv.write_text(rows, errors="surrogateescape")
        for part in messages:
            a.check_refused(f"folder:{root}", part, labels=csv)
    a.check_refused(f"folder:{root}", "cannot be read", labels=tmp_path / "missing.csv")
