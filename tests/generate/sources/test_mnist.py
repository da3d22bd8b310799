"""MNIST and datasets in the same format: IDX files of real digits, gzipped or not."""

from __future__ import annotations

import gzip
import hashlib
import pickle

import numpy as np
import source_archives as a
from sklearn.datasets import load_digits

from corruptset.generate.sources.source import open_source

DIGITS = load_digits()
IMAGES = np.pad(np.kron((DIGITS.images[:100] * 15.9).astype(np.uint8), np.ones((1, 3, 3), np.uint8)), 2)[2:-2]
"""Real digits of 8x8 pixels, enlarged three times and padded to 28x28."""
LABELS = DIGITS.target[:100]
TEST, TRAIN = slice(0, 40), slice(40, 100)


def files(suffix="", prefix="", names=("t10k", "train"), labels=LABELS):
    pack = a.gzip_bytes if suffix else bytes
    return {
        f"{prefix}{name}-{kind}-idx{dims}-ubyte{suffix}": pack(a.idx_bytes(array[part]))
        for name, part in zip(names, (TEST, TRAIN), strict=True)
        for kind, dims, array in (("images", 3, IMAGES), ("labels", 1, labels))
    }


def test_gzipped_and_plain_files_are_same_source(tmp_path):
    expected = [
        (f"{split}/{row:05d}", int(label), split, "sha256:" + hashlib.sha256(image.tobytes()).hexdigest())
        for split, part in (("test", TEST), ("train", TRAIN))
        for row, (image, label) in enumerate(zip(IMAGES[part], LABELS[part], strict=True))
    ]
    for folder, result in {
        "zipped": files(".gz"),
        "plain": files(),
        "torchvision/MNIST/raw": files(".gz") | files(),
        "dotted/raw": {name.replace("-idx", ".idx"): data for name, data in files().items()},
    }.items():
        a.write_files(tmp_path / folder, result)
        source = open_source(f"mnist:{tmp_path / folder.partition('/')[0]}", split="all")
        assert a.source_contents(source) == expected, folder
        assert len(pickle.dumps(source)) < 10_000
        for i in (50, 7, 99, 0):
            assert np.array_equal(source.load(source.samples[i]).image, IMAGES[i][..., None])
    subset = {name: data for name, data in files().items() if "t10k" in name}
    source = open_source(f"mnist:{a.write_files(tmp_path / 'few', subset)}")
    assert [(c.index, c.name, c.folder) for c in source.classes] == [(i, str(i), str(i)) for i in range(10)]
    assert source.probe(source.samples[7]) == (expected[7][3], 28, 28, 1, False)
    a.check_refused(f"mnist:{tmp_path / 'few'}", r"has no file of train labels \(it has test", split="train")


def test_emnist_has_expected_classes(tmp_path):
    uneven = LABELS * np.where(np.arange(len(LABELS)) < TEST.stop, 1, 5)
    for i, (name, labels, count) in enumerate(
        (
            ("letters", LABELS + 1, 27),
            ("letters", LABELS * 2 + 1, 27),
            ("balanced", LABELS * 5, 47),
            ("balanced", uneven, 47),  # all splits have the same classes, even if a split does not use all labels
            ("byclass", LABELS * 6, 62),
            ("digits", LABELS, 10),
        )
    ):
        root = a.write_files(tmp_path / str(i), files("", f"emnist-{name}-", ("test", "train"), labels))
        for split in ("test", "train", "all"):
            classes = open_source(f"mnist:{root}", split=split).classes
            assert [c.index for c in classes] == list(range(count)), (name, split)
            assert sorted(c.folder for c in classes) == [c.folder for c in classes]
    for name in ("digits", "mnist"):
        several = a.write_files(tmp_path / "gzip", files("", f"emnist-{name}-", ("test", "train")))
    a.check_refused(f"mnist:{several}", "contains 2 datasets. Choose one: mnist:.*emnist-digits, mnist:.*emnist-mnist")
    assert len(open_source(f"mnist:{several}/emnist-digits").samples) == 40
    message = "emnist-letters is neither a folder with IDX files, nor the first part"
    a.check_refused(f"mnist:{several}/emnist-letters", message)


