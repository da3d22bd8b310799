"""Reading a data set back, from folders and shards, in one process and in several."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import unbuilt
from damage import edit_lines

import corruptset
from corruptset.errors import IncompleteBuild, PluginError, UnknownCorruption, VerificationError
from corruptset.manifests.reading.image_set import ImageSet
from corruptset.pixels import pixel_digest

Make = Callable[..., Path]

KINDS = [
    {"encoding_format": f, "containers": c, "uniform": u}
    for f in ("png", "jpeg")
    for c in (("folder",), ("hdf5",), ("folder", "hdf5"))
    for u in (True, False)
]


def test_open_is_public() -> None:
    assert corruptset.open.__module__ == "corruptset.manifests.reader"


def test_what_came_with_schedules_names_the_package(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"pip install corruptset-streams"):
        unbuilt.data_set(tmp_path, "imagenet-c", 2).stream("schedule.jsonl")
    with pytest.raises(AttributeError, match=r"pip install corruptset-streams"):
        corruptset.schedule  # noqa: B018
    (tmp_path / "stream.json").write_text("{}")
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(IncompleteBuild, match=r"is a changing stream.* corruptset-streams"):
        corruptset.open(tmp_path)


@pytest.mark.parametrize("options", KINDS)
def test_every_container_gives_the_images(templates: Make, options: dict[str, Any]) -> None:
    data = corruptset.open(templates(**options))
    assert data.set_ids == list(data) == ["clean", "fog-3+gaussian_noise-5", "fog/3"]
    assert len(data) == 3
    for set_id in data:
        images = data[set_id]
        assert len(images) == 5
        pairs = list(images)
        assert [label for _, label in pairs] == images.labels.tolist() == [0, 0, 1, 1, 1]
        for i, (image, label) in enumerate(pairs):
            assert type(label) is int
            assert image.dtype == np.uint8
            assert image.ndim == 3
            assert image.shape[2] in (1, 3)
            for index in (i, i - 5):
                alone, number = images[index]
                np.testing.assert_array_equal(image, alone)
                np.testing.assert_array_equal(image, images.image(index))
                assert type(number) is int
                assert number == label
            if options["encoding_format"] == "png":
                assert pixel_digest(image) == images.rows[i].pixels
    shapes = {image.shape for image in data["fog/3"].images()}
    assert shapes == ({(16, 20, 3)} if options["uniform"] else {(16, 20, 3), (9, 31, 3), (12, 8, 1)})


@pytest.mark.parametrize("encoding_format", ["png", "jpeg"])
def test_folder_and_shards_agree(templates: Make, encoding_format: str) -> None:
    root = templates(encoding_format=encoding_format)
    by_folder, by_shard = corruptset.open(root, prefer="folder"), corruptset.open(root, prefer="hdf5")
    for set_id in by_folder:
        np.testing.assert_array_equal(by_folder[set_id].array(), by_shard[set_id].array())


@pytest.mark.parametrize("block_bytes", [1, 2000, 3000, 1 << 20])
def test_blocks_of_a_shard(templates: Make, block_bytes: int) -> None:
    images = corruptset.open(templates(containers=("hdf5",), shard_rows=5, repeat=2))["fog/3"]
    expected = [row.pixels for row in images.rows]
    assert [pixel_digest(image) for image in images.images(block_bytes=block_bytes)] == expected


def test_rows_of_a_shard_in_another_order(dataset: Make) -> None:
    root = dataset(containers=("hdf5",))
    before = [row.pixels for row in corruptset.open(root)["fog/3"].rows]

    def exchange(rows: list[dict[str, Any]]) -> None:
        rows[2]["files"], rows[3]["files"] = rows[3]["files"], rows[2]["files"]

    edit_lines(root / "sets/fog/3.jsonl", exchange)
    images = [pixel_digest(image) for image in corruptset.open(root)["fog/3"].images()]
    assert images == [*before[:2], before[3], before[2], *before[4:]]


def test_prefer_is_what_is_read(dataset: Make) -> None:
    root = dataset()
    shutil.rmtree(root / "images")
    assert corruptset.open(root, prefer="hdf5")["clean"].image(0).shape == (16, 20, 3)
    with pytest.raises(VerificationError, match=r"bild eins\.png is missing"):
        corruptset.open(root, prefer="folder")["clean"].image(0)
    with pytest.raises(ValueError, match="prefer='zip'"):
        corruptset.open(root, prefer="zip")  # type: ignore[arg-type]


def test_an_image_that_became_a_pipe_or_grew_is_refused(dataset: Make) -> None:
    """A pipe in a stranger's data set hung the reader for ever."""
    root = dataset(containers=("folder",))
    images = corruptset.open(root)["clean"]
    path = images.stored(0)[1]
    assert isinstance(path, Path)
    whole = path.read_bytes()
    path.write_bytes(whole + b"more")
    with pytest.raises(VerificationError, match=r"bild eins\.png cannot be read .* bytes"):
        images.image(0)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(VerificationError, match=r"bild eins\.png cannot be read .*pipe"):
        images.image(0)


