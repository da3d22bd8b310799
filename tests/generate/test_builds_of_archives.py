"""Test that builds from every file format of a source verify, and that their digests do not depend on the format."""

from __future__ import annotations

import numpy as np
import pytest
import source_archives as a

import corruptset
from corruptset.generate.build import build
from corruptset.generate.planning import plan
from corruptset.generate.reproduction.verify import verify

TEST, TRAIN = a.random_crops(12), [a.random_crops(12, 1)]


def forms_of_cifar10(root):
    a.write_tar(root / "cifar-10-python.tar.gz", a.cifar10_python(TEST, TRAIN), "w:gz")
    a.write_files(root, a.cifar10_binary(TEST, TRAIN))
    return [f"cifar10:{root / name}" for name in ("cifar-10-python.tar.gz", "cifar-10-batches-bin")]


def forms_of_imagenet(root):
    a.write_files(root / "flat", a.devkit_files() | a.val_images())
    a.write_tar(root / "folders.tar", a.wnid_folders())
    return [f"imagenet:{root / name}" for name in ("flat", "folders.tar")]


@pytest.mark.parametrize(
    ("forms", "recipe", "options"),
    [(forms_of_cifar10, "cifar10-c", {"split": "train", "per_class": 1}), (forms_of_imagenet, "imagenet-c", {})],
)
def test_digest_is_same_for_every_archive_format(tmp_path, forms, recipe, options):
    result, sources = [], forms(tmp_path)
    options |= {"sets": ["clean", "contrast/3"], "metrics": 0, "jobs": 1, "page": False}
    for i, source in enumerate(sources):
        build_result = build(recipe, source, tmp_path / f"out{i}", **options)
        report = verify(build_result.directory, rederive=3, source=sources[-1 - i], jobs=1)
        assert report.ok, report.problems
        result.append(build_result.manifest)
    # nothing but the samples' paths, and so the hash of samples.jsonl, tells the forms apart
    manifests = [m.model_copy(update={"files": [f.path for f in m.files]}) for m in result]
    assert all(m == manifests[0] for m in manifests)
    assert result[0].source.name == sources[0].partition(":")[0]
    assert plan(recipe, sources[0], **options).samples == result[0].sets[0].count
    if forms is forms_of_cifar10:  # the manifest says what was chosen, and all classes
        labels, data = TRAIN[0][1], corruptset.open(build_result.directory)
        firsts = sorted({int(np.flatnonzero(labels == v)[0]) for v in set(labels.tolist())})
        expected = [(f"train/{i:05d}", int(labels[i]), "train") for i in firsts]
        assert [(s.id, s.label, s.split) for s in data.samples] == expected
        assert [c.name for c in data.classes] == a.CIFAR10_CLASSES
        nothing = {"samples": None, "first": None, "ids": None, "chosen": len(firsts)}
        assert data.manifest.selection == nothing | {"split": "train", "per_class": 1, "total": 12}
        assert np.array_equal(data["clean"].image(1), TRAIN[0][0][firsts[1]])
