"""CIFAR-10 and CIFAR-100: every published form gives the same samples; what is not as published is refused."""

from __future__ import annotations

import hashlib
import pickle
import tarfile

import archives as a
import numpy as np
import pytest

from corruptset.errors import SourceError
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.sources.check import check
from corruptset.generate.sources.source import open_source

TEST = a.crops(23)
TRAIN = [a.crops(5, seed) for seed in range(1, 6)]
HUNDRED = {
    name: (a.crops(n, n)[0], np.arange(n) * 7 % 100, np.arange(n) * 3 % 20) for name, n in (("test", 9), ("train", 14))
}


def forms_of_ten(root):
    python, binary = a.ten_python(TEST, TRAIN), a.ten_binary(TEST, TRAIN)
    a.write(root, python)
    a.write(root, binary)
    a.tar(root / "cifar-10-python.tar.gz", python, "w:gz")
    a.tar(root / "cifar-10-binary.tar.gz", binary, "w:gz")
    a.tar(root / "plain.tar", dict(sorted(python.items(), reverse=True)), format=tarfile.GNU_FORMAT)
    for protocol in (2, 3, 4, 5):
        a.write(root / f"again{protocol}", a.ten_python(TEST, TRAIN, dump=a.modern_batch(protocol)))
    (root / "around").mkdir()
    a.tar(root / "around" / "cifar-10-binary.tar.gz", binary, "w:gz")
    names = [
        "cifar-10-batches-py",
        "cifar-10-batches-bin",
        "cifar-10-python.tar.gz",
        "cifar-10-binary.tar.gz",
        "plain.tar",
        "around",
    ]
    return [root / name for name in (*names, *(f"again{p}" for p in (2, 3, 4, 5)))]


def test_every_form_of_cifar10_is_the_same_source(tmp_path):
    found = {}
    for path in forms_of_ten(tmp_path):
        source = open_source(f"cifar10:{path}", split="all")
        found[path.name] = a.facts(source)
        assert [(c.index, c.name, c.folder) for c in source.classes] == [(i, n, n) for i, n in enumerate(a.TEN)]
        assert (source.scheme, source.notes) == ("cifar10", ())
        assert pickle.loads(pickle.dumps(source)).samples == source.samples
        assert len(pickle.dumps(source)) < 40_000  # no pixels in it
    expected = [
        (f"{split}/{row:05d}", int(label), split, "sha256:" + hashlib.sha256(image.tobytes()).hexdigest())
        for split, rows in (("test", [TEST]), ("train", TRAIN))
        for row, (image, label) in enumerate(
            (i, v) for images, labels in rows for i, v in zip(images, labels, strict=True)
        )
    ]
    for name, facts in found.items():
        assert facts == expected, name


def test_splits_pixels_and_the_check(tmp_path):
    path = a.tar(tmp_path / "cifar-10-python.tar.gz", a.ten_python(TEST, TRAIN), "w:gz")
    source = open_source(f"cifar10:{path}")
    assert [s.id for s in source.samples] == [f"test/{i:05d}" for i in range(23)]
    # out of order, as workers do
    for i in (20, 3, 22, 0):
        loaded = source.load(source.samples[i])
        assert np.array_equal(loaded.image, TEST[0][i])
        assert loaded.image.flags.c_contiguous
        assert loaded.image.flags.writeable
    checked = check(source, source.samples)
    assert (len(checked.good), checked.bad) == (23, [])
    assert checked.good[5][1:] == (source.fingerprint(source.samples[5]), 32, 32, 3)
    train = open_source(f"cifar10:{path}", split="train")
    assert [s.id for s in train.samples][-1] == "train/00024"
    with pytest.raises(SourceError, match="--split is 'tests'; expected one of test, train, all"):
        open_source(f"cifar10:{path}", split="tests")
    with pytest.raises(SourceError, match="takes no --labels"):
        open_source(f"cifar10:{path}", labels="x.csv")
    with pytest.raises(SourceError, match="The source folder takes no --split"):
        open_source(f"folder:{tmp_path}", split="test")
    with pytest.raises(SourceError, match=r"is not a source. Did you mean 'cifar10'\?"):
        open_source(f"cifar:{path}")


