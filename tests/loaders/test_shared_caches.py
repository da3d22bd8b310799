"""Several datasets that are loaded through the same caches are returned as they were built.

The sources have realistic names, and names chosen to cause conflicts. Loaders run in another process with a new home
directory, without variables that move their caches.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import source_archives
from doc_pages import run_corruptset
from PIL import Image

from example_images import photograph

pytestmark = pytest.mark.ci

READ_IMAGEFOLDER = """
import json, sys
import numpy as np
import corruptset
from datasets import load_dataset

for build, folder in json.loads(sys.argv[1]):
    data = corruptset.open(build)
    arrays = {s: data[s].array() for s in data.set_ids}
    expected = [(s, sample) for s in data.set_ids for sample in data.samples]
    found = load_dataset(folder)
    assert list(found) == ["train"], (folder, found)
    for rows in (found["train"], load_dataset("imagefolder", data_dir=folder, split="train")):
        assert len(rows) == len(expected), (folder, len(rows), len(expected))
        for row, (set_id, sample) in zip(rows, expected):
            image = arrays[set_id][sample.index]
            np.testing.assert_array_equal(np.array(row["image"]).reshape(image.shape), image)
            found = row["set"], row["id"], row["label"], row["class"]
            assert found == (set_id, sample.id, sample.label, sample.class_), row
            assert row.get("split") == sample.split, row
            stages = next(s.stages for s in data.manifest.sets if s.id == set_id)
            plain = len(stages) == 1 and stages[0].severity is not None
            wanted = (stages[0].corruption, stages[0].severity) if plain else (set_id, 0)
            assert (row["corruption"], row["severity"]) == wanted, row
"""

READ_CROISSANT = """
import json, sys
import mlcroissant
import numpy as np
import corruptset

for build, file in json.loads(sys.argv[1]):
    data = corruptset.open(build)
    dataset = mlcroissant.Dataset(file)
    assert not dataset.metadata.ctx.issues.errors
    for set_id in data.set_ids:
        images = data[set_id].array()
        rows = list(dataset.records(set_id))
        assert len(rows) == len(images), (file, set_id)
        for sample, row in zip(data.samples, rows):
            image = images[sample.index]
            pixels = np.array(row[f"{set_id}/image"]).reshape(image.shape)
            np.testing.assert_array_equal(pixels, image, err_msg=f"{file} {set_id}")
            assert row[f"{set_id}/label"] == sample.label, row
            assert row[f"{set_id}/class"].decode() == data.classes[sample.label].folder, row
    if "samples" in {r.id for r in dataset.metadata.record_sets}:
        rows = dataset.records("samples")
        found = [(r["samples/id"].decode(), r["samples/label"], r["samples/class"].decode()) for r in rows]
        assert found == [(s.id, s.label, s.class_) for s in data.samples]
        assert [r["classes/folder"] for r in dataset.records("classes")] == [c.folder for c in data.classes]
"""


def read(script, pairs, home):
    """Run a script with another home directory."""
    moved = ("XDG_CACHE_HOME", "HF_HOME", "HF_DATASETS_CACHE", "CROISSANT_CACHE")
    environment = {k: v for k, v in os.environ.items() if k not in moved} | {"HOME": str(home)}
    result = subprocess.run(
        [sys.executable, "-c", script, json.dumps([[str(a), str(b)] for a, b in pairs])],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-3000:]


HURTING = "toy_train_2;ILSVRC2012_val_00000001;test;train.test;eval-1 dev;metadata.jsonl;2020-01-01;validation".split(
    ";"
)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Photographs with names of ILSVRC, CIFAR-10 and MNIST with both splits, and photographs with names of splits."""
    root = tmp_path_factory.mktemp("sources")
    image = Image.fromarray(photograph("astronaut", 300))
    wnids = ("n01440764", "n01443537", "n01484850")
    names = [f"val/{wnids[i // 2]}/ILSVRC2012_val_{i + 1:08d}.JPEG" for i in range(6)]
    names += [f"hurt/{('test', 'train', '__val', 'data')[i % 4]}/{name}.png" for i, name in enumerate(HURTING)]
    for i, name in enumerate(names):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        image.crop((i, i, i + 260, i + 256)).save(root / name)
    images, labels = source_archives.random_crops(12)
    train = [source_archives.random_crops(12, seed=i) for i in range(1, 6)]
    source_archives.write_tar(
        root / "cifar-10-python.tar.gz", source_archives.cifar10_python((images, labels), train), "w:gz"
    )
    digits = images[:, :28, :28].mean(-1).astype(np.uint8)
    for split, part in (("t10k", slice(0, 5)), ("train", slice(5, 12))):
        files = {"images-idx3-ubyte": digits[part], "labels-idx1-ubyte": labels[part]}
        source_archives.write_files(
            root / "MNIST/raw", {f"{split}-{name}": source_archives.idx_bytes(array) for name, array in files.items()}
        )
    return root