def test_samples_labels_ids_aliases_classes(templates: Make) -> None:
    data = corruptset.open(str(templates()))
    assert data["original"].id == "clean"
    assert data["Fog, severity 3"].record.stages[0].corruption == "fog"
    assert data.aliases == {"original": "clean", "Fog, severity 3": "fog/3"}
    assert "original" in data
    assert "fog/4" not in data
    assert [c.name for c in data.classes] == ["käfer", "a dog"]
    assert data["clean"].ids == [s.id for s in data.samples]
    assert data["clean"].ids[0] == "0_käfer/bild eins"
    assert data.digest == data.manifest.digest
    labels = data["clean"].labels
    assert labels.dtype == np.int64
    labels[0] = 9
    assert data["clean"].labels[0] == 0
    assert "tiny-c 1.0.0" in repr(data)
    assert "'clean'" in repr(data["clean"])


def test_array_of_one_size_and_of_many(templates: Make) -> None:
    array = corruptset.open(templates())["fog/3"].array()
    assert array.shape == (5, 16, 20, 3)
    assert array.dtype == np.uint8
    with pytest.raises(ValueError, match=r"image 0 is 16x20x3, image 2 is 9x31x3 .* Take them one at a time"):
        corruptset.open(templates(uniform=False))["fog/3"].array()


def test_index_is_any_integer_and_bounded(templates: Make) -> None:
    images = corruptset.open(templates())["fog/3"]
    np.testing.assert_array_equal(images.image(np.int64(2)), images.image(2))
    assert images[np.int64(2)][1] == 1
    for read in (images.__getitem__, images.image, images.label, images.id):
        for index in (5, -6):
            with pytest.raises(IndexError, match="5 images"):
                read(index)
        for wrong, said in ((1.0, "not by 1.0"), ("0", "not by '0'")):
            with pytest.raises(TypeError, match=said):
                read(wrong)  # type: ignore[operator]
    with pytest.raises(TypeError, match=r"not by slice\("):
        images.image(slice(2))  # type: ignore[arg-type]


def test_unknown_sets_suggest_the_near_name(templates: Make) -> None:
    with pytest.raises(UnknownCorruption, match="Did you mean 'fog/3'"):
        corruptset.open(templates())["fog/33"]


def test_incomplete_builds_are_refused(tmp_path: Path) -> None:
    (tmp_path / ".corruptset").mkdir()
    with pytest.raises(IncompleteBuild, match="Resume"):
        corruptset.open(tmp_path)