def test_cifar100_fine_and_coarse(tmp_path):
    root = a.write(tmp_path, a.hundred_python(HUNDRED) | a.hundred_binary(HUNDRED))
    again = a.write(tmp_path / "again", a.hundred_python(HUNDRED, dump=a.modern_batch(2)))
    python, binary = root / "cifar-100-python", a.tar(tmp_path / "b.tar.gz", a.hundred_binary(HUNDRED), "w:gz")
    for which, column, names in (("fine", 1, a.FINE), ("coarse", 2, a.COARSE)):
        facts = [
            a.facts(open_source(f"cifar100:{p}", labels=which, split="all"))
            for p in (python, binary, again, root / "cifar-100-binary")
        ]
        assert all(f == facts[0] for f in facts)
        assert [f[1] for f in facts[0]] == [*HUNDRED["test"][column], *HUNDRED["train"][column]]
        source = open_source(f"cifar100:{binary}", labels=which)
        assert [c.name for c in source.classes] == names
        assert len(source.samples) == 9
    assert a.facts(open_source(f"cifar100:{python}")) == a.facts(open_source(f"cifar100:{python}", labels="fine"))
    with pytest.raises(SourceError, match="--labels is 'rough'; for cifar100 expected one of fine, coarse"):
        open_source(f"cifar100:{python}", labels="rough")
    with pytest.raises(SourceError, match=r"no batches.meta or batches.meta.txt.* it holds .*meta, test, train"):
        open_source(f"cifar10:{python}")


IMAGES, LABELS = TEST
BAD = [
    (
        {"test_batch": a.python2_batch(a.planes(IMAGES), {"labels": LABELS[:-1]})},
        r"data of shape \(23, 3072\) and 22 labels",
    ),
    (
        {"test_batch": a.python2_batch(a.planes(IMAGES), {"labels": [*LABELS[:-1], 10]})},
        r"1 label out of range \(row 22: 10\); expected 0 to 9",
    ),
    ({"batches.meta": a.protocol0_meta(a.TEN[:9], 23)}, r"out of range .* expected 0 to 8"),
    ({"batches.meta": a.protocol0_meta([*a.TEN[:9], "../x"], 23)}, "class 9, '../x', cannot be a folder's name"),
    ({"batches.meta": a.protocol0_meta([*a.TEN[:9], "cat"], 23)}, "a class name is given twice"),
    ({"batches.meta": b"(dp1\nS'num_vis'\nI3072\ns."}, "holds no label_names"),
    ({"test_batch": a.python2_batch(a.planes(IMAGES)[:, :3071], {"labels": LABELS})}, r"data of shape \(23, 3071\)"),
    (
        {"test_batch": pickle.dumps({"data": a.planes(IMAGES).astype(np.float32), "labels": [0] * 23}, 2)},
        r"pixels of float32 \(23, 3072\)",
    ),
    (
        {"test_batch": pickle.dumps({"data": np.asfortranarray(a.planes(IMAGES)), "labels": [0] * 23}, 2)},
        "stored row by row",
    ),
    ({"test_batch": pickle.dumps({"data": np.array([object()]), "labels": [0]}, 2)}, "asks Python to run"),
    ({"test_batch": pickle.dumps({"labels": [0]}, 2)}, "holds no data"),
    ({"test_batch": a.python2_batch(a.planes(IMAGES), {"labels": LABELS})[:-900]}, "is cut"),
    ({"test_batch": b"PK\x03\x04 not a pickle"}, "test_batch"),
    ({"test_batch": b""}, "is cut"),
    ({"test_batch": None}, "has no test_batch of the split test"),
    ({"batches.meta": None}, "has no batches.meta or batches.meta.txt"),
]


