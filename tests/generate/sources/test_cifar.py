"""CIFAR: every published form gives the same samples, and other files are rejected."""

from __future__ import annotations

import hashlib
import pickle
import random
import tarfile

import numpy as np
import source_archives as a

from corruptset.generate.sources.check import check
from corruptset.generate.sources.source import open_source

TEST, TRAIN = a.random_crops(23), [a.random_crops(5, seed) for seed in range(1, 6)]
HUNDRED = {
    name: (a.random_crops(n, n)[0], np.arange(n) * 7 % 100, np.arange(n) * 3 % 20)
    for name, n in (("test", 9), ("train", 14))
}


def test_every_format_of_cifar10_is_same_source(tmp_path):
    python, binary = a.cifar10_python(TEST, TRAIN), a.cifar10_binary(TEST, TRAIN)
    a.write_files(tmp_path, python | binary)
    paths = [tmp_path / "cifar-10-batches-py", tmp_path / "cifar-10-batches-bin", tmp_path / "around"]
    paths[2].mkdir()
    a.write_tar(paths[2] / "cifar-10-binary.tar.gz", binary, "w:gz")
    paths.append(a.write_tar(tmp_path / "cifar-10-python.tar.gz", python, "w:gz"))
    paths.append(a.write_tar(tmp_path / "plain.tar", dict(reversed(python.items())), format=tarfile.GNU_FORMAT))
    for protocol in (2, 3, 4, 5):
        files = a.cifar10_python(TEST, TRAIN, dump=a.modern_batch(protocol))
        paths.append(a.write_files(tmp_path / f"again{protocol}", files))
        paths.append(a.write_tar(tmp_path / f"again{protocol}.tar.gz", files, "w:gz"))
    expected = [
        (f"{split}/{row:05d}", int(label), split, "sha256:" + hashlib.sha256(image.tobytes()).hexdigest())
        for split, batches in (("test", [TEST]), ("train", TRAIN))
        for row, (image, label) in enumerate(pair for batch in batches for pair in zip(*batch, strict=True))
    ]
    images = [image for batch in (TEST, *TRAIN) for image in batch[0]]
    for path in paths:
        source = open_source(f"cifar10:{path}", split="all")
        assert a.source_contents(source) == expected, path
        assert [(c.index, c.name, c.folder) for c in source.classes] == [
            (i, n, n) for i, n in enumerate(a.CIFAR10_CLASSES)
        ], path
        assert (source.scheme, source.notes) == ("cifar10", ())
        readers = source, pickle.loads(pickle.dumps(source))
        assert readers[1].samples == source.samples
        for i in random.Random(2).choices(range(len(images)), k=40):  # rows can be read in any order, in any process
            decoded = readers[i % 2].load(source.samples[i])
            assert (np.array_equal(decoded.image, images[i]), decoded.sha256) == (True, expected[i][3]), (path, i)
            decoded.image[:] = 0  # the image is a copy
        assert len(pickle.dumps(source)) < 40_000  # the pickled source contains no pixels
    source = open_source(f"cifar10:{paths[3]}")
    assert [s.id for s in source.samples] == [f"test/{i:05d}" for i in range(23)]
    report = check(source, source.samples)
    assert (len(report.good), report.bad) == (23, [])
    assert report.good[5][1:] == (source.fingerprint(source.samples[5]), 32, 32, 3)
    assert open_source(f"cifar10:{paths[3]}", split="train").samples[-1].id == "train/00024"
    a.check_refused(f"cifar10:{paths[3]}", "--split is 'tests'; expected one of test, train, all", split="tests")
    a.check_refused(f"cifar10:{paths[3]}", "has no option --labels", labels="x.csv")
    a.check_refused(f"folder:{tmp_path}", "The source folder has no option --split", split="test")


def test_cifar100_has_fine_and_coarse_labels(tmp_path):
    a.write_files(tmp_path, a.cifar100_python(HUNDRED) | a.cifar100_binary(HUNDRED))
    paths = [tmp_path / "cifar-100-python", tmp_path / "cifar-100-binary"]
    paths.append(a.write_files(tmp_path / "again", a.cifar100_python(HUNDRED, dump=a.modern_batch(2))))
    paths.append(a.write_tar(tmp_path / "b.tar.gz", a.cifar100_binary(HUNDRED), "w:gz"))
    for which, column, names in (("fine", 1, a.CIFAR100_CLASSES), ("coarse", 2, a.CIFAR100_GROUPS)):
        sources = [open_source(f"cifar100:{p}", labels=which, split="all") for p in paths]
        facts = [a.source_contents(source) for source in sources]
        assert all(f == facts[0] for f in facts)
        assert [f[1] for f in facts[0]] == [*HUNDRED["test"][column], *HUNDRED["train"][column]]
        assert all([c.name for c in source.classes] == names for source in sources)
    assert a.source_contents(open_source(f"cifar100:{paths[0]}")) == a.source_contents(
        open_source(f"cifar100:{paths[1]}", labels="fine")
    )
    a.check_refused(f"cifar100:{paths[0]}", "--labels is 'rough'; expected one of fine, coarse", labels="rough")
    a.check_refused(
        f"cifar10:{paths[0]}", r"no batches.meta.txt \(or batches.meta\), which .* It contains .*meta, test, train"
    )