@pytest.mark.parametrize("container", ["folder", "hdf5"])
@pytest.mark.parametrize("damage", ["missing", "cut", "text", "folder"])
def test_damaged_files_are_named(dataset: Make, container: Any, damage: str) -> None:
    root = dataset()
    path = root / ("images/fog/3/1 a dog/Ünal 7.png" if container == "folder" else "hdf5/fog/3-00001.h5")
    data = path.read_bytes()
    path.unlink()
    if damage in ("cut", "text"):
        path.write_bytes(data[: len(data) // 2] if damage == "cut" else b"text")
    elif damage == "folder":
        path.mkdir()
    images = corruptset.open(root, prefer=container)["fog/3"]
    np.testing.assert_array_equal(images.image(0), corruptset.open(root)["fog/3"].image(0))
    for read in (lambda: images.image(3), lambda: list(images)):
        with pytest.raises(VerificationError, match="corruptset verify") as caught:
            read()
        assert path.name in str(caught.value)


def test_links_in_shards_are_not_followed(dataset: Make) -> None:
    root = dataset()
    with h5py.File(root / "hdf5/fog/3-00000.h5", "r+") as f:
        del f["images"]
        f["images"] = h5py.ExternalLink("../clean-00000.h5", "images")
    with pytest.raises(VerificationError, match="is a link"):
        corruptset.open(root, prefer="hdf5")["fog/3"].image(0)


@pytest.mark.parametrize(
    "change", [lambda rows: rows[::-1], lambda rows: rows[:-1], lambda rows: [{**r, "index": 0} for r in rows]]
)
def test_rows_that_would_mix_up_labels_are_refused(dataset: Make, change: Any) -> None:
    root = dataset()
    path = root / "sets/fog/3.jsonl"
    rows = change([json.loads(line) for line in path.read_text("utf-8").splitlines()])
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    with pytest.raises(VerificationError, match="rows 0 to 4"):
        corruptset.open(root)["fog/3"].image(0)


@pytest.mark.parametrize(
    "change", [lambda rows: rows[::-1], lambda rows: rows[:-1], lambda rows: [*rows, rows[-1] | {"index": 5}]]
)
@pytest.mark.parametrize("path", ["samples.jsonl", "sets/fog/3.jsonl"])
def test_records_out_of_order_or_of_another_length(dataset: Make, path: str, change: Any) -> None:
    """Whatever is asked of the set, its images never come with labels of others."""
    root = dataset()
    rows = change([json.loads(line) for line in (root / path).read_text("utf-8").splitlines()])
    (root / path).write_text("".join(json.dumps(r) + "\n" for r in rows))
    images = corruptset.open(root)["fog/3"]
    asked = [lambda: images[0], lambda: list(images)]
    asked += (
        [lambda: images.labels, lambda: images.ids]
        if path == "samples.jsonl"
        else [images.array, lambda: images.image(0)]
    )
    for ask in asked:
        with pytest.raises(VerificationError, match="does not hold rows 0 to 4 in order"):
            ask()


@pytest.mark.parametrize("rows", [1, 3])
def test_shards_of_another_length(dataset: Make, rows: int) -> None:
    root = dataset(containers=("hdf5",), shard_rows=5)
    with h5py.File(root / "hdf5/fog/3-00000.h5", "r+") as f:
        kept = f["images"][:rows]
        del f["images"]
        f.create_dataset("images", data=kept)
    images = corruptset.open(root)["fog/3"]
    assert images[rows - 1][0].shape == (16, 20, 3)
    for ask in (lambda: images[4], lambda: list(images), images.array):
        with pytest.raises(VerificationError, match=r"3-00000\.h5 (has fewer rows|cannot be read)"):
            ask()


# from 3.12, Python warns of any fork in a process with threads, as numpy's BLAS starts them
FORKS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def digests(images: ImageSet, numbers: range) -> list[str]:
    return [pixel_digest(images.image(i)) for i in numbers]


@pytest.mark.parametrize("options", [k for k in KINDS if k["uniform"]])
def test_pickles_without_handles(templates: Make, options: dict[str, Any]) -> None:
    data = corruptset.open(templates(**options))
    images = data["fog/3"]
    expected = digests(images, range(5))
    assert images.labels.sum() == 3
    size = len(pickle.dumps(images))
    for copy in (pickle.loads(pickle.dumps(images)), pickle.loads(pickle.dumps(data))["fog/3"]):
        assert digests(copy, range(5)) == expected
        assert copy.labels.tolist() == images.labels.tolist()
    # neither handles nor rows nor samples travel
    assert len(pickle.dumps(images)) == size < 20_000


def in_child(images: ImageSet, queue: Any, numbers: range) -> None:
    queue.put((numbers.start, digests(images, numbers)))


@FORKS
@pytest.mark.parametrize("encoding_format", ["png", "jpeg"])
def test_forked_workers_open_their_own_shards(templates: Make, encoding_format: str) -> None:
    """As data loaders do it: the parent has read, then forks; a shared handle would share the file's position."""
    images = corruptset.open(templates(repeat=20, encoding_format=encoding_format, containers=("hdf5",)))["fog/3"]
    expected = digests(images, range(100))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    workers = [context.Process(target=in_child, args=(images, queue, range(k * 25, k * 25 + 25))) for k in range(4)]
    for worker in workers:
        worker.start()
    got = dict(queue.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert [d for start in sorted(got) for d in got[start]] == expected
    assert digests(images, range(100)) == expected


def fetched(images: ImageSet, batches: Any, results: Any) -> None:
    """What a worker of a data loader does: it takes lists of indices, and makes columns of what items are."""
    for numbers in iter(batches.get, None):
        columns = list(zip(*[images[i] for i in numbers], strict=True))
        results.put((numbers[0], [np.stack(c) if isinstance(c[0], np.ndarray) else np.array(c) for c in columns]))


@FORKS
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_data_loader_gets_images_and_labels(templates: Make, method: str) -> None:
    images = corruptset.open(templates(repeat=4, containers=("hdf5",)))["fog/3"]
    expected = list(images)
    context = multiprocessing.get_context(method)
    batches, results = context.Queue(), context.Queue()
    workers = [context.Process(target=fetched, args=(images, batches, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    starts = range(0, 20, 2)  # of two: a batch of images alone would fall into two of them
    for start in starts:
        batches.put([start, start + 1])
    got = dict(results.get(timeout=60) for _ in starts)
    for _ in workers:
        batches.put(None)
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    for start in starts:
        pixels, labels = got[start]
        np.testing.assert_array_equal(pixels, [image for image, _ in expected[start : start + 2]])
        assert labels.tolist() == [label for _, label in expected[start : start + 2]]


@FORKS
def test_handles_belong_to_one_process(templates: Make) -> None:
    images = corruptset.open(templates(containers=("hdf5",)))["fog/3"]
    images.image(0)
    mine = {id(shard) for shard in images._store._shards._open.values()}
    assert mine
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        images.image(0)
        os.write(writing, b"1" if mine.isdisjoint(id(s) for s in images._store._shards._open.values()) else b"0")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 1) == b"1"
    os.close(reading)
    os.close(writing)


def test_few_shards_are_open_at_a_time(templates: Make) -> None:
    images = corruptset.open(templates(repeat=20, containers=("hdf5",)))["fog/3"]
    assert len(list(images)) == 100
    assert len(images._store._shards._open) <= 8
    assert images.image(99).shape == (16, 20, 3)


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
data = corruptset.open(sys.argv[1])
assert sum(len(list(data[s])) for s in data) == 15
assert verify_directory(sys.argv[1]).ok
heavy = {"cv2", "numba", "scipy", "skimage", "joblib", "typer", "rich"} & set(sys.modules)
assert not heavy, heavy
"""


@pytest.mark.parametrize("encoding_format", ["png", "jpeg"])
def test_a_consumer_imports_nothing_heavy(templates: Make, encoding_format: str) -> None:
    subprocess.run(
        [sys.executable, "-W", "error", "-c", LIGHT, str(templates(encoding_format=encoding_format))], check=True
    )
