"""npy and HDF5: arrays in files, and corruptset's own shards."""

from __future__ import annotations

import hashlib
import pickle
import shutil

import archives as a
import h5py
import numpy as np
import pytest

import corruptset
from corruptset.errors import SourceError
from corruptset.generate.build import build
from corruptset.generate.sources.source import BadSample, open_source

IMAGES, LABELS = a.crops(12)
EXPECTED = [
    (f"data/{i}", int(v), None, "sha256:" + hashlib.sha256(x.tobytes()).hexdigest())
    for i, (x, v) in enumerate(zip(IMAGES, LABELS, strict=True))
]


def saved(root, images=IMAGES, labels=LABELS):
    np.save(root / "x.npy", images, allow_pickle=True)
    np.save(root / "y.npy", labels, allow_pickle=True)
    return f"npy:{root / 'x.npy'},{root / 'y.npy'}"


def test_npy(tmp_path):
    source = open_source(saved(tmp_path))
    assert a.facts(source) == EXPECTED
    assert [c.index for c in source.classes] == list(range(LABELS.max() + 1))
    assert np.array_equal(source.load(source.samples[5]).image, IMAGES[5])
    assert len(pickle.dumps(source)) < 5000
    grey = IMAGES[..., 0]
    for images in (grey, grey[..., None]):
        source = open_source(saved(tmp_path, images, LABELS.astype(np.uint8)))
        assert source.load(source.samples[3]).image.shape == (32, 32, 1)
        assert np.array_equal(source.load(source.samples[3]).image[..., 0], grey[3])


@pytest.mark.parametrize(
    ("images", "labels", "said"),
    [
        (IMAGES / 255, LABELS, "holds float64; expected uint8"),
        (IMAGES.astype(object), LABELS, "holds Python objects, which are not read"),
        (IMAGES.astype(np.int16), LABELS, "holds int16; expected uint8"),
        (IMAGES.transpose(0, 3, 1, 2), LABELS, "channels first"),
        (np.ascontiguousarray(IMAGES.transpose(0, 3, 1, 2)), LABELS, "channels first"),
        (np.asfortranarray(IMAGES), LABELS, "Fortran order"),
        (IMAGES[0, 0], LABELS, r"has the shape \(32, 3\)"),
        (IMAGES[:, :4], LABELS, "at least 8"),
        (IMAGES[:0], LABELS[:0], r"has the shape \(0, 32, 32, 3\)"),
        (IMAGES, LABELS[:-1], "has 11 labels for 12 images"),
        (IMAGES[:-1], LABELS, "has 12 labels for 11 images"),
        (IMAGES, LABELS.astype(float), "holds float64 of shape"),
        (IMAGES, np.eye(12, dtype=int), "expected whole numbers of shape"),
        (IMAGES, LABELS - 100, "labels out of range"),
        (IMAGES, LABELS.astype(object), "holds Python objects"),
    ],
)
def test_arrays_that_are_refused(tmp_path, images, labels, said):
    with pytest.raises(SourceError, match=said):
        open_source(saved(tmp_path, images, labels))


def test_npy_files_that_are_none(tmp_path):
    text = saved(tmp_path)
    whole = (tmp_path / "x.npy").read_bytes()
    for data in (whole[:-1], whole[:60], b"", b"PK\x03\x04" + bytes(100)):
        (tmp_path / "x.npy").write_bytes(data)
        with pytest.raises(SourceError, match=r"is not a \.npy file, or a cut one"):
            open_source(text)
    for wrong in ("npy:x.npy", "npy:,y.npy"):
        with pytest.raises(SourceError, match="needs two files: npy:IMAGES,LABELS"):
            open_source(wrong)
    with pytest.raises(SourceError, match="is not there"):
        open_source(f"npy:{tmp_path}/a.npy,{tmp_path}/y.npy")