def test_unpublished_batches_are_rejected(tmp_path):
    images, labels = TEST
    rows = a.channel_planes(images)

    def test_batch(data, labels=labels):
        return {"test_batch": pickle.dumps({"data": data, "labels": [int(v) for v in labels]}, 2)}

    python = [
        (test_batch(rows, labels[:-1]), r"test_batch has 22 labels for 23 images"),
        (test_batch(rows, [*labels[:-1], 10]), r"1 label out of range \(row 22: 10\); expected 0 to 9"),
        ({"batches.meta": a.protocol0_meta([*a.CIFAR10_CLASSES[:9], "../x"], 23)}, "'../x' cannot be a folder's name"),
        ({"batches.meta": a.protocol0_meta([*a.CIFAR10_CLASSES[:9], "Cat"], 23)}, "'Cat' has the same name as cat"),
        ({"batches.meta": b"(dp1\nS'num_vis'\nI3072\ns."}, "has no label_names"),
        (test_batch(rows[:, 1:]), r"data of shape \(23, 3071\); expected rows of 3072"),
        ({"test_batch": pickle.dumps({"labels": [0]}, 2)}, "has no data"),
        ({"test_batch": a.python2_batch(rows, {"labels": labels})[:-900]}, "is truncated"),
        ({"test_batch": b"PK\x03\x04 not a pickle"}, "test_batch"),
        ({"test_batch": None}, "has no test_batch of the split test"),
        ({"batches.meta": None}, "has no batches.meta.txt"),
    ]
    binary = [
        ({"test_batch.bin": a.binary_rows(images, labels[:, None])[:-1]}, "not a multiple of the row size 3073"),
        ({"batches.meta.txt": b""}, "it has none"),
        ({"data_batch_5.bin": None}, r"has no data_batch_5\.bin of the split train\. It contains .*data_batch_1\.bin"),
    ]
    for i, (change, message) in enumerate(python + binary):
        original = a.cifar10_python(TEST) if i < len(python) else a.cifar10_binary(TEST, TRAIN)
        files = {name.rpartition("/")[2]: data for name, data in original.items()} | change
        a.write_files(tmp_path / str(i), {name: data for name, data in files.items() if data is not None})
        a.check_refused(f"cifar10:{tmp_path / str(i)}", message, split="all" if "train" in message else None)


def test_incomplete_archives_are_rejected(tmp_path):
    content = a.write_tar(tmp_path / "whole.tar.gz", a.cifar10_python(TEST, TRAIN), "w:gz").read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 0xFF
    for data, message in (
        *((content[: int(len(content) * share)], "is truncated in the middle of") for share in (0.1, 0.9, 0.9999)),
        (bytes(flipped), "damaged"),
        (b"PK\x03\x04" + bytes(600), "is not a tar archive"),
    ):
        (tmp_path / "x.tar.gz").write_bytes(data)
        a.check_refused(f"cifar10:{tmp_path / 'x.tar.gz'}", message)
    a.write_tar(tmp_path / "double.tar", a.cifar10_python(TEST) | {"other/test_batch": b"x"})
    a.check_refused(f"cifar10:{tmp_path / 'double.tar'}", "in several folders")
    a.check_refused(f"cifar10:{tmp_path}/nothing", r"nothing does not exist. Expected cifar10:PATH")
    a.check_refused("cifar10", "needs a path")


def test_hidden_files_next_to_batches_are_ignored(tmp_path):
    original = a.cifar10_python(TEST)
    hidden = {f"{name.rpartition('/')[0]}/._{name.rpartition('/')[2]}": b"Mac OS X" for name in original}
    expected = a.source_contents(open_source(f"cifar10:{a.write_files(tmp_path / 'plain', original)}"))
    assert a.source_contents(open_source(f"cifar10:{a.write_files(tmp_path / 'mac', original | hidden)}")) == expected
    packed = a.write_tar(tmp_path / "x.tar.gz", hidden | original, "w:gz")
    assert a.source_contents(open_source(f"cifar10:{packed}")) == expected
