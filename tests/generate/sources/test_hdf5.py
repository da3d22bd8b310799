"""HDF5 files from other programs and shards of builds, including files that change or are damaged."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest
import source_archives as a

import corruptset
from corruptset.generate.build import build
from corruptset.generate.sources import hdf5 as shards
from corruptset.generate.sources.decoding import decode
from corruptset.generate.sources.source import BadSample, open_source

IMAGES, LABELS = a.random_crops(60)
N = len(IMAGES)
FORMS = {"plain": {}, "compressed": {"chunks": (7, 32, 32, 3), "compression": "gzip"}, "encoded": {}}


def write(path, form="plain"):
    """Write images as pixels or as encoded image files."""
    with h5py.File(path, "w") as file:
        file["labels"] = LABELS
        if form == "encoded":
            rows = file.create_dataset("images", (N,), h5py.vlen_dtype(np.uint8))
            for i, image in enumerate(IMAGES):
                rows[i] = np.frombuffer(a.jpeg_bytes(image), np.uint8)
        else:
            file.create_dataset("images", data=IMAGES, **FORMS[form])
    return f"hdf5:{path}"


@pytest.mark.parametrize("form", FORMS)
def test_rows_match_file_in_any_order(tmp_path, monkeypatch, form):
    monkeypatch.setattr(shards, "MAX_ROWS_AHEAD", 8)
    stored_rows = [a.jpeg_bytes(image) if form == "encoded" else image.tobytes() for image in IMAGES]
    images = [decode(data) for data in stored_rows] if form == "encoded" else IMAGES
    sha256s = ["sha256:" + hashlib.sha256(data).hexdigest() for data in stored_rows]
    source = pickle.loads(pickle.dumps(open_source(write(tmp_path / "x.h5", form))))
    assert a.source_contents(source) == [(f"data/{i}", int(LABELS[i]), None, sha256s[i]) for i in range(N)]
    opened_files, really = [], shards._open_file
    monkeypatch.setattr(shards, "_open_file", lambda path: opened_files.append(path) or really(path))
    for order in (range(N), range(N)[::-1], range(0, N, 3)):
        opened_files.clear()
        for i in order:
            decoded = source.load(source.samples[i])
            assert decoded.sha256 == sha256s[i]
            assert np.array_equal(decoded.image, images[i])
            decoded.image[:] = 0  # the returned array is a copy
        assert len(opened_files) <= N / 6, "the file is not opened for each row"


def test_damaged_row_fails_only_when_read(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["labels"] = LABELS
        file.create_dataset("images", data=IMAGES, chunks=(1, 32, 32, 3), compression="gzip")
        offset = file["images"].id.get_chunk_info(20).byte_offset
    source = open_source(f"hdf5:{path}")
    data = bytearray(path.read_bytes())
    data[offset : offset + 40] = bytes(40)
    path.write_bytes(data)
    assert all(np.array_equal(source.load(source.samples[i]).image, IMAGES[i]) for i in range(N) if i != 20)
    with pytest.raises(BadSample, match=r"cannot be read any more: .*x\.h5 is .*Copy it again"):
        source.load(source.samples[20])


def test_changed_file_is_read_again(tmp_path):
    """If a file is replaced, rows that were read ahead are read again."""
    path = tmp_path / "x.h5"
    source = open_source(write(path))
    for sample in source.samples[:8]:
        source.load(sample)
    before = path.stat()
    with h5py.File(path, "r+") as file:
        file["images"][:] = IMAGES[::-1]
    os.utime(path, ns=(1, 1))
    assert (path.stat().st_size, path.stat().st_ino) == (before.st_size, before.st_ino)
    assert all(np.array_equal(source.load(source.samples[i]).image, IMAGES[::-1][i]) for i in (8, 9, 7))
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file["images"], file["labels"] = IMAGES[:, :16], LABELS
    (tmp_path / "y.h5").replace(path)
    assert source.load(source.samples[9]).image.shape == (16, 32, 3)  # the sha256 differs, which stops a build
    path.unlink()
    with pytest.raises(BadSample):
        source.load(source.samples[9])


def test_unsuitable_files_are_rejected(tmp_path):
    write(tmp_path / "other.h5")
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["floats"], f["short"], f["labels"], f["good"] = IMAGES / 255, LABELS[:3], LABELS, IMAGES
        f["linked"] = h5py.ExternalLink("other.h5", "images")
        f.create_dataset("names", data=["x"] * N, dtype=h5py.string_dtype())
        layout = h5py.VirtualLayout(shape=IMAGES.shape, dtype=np.uint8)
        layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "images", shape=IMAGES.shape)
        f.create_virtual_dataset("virtual", layout)
        f.create_dataset("apart", IMAGES.shape, np.uint8, external=[(str(tmp_path / "raw.bin"), 0, IMAGES.nbytes)])
        f.create_dataset("hollow", (1 << 30, 32, 32, 3), np.uint8, chunks=(1, 32, 32, 3))
        f["deep/packed"], f["deep/y"] = IMAGES[..., 0], LABELS[::-1]
    path = f"hdf5:{tmp_path / 'x.h5'}"
    for images, labels, message in (
        ("floats", None, "holds float64; expected uint8"),
        ("good", "short", "has 3 labels for 60 images"),
        ("names", None, "holds object; expected uint8"),
        ("linked", None, "contains no dataset 'linked'"),
        ("virtual", None, "is stored in other files"),
        ("apart", None, "is stored in other files"),
        ("hollow", None, "claims .* bytes, more than its file can contain"),
        (None, None, r"contains no dataset 'images'. It has .*floats.*: name one with --images"),
        ("good", "nothing", "name one with --labels"),
    ):
        a.check_refused(path, message, images=images, labels=labels)
    grey = open_source(path, images="deep/packed", labels="deep/y")
    assert np.array_equal(grey.load(grey.samples[11]).image, IMAGES[11, :, :, :1])
    assert [s.label for s in grey.samples] == LABELS[::-1].tolist()
    original_bytes = (tmp_path / "other.h5").read_bytes()
    for content in (b"", b"images,labels", original_bytes[: len(original_bytes) // 2]):
        (tmp_path / "bad.h5").write_bytes(content)
        a.check_refused(f"hdf5:{tmp_path}/bad.h5", r"is not an HDF5 file, or a damaged one .*Copy it again")
    a.check_refused(f"hdf5:{tmp_path}/no.h5", "does not exist")
    a.check_refused(f"hdf5:{tmp_path}", "is a folder")


WITH_FILTERS = """
import sys, h5py, hdf5plugin, numpy
images, labels = numpy.load(sys.argv[1] + "/x.npy"), numpy.load(sys.argv[1] + "/y.npy")
for name in sys.argv[2:]:
    with h5py.File(f"{sys.argv[1]}/{name}.h5", "w") as file:
        compressed = getattr(hdf5plugin, name)()
        file.create_dataset("images", data=images, chunks=(7, 32, 32, 3), **(compressed if name != "LZ4" else {}))
        file.create_dataset("labels", data=labels, chunks=(60,), **compressed)