@pytest.mark.parametrize(("change", "said"), BAD, ids=[said for _, said in BAD])
def test_a_batch_that_is_not_as_published(tmp_path, change, said):
    files = a.ten_python(TEST) | {f"cifar-10-batches-py/{name}": data for name, data in change.items()}
    a.write(tmp_path, {name: data for name, data in files.items() if data is not None})
    with pytest.raises(SourceError, match=said):
        open_source(f"cifar10:{tmp_path}")


def test_binary_batches_that_are_not_as_published(tmp_path):
    for change, said in (
        ({"test_batch.bin": a.binary(IMAGES, LABELS[:, None])[:-1]}, "no whole rows of 3073"),
        ({"test_batch.bin": b""}, "no whole rows of 3073"),
        ({"test_batch.bin": a.binary(IMAGES, np.full((23, 1), 200))}, "23 labels out of range"),
        ({"batches.meta.txt": b""}, "it has none"),
    ):
        root = tmp_path / said.replace(" ", "")
        a.write(root, a.ten_binary(TEST) | {f"cifar-10-batches-bin/{name}": data for name, data in change.items()})
        with pytest.raises(SourceError, match=said):
            open_source(f"cifar10:{root}")
    files = a.ten_binary(TEST, TRAIN)
    del files["cifar-10-batches-bin/data_batch_2.bin"]
    with pytest.raises(SourceError, match=r"has no data_batch_2\.bin of the split train; it holds .*data_batch_1\.bin"):
        open_source(f"cifar10:{a.write(tmp_path / 'gap', files)}", split="train")


def test_archives_that_are_not_as_downloaded(tmp_path):
    whole = a.tar(tmp_path / "cifar-10-python.tar.gz", a.ten_python(TEST, TRAIN), "w:gz").read_bytes()
    for share in (0.1, 0.5, 0.9, 0.9999):
        path = tmp_path / f"cut{share}.tar.gz"
        path.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(SourceError, match="is cut: it ends in the middle of its compressed data"):
            open_source(f"cifar10:{path}")
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    (tmp_path / "flipped.tar.gz").write_bytes(flipped)
    with pytest.raises(SourceError, match="damaged"):
        open_source(f"cifar10:{tmp_path / 'flipped.tar.gz'}")
    (tmp_path / "x").write_bytes(b"PK\x03\x04" + bytes(600))
    with pytest.raises(SourceError, match="is not a tar archive"):
        open_source(f"cifar10:{tmp_path / 'x'}")
    with pytest.raises(SourceError, match=r"nothing is not there. Expected cifar10:PATH"):
        open_source(f"cifar10:{tmp_path}/nothing")
    with pytest.raises(SourceError, match="needs a path"):
        open_source("cifar10")
    evil = a.tar(tmp_path / "evil.tar", {"../../batches.meta": b"x"})
    with pytest.raises(SourceError, match="leads out of the archive"):
        open_source(f"cifar10:{evil}")
    double = a.tar(tmp_path / "double.tar", a.ten_python(TEST) | {"other/test_batch": b"x"})
    with pytest.raises(SourceError, match="in several folders"):
        open_source(f"cifar10:{double}")


def test_the_recipes_keep_what_is_published():
    fifteen = [
        "gaussian_noise",
        "shot_noise",
        "impulse_noise",
        "defocus_blur",
        "glass_blur",
        "motion_blur",
        "zoom_blur",
        "snow",
    ]
    fifteen += ["frost", "fog", "brightness", "contrast", "elastic_transform", "pixelate", "jpeg_compression"]
    extra = ["speckle_noise", "gaussian_blur", "spatter", "saturate"]
    for name, other in (("cifar10-c", "cifar-10-c"), ("cifar100-c", "cifar-100-c")):
        recipe = load_recipe(other)
        assert (recipe.name, recipe.calibration, recipe.scale, recipe.encoding.format) == (name, "cifar", "none", "png")
        assert (recipe.preprocessing.kind, recipe.preprocessing.channels) == ("none", "keep")
        specs = recipe.resolve().sets
        assert [s.id for s in specs] == ["clean", *(f"{c}/{s}" for c in (*fifteen, *extra) for s in range(1, 6))]
        assert [s.role for s in specs] == ["test"] * 76 + ["validation"] * 20
