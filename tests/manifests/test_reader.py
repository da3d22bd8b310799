"""Reading a data set back, from folders and shards, in one process and in several."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import unbuilt
from damage import edit_lines

import corruptset
from corruptset.errors import PluginError, VerificationError
from corruptset.manifests.reading.image_set import ImageSet
from corruptset.pixels import pixel_digest

Make = Callable[..., Path]

CONTAINERS = [("folder",), ("hdf5",), ("folder", "hdf5")]
KINDS = [
    {"encoding_format": form, "containers": containers, "uniform": uniform}
    for form, containers, uniform in product(("png", "jpeg"), CONTAINERS, (True, False))
]


def test_what_came_with_schedules_names_the_package(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"pip install corruptset-streams"):
        unbuilt.data_set(tmp_path, "imagenet-c", 2).stream("schedule.jsonl")
    with pytest.raises(AttributeError, match=r"pip install corruptset-streams"):
        corruptset.schedule  # noqa: B018


@pytest.mark.parametrize("form", ["png", "jpeg"])
def test_every_container_gives_the_same_images_and_labels(templates: Make, form: str) -> None:
    for options in (kind for kind in KINDS if kind["encoding_format"] == form):
        data = corruptset.open(templates(**options))
        assert data.set_ids == list(data) == ["clean", "fog-3+gaussian_noise-5", "fog/3"]
        for set_id in data:
            images = data[set_id]
            pairs = list(images)
            assert [label for _, label in pairs] == images.labels.tolist() == [0, 0, 1, 1, 1]
            for i, (image, label) in enumerate(pairs):
                assert (image.dtype, type(label)) == (np.uint8, int)
                for index in (i, i - 5, np.int64(i)):
                    alone, number = images[index]
                    np.testing.assert_array_equal(image, alone)
                    np.testing.assert_array_equal(image, images.image(index))
                    np.testing.assert_array_equal(image, images.single(i))
                    assert (number, type(number)) == (label, int)
                if form == "png":
                    assert pixel_digest(image) == images.rows[i].pixels
        shapes = {image.shape for image in data["fog/3"].images()}
        assert shapes == ({(16, 20, 3)} if options["uniform"] else {(16, 20, 3), (9, 31, 3), (12, 8, 1)})
    both = [corruptset.open(templates(encoding_format=form), prefer=prefer) for prefer in ("folder", "hdf5")]  # type: ignore[arg-type]
    for set_id in both[0]:
        np.testing.assert_array_equal(*(data[set_id].array() for data in both))


def test_rows_of_a_shard_are_read_in_blocks_and_in_any_order(dataset: Make) -> None:
    root = dataset(containers=("hdf5",), shard_rows=5, repeat=2)
    images = corruptset.open(root)["fog/3"]
    before = [row.pixels for row in images.rows]
    for block_bytes in (1, 2000, 3000, 1 << 20):
        assert [pixel_digest(image) for image in images.images(block_bytes=block_bytes)] == before

    def exchange(rows: list[dict[str, Any]]) -> None:
        rows[2]["files"], rows[3]["files"] = rows[3]["files"], rows[2]["files"]

    edit_lines(root / "sets/fog/3.jsonl", exchange)
    after = [pixel_digest(image) for image in corruptset.open(root)["fog/3"].images()]
    assert after == [*before[:2], before[3], before[2], *before[4:]]


def test_prefer_is_what_is_read(dataset: Make) -> None:
    root = dataset()
    shutil.rmtree(root / "images")
    assert corruptset.open(root, prefer="hdf5")["clean"].image(0).shape == (16, 20, 3)
    with pytest.raises(VerificationError, match=r"bild eins\.png is missing"):
        corruptset.open(root, prefer="folder")["clean"].image(0)
    with pytest.raises(ValueError, match="prefer='zip'"):
        corruptset.open(root, prefer="zip")  # type: ignore[arg-type]


def test_names_aliases_and_classes(templates: Make) -> None:
    data = corruptset.open(str(templates()))
    assert data["original"].id == "clean"
    assert data["Fog, severity 3"].record.stages[0].corruption == "fog"
    assert data.aliases == {"original": "clean", "Fog, severity 3": "fog/3"}
    assert ("original" in data, "fog/4" in data) == (True, False)
    assert [c.name for c in data.classes] == ["käfer", "a dog"]
    assert data["clean"].ids == [s.id for s in data.samples]
    assert data["clean"].ids[0] == "0_käfer/bild eins"
    assert data.digest == data.manifest.digest
    assert "tiny-c 1.0.0" in repr(data)


def written(path: Path, data: bytes) -> None:
    path.unlink()
    path.write_bytes(data)


def linked_rows(path: Path) -> None:
    with h5py.File(path, "r+") as f:
        del f["images"]
        f["images"] = h5py.ExternalLink("../clean-00000.h5", "images")


def test_damaged_files_are_named_when_they_are_read(dataset: Make) -> None:
    damages: list[Callable[[Path], Any]] = [
        Path.unlink,
        lambda path: written(path, path.read_bytes()[: path.stat().st_size // 2]),
        lambda path: written(path, b"text"),
        lambda path: (path.unlink(), path.mkdir()),
    ]
    image, shard = "images/fog/3/1 a dog/Ünal 7.png", "hdf5/fog/3-00001.h5"
    cases: list[tuple[Any, str, Callable[[Path], Any]]] = [
        *(("folder", image, damage) for damage in damages),
        *(("hdf5", shard, damage) for damage in damages),
        # a pipe in a stranger's data set hung the reader for ever
        ("folder", image, lambda path: (path.unlink(), os.mkfifo(path))),
        ("folder", image, lambda path: written(path, path.read_bytes() + b"more")),
        ("hdf5", shard, linked_rows),
    ]
    for container, name, damage in cases:
        root = dataset()
        damage(root / name)
        images = corruptset.open(root, prefer=container)["fog/3"]
        np.testing.assert_array_equal(images.image(0), corruptset.open(root)["fog/3"].image(0))
        for read in (lambda images=images: images.image(3), lambda images=images: list(images)):  # type: ignore[misc]
            with pytest.raises(VerificationError, match="corruptset verify") as caught:
                read()
            assert Path(name).name in str(caught.value)
    for rows in (1, 3):
        root = dataset(containers=("hdf5",), shard_rows=5)
        with h5py.File(root / "hdf5/fog/3-00000.h5", "r+") as f:
            kept = f["images"][:rows]
            del f["images"]
            f.create_dataset("images", data=kept)
        images = corruptset.open(root)["fog/3"]
        assert images[rows - 1][0].shape == (16, 20, 3)
        for ask in (lambda images=images: images[4], lambda images=images: list(images)):  # type: ignore[misc]
            with pytest.raises(VerificationError, match=r"3-00000\.h5 (has fewer rows|cannot be read)"):
                ask()


@pytest.mark.parametrize("path", ["samples.jsonl", "sets/fog/3.jsonl"])
def test_records_that_would_mix_up_labels_are_refused(dataset: Make, path: str) -> None:
    """Whatever is asked of the set, its images never come with labels of others."""
    changes: list[Callable[[list[dict[str, Any]]], Any]] = [
        lambda rows: rows[::-1],
        lambda rows: rows[:-1],
        lambda rows: [*rows, rows[-1] | {"index": 5}],
        lambda rows: [{**row, "index": 0} for row in rows],
    ]
    for change in changes:
        root = dataset()
        edit_lines(root / path, change)
        images = corruptset.open(root)["fog/3"]
        asked = [lambda images=images: images[0], lambda images=images: list(images)]  # type: ignore[misc]
        asked += [lambda images=images: images.labels if path == "samples.jsonl" else images.array()]  # type: ignore[misc]
        for ask in asked:
            with pytest.raises(VerificationError, match="does not hold rows 0 to 4 in order"):
                ask()


# from 3.12, Python warns of any fork in a process with threads, as numpy's BLAS starts them
FORKS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def digests(images: ImageSet, numbers: range) -> list[str]:
    return [pixel_digest(images.image(i)) for i in numbers]


def test_pickles_without_handles(templates: Make) -> None:
    for options in (kind for kind in KINDS if kind["uniform"]):
        data = corruptset.open(templates(**options))
        images = data["fog/3"]
        expected = digests(images, range(5))
        assert images.labels.sum() == 3
        for copy in (pickle.loads(pickle.dumps(images)), pickle.loads(pickle.dumps(data))["fog/3"]):
            assert digests(copy, range(5)) == expected
            assert copy.labels.tolist() == images.labels.tolist()
        # neither handles nor rows nor samples travel
        assert len(pickle.dumps(images)) < 20_000


def in_child(images: ImageSet, queue: Any, numbers: range) -> None:
    queue.put((numbers.start, [(pixel_digest(image), label) for image, label in (images[i] for i in numbers)]))


@FORKS
@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.ci)])
def test_workers_open_their_own_shards(templates: Make, method: str) -> None:
    """As data loaders do it: the parent has read, then starts workers; a shared handle would share the position."""
    images = corruptset.open(templates(repeat=20, containers=("hdf5",)))["fog/3"]
    expected = [(pixel_digest(image), label) for image, label in images]
    assert len(images._store._shards._open) <= 8  # type: ignore[attr-defined]
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    shares = [range(k * 25, k * 25 + 25) for k in range(4)]
    workers = [context.Process(target=in_child, args=(images, queue, share)) for share in shares]
    for worker in workers:
        worker.start()
    got = dict(queue.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert [pair for start in sorted(got) for pair in got[start]] == expected
    assert digests(images, range(100)) == [digest for digest, _ in expected]


def test_threads_may_share_a_set(templates: Make) -> None:
    images = corruptset.open(templates(repeat=20, containers=("hdf5",)))["fog/3"]
    expected, got = digests(images, range(100)), {}

    def work(k: int) -> None:
        got[k] = digests(images, range(100)[:: 1 if k % 2 else -1])[:: 1 if k % 2 else -1]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(got[k] == expected for k in range(4))


LIGHT = """
import sys
import corruptset
from corruptset.manifests.verify.ladder import verify_directory
for directory in sys.argv[1:]:
    data = corruptset.open(directory)
    assert sum(len(list(data[s])) for s in data) == 15
    assert verify_directory(directory).ok
heavy = {"cv2", "numba", "scipy", "skimage", "joblib", "typer", "rich"} & set(sys.modules)
assert not heavy, heavy
"""


def test_a_consumer_imports_nothing_heavy(templates: Make) -> None:
    directories = [str(templates(encoding_format=form)) for form in ("png", "jpeg")]
    subprocess.run([sys.executable, "-W", "error", "-c", LIGHT, *directories], check=True)
