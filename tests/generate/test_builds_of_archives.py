"""A build from each source's own file format is verified, and its digest does not depend on the form that the source
came in.
"""

from __future__ import annotations

import archives as a
import numpy as np
import pytest
from sklearn.datasets import load_digits

import corruptset
from corruptset.generate.build import build
from corruptset.generate.planning import plan
from corruptset.generate.reproduction.verify import verify

SETS = ["clean", "contrast/3"]
TEST, TRAIN = a.crops(12), [a.crops(12, 1)]


def forms_of_cifar10(root):
    a.tar(root / "cifar-10-python.tar.gz", a.ten_python(TEST, TRAIN), "w:gz")
    a.write(root, a.ten_binary(TEST, TRAIN))
    a.write(root / "again", a.ten_python(TEST, TRAIN, dump=a.modern_batch(2)))
    return [f"cifar10:{root / name}" for name in ("cifar-10-python.tar.gz", "cifar-10-batches-bin", "again")]


def forms_of_cifar100(root):
    parts = {"test": (TEST[0], np.arange(12) * 8, np.arange(12)), "train": (TRAIN[0][0], np.arange(12), np.arange(12))}
    a.tar(root / "b.tar.gz", a.hundred_binary(parts), "w:gz")
    a.write(root, a.hundred_python(parts))
    return [f"cifar100:{root / name}" for name in ("b.tar.gz", "cifar-100-python")]


def forms_of_mnist(root):
    digits = load_digits()
    images = np.kron((digits.images[:24] * 15).astype(np.uint8), np.ones((1, 4, 4), np.uint8))[:, 2:30, 2:30]
    files = {f"{name}-{kind}": a.idx(array[part]) for name, part in (("t10k", slice(12)), ("train", slice(12, 24)))
             for kind, array in (("images-idx3-ubyte", images), ("labels-idx1-ubyte", digits.target))}  # fmt: skip
    a.write(root / "plain", files)
    a.write(root / "zipped", {f"{name}.gz": a.zipped(data) for name, data in files.items()})
    return [f"mnist:{root / name}" for name in ("plain", "zipped")]


def forms_of_imagenet(root):
    a.tar(root / "ILSVRC2012_devkit_t12.tar.gz", a.devkit(), "w:gz")
    a.tar(root / "ILSVRC2012_img_val.tar", a.val_images())
    a.write(root / "flat", a.val_images())
    a.write(root / "folders", a.wnid_folders())
    a.tar(root / "folders.tar", a.wnid_folders())
    return [f"imagenet:{root / name}" for name in ("ILSVRC2012_img_val.tar", "flat", "folders", "folders.tar")]


def forms_of_npy(root):
    np.save(root / "x.npy", TEST[0])
    np.save(root / "y.npy", TEST[1])
    return [f"npy:{root / 'x.npy'},{root / 'y.npy'}"]


@pytest.mark.parametrize(
    ("forms", "recipe", "options"),
    [
        (forms_of_cifar10, "cifar10-c", {"split": "all", "per_class": 1, "jobs": 1}),
        (forms_of_cifar100, "cifar100-c", {"labels": "coarse", "first": 7, "jobs": 1}),
        (forms_of_mnist, "cifar10-c", {"jobs": 1, "any_shape": True}),
        (forms_of_imagenet, "imagenet-c", {"jobs": 1}),
        (forms_of_npy, "cifar10-c", {"ids": ["data/3", "data/11"], "jobs": 1}),
    ],
)
def test_one_digest_whatever_the_form(tmp_path, forms, recipe, options):
    made = []
    sources = forms(tmp_path)
    for i, source in enumerate(sources):
        built = build(recipe, source, tmp_path / f"out{i}", sets=SETS, metrics=0, **options)
        shared = {k: v for k, v in options.items() if k == "labels"}
        report = verify(built.directory, rederive=3, source=sources[-1 - i], jobs=1, **shared)
        assert report.ok, report.problems
        made.append(built.manifest)
    assert len({m.digest for m in made}) == 1
    assert len({m.source.digest for m in made}) == 1
    # nothing but the samples' paths, and so the hash of samples.jsonl, tells the forms apart
    plain = [m.model_copy(update={"files": [f.path for f in m.files]}) for m in made]
    assert all(m == plain[0] for m in plain)
    assert made[0].source.name == sources[0].partition(":")[0]
    assert plan(recipe, sources[0], sets=SETS, **options).samples == made[0].sets[0].count


def test_the_manifest_says_what_was_chosen_and_all_classes(tmp_path):
    source = forms_of_cifar10(tmp_path)[0]
    built = build("cifar10-c", source, tmp_path / "out", sets=["clean"], split="train", per_class=1, metrics=0, jobs=1)
    data = corruptset.open(built.directory)
    assert [c.name for c in data.classes] == a.TEN
    assert built.manifest.selection | {"chosen": 0} == {
        "split": "train", "samples": None, "first": None, "per_class": 1, "ids": None, "total": 12, "chosen": 0,
    }  # fmt: skip
    labels = TRAIN[0][1]
    firsts = sorted({int(np.flatnonzero(labels == v)[0]) for v in set(labels.tolist())})
    assert [s.id for s in data.samples] == [f"train/{i:05d}" for i in firsts]
    assert [s.label for s in data.samples] == labels[firsts].tolist()
    assert {s.split for s in data.samples} == {"train"}
    assert np.array_equal(data["clean"].image(1), TRAIN[0][0][firsts[1]])