BUILDS = {
    "ilsvrc": "imagenet-c --source imagenet:{0}/val --sets contrast/3,gaussian_noise/1",
    "another-seed": "imagenet-c --source imagenet:{0}/val --sets contrast/3,gaussian_noise/1 --seed 1",
    "hurt": "imagenet-c --source folder:{0}/hurt --sets contrast/3,gaussian_noise/1",
    "cifar": "cifar10-c --source cifar10:{0}/cifar-10-python.tar.gz --split all --sets contrast/3,contrast/5 --storage "
    "both",
    "mnist": "mnist-c --source mnist:{0}/MNIST/raw --split all --sets clean,brightness --storage both",
    "words": "two-factor-train --source cifar10:{0}/cifar-10-python.tar.gz --split train --samples 5 --storage folder",
}


@pytest.fixture(scope="module")
def dataset_dirs(sources, tmp_path_factory):
    """Name -> directory of a build by the command line."""
    root = tmp_path_factory.mktemp("built")
    for name, line in BUILDS.items():
        run_corruptset(f"corruptset build {line.format(sources)} --jobs 1 --metrics 1 --no-page --out {root / name}")
    return {name: next((root / name).iterdir()) for name in BUILDS}


def test_imagefolder_reads_every_row_of_every_dataset(dataset_dirs, tmp_path):
    pairs = []
    for name, directory in dataset_dirs.items():
        # the names of parent folders are the same too
        out = tmp_path / "train" / f"{name}-test"
        run_corruptset(f"corruptset export imagefolder {directory} --out {out}")
        pairs.append((directory, out / directory.name))
    read(READ_IMAGEFOLDER, pairs, tmp_path / "home")
    # another dataset at the same location
    _, folder = pairs[0]
    shutil.rmtree(folder.parent)
    run_corruptset(f"corruptset export imagefolder {dataset_dirs['another-seed']} --out {folder.parent}")
    read(READ_IMAGEFOLDER, [(dataset_dirs["another-seed"], folder)], tmp_path / "home")


def test_croissant_reads_images_of_requested_dataset(dataset_dirs, shared_data, tmp_path):
    # the pixels of "png" stored as JPEG: the digest is the same, but loaders see different images
    extra_sets = '[[sets]]\ncorruptions = ["contrast"]\nseverities = [3]\n'
    same = {
        e: shared_data.build(crops={"each": 1}, recipe={"encoding": e, "more": extra_sets}, storage="both")
        for e in ("png", "jpeg")
    }
    pairs = []
    for name, directory in {**dataset_dirs, **same}.items():
        run_corruptset(f"corruptset export croissant {directory} --out {tmp_path / name}-export")
        pairs.append((directory, tmp_path / f"{name}-export" / directory.name / "croissant.json"))
        # one after the other: one archive per corruption, then two
        for kind, options in (("whole", "--by corruption"), ("split", "--by corruption --max-bytes {0}")):
            out = tmp_path / f"{name}-{kind}"
            largest = max((p.stat().st_size for p in (tmp_path / f"{name}-whole/data").glob("*.tar")), default=0)
            max_bytes = max(100_000, largest * 9 // 10)  # there is room for the records of a set and one of its files
            run_corruptset(f"corruptset pack {directory} --out {out} {options.format(max_bytes)}")
            pairs.append((directory, out / "croissant.json"))
    read(READ_CROISSANT, pairs, tmp_path / "home")


def test_every_split_word_is_marked():
    from datasets.data_files import SPLIT_KEYWORDS

    from corruptset.generate.exports.placement import mark_split_words

    for word in (w for words in SPLIT_KEYWORDS.values() for w in words):
        for set_id in (word, f"two-{word}", f"fog/{word}-3", f"a_{word}_b/3", f"fog-3+{word}-5"):
            assert mark_split_words(set_id) == set_id.replace(word, f"={word}")
    assert mark_split_words("contrast/3") == "contrast/3"
    assert mark_split_words("latest/trained") == "latest/trained"