def test_hdf5(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["images"] = IMAGES
        f["labels"] = LABELS
        f.create_dataset("deep/packed", data=IMAGES[:, :, :, 0], compression="gzip", chunks=(5, 32, 32))
        f["deep/y"] = LABELS[::-1]
    source = open_source(f"hdf5:{tmp_path / 'x.h5'}")
    assert a.facts(source) == EXPECTED
    assert a.facts(pickle.loads(pickle.dumps(source))) == EXPECTED
    grey = open_source(f"hdf5:{tmp_path / 'x.h5'}", images="deep/packed", labels="deep/y")
    assert np.array_equal(grey.load(grey.samples[11]).image, IMAGES[11, :, :, :1])
    assert [s.label for s in grey.samples] == LABELS[::-1].tolist()
    (tmp_path / "x.h5").unlink()
    with pytest.raises((BadSample, OSError)):
        source.load(source.samples[0])


def test_a_later_shard_has_the_samples_that_its_index_says(tmp_path):
    """A build's second shard begins with its row 0, which is another sample; rows are encoded images here."""
    a.write(tmp_path / "val", {f"n0{i % 2}/{i:02d}.JPEG": a.jpeg(np.tile(IMAGES[i], (4, 4, 1))) for i in range(12)})
    made = build(
        "imagenet-c", f"folder:{tmp_path / 'val'}", tmp_path, sets=["contrast/2"], format="hdf5", metrics=0, jobs=1
    )
    (first, second) = sorted((made.directory / "hdf5/contrast").iterdir())
    data = corruptset.open(made.directory)
    ids, images = [s.id for s in data.samples], list(data["contrast/2"].images())
    source = open_source(f"hdf5:{second}")
    assert [s.id for s in source.samples] == ids[8:]
    for sample in reversed(source.samples):
        assert np.array_equal(source.load(sample).image, images[ids.index(sample.id)])
        assert source.probe(sample) == (source.fingerprint(sample), 224, 224, 3)
    # labels of others: the shard was changed, or another build's put in its place
    with h5py.File(second, "r+") as f:
        f["labels"][0] = 1 - f["labels"][0]
    with pytest.raises(SourceError, match=r"does not belong to the build in .*: its labels are others"):
        open_source(f"hdf5:{second}")
    shutil.copy(first, second)
    with h5py.File(second, "r+") as f:
        f["index"][0] = len(ids)
    with pytest.raises(SourceError, match="does not belong to the build in "):
        open_source(f"hdf5:{second}")


def test_hdf5_files_that_are_refused(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as f:
        f["images"] = IMAGES
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["floats"] = IMAGES / 255
        f["first"] = np.ascontiguousarray(IMAGES.transpose(0, 3, 1, 2))
        f["short"] = LABELS[:3]
        f["labels"] = LABELS
        f["objects"] = [b"a", b"b"] * 6
        f["linked"] = h5py.ExternalLink("other.h5", "images")
        f.create_dataset("names", data=["x"] * 12, dtype=h5py.string_dtype())
        layout = h5py.VirtualLayout(shape=IMAGES.shape, dtype=np.uint8)
        layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "images", shape=IMAGES.shape)
        f.create_virtual_dataset("virtual", layout)
        f.create_dataset("apart", IMAGES.shape, np.uint8, external=[(str(tmp_path / "raw.bin"), 0, IMAGES.nbytes)])
        f["good"] = IMAGES
    path = f"hdf5:{tmp_path / 'x.h5'}"
    for images, labels, said in (
        ("floats", None, "holds float64; expected uint8"),
        ("first", None, "channels first"),
        ("good", "short", "has 3 labels for 12 images"),
        ("good", "floats", "expected whole numbers"),
        ("names", None, "holds object; expected uint8"),
        ("linked", None, "has no dataset 'linked' of its own"),
        ("virtual", None, "is stored in other files"),
        ("apart", None, "is stored in other files"),
        (None, None, r"has no dataset 'images' of its own. It has .*floats.*: name one with --images"),
        ("good", "nothing", "name one with --labels"),
    ):
        with pytest.raises(SourceError, match=said):
            open_source(path, images=images, labels=labels)
    whole = (tmp_path / "other.h5").read_bytes()
    (tmp_path / "cut.h5").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.h5").write_bytes(b"images,labels")
    for name in ("cut.h5", "text.h5"):
        with pytest.raises(SourceError, match="is not an HDF5 file, or a damaged one"):
            open_source(f"hdf5:{tmp_path / name}")
    with pytest.raises(SourceError, match="is not there"):
        open_source(f"hdf5:{tmp_path / 'no.h5'}")


def test_a_shard_of_ones_own_keeps_its_ids(tmp_path):
    root = a.write(tmp_path / "ten", a.ten_python((IMAGES, LABELS)))
    made = build(
        "cifar10-c",
        f"cifar10:{root}",
        tmp_path,
        sets=["clean", "contrast/2"],
        samples=5,
        format="hdf5",
        metrics=0,
        jobs=1,
    )
    source = open_source(f"hdf5:{made.directory / 'hdf5' / 'clean-00000.h5'}")
    original = open_source(f"cifar10:{root}")
    chosen = [f"test/{i:05d}" for i in (0, 2, 4, 7, 9)]
    assert a.facts(source) == [f for f in a.facts(original) if f[0] in chosen]
    assert [c.name for c in source.classes] == a.TEN
    foggy = open_source(f"hdf5:{made.directory / 'hdf5' / 'contrast' / '2-00000.h5'}")
    assert [s.id for s in foggy.samples] == chosen
    assert np.array_equal(foggy.load(foggy.samples[3]).image, corruptset.open(made.directory)["contrast/2"].image(3))
    # who names the datasets has rows, whatever build the shard is of
    named = open_source(f"hdf5:{made.directory / 'hdf5' / 'clean-00000.h5'}", labels="labels")
    assert [(s.id, s.label) for s in named.samples] == [(f"data/{i}", s.label) for i, s in enumerate(source.samples)]
    shutil.copy(made.directory / "hdf5" / "clean-00000.h5", tmp_path / "alone.h5")
    with pytest.raises(SourceError, match=r"holds no manifest\.json"):
        open_source(f"hdf5:{tmp_path / 'alone.h5'}")
    assert open_source(f"hdf5:{tmp_path / 'alone.h5'}", images="images").samples[1].id == "data/1"