"""
FILTERS = {"Zstd": "zstd (32015)", "LZ4": "lz4 (32004)", "Bitshuffle": "bitshuffle (32008)", "Blosc": "blosc (32001)"}


def test_hdf5plugin_filters_are_named_and_used_if_installed(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", IMAGES)
    np.save(tmp_path / "y.npy", LABELS)
    # another process writes them, because hdf5plugin cannot unregister its filters
    subprocess.run([sys.executable, "-c", WITH_FILTERS, tmp_path, *FILTERS], check=True)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "hdf5plugin", None)  # simulates that hdf5plugin is not installed
        for file, name in FILTERS.items():
            dataset_name = "labels" if file == "LZ4" else "images"
            expected_message = (
                rf"{dataset_name} is compressed with the HDF5 filter {re.escape(name)}, .* pip install hdf5plugin"
            )
            message = a.check_refused(f"hdf5:{tmp_path / file}.h5", expected_message)
            assert "\n" not in str(message)
    for file in FILTERS:
        source = open_source(f"hdf5:{tmp_path / file}.h5")
        assert [s.label for s in source.samples] == LABELS.tolist()
        assert np.array_equal(source.load(source.samples[9]).image, IMAGES[9])
    # a filter that hdf5plugin does not have
    with h5py.File(tmp_path / "own.h5", "w") as file:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk(IMAGES.shape)
        properties.set_filter(305, h5py.h5z.FLAG_OPTIONAL)
        space = h5py.h5s.create_simple(IMAGES.shape)
        h5py.h5d.create(file.id, b"images", h5py.h5t.STD_U8LE, space, properties).write_direct_chunk(
            (0,) * 4, b"x" * 99
        )
        file["labels"] = LABELS
    a.check_refused(f"hdf5:{tmp_path / 'own.h5'}", r"filter lzo \(305\), which is not installed.*h5repack -f GZIP=4")


def test_shard_from_build_keeps_ids(tmp_path, whole_build):
    """Row 0 of the second shard of a build is not the first sample of the build."""
    rows = a.write_files(tmp_path / "ten", a.cifar10_python((IMAGES[:12], LABELS[:12])))
    options = {"storage": "hdf5", "metrics": 0, "jobs": 1, "page": False}
    result = build("cifar10-c", f"cifar10:{rows}", tmp_path, sets=["contrast/2"], **options)
    first, second = sorted((result.directory / "hdf5/contrast").iterdir())
    data = corruptset.open(result.directory)
    images = list(data["contrast/2"].images())
    source = open_source(f"hdf5:{second}")
    assert [(s.id, s.label, s.split) for s in source.samples] == [(s.id, s.label, "test") for s in data.samples[8:]]
    assert source.classes == tuple(data.classes)
    for sample in reversed(source.samples):
        assert np.array_equal(source.load(sample).image, images[8 + sample.index])
        assert source.probe(sample) == (source.fingerprint(sample), 32, 32, 3, False)
    encoded = open_source(f"hdf5:{whole_build.directory / 'hdf5/contrast/1-00000.h5'}")
    expected = corruptset.open(whole_build.directory)["contrast/1"].image(3)
    assert np.array_equal(encoded.load(encoded.samples[3]).image, expected)
    # if the datasets are named, samples are rows, even if the file is a shard of a build
    named_source = open_source(f"hdf5:{second}", labels="labels", images="images")
    assert [(s.id, s.label) for s in named_source.samples] == [
        (f"data/{i}", s.label) for i, s in enumerate(source.samples)
    ]
    shutil.copy(second, tmp_path / "alone.h5")
    a.check_refused(f"hdf5:{tmp_path / 'alone.h5'}", r"has no manifest\.json")
    # labels or indices do not fit the build: the shard was modified, or belongs to another build
    with h5py.File(second, "r+") as f:
        f["labels"][0] = (f["labels"][0] + 1) % 10
    a.check_refused(f"hdf5:{second}", r"does not belong to the build in .*, because its labels differ")
    shutil.copy(first, second)
    with h5py.File(second, "r+") as f:
        f["index"][0] = 12
    a.check_refused(f"hdf5:{second}", "does not belong to the build in ")


def test_labels_may_be_integral_floats(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["images"], file["labels"] = IMAGES, LABELS.astype(np.float64)
    source = open_source(f"hdf5:{tmp_path / 'x.h5'}")
    assert [s.label for s in source.samples] == LABELS.tolist()
    assert source.remarks == (f"{tmp_path / 'x.h5'}: labels holds float64, which is read as whole numbers.",)
    with h5py.File(tmp_path / "x.h5", "r+") as file:
        file["labels"][3] = 0.5
    a.check_refused(f"hdf5:{tmp_path / 'x.h5'}", r"has 1 label out of range or not whole numbers \(row 3: 0\.5\)")