def test_unpublished_files_are_rejected(tmp_path):
    labels, images = a.idx_bytes(LABELS[TEST]), a.idx_bytes(IMAGES[TEST])
    for i, (change, message) in enumerate(
        (
            (
                {"images": images[:-1]},
                r"announces 40 x 28 x 28 bytes, so .* 31,376 bytes, but it has 31,375",
            ),
            ({"images": images + b"\0"}, "It is truncated or damaged"),
            ({"labels": labels[:4] + b"\0\0\0\x29" + labels[8:]}, r"announces 41 bytes"),
            ({"images": a.idx_bytes(IMAGES[:39])}, "t10k-labels-idx1-ubyte.gz has 40 labels for 39 images"),
            ({"labels": images}, "begins with the magic number 2051; expected .* 2049"),
            ({"labels": a.idx_bytes(np.full(40, 62))}, r"40 labels out of range \(row 0: 62.*expected 0 to 61"),
            ({"labels": None}, "has no file of test labels"),
            ({"images": gzip.compress(images)[:-9]}, "is truncated in the middle"),
            ({"images": gzip.compress(images[:-5])}, "It is truncated or damaged"),
            ({"images": None, "labels": None}, "is neither a folder with IDX files"),
        )
    ):
        result = {"images": images, "labels": labels} | change
        names = {"images": "t10k-images-idx3-ubyte.gz", "labels": "t10k-labels-idx1-ubyte.gz"}
        present = {names[kind]: data for kind, data in result.items() if data is not None}
        root = a.write_files(tmp_path / str(i), present | {"x.txt": b""})
        a.check_refused(f"mnist:{root}", message)
    a.check_refused("mnist", "needs a path")
    a.check_refused(f"mnist:{root}/nothing/x", "is neither a folder with IDX files")
    a.check_refused(f"mnist:{root}", "has no option --labels", labels="x")


def test_hidden_files_are_ignored(tmp_path):
    """On disks of other systems and in archives, macOS stores a hidden file next to every file."""
    mac = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X"
    for folder, result in (("plain", files()), ("zipped", files(".gz")), ("torchvision/MNIST/raw", files())):
        hidden = {f"._{name}": mac for name in result} | {".DS_Store": mac}
        root = tmp_path / folder.partition("/")[0]
        a.write_files(tmp_path / folder, result | hidden)
        assert [s.label for s in open_source(f"mnist:{root}", split="all").samples] == LABELS.tolist()
    several = {**files("", "emnist-digits-"), "._emnist-letters-train-images-idx3-ubyte": mac}
    assert len(open_source(f"mnist:{a.write_files(tmp_path / 'several', several)}").samples) == 40


def test_folder_of_images_is_not_reported_as_empty(tmp_path):
    a.write_files(
        tmp_path,
        {"cat/1.png": a.jpeg_bytes(a.PHOTOGRAPHS[0]), "dog/deep/2.PNG": b"x", "notes.txt": b"x", ".DS_Store": b"x"},
    )
    for scheme in ("mnist", "cifar10", "cifar100"):
        expected_message = (
            rf"(It|{tmp_path}) contains cat/, dog/, notes\.txt, with 2 image files in all\. .* folder:{tmp_path}\."
        )
        message = a.check_refused(f"{scheme}:{tmp_path}", expected_message)
        assert "nothing" not in message
        assert "DS_Store" not in message
    a.write_tar(tmp_path / "x.tar", {"cat/1.png": b"x", "dog/2.png": b"x"})
    a.check_refused(f"cifar10:{tmp_path / 'x.tar'}", r"It contains 1\.png, 2\.png, with 2 image files in all")
    (tmp_path / "empty").mkdir()
    a.check_refused(f"cifar10:{tmp_path / 'empty'}", r"It contains nothing\.")
    a.write_files(tmp_path / "idx", files())
    a.check_refused(f"mnist:{tmp_path / 'idx/t10k'}", rf" {tmp_path / 'idx'} contains t10k-images-idx3-ubyte, ")
