"""MNIST and what is shaped like it: IDX files of real digits, gzipped or not."""

from __future__ import annotations

import gzip
import hashlib
import pickle

import archives as a
import numpy as np
import pytest
from sklearn.datasets import load_digits

from corruptset.errors import SourceError
from corruptset.generate.sources.source import open_source

DIGITS = load_digits()
IMAGES = np.pad(
    np.kron((DIGITS.images * 15.9).astype(np.uint8), np.ones((1, 3, 3), np.uint8)), ((0, 0), (2, 2), (2, 2))
)
"""Real digits of 8x8, each pixel three times, within a border: 28x28."""
LABELS = DIGITS.target
TEST, TRAIN = slice(0, 40), slice(40, 100)


def files(suffix=".gz", prefix="", names=("t10k", "train"), labels=LABELS):
    pack = a.zipped if suffix else bytes
    return {
        f"{prefix}{name}-{kind}-idx{dims}-ubyte{suffix}": pack(a.idx(array[part]))
        for name, part in zip(names, (TEST, TRAIN), strict=True)
        for kind, dims, array in (("images", 3, IMAGES), ("labels", 1, labels))
    }


def test_gzipped_or_not_it_is_the_same_source(tmp_path):
    dotted = {name.replace("-idx", ".idx"): data for name, data in files("").items()}
    a.write(tmp_path / "zipped", files())
    a.write(tmp_path / "plain", files(""))
    a.write(tmp_path / "torchvision" / "MNIST" / "raw", files() | files(""))
    a.write(tmp_path / "dotted" / "raw", dotted)
    found = [
        a.facts(open_source(f"mnist:{tmp_path / name}", split="all"))
        for name in ("zipped", "plain", "torchvision", "dotted")
    ]
    expected = [
        (f"{split}/{row:05d}", int(label), split, "sha256:" + hashlib.sha256(image.tobytes()).hexdigest())
        for split, part in (("test", TEST), ("train", TRAIN))
        for row, (image, label) in enumerate(zip(IMAGES[part], LABELS[part], strict=True))
    ]
    assert all(f == expected for f in found)


def test_images_are_grey_and_classes_are_all_ten(tmp_path):
    few = {name: data for name, data in files("").items() if "t10k" in name}
    source = open_source(f"mnist:{a.write(tmp_path, few)}")
    assert [(c.index, c.name, c.folder) for c in source.classes] == [(i, str(i), str(i)) for i in range(10)]
    loaded = source.load(source.samples[7])
    assert loaded.image.shape == (28, 28, 1)
    assert np.array_equal(loaded.image[..., 0], IMAGES[7])
    assert loaded.image.flags.writeable
    assert source.probe(source.samples[7]) == (loaded.sha256, 28, 28, 1)
    assert len(pickle.dumps(source)) < 10_000
    with pytest.raises(SourceError, match=r"has no files of the split train \(it has test\)"):
        open_source(f"mnist:{tmp_path}", split="train")


def test_the_classes_of_emnist(tmp_path):
    for name, labels, classes in (
        ("letters", LABELS + 1, range(27)),
        ("letters", LABELS * 2 + 1, range(27)),
        ("balanced", LABELS * 5, range(47)),
        ("byclass", LABELS * 6, range(62)),
        ("digits", LABELS, range(10)),
    ):
        root = tmp_path / f"{name}{labels[9]}"
        a.write(root, files(prefix=f"emnist-{name}-", names=("test", "train"), labels=labels))
        source = open_source(f"mnist:{root}")
        assert [c.index for c in source.classes] == list(classes)
        assert sorted(c.folder for c in source.classes) == [c.folder for c in source.classes]
    # those of one split are those of the other, whatever labels it happens to have
    uneven = LABELS * np.where(np.arange(len(LABELS)) < TEST.stop, 1, 5)
    root = a.write(tmp_path / "uneven", files(prefix="emnist-balanced-", names=("test", "train"), labels=uneven))
    assert [len(open_source(f"mnist:{root}", split=split).classes) for split in ("test", "train", "all")] == [47] * 3
    several = a.write(
        tmp_path / "gzip",
        files(prefix="emnist-digits-", names=("test", "train"))
        | files(prefix="emnist-mnist-", names=("test", "train")),
    )
    with pytest.raises(
        SourceError, match=r"holds 2 data sets; say which one: mnist:.*emnist-digits, mnist:.*emnist-mnist"
    ):
        open_source(f"mnist:{several}")
    assert len(open_source(f"mnist:{several}/emnist-digits").samples) == 40
    with pytest.raises(
        SourceError, match="emnist-letters is no folder with IDX files, nor do names of IDX files begin so"
    ):
        open_source(f"mnist:{several}/emnist-letters")


def changed(**changes):
    """One file of the test split changed; keys are images or labels."""
    made = {name: data for name, data in files("").items() if "t10k" in name}
    for kind, data in changes.items():
        (name,) = [n for n in made if kind in n]
        made[name] = data
    return {name: data for name, data in made.items() if data is not None}


LABEL_FILE, IMAGE_FILE = a.idx(LABELS[TEST]), a.idx(IMAGES[TEST])
BAD = [
    (changed(images=IMAGE_FILE[:-1]), r"says that it holds 40 x 28 x 28 bytes, which makes 31,376 .* it has 31,375"),
    (changed(images=IMAGE_FILE + b"\0"), "it is cut, or its head is wrong"),
    (changed(labels=LABEL_FILE[:4] + b"\0\0\0\x29" + LABEL_FILE[8:]), r"says that it holds 41 bytes"),
    (changed(images=a.idx(IMAGES[:39])), "holds 39 images and t10k-labels-idx1-ubyte 40 labels"),
    (changed(labels=IMAGE_FILE), "begins with the magic number 2051; expected .* 2049"),
    (changed(images=LABEL_FILE), "begins with the magic number 2049"),
    (changed(images=b"\x89PNG" + bytes(40)), "expected an IDX file of images"),
    (changed(images=b"\0\0"), "expected an IDX file of images"),
    (changed(images=b""), "expected an IDX file of images"),
    (changed(images=a.idx(np.zeros((40, 0, 28)))), "says that it holds 40 x 0 x 28 bytes"),
    (changed(images=a.idx(np.zeros((40, 4, 28)))), "H and W at least 8"),
    (changed(labels=a.idx(np.full(40, 62))), r"40 labels out of range \(row 0: 62.*expected 0 to 61"),
    (changed(labels=None), "without the labels or images that belong to it"),
    ({"x.txt": b""}, "is no folder with IDX files"),
]


@pytest.mark.parametrize(("made", "said"), BAD, ids=[said for _, said in BAD])
def test_files_that_are_not_as_published(tmp_path, made, said):
    with pytest.raises(SourceError, match=said):
        open_source(f"mnist:{a.write(tmp_path, made)}")


def test_gzipped_files_that_are_cut_or_lie(tmp_path):
    name = "t10k-images-idx3-ubyte.gz"
    for i, (data, said) in enumerate(
        (
            (files()[name][:-9], "is cut: it ends in the middle"),
            (files()[name][:-8] + bytes(8), "cut or damaged"),
            (gzip.compress(IMAGE_FILE[:-5]), "it is cut, or its head is wrong"),
            (gzip.compress(b""), "expected an IDX file of images"),
        )
    ):
        with pytest.raises(SourceError, match=said):
            open_source(f"mnist:{a.write(tmp_path / str(i), files() | {name: data})}")


def test_paths_that_are_wrong(tmp_path):
    a.write(tmp_path, files())
    for text, said in (
        ("mnist", "needs a path"),
        (f"mnist:{tmp_path}/nothing/x", "is no folder with IDX files"),
        (f"mnist:{tmp_path}/t10k-images-idx3-ubyte.gz", "is no folder with IDX files"),
    ):
        with pytest.raises(SourceError, match=said):
            open_source(text)
    with pytest.raises(SourceError, match="takes no --labels"):
        open_source(f"mnist:{tmp_path}", labels="x")
